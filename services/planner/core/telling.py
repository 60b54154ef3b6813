"""Messages to the user: what they want to be told, such as when something is that somebody asks for."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from services.planner.core.request import Call, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.spoken_times import SENTENCE_END, find_end_time, find_interval
from services.planner.core.tending import ReadRow, rows_of, tells_somebody
from services.planner.core.words import parts, text_stems

_ME_PATTERN = re.compile(r"\b(?:tell|let) me\b(?P<what>.+)", re.I | re.S)
_WAITING_PATTERN = re.compile(r"\bwhich\b.*\b(?:wait|waits|waiting|need|needs|open|left)\b", re.I | re.S)
_AT_THE_END = re.compile(r"\b(?:afternoon|evening|at the end|in the end|finally|nothing more|before I)\b", re.I)
_CONDITION_PATTERN = re.compile(
    r"\b(?:if|unless|once|as soon as|when (?:all|everybody|everyone|it|he|she|they))\b", re.I
)


class TellingCalls(NamedTuple):
    """Calls that tell the user something, and sentences on what cannot be told."""

    calls: tuple[Call, ...] = ()
    untold: tuple[str, ...] = ()


def telling_calls(
    situation: Situation, writers: Sequence[ToolSpec], now: datetime, tended: Sequence[Call]
) -> TellingCalls:
    """The calls that tell the user what they asked for. ``tended``: the calls that the plan has already."""
    calls: list[Call] = []
    not_told: list[str] = []
    for sentence in filter(None, (part.strip() for part in SENTENCE_END.split(situation.text))):
        wish = _ME_PATTERN.search(sentence)
        if wish is None:
            continue
        call, reason = _message_to_user(sentence, wish["what"], situation, writers, now, tended)
        calls += [call] if call else []
        not_told += [reason] if reason else []
    return TellingCalls(tuple(calls), tuple(not_told))


def _message_to_user(
    sentence: str, topic: str, situation: Situation, writers: Sequence[ToolSpec], now: datetime, tended: Sequence[Call]
) -> tuple[Call | None, str]:
    if _CONDITION_PATTERN.search(sentence) or not _WAITING_PATTERN.search(topic):
        return None, f'"{sentence}" is not for rules alone to say'
    if _AT_THE_END.search(sentence) and not _is_last_turn(situation.text, now):
        return None, ""
    tool = next((writer for writer in writers if _is_plain_messenger(writer, sentence)), None)
    if tool is None:
        return None, f'no tool does "{sentence}"'
    waiting = [_row_title(row) for row in rows_of(situation) if row.sender and _is_starred(row, tended)]
    words = f"These wait for you: {'; '.join(waiting)}." if waiting else "Nothing waits for you."
    if any(words == value for row in rows_of(situation) for value in row.fields.values()):
        return None, ""
    return (tool.name, {tool.required[0]: words}), ""


def _is_last_turn(text: str, now: datetime) -> bool:
    until = find_end_time(text, now)
    return now.hour >= 12 if until is None else now + (find_interval(text) or timedelta(hours=1)) >= until


def _is_plain_messenger(tool: ToolSpec, sentence: str) -> bool:
    """Whether a tool sends a text, needs nothing but the text, and has a word of the sentence in its name."""
    return (
        tells_somebody(tool)
        and len(tool.required) == 1
        and bool(text_stems(sentence) & text_stems(tool.name.replace("_", " ")))
    )


def _is_starred(row: ReadRow, tended: Sequence[Call]) -> bool:
    """Whether a row is starred or flagged, now or by this plan."""
    if any(row.fields.get(name) is True for name in ("is_starred", "starred", "is_flagged", "flagged")):
        return True
    marking = [arguments for name, arguments in tended if parts(name)[0] in ("star", "flag")]
    return any(row.identifier in arguments.values() for arguments in marking)


def _row_title(row: ReadRow) -> str:
    title = next(
        (str(row.fields[name]) for name in ("subject", "title", "body") if row.fields.get(name)), str(row.identifier)
    )
    return f"{title} (from {row.fields.get('from_address') or row.sender})"
