"""The grammar of dates in words: for each pattern of words the periods that it means, which ``dates`` looks for.

A pattern is a regular expression over the characters of ``vocabulary.Role``, so that one serves all languages.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, date, timedelta
from typing import NamedTuple

from dateutil.relativedelta import relativedelta


class Period(NamedTuple):
    """A period of days from the first to the last, both included; a single day if the two are equal."""

    first: date
    last: date


class DateWords(NamedTuple):
    """The words that a pattern matched, with the values of its named parts."""

    signs: str
    values: Mapping[str, int]
    today: date


_Reader = Callable[[DateWords], Sequence[Period]]
_NEAR = timedelta(days=250)  # a day and month without a year is in the year that brings it nearest
MOST_SPELLED_DAYS = 9_999
_MOST_WORKDAYS = 40_000
_WORKDAYS = 5


def days_written(written: Sequence[tuple[int, int, int]]) -> list[Period]:
    return [Period(day, day) for parts in written if (day := _day(*parts)) is not None]


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:  # a day that no month has
        return None


def nearest_days(written: Sequence[tuple[int, int]], today: date) -> list[Period]:
    """The days that a day and month without a year can mean: the next one, and the last one if that is near too."""
    years = (today.year, today.year + 1, today.year - 1)
    days = days_written([(year, month, day) for month, day in written for year in years if MINYEAR <= year <= MAXYEAR])
    near = [period for period in days if abs(period.first - today) <= _NEAR]
    return near or days[:1]


def months_written(written: Sequence[tuple[int, int]]) -> list[Period]:
    starts = (_day(year, month, 1) for year, month in written if year < MAXYEAR)
    return [_period_from(start, relativedelta(months=1)) for start in starts if start is not None]


def quarter_of(year: int, number: int) -> Period:
    return _period_from(date(year, 3 * number - 2, 1), relativedelta(months=3))


def _period_from(start: date, length: relativedelta) -> Period:
    return Period(start, start + length - timedelta(days=1))


def _month_day(group: DateWords) -> Sequence[Period]:
    month, day, year = group.values["M"], group.values["N"], group.values.get("Y")
    return days_written([(year, month, day)]) if year else nearest_days([(month, day)], group.today)


def _day_range(group: DateWords) -> Sequence[Period]:
    month, year, today = group.values["M"], group.values.get("Y"), group.today
    ends = [
        days_written([(year, month, group.values[k])]) if year else nearest_days([(month, group.values[k])], today)
        for k in "AB"
    ]
    return [Period(first.first, last.last) for first, last in zip(*ends, strict=False) if first <= last]


def _month(group: DateWords) -> Sequence[Period]:
    month, today = group.values["M"], group.today
    if year := group.values.get("Y"):
        return months_written([(year, month)])
    if "n" in group.signs or "l" in group.signs:
        years = range(today.year, today.year + 2) if "n" in group.signs else range(today.year, today.year - 2, -1)
        return [
            one
            for one in months_written([(year, month) for year in years])
            if ("n" in group.signs) == (one.first > today)
        ][:1]
    near = [
        one
        for one in months_written([(today.year + shift, month) for shift in (0, 1, -1)])
        if abs(one.first - today) <= _NEAR
    ]
    return sorted(near, key=lambda one: one.last < today)


_UNITS = {"D": relativedelta(days=1), "K": relativedelta(weeks=1), "H": relativedelta(months=1)} | {
    "Q": relativedelta(months=3), "J": relativedelta(years=1)
}  # fmt: skip


def move_day(
    day: date, count: int, sign: str, *, is_working: bool = False, holidays: Collection[date] = ()
) -> date | None:
    """The day moved by ``count`` units, or back; None beyond the calendar. Working days are Mondays to Fridays without
    the holidays. What a month does not have becomes its last day.
    """
    try:
        if not is_working or sign != "D":
            return day + _UNITS[sign] * count
        step = timedelta(days=1 if count > 0 else -1)
        for _ in range(min(abs(count), _MOST_WORKDAYS)):
            day += step
            while day.weekday() >= _WORKDAYS or day in holidays:
                day += step
        return day
    except (OverflowError, ValueError):  # past the calendar's end
        return None


def _periods_away(group: DateWords) -> Sequence[Period]:
    """The day of ``in 30 days``, ``two weeks ago``, ``vor drei Tagen``, ``within ten working days``."""
    sign = next(mark for mark in group.signs if mark in "DKHJQ")
    is_past = any(mark in group.signs for mark in "avy")
    count = -group.values["N"] if is_past else group.values["N"]
    day = move_day(group.today, count, sign, is_working="w" in group.signs)
    return each_day(day) if day is not None else []


def _weekday(group: DateWords) -> Sequence[Period]:
    """``Friday`` is the next one, today included; ``next Friday`` that one or next week's, as people differ."""
    ahead = (group.values["W"] - group.today.weekday()) % 7
    if "K" in group.signs:
        week = group.today - timedelta(days=group.today.weekday()) + timedelta(weeks=1)
        return each_day(week + timedelta(days=group.values["W"]))
    if "l" in group.signs:
        return each_day(group.today - timedelta(days=(7 - ahead) % 7 or 7))
    first = group.today + timedelta(days=ahead)
    if "n" in group.signs:
        first = first if ahead else first + timedelta(weeks=1)
        week = group.today - timedelta(days=group.today.weekday()) + timedelta(weeks=1, days=group.values["W"])
        return each_day(first, week)
    return each_day(first) if ahead or "t" in group.signs else each_day(first, first + timedelta(weeks=1))


def each_day(*days: date) -> Sequence[Period]:
    return [Period(day, day) for day in dict.fromkeys(days)]


def _calendar_unit(group: DateWords) -> Sequence[Period]:
    """The period of ``next week``, ``this month``, ``last quarter``, ``le mois prochain``."""
    sign = next(mark for mark in group.signs if mark in "KHJQ")
    shift = 1 if "n" in group.signs else -1 if "l" in group.signs else 0
    return [_calendar_period_around(group.today, sign, shift)]


def _calendar_period_around(day: date, sign: str, shift: int) -> Period:
    """The week (K), month (H), year (J) or quarter (Q) that holds the day, moved by ``shift`` of them."""
    start = {
        "K": day - timedelta(days=day.weekday()),
        "H": day.replace(day=1),
        "J": day.replace(month=1, day=1),
        "Q": day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1),
    }[sign]
    return _period_from(start + _UNITS[sign] * shift, _UNITS[sign])


def _year_quarter(group: DateWords) -> Sequence[Period]:
    year = group.values.get("Y")
    if year:
        return [quarter_of(year, group.values["q"])]
    today = group.today
    near = [quarter_of(today.year + shift, group.values["q"]) for shift in (0, 1, -1)]
    return [one for one in near if abs(one.first - today) <= _NEAR or one.first <= today <= one.last]


def _year(group: DateWords) -> Sequence[Period]:
    return [_period_from(date(group.values["Y"], 1, 1), relativedelta(years=1))]


def _edges(group: DateWords) -> Sequence[Period]:
    """The days at an edge of a period: ``end of March`` is its last day or its last working day."""
    inner = DateWords(group.signs[1:], group.values, group.today)
    read = (
        _month
        if "M" in group.signs
        else _year_quarter
        if "q" in group.signs
        else _year
        if "Y" in group.signs
        else _calendar_unit
    )
    return [edge for period in read(inner) for edge in _edge(group.signs[0], period)]


def _edge(sign: str, period: Period) -> Sequence[Period]:
    if sign == "b":
        return each_day(period.first, _to_workday(period.first, 1))
    if sign == "e":
        return each_day(period.last, _to_workday(period.last, -1))
    middle = (
        period.first + timedelta(days=14)
        if (period.last - period.first).days < 31
        else period.first + (period.last - period.first) / 2
    )
    return each_day(middle)


def _to_workday(day: date, step: int) -> date:
    while day.weekday() >= _WORKDAYS:
        day += timedelta(days=step)
    return day


def _day_of_unit(group: DateWords) -> Sequence[Period]:
    """The day of ``the first of next month``, ``the 15th of the month``, ``le premier du mois prochain``."""
    first = _calendar_unit(group)[0].first
    return days_written([(first.year, first.month, group.values["N"])])


def _last_day(group: DateWords) -> Sequence[Period]:
    signs = group.signs[group.signs.index("D") + 1 :]
    inner = DateWords(signs, group.values, group.today)
    return [Period(one.last, one.last) for one in (_month(inner) if "M" in signs else _calendar_unit(inner))]


# Longest reading first: the first pattern that fits takes its words from those below it.
GRAMMAR: tuple[tuple[re.Pattern[str], _Reader, bool], ...] = tuple(
    (re.compile(pattern), reader, is_relative)
    for pattern, reader, is_relative in (
        (r"(?P<A>N)[r&]o*(?P<B>N)o*(?P<M>M)o*(?P<Y>Y)?", _day_range, False),
        (r"(?P<M>M)o*(?P<A>N)[r&]o*(?P<B>N)(?:o*(?P<Y>Y))?", _day_range, False),
        (r"(?:[WX]o*)?(?P<N>N)o*(?P<M>M)(?:o*(?P<Y>Y))?", _month_day, False),
        (r"(?:[WX]o*)?(?P<M>M)o*(?P<N>N)(?:o*(?P<Y>Y))?", _month_day, False),
        (r"[ebd]o*+(?:[nlt]o*+)?(?P<M>M)(?:o*(?P<Y>Y))?", _edges, False),
        (r"[ebd]o*(?P<q>q)o*(?P<Y>Y)?", _edges, False),
        (r"[ebd]i?o*(?:[nlt]o*[KHJQ]|[KHJQ][nlt]|[KHJQ])", _edges, True),
        (r"[ebd]o*(?P<Y>Y)", _edges, False),
        (r"lDo*(?P<M>M)(?:o*(?P<Y>Y))?", _last_day, False),
        (r"lDo*+(?:(?:[nlt]o*+)?H|Hn)", _last_day, True),
        (r"(?P<N>N)D?[oi]+(?:[nlt]o*H|H[nlt]?)", _day_of_unit, True),
        (r"(?P<M>M)o*(?P<Y>Y)", _month, False),
        (r"(?P<q>q)o*(?P<Y>Y)?", _year_quarter, False),
        (r"(?P<W>W)[oi]*nK|nK[oi]*(?P<V>W)|Kn[oi]*(?P<U>W)", _weekday, True),
        (r"(?<![iof])[iof]*i[of]*(?:t|n)?(?P<N>N)w?[DKHJ]w?", _periods_away, True),
        (r"vo*(?P<N>N)w?[DKHJ]|(?P<L>N)w?[DKHJ]w?a|y(?:N|r)?(?P<K>N)[DKHJ]w?", _periods_away, True),
        (r"(?P<T>T)", lambda group: each_day(group.today + timedelta(days=group.values["T"])), True),
        (r"[nlt]o*(?P<W>W)|(?P<V>W)[nl]", _weekday, True),
        (r"(?P<W>W)", _weekday, True),
        (r"[nlt]o*[KHJQ]|[KHJQ](?:o*[nlt])", _calendar_unit, True),
        (r"(?:[intlcr]o*)(?P<M>M)", _month, False),
        (r"[io](?P<Y>Y)(?![.]?[DKHJM])", _year, False),
    )
)
