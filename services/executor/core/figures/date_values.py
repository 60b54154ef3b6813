"""The day or the moment that a value is: ``2026-01-15``, ``15.01.2026``, ``Jan 15, 2026``, ``15th of May 2026``."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, tzinfo
from functools import lru_cache
from typing import Literal, NamedTuple

from services.executor.core.figures.dates import find_dates
from services.executor.core.figures.tokens import split_words
from shared.domain.exact_json import Json

DateOrder = Literal["", "day_first", "month_first"]


class ReadMoment(NamedTuple):
    """A value that is a date, a time, or both; ``day`` and ``hour`` are of the zone that the text is written in."""

    day: date | None
    hour: time | None


_LONGEST = 60
_ANY_DAY = date(2000, 1, 1)  # a day with its year is the same from wherever it is told
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)|\d[/.-]\s?\d{1,2}[/.-]\s?\d\d(?!\d)")
_TIME = re.compile(r"(?:,?[T\s]+(?:at\s+)?\d{1,2}:\d{2}.*)$", re.DOTALL)
_UNORDERED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d{2})(?!\d)")
_MOMENT = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d")
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MIDNIGHT = re.compile(r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?$")
_COMPACT = re.compile(r"[12]\d{7}", re.ASCII)
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.0+)?)?")


def read_possible_dates(value: Json) -> tuple[date, ...]:
    """The date that a value states by itself; two where day and month can be told in either order, the day first."""
    if not isinstance(value, str) or len(value) > _LONGEST or not _YEAR.search(value):
        return ()
    return _read_days(value.strip())


@lru_cache(maxsize=16_384)
def _read_days(text: str) -> tuple[date, ...]:
    text = _TIME.sub("", text)
    found = find_dates(text, split_words(text), (), _ANY_DAY, relative=False)
    whole = next((one for one in found if (one.start, one.end) == (0, len(text))), None)
    periods = whole.periods if whole else ()
    return tuple(period.first for period in periods) if all(one.first == one.last for one in periods) else ()


def read_whole_days(value: Json) -> frozenset[date]:
    """The days that a value may name, where no time of day but midnight stands beside them; also ``20260301``."""
    text = _MIDNIGHT.sub("", value.strip()) if isinstance(value, str) else ""
    if ":" in text:
        return frozenset()
    return frozenset(read_possible_dates(f"{text[:4]}-{text[4:6]}-{text[6:]}" if _COMPACT.fullmatch(text) else text))


def name_the_same_day(one: Json, other: Json) -> bool:
    """Whether both name one day, where at least one of them can be read in one way only."""
    left, right = read_whole_days(one), read_whole_days(other)
    return bool(left & right) and 1 in (len(left), len(right))


def read_date(value: Json, order: DateOrder = "") -> date | None:
    """The one date that a value states; None where it states none, or two and ``order`` does not say which."""
    found = read_possible_dates(value)
    if len(found) == 2 and order:
        return found[0] if order == "day_first" else found[1]
    return found[0] if len(found) == 1 else None


def find_date_order(values: Iterable[Json]) -> DateOrder:
    """The order of day and month that some value of a list settles for all of them; empty where none does."""
    for value in values:
        match = _UNORDERED.match(value.strip()) if isinstance(value, str) and len(value) <= _LONGEST else None
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
    return isinstance(value, str) and _MOMENT.match(value) is not None


def read_machine_moment(text: str, zone: tzinfo | None) -> ReadMoment | None:
    """A date or a time as programs write it, in that zone; None for any other text."""
    if (match := _HOUR.fullmatch(text)) is not None:
        return ReadMoment(None, time(int(match[1]), int(match[2]), int(match[3] or 0)))
    if not _ISO_DAY.match(text):
        return None
    try:
        if len(text) == len("2026-03-04"):
            return ReadMoment(date.fromisoformat(text), None)
        moment = datetime.fromisoformat(text)
        local = moment.astimezone(zone) if moment.tzinfo and zone else moment
    except (ValueError, OverflowError):  # no day of any month, or beyond the calendar
        return None
    return ReadMoment(local.date(), local.time().replace(microsecond=0))
