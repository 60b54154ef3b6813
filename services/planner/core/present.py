"""The user's present time, and which turn of a task that goes on with time it is, where a request tells it."""

from datetime import datetime

from services.planner.core.request import Request, as_object


def now_of(request: Request) -> datetime | None:
    known = request.section("now")
    said = known.get("current_time") if isinstance(known, dict) else request.sections.get("now", "").strip(' "')
    return _moment(said)


def is_turn(request: Request) -> bool:
    """Whether the loop counts the task's turns."""
    return "turn" in as_object(request.section("now"))


def find_beginning(request: Request) -> datetime | None:
    """When the first of the earlier turns was; None in the first one, and where nothing tells when it was."""
    known = as_object(request.section("now"))
    return _moment(known.get("first_turn")) if known.get("turn") not in (None, 1) else None


def _moment(said: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(said))
    except ValueError:
        return None
