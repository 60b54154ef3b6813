"""When a task that goes on with time is to be looked at again, by the words of its text; in doubt it is not over."""

from datetime import timedelta

from services.planner.core.clock_words import goes_on, interval, last_moment
from services.planner.core.foreign import in_english
from services.planner.core.outcomes import WriteState, outcome_of_call
from services.planner.core.present import now_of
from services.planner.core.request import LEAVE_PART, LOCAL, Request
from services.planner.core.toolset import Toolset
from services.planner.core.turn_record import instructions_besides, open_wishes
from services.planner.core.wishes import read_wishes
from shared.domain.iso_duration import written_duration

_USUAL = timedelta(hours=1)
_OVER = "Next: finished"


def next_line(request: Request, toolset: Toolset, answer: str) -> str:
    """The line by which an answer says it."""
    now, step = now_of(request), interval(request.task) or _USUAL
    until = last_moment(request.task, now) if now else None
    if now and until:
        return _OVER if now >= until else _goes_on(min(step, until - now))
    if _is_over(request, answer):
        return _OVER
    if interval(request.task) or goes_on(request.task) or _is_open(request, toolset):
        return _goes_on(step)
    return _OVER


def _is_over(request: Request, answer: str) -> bool:
    """Whether the task has wishes, every one of them is done, and it asks for nothing besides."""
    text = in_english(request.task)
    wishes = read_wishes(text)
    return bool(wishes) and not open_wishes(request, wishes, answer) and not instructions_besides(text, wishes)


def _is_open(request: Request, toolset: Toolset) -> bool:
    """Whether a part was left, or a write did not take hold."""
    writers = {tool.name for tool in toolset.writers} - LOCAL
    made = [call for call in request.calls if call.tool in writers]
    return any(call.tool == LEAVE_PART and not call.failed for call in request.calls) or any(
        call.failed or outcome_of_call(call, request).state is not WriteState.DONE for call in made
    )


def _goes_on(step: timedelta) -> str:
    return f"Next: {written_duration(step)}"
