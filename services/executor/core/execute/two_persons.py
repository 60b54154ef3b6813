"""Matters for which a process asks for two people: found by their words in the task or in what was read."""

from collections.abc import Iterator, Sequence

from services.executor.core.dossier import Fact, Progress
from services.executor.core.execute.plain_words import says
from shared.domain.exact_json import Json


def concern(task: str, progress: Progress) -> str | None:
    """Which of the template's words stands where; None if none of them is said anywhere.

    Whole words count, in either number, however they are written: ``card_data``, ``cardData``, ``Card data``.
    What a record says no or nothing to (``"cardholder_data": false``) is not said.
    """
    words = progress.template.two_persons_about
    if not words:
        return None
    if word := _said(task, words):
        return f"{word!r} in the task"
    found = ((_word_in(fact, words), fact) for fact in progress.dossier.facts if fact.ok)
    return next((f"{word!r} in what {fact.tool} gave" for word, fact in found if word), None)


def _word_in(fact: Fact, words: Sequence[str]) -> str | None:
    return next((word for text in _texts(fact.result) if (word := _said(text, words))), None)


def _said(text: str, words: Sequence[str]) -> str | None:
    return next((word for word in words if says(text, word)), None)


def _texts(value: Json) -> Iterator[str]:
    """Every text of a result, and the name of every field that has a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if inner not in (None, False, 0, "", [], {}):
                yield name
                yield from _texts(inner)
