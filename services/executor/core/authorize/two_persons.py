"""Matters for which a process asks for two people: found in what a plan changes, not in the words of a task."""

from collections.abc import Iterable, Iterator, Sequence

from services.executor.core.dossier.dossier import Progress
from services.executor.core.records.binding import CallView, view_of
from services.executor.core.records.called_records import says
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json
from shared.domain.words import ToolClass


def concern(progress: Progress) -> str | None:
    """Which of the template's words stands in a change, or in the records around it; None if none does.

    Whole words count, in either number, however they are written: ``card_data``, ``cardData``, ``Card data``.
    What a record says no or nothing to (``"cardholder_data": false``) is not said.
    """
    words = progress.template.two_persons_about
    found = (_concern_of(call, view, words) for call, view in _changes(progress)) if words else ()
    return next(filter(None, found), None)


def unanswered_matter(progress: Progress) -> str | None:
    """What stays open of such a matter: a change of whose records nothing says yes or no to it; None if nothing does.

    A field of one of the words with any value is an answer.
    """
    words = progress.template.two_persons_about
    if not words or concern(progress):
        return None
    silent = (call for call, view in _changes(progress) if not _is_answered(view, words))
    return next((f"nothing that was read says of {call.tool} whether {words[0]} is concerned" for call in silent), None)


def _changes(progress: Progress) -> Iterator[tuple[PlannedCall, CallView]]:
    plan, facts = progress.dossier.plan, progress.dossier.facts
    for call in plan.every_call if plan else ():
        if call.tool_class is ToolClass.CHANGE:
            yield call, view_of(call.tool, call.arguments, facts)


def _concern_of(call: PlannedCall, view: CallView, words: Sequence[str]) -> str | None:
    if word := _first_word_said((call.tool, *_texts(call.arguments)), words):
        return f"{word!r} in {call.tool}"
    for node in view.around:
        if word := _first_word_said(_texts(node.record), words):
            return f"{word!r} in what {node.seen.fact.tool} gave"
    return None


def _is_answered(view: CallView, words: Sequence[str]) -> bool:
    fields = (field for node in view.around for field in node.record.items())
    return any(value not in (None, "") and _first_word_said((name,), words) for name, value in fields)


def _first_word_said(texts: Iterable[str], words: Sequence[str]) -> str | None:
    return next((word for text in texts for word in words if says(text, word)), None)


def _texts(value: Json) -> Iterator[str]:
    """Every text of a value, and the name of every field that has a value."""
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
