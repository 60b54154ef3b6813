"""Telling: what the user wants to hear in the end, and when something is that somebody asks for."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from services.planner.core.clock_words import interval, last_moment
from services.planner.core.request import ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.tending import Call, ReadRow, is_told, rows_of
from services.planner.core.words import is_identifier, parts, text_stems, text_words
from shared.domain.exact_json import JsonObject

_SENTENCE = re.compile(r"\n+|(?<=[.!?])\s+")
_ME = re.compile(r"\b(?:tell|let) me\b(?P<what>.+)", re.I | re.S)
_WAITING = re.compile(r"\bwhich\b.*\b(?:wait|waits|waiting|need|needs|open|left)\b", re.I | re.S)
_AT_THE_END = re.compile(r"\b(?:afternoon|evening|at the end|in the end|finally|nothing more|before I)\b", re.I)
_CONDITION = re.compile(r"\b(?:if|unless|once|as soon as|when (?:all|everybody|everyone|it|he|she|they))\b", re.I)
_WHEN = re.compile(
    r"^[\s*•-]*(?i:please )?(?i:tell|inform|let)\s+(?P<who>[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)(?: know)?"
    r"\s+(?:when|at what time)\s+(?P<what>[^.;,]+?)\s+(?:is|are|takes place|starts|begins)\b"
)


class TellingCalls(NamedTuple):
    calls: tuple[Call, ...] = ()
    left: tuple[str, ...] = ()


def telling_calls(
    situation: Situation, writers: Sequence[ToolSpec], now: datetime, tended: Sequence[Call]
) -> TellingCalls:
    """``tended``: the calls that the plan has already."""
    calls: list[Call] = []
    left: list[str] = []
    for sentence in filter(None, (part.strip() for part in _SENTENCE.split(situation.text))):
        if asked := _WHEN.match(sentence):
            call, why = _of_event(asked["who"], asked["what"], situation, writers)
        elif wish := _ME.search(sentence):
            call, why = _to_user(sentence, wish["what"], situation, writers, now, tended)
        else:
            continue
        calls += [call] if call else []
        left += [why] if why else []
    return TellingCalls(tuple(calls), tuple(left))


def _to_user(
    sentence: str,
    what: str,
    situation: Situation,
    writers: Sequence[ToolSpec],
    now: datetime,
    tended: Sequence[Call],
) -> tuple[Call | None, str]:
    if _CONDITION.search(sentence) or not _WAITING.search(what):
        return None, f'"{sentence}" is not for rules alone to say'
    if _AT_THE_END.search(sentence) and not _is_last(situation.text, now):
        return None, ""
    tool = next((one for one in writers if _speaks_plainly(one, sentence)), None)
    if tool is None:
        return None, f'no tool does "{sentence}"'
    waiting = [_row_title(row) for row in rows_of(situation) if row.sender and _is_marked(row, tended)]
    words = f"These wait for you: {'; '.join(waiting)}." if waiting else "Nothing waits for you."
    if any(words == value for row in rows_of(situation) for value in row.fields.values()):
        return None, ""
    return (tool.name, {tool.required[0]: words}), ""


def _is_last(text: str, now: datetime) -> bool:
    until = last_moment(text, now)
    return now.hour >= 12 if until is None else now + (interval(text) or timedelta(hours=1)) >= until


def _speaks_plainly(tool: ToolSpec, sentence: str) -> bool:
    """A tool that takes words alone, and whose name the sentence uses."""
    return (
        is_told(tool)
        and len(tool.required) == 1
        and bool(text_stems(sentence) & text_stems(tool.name.replace("_", " ")))
    )


def _is_marked(row: ReadRow, tended: Sequence[Call]) -> bool:
    """Starred or flagged, now or by this plan."""
    if any(row.fields.get(name) is True for name in ("is_starred", "starred", "is_flagged", "flagged")):
        return True
    marking = [given for name, given in tended if parts(name)[0] in ("star", "flag")]
    return any(row.name in given.values() for given in marking)


def _row_title(row: ReadRow) -> str:
    title = next(
        (str(row.fields[name]) for name in ("subject", "title", "body") if row.fields.get(name)), str(row.name)
    )
    return f"{title} (from {row.fields.get('from_address') or row.sender})"


def _of_event(who: str, what: str, situation: Situation, writers: Sequence[ToolSpec]) -> tuple[Call | None, str]:
    """The answer to the latest message of somebody, with the time of the one appointment that is meant."""
    asked = list(_rows_from(who, situation))
    events = _rows_meant(what, who, situation)
    if not asked or len(events) != 1:
        return (
            None,
            f"{who} could not be told when {what} is: {'no message of theirs' if not asked else 'no one entry'}",
        )
    if any(_answers(row, asked) for row in rows_of(situation)):
        return None, ""
    tool = next((one for one in writers if _answers_with_words(one, asked[0])), None)
    if tool is None:
        return None, f"no tool answers {who}"
    words = next(name for name in tool.required if name != asked[0].key)
    body = f"Dear {who},\n\n{_time_of(events[0].fields)}\n\nKind regards"
    given: JsonObject = {asked[0].key: asked[0].name, words: body}
    return (tool.name, given), ""


def _rows_from(who: str, situation: Situation) -> Iterator[ReadRow]:
    names = text_words(who)
    for row in rows_of(situation):
        if row.sender and row.fields.get("folder") != "sent" and all(name in row.sender for name in names):
            yield row


def _rows_meant(what: str, who: str, situation: Situation) -> list[ReadRow]:
    """The entries with a beginning that are most like those words, and then most about that person; all that tie."""
    wanted, names = text_stems(what), text_stems(who)
    entries = [(text_stems(row.text), row) for row in rows_of(situation) if "start" in row.fields]
    found = [((len(wanted & said), len(names & said)), row) for said, row in entries if wanted & said]
    most = max((count for count, _ in found), default=(0, 0))
    return [row for count, row in found if count == most]


def _answers(row: ReadRow, asked: Sequence[ReadRow]) -> bool:
    return any(row.fields.get("in_reply_to") == one.name for one in asked)


def _answers_with_words(tool: ToolSpec, row: ReadRow) -> bool:
    if not is_told(tool) or row.key not in tool.required or len(tool.required) != 2:
        return False
    return not any(is_identifier(name) for name in tool.required if name != row.key)


def _time_of(event: JsonObject) -> str:
    """Title, day and hours as a sentence; in the calendar's own time."""
    start, end = _moment(event.get("start")), _moment(event.get("end"))
    if start is None:
        return f"{event.get('title')}: {event.get('start')}."
    hours = f"{start:%H:%M} to {end:%H:%M}" if end and end.date() == start.date() else f"{start:%H:%M}"
    place = f", {event['location']}" if event.get("location") else ""
    return f"{event.get('title')}: {start:%A}, {start.day} {start:%B} {start.year}, {hours} ({start:%Z}){place}."


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None
