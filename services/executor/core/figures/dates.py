"""Dates and moments in any usual writing: ``2026-01-15``, ``15.01.2026``, ``Jan 15, 2026``, ``15th of May 2026``."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Literal

from shared.domain.exact_json import Json

DateOrder = Literal["", "day_first", "month_first"]
_LONGEST = 60
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_TIME = r"(?:,?[T\s]+(?:at\s+)?\d{1,2}:\d{2}.*)?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_PATTERNS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"(?P<year>\d{4})[-/.](?P<month_number>\d{1,2})[-/.](?P<day>\d{1,2})",
        rf"{_WEEKDAY}{_DAY}(?:\s+of)?[\s-]+{_MONTH},?[\s-]+{_YEAR}",
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+{_YEAR}",
        r"(?P<day>\d{1,2})\.\s?(?P<month_number>\d{1,2})\.\s?(?P<year>\d{4}|\d{2})",
    )
)
_UNORDERED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d{2})")
_WHOLE = tuple(re.compile(f"(?:{pattern.pattern}){_TIME}", re.I | re.DOTALL) for pattern in _PATTERNS)
_WHOLE_UNORDERED = re.compile(f"{_UNORDERED.pattern}{_TIME}", re.DOTALL)
_YEARLESS = re.compile(rf"\b(?:{_DAY}(?:\s+of)?\s+{_MONTH}|{_MONTH.replace('month', 'other')}\s+"
                       rf"{_DAY.replace('day', 'that')})(?!\s*,?\s*\d{{4}})\b", re.I)  # fmt: skip
_QUARTERS = "q1 q2 q3 q4 first second third fourth".split()
_QUARTER = r"(?P<quarter>Q[1-4]|(?:first|second|third|fourth)(?=\s+quarter))(?:\s+quarter)?"
_PERIOD = re.compile(rf"\b(?:(?:{_QUARTER}|{_MONTH})"
                     r"(?:\s+of)?[\s,]*)?\b(?P<in_year>(?:19|20)\d\d)?\b", re.I)  # fmt: skip
_NEIGHBOURS = {"this": 0, "current": 0, "last": -1, "previous": -1, "next": 1}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def read_possible_dates(value: Json) -> tuple[date, ...]:
    """The date that a value states by itself; two where day and month can be told in either order, the day first."""
    if not isinstance(value, str) or len(value) > _LONGEST or not any(mark.isdigit() for mark in value):
        return ()
    return _parse_dates(value.strip())


def read_date(value: Json, order: DateOrder = "") -> date | None:
    """The one date that a value states; None where it states none, or two and ``order`` does not say which."""
    found = read_possible_dates(value)
    if len(found) == 2 and order:
        return found[0] if order == "day_first" else found[1]
    return found[0] if len(found) == 1 else None


def find_date_order(values: Iterable[Json]) -> DateOrder:
    """The order of day and month that some value of a list settles for all of them; empty where none does."""
    for value in values:
        match = _WHOLE_UNORDERED.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= _LONGEST else None
        if match and int(match[1]) > 12 >= int(match[2]):
            return "day_first"
        if match and int(match[2]) > 12 >= int(match[1]):
            return "month_first"
    return ""


def read_moment(value: Json, order: DateOrder = "") -> datetime | None:
    """A date with its time of day, in UTC; midnight where it has none."""
    if isinstance(value, str) and has_time(value):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            moment = None
        if moment is not None:
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    day = read_date(value, order)
    return datetime.combine(day, time(), UTC) if day else None


def has_time(value: Json) -> bool:
    return isinstance(value, str) and re.match(r"\s*\d{4}-\d\d-\d\d[T ]\d\d", value) is not None


@lru_cache(maxsize=64)
def find_dates(text: str, today: date) -> frozenset[date]:
    """The dates that a text states, and the first and last days of the periods that it names.

    A day without its year is of this year, the last or the next; a weekday is one of those around today.
    """
    found: set[date] = set()
    for pattern in (*_PATTERNS, _UNORDERED):
        for match in re.finditer(rf"(?<!\d){pattern.pattern}(?!\d)", text, re.I):
            found.update(read_possible_dates(match[0]))
    years = range(max(today.year - 1, 1), today.year + 2)
    for match in _YEARLESS.finditer(text):
        month = _month(match["month"] or match["other"])
        days = (_date(year, month, int(match["day"] or match["that"])) for year in years)
        found.update(day for day in days if day)
    found.update(_find_period_limits(text, today))
    return frozenset(found)


def _find_period_limits(text: str, today: date) -> Iterator[date]:
    """Of each year, quarter or month that a text names: its first day, its last, and the day after it."""
    for match in _PERIOD.finditer(text):
        named = [int(match["in_year"])] if match["in_year"] else [today.year - 1, today.year, today.year + 1]
        first, months = (1, 12) if not match["quarter"] and not match["month"] else _find_span(match)
        if match["in_year"] or match["quarter"] or match["month"]:
            for year in named:
                yield from _find_limit_days(year, first, months)
    if today.year < 2:
        return
    words = text.casefold()
    for word, step in _NEIGHBOURS.items():
        if f"{word} year" in words:
            yield from _find_limit_days(today.year + step, 1, 12)
        if f"{word} month" in words:
            year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
            yield from _find_limit_days(year, month + 1, 1)
        if f"{word} quarter" in words:
            year, quarter = divmod(today.year * 4 + (today.month - 1) // 3 + step, 4)
            yield from _find_limit_days(year, quarter * 3 + 1, 3)
        if f"{word} week" in words:
            monday = today + timedelta(days=7 * step - today.weekday())
            yield from (monday + timedelta(days=day) for day in (0, 4, 6, 7))
    weekdays = {_WEEKDAYS.index(name) for name in _WEEKDAYS if name in words}
    near = (today + timedelta(days=step) for step in range(-7, 15))
    yield from (day for day in near if day.weekday() in weekdays)


def _find_span(match: re.Match[str]) -> tuple[int, int]:
    """The first month of a period, and how many it has."""
    if match["month"]:
        return _month(match["month"]), 1
    return 3 * (_QUARTERS.index(match["quarter"].casefold()) % 4) + 1, 3


def _find_limit_days(year: int, month: int, months: int) -> Iterator[date]:
    first = _date(year, month, 1)
    after = _date(year + (month + months - 1) // 12, (month + months - 1) % 12 + 1, 1)
    if first and after:
        yield from (first, after - timedelta(days=1), after)


@lru_cache(maxsize=16_384)
def _parse_dates(text: str) -> tuple[date, ...]:
    for pattern in _WHOLE:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            month = int(parts["month_number"]) if parts.get("month_number") else _month(parts["month"])
            day = _date(_year(parts["year"]), month, int(parts["day"]))
            return (day,) if day else ()
    match = _WHOLE_UNORDERED.fullmatch(text)
    if match is None:
        return ()
    one, other, year = int(match[1]), int(match[2]), _year(match[3])
    both = (_date(year, other, one), _date(year, one, other))
    return tuple(dict.fromkeys(day for day in both if day))


def _year(text: str) -> int:
    return int(text) if len(text) == 4 else 2000 + int(text)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:  # a day that no month has
        return None
