"""Matters for which a process asks for two people: found by their words in the task or in what was read."""

from collections.abc import Iterator, Sequence

from services.executor.core.dossier import Fact, Progress
from services.executor.core.execute.plain_words import says
from services.executor.core.execute.records import fields_about
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json
from shared.domain.words import ToolClass


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


def unanswered(task: str, progress: Progress) -> str | None:
    """What stays open of such a matter: a change of whose subject nothing that was read says yes or no; None if none.

    A field of one of the words with any value is an answer, where it is known of the call: of the record that it names
    or of one that belongs to it, not of another one of the kind.
    """
    words, plan = progress.template.two_persons_about, progress.dossier.plan
    if not words or plan is None or concern(task, progress):
        return None
    changes = (call for call in plan.every_call if call.tool_class is ToolClass.CHANGE)
    silent = (call for call in changes if not _is_answered(call, progress.dossier.facts, words))
    return next((f"nothing that was read says of {call.tool} whether {words[0]} is concerned" for call in silent), None)


def _is_answered(call: PlannedCall, facts: Sequence[Fact], words: Sequence[str]) -> bool:
    known = fields_about(call.arguments, facts)
    return any(value not in (None, "") and _said(name, words) for name, value in known.items())


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
