"""Days as servers and people write them: ``2026-03-01``, ``01.03.2026``, ``March 1, 2026``; some read two ways."""

import re
from collections.abc import Iterator
from datetime import date

from shared.domain.exact_json import Json

_MONTHS = {name: place for place, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)}
_MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
_MIDNIGHT = r"(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?)?"
_WRITINGS = tuple(
    re.compile(rf"^{writing}{_MIDNIGHT}$", re.ASCII)
    for writing in (
        r"(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})",
        r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)",
        rf"{_MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[ -]{_MONTH}[ -,]+(?P<y>\d{{4}})",
        r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
    )
)
_EITHER_ORDER = re.compile(rf"^(\d{{1,2}})([/-])(\d{{1,2}})\2(\d{{4}}){_MIDNIGHT}$", re.ASCII)


def read_days(value: Json) -> frozenset[date]:
    """The days that a text may name: one; two where day and month may stand in either order; none if it is no day."""
    if not isinstance(value, str) or not 8 <= len(value.strip()) <= 35:
        return frozenset()
    return frozenset(_readings(value.strip()))


def name_the_same_day(one: Json, other: Json) -> bool:
    """Whether both name one day, where at least one of them can be read in one way only."""
    left, right = read_days(one), read_days(other)
    return bool(left & right) and 1 in (len(left), len(right))


def _readings(text: str) -> Iterator[date]:
    for writing in _WRITINGS:
        if match := writing.match(text):
            parts = match.groupdict()
            month = _MONTHS.get(parts["name"][:3].lower(), 0) if parts.get("name") else int(parts["m"])
            yield from _day(int(parts["y"]), month, int(parts["d"]))
    if match := _EITHER_ORDER.match(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        yield from _day(year, first, second)
        yield from _day(year, second, first)


def _day(year: int, month: int, day: int) -> Iterator[date]:
    try:
        yield date(year, month, day)
    except ValueError:  # no month has such a day
        return
