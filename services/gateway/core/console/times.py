"""Times as people read them: on the reader's clock, with how far away they are."""

from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_STEPS = ((timedelta(minutes=1), 1, "s"), (timedelta(hours=1), 60, "min"), (timedelta(days=2), 3600, "h"))
_DAY = 24 * 3600
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class Clock(NamedTuple):
    """The moment at which a page is made, and where its reader is."""

    now: datetime
    zone: ZoneInfo


def zone_named(name: str) -> ZoneInfo:
    """UTC where the name is none that we know."""
    try:
        return ZoneInfo(name if len(name) < 64 else "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def wall_time(at: datetime, clock: Clock) -> str:
    """``10:01`` today, ``22 Nov 10:01`` on another day, with the year where it is another one."""
    local, today = at.astimezone(clock.zone), clock.now.astimezone(clock.zone)
    time = f"{local:%H:%M}"
    if local.date() == today.date():
        return time
    day = f"{local.day} {_MONTHS[local.month - 1]}"
    return f"{day} {time}" if local.year == today.year else f"{day} {local.year} {time}"


def day_word(date: str) -> str:
    """``2026-11-02`` as ``2 Nov``."""
    _, month, day = date.split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]}"


def exact_time(at: datetime, clock: Clock) -> str:
    local = at.astimezone(clock.zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def distance(at: datetime, now: datetime) -> str:
    """``in 3 h``, ``5 min ago``, ``now``."""
    gap = abs(at - now)
    words = span(gap)
    if gap < timedelta(seconds=1):
        return "now"
    return f"in {words}" if at > now else f"{words} ago"


def span(length: timedelta) -> str:
    """``45 s``, ``12 min``, ``36 h``, ``3 days``."""
    seconds = int(length.total_seconds())
    for limit, unit, word in _STEPS:
        if length < limit:
            return f"{seconds // unit} {word}"
    return f"{seconds // _DAY} days"
