"""The user's present time, where a request tells it."""

from datetime import datetime

from services.planner.core.request import Request


def now_of(request: Request) -> datetime | None:
    known = request.section("now")
    said = known.get("current_time") if isinstance(known, dict) else request.sections.get("now", "").strip(' "')
    try:
        return datetime.fromisoformat(str(said))
    except ValueError:
        return None
