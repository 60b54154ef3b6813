"""Days, hours and stretches of time as people write them: ``Friday, 25 September, 17:00``, ``tomorrow at 9 am``,
``every hour until noon``.
"""

import re
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from services.planner.core.mentions import MONTH, read_month
from services.planner.core.phrases import ANY_NUMBER, ANY_WEEKDAY, NUMBERS, WEEKDAYS

_DAY_PATTERN = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?<!-)(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m>{MONTH})\b"
    rf"|(?P<m2>{MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b|(?P<near>today|tonight|tomorrow)\b"
    rf"|(?P<week>{ANY_WEEKDAY})s?\b)",
    re.I,
)
_HALF_DAY = r"(?P<half_day>[ap]\.?m\b)"
_HOUR_PATTERNS = (
    re.compile(rf"(?<![\d.,$€£-])(?P<h>[01]?\d|2[0-3])[:.h](?P<m>[0-5]\d)(?![\d.]\d)\s*{_HALF_DAY}?", re.I),
    re.compile(rf"\b(?P<h>1[0-2]|[1-9])\s*{_HALF_DAY}", re.I),
    re.compile(r"\bat\s+(?P<h>1?\d|2[0-3])(?:\s*o['’]clock)?(?![\d:.]|\s*[ap]\.?m\b)", re.I),
    re.compile(r"\b(?P<noon>noon|midday)\b", re.I),
)
_YEAR_PATTERN = re.compile(r"\.?,?\s+\d{4}\b")
_BEHIND = timedelta(days=30)  # a date without a year may lie so far back; what lies further back is next year's
_WORKING_DAY = 8  # an hour below that, without am or pm, is one of the afternoon


class SpokenTime(NamedTuple):
    """A time that a text names. ``day`` or ``hour`` is None if it names none."""

    day: date | None
    hour: time | None


def find_time(text: str, now: datetime) -> SpokenTime:
    """The first day and the first hour that a text names; a weekday is the next one from ``now`` on.

    A weekday directly before a date adds nothing.
    """
    days = list(_DAY_PATTERN.finditer(text))
    dated = [match for match in days if not match["week"]]
    day = _read_day(next(iter((*dated, *days))), now.date()) if days else None
    hours = sorted((match for pattern in _HOUR_PATTERNS for match in pattern.finditer(text)), key=re.Match.start)
    return SpokenTime(day, next(filter(None, map(_read_hour, hours)), None))


def find_days_without_year(text: str, now: datetime) -> list[tuple[date, int, int]]:
    """Each day that a text names by day and month alone, in the year that is meant, with start and end of its words."""
    dated = [match for match in _DAY_PATTERN.finditer(text) if match["m"] or match["m2"]]
    days = [(_read_day(match, now.date()), match) for match in dated if not _YEAR_PATTERN.match(text, match.end())]
    return [(day, match.start(), match.end()) for day, match in days if day is not None]


def say_time(start: datetime, end: datetime | None = None) -> str:
    """The time in words: ``Friday, 25 September 2026, 17:00 to 18:00 (UTC)``.

    The end is left out if it is None, or not on the same day after ``start``.
    """
    hours = f"{start:%H:%M} to {end:%H:%M}" if end and end.date() == start.date() and end > start else f"{start:%H:%M}"
    zone = f" ({start:%Z})" if start.tzinfo else ""
    return f"{start:%A}, {start.day} {start:%B} {start.year}, {hours}{zone}"


def _read_day(match: re.Match[str], today: date) -> date | None:
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        if match["near"]:
            return today + timedelta(days=match["near"].lower() == "tomorrow")
        if match["week"]:
            return today + timedelta(days=(WEEKDAYS.index(match["week"].lower()) - today.weekday()) % 7)
        day = date(today.year, read_month(match["m"] or match["m2"]), int(match["d"] or match["d2"]))
        return day.replace(year=today.year + 1) if day < today - _BEHIND else day
    except ValueError:
        return None


def _read_hour(match: re.Match[str]) -> time | None:
    said = match.groupdict()
    if said.get("noon"):
        return time(12)
    hour, minute = read_count(said["h"]), 30 if said.get("half") else int(said.get("m") or 0)
    if half_day := said.get("half_day"):
        hour = hour % 12 + 12 * (half_day[0].lower() == "p")
    elif not said.get("m") and 0 < hour < _WORKING_DAY:
        hour += 12
    return time(hour, minute) if hour < 24 and minute < 60 else None


def read_count(word: str) -> int:
    """The number that digits or a word up to twelve are."""
    return int(word) if word.isdigit() else NUMBERS.index(word.lower()) + 1


_EVERY_PATTERN = re.compile(
    rf"\b(?:every|each)\s+(?:(?P<half>half(?: an)?)|(?P<n>\d{{1,3}}|{ANY_NUMBER})(?: or \w+)?)?\s*"
    r"(?P<unit>minute|hour)s?\b|\b(?P<hourly>hourly)\b",
    re.I,
)
_UNTIL_PATTERN = re.compile(
    r"\b(?:until|till|up to)\s+(?:about\s+|around\s+)?(?P<half>half past\s+)?"
    rf"(?:(?P<h>\d{{1,2}}|{ANY_NUMBER})(?:[:.](?P<m>\d\d))?\s*(?P<half_day>[ap]\.?m\.?)?|(?P<noon>noon|midday))\b",
    re.I,
)
SENTENCE_END = re.compile(r"\n+|(?<=[.!?])\s+")
_OF_USER = re.compile(r"(?:today |tomorrow )?(?:i|we|my|our)\b", re.I)
_FROM_HERE_ON = re.compile(
    r"\b(?:keep (?:an eye|watch\w*)|watch|look after|every(?! (?:\w+ )?(?:that|which|whose|who)\b)|until|till"
    r"|wait(?:s|ing)?|as (?:they|it) comes?|later"
    r"|(?:this|in the) (?:morning|afternoon|evening)|at the end|will (?:write|answer|reply|come)"
    r"|when (?:all|everybody|everyone|they|he|she|nothing)|once|after|tonight|today|tomorrow|remind)\b",
    re.I,
)


def find_interval(text: str) -> timedelta | None:
    """``every hour or so``, ``every 30 minutes``, ``every half hour``; None where nothing is said."""
    match = _EVERY_PATTERN.search(text)
    if match is None:
        return None
    unit = timedelta(minutes=1) if (match["unit"] or "").lower() == "minute" else timedelta(hours=1)
    return unit / 2 if match["half"] else unit * read_count(match["n"] or "1")


def find_end_time(text: str, now: datetime) -> datetime | None:
    """The latest time of the present day until which something is to be done; None where none is named.

    Until when the user is somewhere says nothing of that: ``I am in a meeting until noon``.
    """
    wishes = [part for part in SENTENCE_END.split(text) if not _OF_USER.match(part.strip())]
    named = [at for part in wishes for match in _UNTIL_PATTERN.finditer(part) if (at := _read_hour(match)) is not None]
    return datetime.combine(now.date(), max(named), now.tzinfo) if named else None


def speaks_of_later(text: str) -> bool:
    """Whether a text speaks of anything that comes later."""
    return _FROM_HERE_ON.search(text) is not None
