"""The lines by which turns of a task tell each other when they began, what is done, and when the next turn comes."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from services.planner.core.foreign import in_english
from services.planner.core.intents import understand
from services.planner.core.outcomes import WriteState, read_outcome
from services.planner.core.request import LEAVE_PART, Request, as_object, now_of, objects, read_moment
from services.planner.core.spoken_times import find_end_time, find_interval, speaks_of_later
from services.planner.core.toolset import Toolset
from services.planner.core.wishes import PersonalWish, read_wishes, without_wishes
from shared.domain.instants import format_duration

_USUAL_INTERVAL = timedelta(hours=1)
_OVER = "Next: finished"


def build_next_line(request: Request, toolset: Toolset, answer: str) -> str:
    """The line of the answer that says whether and when the next turn comes."""
    now, step = now_of(request), find_interval(request.task) or _USUAL_INTERVAL
    until = find_end_time(request.task, now) if now else None
    if now and until:
        return _OVER if now >= until else _line_on_next_turn(min(step, until - now))
    if _is_over(request, answer):
        return _OVER
    if find_interval(request.task) or speaks_of_later(request.task) or _has_unfinished_part(request, toolset):
        return _line_on_next_turn(step)
    return _OVER


def _is_over(request: Request, answer: str) -> bool:
    """Whether the task has wishes, every one of them is done, and it asks for nothing besides."""
    text = in_english(request.task)
    wishes = read_wishes(text)
    return bool(wishes) and not open_wishes(request, wishes, answer) and not instructions_besides(text, wishes)


def _has_unfinished_part(request: Request, toolset: Toolset) -> bool:
    """Whether a part was left, or a write did not take hold."""
    writes = [call for call in request.calls if call.tool in toolset.writer_names]
    are_made = all(not call.failed and read_outcome(call, request).state is WriteState.DONE for call in writes)
    return not are_made or any(call.tool == LEAVE_PART and not call.failed for call in request.calls)


def _line_on_next_turn(step: timedelta) -> str:
    return f"Next: {format_duration(step)}"


_LIMITS_PATTERN = re.compile(
    r"\b(?:nobody|nothing|no one|else|alone)\b|^\w+ (?:comes?|arrives?|is|are|can|will)\b", re.I
)


def build_done_line(quote: str) -> str:
    """The line that reports a wish, quoted in the user's words, as done."""
    return f"Done: “{quote}”"


def open_wishes(request: Request, wishes: Sequence[PersonalWish], answer: str = "") -> tuple[PersonalWish, ...]:
    """The wishes that neither an earlier turn nor this turn's ``answer`` reports as done."""
    told_text = " ".join([*_agent_texts(request), answer])
    return tuple(wish for wish in wishes if build_done_line(wish.quote) not in told_text)


def _agent_texts(request: Request) -> list[str]:
    history = objects(request.section("history"))
    return [str(turn.get("text") or "") for turn in history if turn.get("role") == "agent"]


def is_limit(clause: str) -> bool:
    """Whether a clause only forbids something, or describes how things are."""
    return _LIMITS_PATTERN.search(clause) is not None


def instructions_besides(text: str, wishes: Iterable[PersonalWish]) -> list[str]:
    """The clauses of a text that ask for something outside its wishes."""
    reading = understand(without_wishes(text, tuple(wishes)))
    return [one for one in (*(action.clause for action in reading.actions), *reading.unknown) if not is_limit(one)]


def is_turn(request: Request) -> bool:
    """Whether the loop counts the task's turns."""
    return "turn" in as_object(request.section("now"))


def read_first_turn_time(request: Request) -> datetime | None:
    """The time of the first turn; None in the first turn, and if no turn tells it."""
    now_section = as_object(request.section("now"))
    return read_moment(now_section.get("first_turn")) if now_section.get("turn") not in (None, 1) else None
