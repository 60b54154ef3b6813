"""Dates in the ways in which countries write them, with the month's name in a dozen languages."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

from babel import Locale

from services.learner.core.entities.kinds import EntityKind, FoundEntity

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "nb", "fi", "cs", "tr")
_MONTH = r"(?P<month>[^\W\d_]{3,12})\.?"
_NTH = r"(?:st|nd|rd|th|er|\.)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\w-])(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})(?![\d-])",
        r"(?<![\w/])(?P<year>\d{4})/(?P<m>\d{1,2})/(?P<day>\d{1,2})(?![\d/])",
        r"(?<![\w.])(?P<day>\d{1,2})\.[ ]?(?P<m>\d{1,2})\.[ ]?(?P<year>\d{4})(?!\d)",
        r"(?P<year>\d{4})年(?P<m>\d{1,2})月(?P<day>\d{1,2})日",
        rf"(?<![\w.])(?P<day>\d{{1,2}}){_NTH}?[ ](?:de |of )?{_MONTH}(?: de|,)?[ ](?P<year>\d{{4}})(?!\d)",
        rf"(?<!\w){_MONTH}[ ](?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?[ ](?P<year>\d{{4}})(?!\d)",
    )
)
_SLASHED = re.compile(r"(?<![\w/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<year>\d{4})(?![\d/])")
_TWELVE = 12


def dates(text: str) -> Iterator[FoundEntity]:
    """Days, as ISO 8601; one that could be two days (``03/04/2026``) stays as it is written."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = int(parts["m"]) if parts.get("m") else months().get(parts["month"].casefold(), 0)
            yield from _find_date(match, int(parts["year"]), month, int(parts["day"]))
    for match in _SLASHED.finditer(text):
        yield from _read_slashed(match)


def _read_slashed(match: re.Match[str]) -> Iterator[FoundEntity]:
    first, second, year = int(match["a"]), int(match["b"]), int(match["year"])
    if first > _TWELVE or first == second:
        yield from _find_date(match, year, second, first)
    elif second > _TWELVE:
        yield from _find_date(match, year, first, second)
    elif _is_date(year, first, second):
        yield FoundEntity(EntityKind.DATE, match[0], match[0], match.start(), match.end())


def _find_date(match: re.Match[str], year: int, month: int, day: int) -> Iterator[FoundEntity]:
    if _is_date(year, month, day):
        said = date(year, month, day).isoformat()
        yield FoundEntity(EntityKind.DATE, said, said, match.start(), match.end())


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


@cache
def months() -> dict[str, int]:
    """Month by its name or abbreviation, in small letters and without a full stop."""
    names: dict[str, int] = {}
    for language in _LANGUAGES:
        forms = Locale(language).months
        for form in (forms["format"], forms["stand-alone"]):
            for width in ("abbreviated", "wide"):
                for number, name in form[width].items():
                    names.setdefault(str(name).casefold().rstrip("."), int(number))
    return names
