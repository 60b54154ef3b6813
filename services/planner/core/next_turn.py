"""When a task that goes on with time is to be looked at again, by the words of its text; in doubt it is not over."""

from datetime import timedelta

from services.planner.core.clock_words import goes_on, interval, last_moment
from services.planner.core.foreign import in_english
from services.planner.core.present import now_of
from services.planner.core.request import Request, objects
from services.planner.core.turn_record import instructions_besides, open_wishes
from services.planner.core.wishes import read_wishes
from shared.domain.exact_json import JsonObject
from shared.domain.iso_duration import written_duration

_USUAL = timedelta(hours=1)
_DONE = "verified"


def next_turn(request: Request) -> JsonObject:
    """The structured output NEXT_TURN."""
    now, step = now_of(request), interval(request.task) or _USUAL
    until = last_moment(request.task, now) if now else None
    if now and until:
        if now >= until:
            return _as_reply(True, None, f"It is {now:%H:%M}, and the task was to be looked after until {until:%H:%M}.")
        return _as_reply(False, min(step, until - now), f"The task is to be looked after until {until:%H:%M}.")
    if _is_over(request):
        return _as_reply(True, None, "Every wish of the task is done.")
    if interval(request.task) or goes_on(request.task):
        return _as_reply(False, step, "The task speaks of what comes later.")
    if any(write.get("status") != _DONE for write in objects(request.section("writes"))):
        return _as_reply(False, step, "Not every write took hold.")
    if request.section("unmet"):
        return _as_reply(False, step, "Something of the task is still open.")
    return _as_reply(True, None, "Nothing of the task is left for later.")


def _is_over(request: Request) -> bool:
    """Whether the task has wishes, every one of them is done, and it asks for nothing besides."""
    text = in_english(request.task)
    wishes = read_wishes(text)
    return bool(wishes) and not open_wishes(request, wishes) and not instructions_besides(text, wishes)


def _as_reply(finished: bool, step: timedelta | None, reason: str) -> JsonObject:
    return {"finished": finished, "time_step": written_duration(step) if step else "", "reason": reason}
