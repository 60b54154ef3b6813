"""Days that a text counts from the present one: ``overdue``, ``in the next 60 days``, ``last month``, ``in March``; the
column of days that its words mean, and whether a thing still stands.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from dateutil.relativedelta import relativedelta

from services.planner.core.languages import ENDED, SAME_DAY, STANDING, UNTIL_THEN
from services.planner.core.mentions import MONTH, read_month
from services.planner.core.phrases import ANY_NUMBER
from services.planner.core.records import FactRecord
from services.planner.core.spoken_times import read_count
from services.planner.core.words import STOP, are_related, field_stems, parts, stem, stems

_SPAN = rf"(?:\d{{1,3}}|{ANY_NUMBER})\s+(?:day|week|month|year)s?"
_STRETCH_PATTERN = re.compile(
    rf"\b(?:(?:(?:with)?in|over|during|for)\s+)?(?:the\s+)?(?:(?:next|coming|following)\s+(?P<ahead>{_SPAN})"
    rf"|(?:last|past|previous)\s+(?P<back>{_SPAN}))\b|\bwithin\s+(?P<within>{_SPAN})\b(?!\s+(?:of|after|before|from)\b)"
    r"|(?<!the )\b(?P<whole>(?:this|next|last|previous)\s+(?:week|month|year))\b"
    rf"|\b(?:in|during|of)\s+(?:(?P<month>{MONTH})\b(?!\s+\d\d?\b)(?:\s+(?P<year>(?:19|20)\d\d)\b)?|(?P<all_year>(?:19|20)\d\d)\b(?!-))",
    re.I,
)
_OVERDUE_PATTERN = re.compile(
    rf"\b(?:(?P<test>more than|over|at least)\s+(?P<delay>{_SPAN})\s+)?"
    r"(?:overdue|past\s+(?:(?:its|their|the)\s+)?due(?:\s+date)?)\b",
    re.I,
)
_PAST_PATTERN = re.compile(r"\b(?:was|were|did|had|has been|have been|\w+ed)\b", re.I)
_SAME_DAY = tuple(map(stems, SAME_DAY))
_UNTIL_THEN = frozenset().union(*(group for group in _SAME_DAY if group & stems(UNTIL_THEN)))
STATE_WORDS = stems("status state stage".split())
_STANDING, _ENDED = stems(STANDING), stems(ENDED)
_ISO_PATTERN = re.compile(r"^\d{4}-\d\d-\d\d")


class DayStretch(NamedTuple):
    """The stretch of days that words mean. ``earlier``: the one a year before, where they may mean either.

    ``is_overdue``: the days on which what is overdue was due.
    """

    first: date
    last: date
    start: int
    end: int
    earlier: tuple[date, date] | None = None
    is_overdue: bool = False


def find_stretches(text: str, today: date) -> list[DayStretch]:
    """The stretches of days that a text names; a month without a year may be the next or the last of its name."""
    stretches = [_read_stretch(match, text, today) for match in _STRETCH_PATTERN.finditer(text)]
    for match in _OVERDUE_PATTERN.finditer(text):
        latest = _add(today, match["delay"] or "1 day", -1)
        latest -= timedelta(days=bool(match["delay"]) and match["test"].lower() != "at least")
        stretches.append(DayStretch(date.min, latest, *match.span(), is_overdue=True))
    return stretches


def _read_stretch(match: re.Match[str], text: str, today: date) -> DayStretch:
    earlier = None
    if span := match["ahead"] or match["within"]:
        first, last = today, _add(today, span, 1)
    elif match["back"]:
        first, last = _add(today, match["back"], -1), today
    elif match["whole"]:
        first, last = _find_ends_of_whole(*match["whole"].lower().split(), today=today)
    elif match["all_year"]:
        first, last = _year(int(match["all_year"]))
    else:
        month = read_month(match["month"])
        year = int(match["year"] or today.year + (month < today.month))
        earlier = _month(year - 1, month) if month != today.month and not match["year"] else None
        first, last = _month(year, month)
        if earlier and _PAST_PATTERN.search(text):
            (first, last), earlier = earlier, None
    return DayStretch(first, last, *match.span(), earlier)


def _add(day: date, span: str, sign: int) -> date:
    """The day a number of days, weeks, months or years before or after another."""
    word, unit = span.lower().split()
    return day + sign * read_count(word) * _UNITS[unit.removesuffix("s")]


_UNITS = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "year": relativedelta(years=1),
}


def _month(year: int, month: int) -> tuple[date, date]:
    first = date(year, month, 1)
    return first, first + relativedelta(day=31)


def _year(year: int) -> tuple[date, date]:
    return date(year, 1, 1), date(year, 12, 31)


def _find_ends_of_whole(which: str, unit: str, *, today: date) -> tuple[date, date]:
    """The first and the last day of this, the next or the last whole ``unit``: week, month or year."""
    steps = {"this": 0, "next": 1}.get(which, -1)
    moved = today + steps * _UNITS[unit]
    if unit == "week":
        monday = moved - timedelta(days=moved.weekday())
        return monday, monday + timedelta(days=6)
    return _month(moved.year, moved.month) if unit == "month" else _year(moved.year)


def count_day(value: str) -> Decimal | None:
    """The day or moment as a number that grows with time; None if the value is neither."""
    try:
        return Decimal(date.fromisoformat(value[:10]).toordinal()) if _ISO_PATTERN.match(value) else None
    except ValueError:
        return None


def day_columns(listed: Sequence[FactRecord]) -> list[str]:
    columns = {name for record in listed for name, value in record.fields.items() if _ISO_PATTERN.match(str(value))}
    return sorted(columns)


def columns_of_day(word: str, columns: Iterable[str]) -> list[str]:
    """The columns of days that a word names, by its own stem or by a word for the same day: ``begin`` for a start."""
    listed, own = [*columns], stem(word)
    named = [name for name in listed if any(are_related(own, part) for part in field_stems(name))]
    alike = next((group for group in _SAME_DAY if own in group), frozenset[str]())
    return named or [name for name in listed if field_stems(name) & alike]


def column_of_stretch(text: str, stretch: DayStretch, columns: Sequence[str]) -> tuple[str, int, int] | None:
    """The column of days that a stretch is of, with start and end of the word that names it: the nearest before the
    stretch, else behind it.

    None where another word of what was done stands nearer, or where the word names several.
    """
    if stretch.is_overdue:
        due = columns_of_day("due", columns)
        return (due[0], stretch.start, stretch.end) if len(due) == 1 else None
    before = [*re.finditer(r"[A-Za-z]+", text[: stretch.start])][::-1]
    for word in (*before, *re.compile(r"[A-Za-z]+").finditer(text, stretch.end)):
        named = columns_of_day(word[0], columns) if word[0].lower() not in STOP else []
        if named or re.search(r"ed$|^paid$|^sent$", word[0], re.I):
            return (named[0], *word.span()) if len(named) == 1 else None
    return None


def must_stand(word: str, text: str, stretch: DayStretch, today: date) -> bool:
    """Whether what is settled or over does not fit: neither is it overdue, nor is it still to end or to fall due."""
    is_later = stem(word) in _UNTIL_THEN and stretch.last >= today and not _PAST_PATTERN.search(text)
    return stretch.is_overdue or is_later


def is_standing(record: FactRecord) -> bool | None:
    """Whether a thing is still open, by its state; None if the state does not say."""
    words = {word for word in find_state(record).lower().split() if word not in STOP - {"not"}}
    verdicts = {None if stem(word) not in _ENDED | _STANDING else stem(word) in _STANDING for word in words}
    return verdicts.pop() if len(verdicts) == 1 else None


def is_state(word: str) -> bool:
    """Whether a word is known to say how a thing stands."""
    return stem(word) in _ENDED | _STANDING


def is_for_good(word: str) -> bool:
    """Whether a word says how a thing stands once and for all, so that no later state takes its place."""
    return stem(word) in _ENDED


def find_state(record: FactRecord) -> str:
    """The states of a record in words, a flag such as ``paid`` being ``paid`` or ``unpaid``; empty if it has none."""
    flagged = {name: value for name, value in record.fields.items() if isinstance(value, bool)}
    flags = [" ".join(parts(name)) if flagged[name] else "unpaid" for name in flagged if field_stems(name) & _ENDED]
    told = [str(value) for name, value in record.fields.items() if field_stems(name) & STATE_WORDS]
    return " ".join([*told, *flags]).replace("_", " ")
