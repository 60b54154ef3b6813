"""Days and hours as people write them: ``Friday, 25 September, 17:00``, ``tomorrow at 9 am``, ``2026-09-25 17:00``."""

import re
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from services.planner.core.mentions import MONTH, MONTHS

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_DAY_PATTERN = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?<!-)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m>{MONTH})\b"
    rf"|(?P<m2>{MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b|(?P<near>today|tonight|tomorrow)\b"
    rf"|(?P<week>{'|'.join(_WEEKDAYS)})s?\b)",
    re.I,
)
_HOUR_PATTERN = re.compile(
    r"(?<![\d.,$€£-])(?P<h>[01]?\d|2[0-3])[:.h](?P<min>[0-5]\d)(?![\d.]\d)\s*(?P<half>[ap]\.?m\b)?"
    r"|\b(?P<h2>1[0-2]|[1-9])\s*(?P<half2>[ap]\.?m\b)|\bat\s+(?P<h3>1?\d|2[0-3])(?:\s*o['’]clock)?(?![\d:.])"
    r"|\b(?P<noon>noon|midday)\b",
    re.I,
)
_YEAR_PATTERN = re.compile(r"\.?,?\s+\d{4}\b")
_BEHIND = timedelta(days=30)  # a date without a year may lie so far back; what lies further back is next year's
_WORKING_DAY = 8


class SpokenTime(NamedTuple):
    """A time that a text names. ``day`` or ``hour`` is None if it names none."""

    day: date | None
    hour: time | None

    @property
    def is_whole(self) -> bool:
        return self.day is not None and self.hour is not None


def find_time(text: str, now: datetime) -> SpokenTime:
    """The first day and the first hour that a text names; a weekday is the next one from ``now`` on.

    A weekday directly before a date adds nothing.
    """
    days = list(_DAY_PATTERN.finditer(text))
    dated = [match for match in days if not match["week"]]
    day = _day(next(iter((*dated, *days))), now.date()) if days else None
    hour = next(
        (time_of_day for match in _HOUR_PATTERN.finditer(text) if (time_of_day := _hour(match)) is not None), None
    )
    return SpokenTime(day, hour)


def find_days_without_year(text: str, now: datetime) -> list[tuple[date, int, int]]:
    """Each day that a text names by day and month alone, in the year that is meant, with start and end of its words."""
    dated = [match for match in _DAY_PATTERN.finditer(text) if match["m"] or match["m2"]]
    days = [(_day(match, now.date()), match) for match in dated if not _YEAR_PATTERN.match(text, match.end())]
    return [(day, match.start(), match.end()) for day, match in days if day is not None]


def say_time(start: datetime, end: datetime | None = None) -> str:
    """The time in words: ``Friday, 25 September 2026, 17:00 to 18:00 (UTC)``.

    The end is left out if it is None, or not on the same day after ``start``.
    """
    hours = f"{start:%H:%M} to {end:%H:%M}" if end and end.date() == start.date() and end > start else f"{start:%H:%M}"
    zone = f" ({start:%Z})" if start.tzinfo else ""
    return f"{start:%A}, {start.day} {start:%B} {start.year}, {hours}{zone}"


def _day(match: re.Match[str], today: date) -> date | None:
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        if match["near"]:
            return today + timedelta(days=match["near"].lower() == "tomorrow")
        if match["week"]:
            ahead = (_WEEKDAYS.index(match["week"].lower()) - today.weekday()) % 7
            return today + timedelta(days=ahead)
        month = next(n for n, name in enumerate(MONTHS, 1) if name[:3] == (match["m"] or match["m2"]).lower()[:3])
        day = date(today.year, month, int(match["d"] or match["d2"]))
        return day.replace(year=today.year + 1) if day < today - _BEHIND else day
    except ValueError:
        return None


def _hour(match: re.Match[str]) -> time | None:
    if match["noon"]:
        return time(12)
    half = (match["half"] or match["half2"] or "").lower()[:1]
    hour, minute = int(match["h"] or match["h2"] or match["h3"]), int(match["min"] or 0)
    if half:
        hour = hour % 12 + 12 * (half == "p")
    elif match["h3"] and 0 < hour < _WORKING_DAY:
        hour += 12
    return time(hour, minute) if hour < 24 else None
