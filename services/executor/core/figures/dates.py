"""Finds dates in a text: written out, in digits, relative to today, periods and repetitions.

Each word of a text is turned into one character (``vocabulary.WordRole``). A pattern is a regular expression over these
characters, so that one pattern serves all languages, with a function that gives the periods its words mean.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from dateutil.relativedelta import relativedelta

from services.executor.core.figures.vocabulary import (
    SpelledNumber,
    WordRole,
    WrittenToken,
    date_roles_by_word,
    fold_word,
    split_words,
)
from shared.domain.exact_json import Json


class Period(NamedTuple):
    """A period of days from the first to the last, both included; a single day if the two are equal."""

    first: date
    last: date


class _MatchedDateWords(NamedTuple):
    """The words that a date pattern matched: their role characters, and the numbers of the pattern's named groups by
    the first letters of their names.
    """

    signs: str
    values: Mapping[str, int]
    today: date


_ReadPeriods = Callable[[_MatchedDateWords], Sequence[Period]]
# A day and month without a year is in the year that brings it nearest.
_MOST_DISTANCE_WITHOUT_YEAR = timedelta(days=250)
_MOST_SPELLED_DAYS = 9_999
_WORKDAYS_A_WEEK = 5


def _list_single_days(dates: Sequence[tuple[int, int, int]]) -> list[Period]:
    return [Period(day, day) for parts in dates if (day := _date_or_none(*parts)) is not None]


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:  # a day that no month has
        return None


def _select_periods_near(periods: Iterable[Period], today: date) -> list[Period]:
    return [period for period in periods if abs(period.first - today) <= _MOST_DISTANCE_WITHOUT_YEAR]


def _years_around(today: date) -> list[int]:
    return [year for year in (today.year, today.year + 1, today.year - 1) if MINYEAR <= year <= MAXYEAR]


def _nearest_days(month_days: Sequence[tuple[int, int]], today: date) -> list[Period]:
    """The days that a day and month without a year can mean: the next one, and the last one if it is close, too."""
    days = _list_single_days([(year, month, day) for month, day in month_days for year in _years_around(today)])
    return _select_periods_near(days, today) or days[:1]


def _list_months(year_months: Iterable[tuple[int, int]], length: int = 1) -> list[Period]:
    """The periods of ``length`` months that begin with these months."""
    starts = (_date_or_none(year, month, 1) for year, month in year_months if year < MAXYEAR)
    return [Period(start, start + relativedelta(months=length, days=-1)) for start in starts if start is not None]


def _list_quarters(years: Iterable[int], number: int) -> list[Period]:
    return _list_months([(year, 3 * number - 2) for year in years], length=3)


def _read_month_day(words: _MatchedDateWords) -> Sequence[Period]:
    month = words.values["M"]
    day = words.values["N"]
    year = words.values.get("Y")
    return _list_single_days([(year, month, day)]) if year else _nearest_days([(month, day)], words.today)


def _read_day_range(words: _MatchedDateWords) -> Sequence[Period]:
    both_days = (words._replace(values={**words.values, "N": words.values[name]}) for name in "AB")
    starts, ends = map(_read_month_day, both_days)
    return [Period(start.first, end.last) for start, end in zip(starts, ends, strict=False) if start <= end]


def _read_month(words: _MatchedDateWords) -> Sequence[Period]:
    month, today = words.values["M"], words.today
    if year := words.values.get("Y"):
        return _list_months([(year, month)])
    if "n" in words.signs:
        periods = _list_months([(year, month) for year in (today.year, today.year + 1)])
        return [period for period in periods if period.first > today][:1]
    if "l" in words.signs:
        periods = _list_months([(year, month) for year in (today.year, today.year - 1)])
        return [period for period in periods if period.first <= today][:1]
    periods = _select_periods_near(_list_months([(year, month) for year in _years_around(today)]), today)
    return sorted(periods, key=lambda period: period.last < today)


_LENGTHS_BY_SIGN = {"D": relativedelta(days=1), "K": relativedelta(weeks=1), "H": relativedelta(months=1)} | {
    "Q": relativedelta(months=3), "J": relativedelta(years=1)
}  # fmt: skip


def move_day(
    day: date, count: int, sign: str, *, is_working: bool = False, holidays: Collection[date] = ()
) -> date | None:
    """The day ``count`` units later (earlier if negative); None beyond the calendar.

    ``sign``: the unit as a key of ``_LENGTHS_BY_SIGN``: ``D`` for days, ``K`` for weeks.

    Working days are Mondays to Fridays without the holidays. A day that the month does not have becomes its last day.
    """
    try:
        if not is_working or sign != "D":
            return day + _LENGTHS_BY_SIGN[sign] * count
        step = timedelta(days=1 if count > 0 else -1)
        weeks = 0 if holidays else max(abs(count) - 1, 0) // _WORKDAYS_A_WEEK  # whole ones need no look at each day
        day += 7 * weeks * step
        for _ in range(abs(count) - weeks * _WORKDAYS_A_WEEK):
            day += step
            while day.weekday() >= _WORKDAYS_A_WEEK or day in holidays:
                day += step
        return day
    except (OverflowError, ValueError):  # past the calendar's end
        return None


def _read_distance_from_today(words: _MatchedDateWords) -> Sequence[Period]:
    """The day of ``in 30 days``, ``two weeks ago``, ``vor drei Tagen``, ``within ten working days``."""
    sign = next(mark for mark in words.signs if mark in "DKHJQ")
    is_past = any(mark in words.signs for mark in "avy")
    count = -words.values["N"] if is_past else words.values["N"]
    day = move_day(words.today, count, sign, is_working="w" in words.signs)
    return _build_day_periods(day) if day is not None else []


def _read_weekday(words: _MatchedDateWords) -> Sequence[Period]:
    """``Friday`` is the coming one; on a Friday, today or in a week.

    ``next Friday`` is the coming one after today or that of next week, as people differ; ``last Friday`` is the one
    before today.
    """
    today, weekday = words.today, words.values["W"]
    ahead = (weekday - today.weekday()) % 7
    day_of_next_week = today + timedelta(weeks=1, days=weekday - today.weekday())
    if "K" in words.signs:
        return _build_day_periods(day_of_next_week)
    if "l" in words.signs:
        return _build_day_periods(today - timedelta(days=(7 - ahead) % 7 or 7))
    if "n" in words.signs:
        return _build_day_periods(today + timedelta(days=ahead or 7), day_of_next_week)
    coming_day = today + timedelta(days=ahead)
    if ahead or "t" in words.signs:
        return _build_day_periods(coming_day)
    return _build_day_periods(coming_day, coming_day + timedelta(weeks=1))


def _read_weekday_after_next(words: _MatchedDateWords) -> Sequence[Period]:
    """``Tuesday week`` is a week after the coming Tuesday."""
    return _build_day_periods(words.today + timedelta(days=(words.values["W"] - words.today.weekday()) % 7 + 7))


def _build_day_periods(*days: date) -> Sequence[Period]:
    return [Period(day, day) for day in dict.fromkeys(days)]


def _read_calendar_unit(words: _MatchedDateWords) -> Sequence[Period]:
    """The period of ``next week``, ``this month``, ``last quarter``, ``le mois prochain``."""
    sign, today = next(mark for mark in words.signs if mark in "KHJQ"), words.today
    start = {
        "K": today - timedelta(days=today.weekday()),
        "H": today.replace(day=1),
        "J": today.replace(month=1, day=1),
        "Q": today.replace(month=3 * ((today.month - 1) // 3) + 1, day=1),
    }[sign]
    shift = 1 if "n" in words.signs else -1 if "l" in words.signs else 0
    start += _LENGTHS_BY_SIGN[sign] * shift
    return [Period(start, start + _LENGTHS_BY_SIGN[sign] - timedelta(days=1))]


def _read_year_quarter(words: _MatchedDateWords) -> Sequence[Period]:
    if year := words.values.get("Y"):
        return _list_quarters([year], words.values["q"])
    return _select_periods_near(_list_quarters(_years_around(words.today), words.values["q"]), words.today)


def _read_year(words: _MatchedDateWords) -> Sequence[Period]:
    return _list_months([(words.values["Y"], 1)], length=12)


def _read_period_after(words: _MatchedDateWords, sign: str) -> Sequence[Period]:
    """The month, quarter, year or calendar unit that stands after the first word with that sign."""
    words = words._replace(signs=words.signs.partition(sign)[2])
    readers = {"M": _read_month, "q": _read_year_quarter, "Y": _read_year}
    read_period = next((readers[kind] for kind in readers if kind in words.signs), _read_calendar_unit)
    return read_period(words)


def _read_period_edges(words: _MatchedDateWords) -> Sequence[Period]:
    """The days at the edge of a period: ``end of March`` is its last day or its last working day."""
    edge = words.signs[0]
    return [day for period in _read_period_after(words, edge) for day in _list_edge_days(edge, period)]


def _list_edge_days(sign: str, period: Period) -> Sequence[Period]:
    if sign == "b":
        return _build_day_periods(period.first, _move_to_workday(period.first, 1))
    if sign == "e":
        return _build_day_periods(period.last, _move_to_workday(period.last, -1))
    length = period.last - period.first
    return _build_day_periods(period.first + (timedelta(days=14) if length.days < 31 else length / 2))


def _move_to_workday(day: date, step: int) -> date:
    while day.weekday() >= _WORKDAYS_A_WEEK:
        day += timedelta(days=step)
    return day


def _read_day_of_month(words: _MatchedDateWords) -> Sequence[Period]:
    """The day of ``the first of next month``, ``the 15th of the month``, ``le premier du mois prochain``."""
    month_start = _read_calendar_unit(words)[0].first
    return _list_single_days([(month_start.year, month_start.month, words.values["N"])])


def _read_weekday_of_month(words: _MatchedDateWords) -> Sequence[Period]:
    """The day of ``the second Tuesday of December``, ``the last Friday of next month``."""
    months = _read_period_after(words, "W")
    count = words.values.get("N", 0)
    weekday = words.values["W"]
    if not count:
        ends = (month.last for month in months)
        return _build_day_periods(*(end - timedelta(days=(end.weekday() - weekday) % 7) for end in ends))
    firsts = (month.first + timedelta(days=(weekday - month.first.weekday()) % 7) for month in months)
    days = [(first, first + timedelta(weeks=count - 1)) for first in firsts if 0 < count <= 5]
    return _build_day_periods(*(day for first, day in days if day.month == first.month))


def _read_last_day(words: _MatchedDateWords) -> Sequence[Period]:
    return _build_day_periods(*(period.last for period in _read_period_after(words, "D")))


# Longest reading first: the first pattern that fits takes its words from those below it.
_DATE_GRAMMAR: tuple[tuple[re.Pattern[str], _ReadPeriods, bool], ...] = tuple(
    (re.compile(pattern), reader, is_relative)
    for pattern, reader, is_relative in (
        (r"(?:(?P<N>N)|l)(?P<W>W)[oi]+(?P<M>M)(?:o*(?P<Y>Y))?", _read_weekday_of_month, False),
        (r"(?:(?P<N>N)|l)(?P<W>W)[oi]+(?:[nlt]o*H|H[nlt]?)", _read_weekday_of_month, True),
        (r"(?P<A>N)[r&]o*(?P<B>N)o*(?P<M>M)o*(?P<Y>Y)?", _read_day_range, False),
        (r"(?P<M>M)o*(?P<A>N)[r&]o*(?P<B>N)(?:o*(?P<Y>Y))?", _read_day_range, False),
        (r"(?:[WX]o*)?(?P<N>N)o*(?P<M>M)(?:o*(?P<Y>Y))?", _read_month_day, False),
        (r"(?:[WX]o*)?(?P<M>M)o*(?P<N>N)(?:o*(?P<Y>Y))?", _read_month_day, False),
        (r"[ebd]o*+(?:[nlt]o*+)?(?P<M>M)(?:o*(?P<Y>Y))?", _read_period_edges, False),
        (r"[ebd]o*(?P<q>q)o*(?P<Y>Y)?", _read_period_edges, False),
        (r"[ebd]i?o*(?:[nlt]o*[KHJQ]|[KHJQ][nlt]|[KHJQ])", _read_period_edges, True),
        (r"[ebd]o*(?P<Y>Y)", _read_period_edges, False),
        (r"lDo*(?P<M>M)(?:o*(?P<Y>Y))?", _read_last_day, False),
        (r"lDo*+(?:(?:[nlt]o*+)?H|Hn)", _read_last_day, True),
        (r"(?P<N>N)D?[oi]+(?:[nlt]o*H|H[nlt]?)", _read_day_of_month, True),
        (r"(?P<M>M)o*(?P<Y>Y)", _read_month, False),
        (r"(?P<q>q)o*(?P<Y>Y)?", _read_year_quarter, False),
        (r"(?P<W>W)[oi]*nK|nK[oi]*(?P<W2>W)|Kn[oi]*(?P<W3>W)", _read_weekday, True),
        (r"(?P<W>W)K(?![N#Y])", _read_weekday_after_next, True),
        (r"(?<![iof])[iof]*i[of]*(?:t|n)?(?P<N>N)w?[DKHJ]w?", _read_distance_from_today, True),
        (r"vo*(?P<N>N)w?[DKHJ]|(?P<N2>N)w?[DKHJ]w?a|y(?:N|r)?(?P<N3>N)[DKHJ]w?", _read_distance_from_today, True),
        (r"(?P<T>T)", lambda words: _build_day_periods(words.today + timedelta(days=words.values["T"])), True),
        (r"[nlt]o*(?P<W>W)|(?P<W2>W)[nl]", _read_weekday, True),
        (r"(?P<W>W)", _read_weekday, True),
        (r"[nlt]o*[KHJQ]|[KHJQ](?:o*[nlt])", _read_calendar_unit, True),
        (r"(?:[intlcr]o*)(?P<M>M)", _read_month, False),
        (r"[io](?P<Y>Y)(?![.]?[DKHJM])", _read_year, False),
    )
)


class DateMention(NamedTuple):
    """A date with its position in a text. ``periods``: what it can mean, likeliest first.

    ``step`` is set only for a repetition, whose days are that far apart: ``D`` day, ``w`` working day, ``K`` week,
    ``H`` month, ``J`` year. ``offset_from``: the date that an offset starts at: 4 March for "two days before 4 March".
    """

    start: int
    end: int
    periods: tuple[Period, ...]
    is_relative: bool = False
    step: str = ""
    offset_from: tuple[Period, ...] = ()


class _GrammarWord(NamedTuple):
    """A word or a gap as the patterns of dates see it. ``role``: the one character that stands for it there."""

    role: str
    value: int
    start: int
    end: int


_GAP_WITHIN_DATE_PATTERN = re.compile(r"[\s.,'’ºª]*")
_DASH_BETWEEN_DATES_PATTERN = re.compile(r"\s*[-–—]\s*")
_SENTENCE_END_PATTERN = re.compile(r"[.\n]\s|\n")
_QUARTERS = frozenset("quarter quartal trimestre".split())
_DATE_IN_DIGITS_PATTERN = re.compile(
    r"(?<![\w.,/-])(?:"
    r"(?P<y1>\d{4})(?P<sep>[-/.])(?P<m1>\d{1,2})(?P=sep)(?P<d1>\d{1,2})(?=T\d\d:?\d\d|(?!\w))"
    r"|(?P<a>\d{1,2})(?P<sep2>[-/.])(?P<b>\d{1,2})(?P=sep2)(?P<y2>\d{4}|\d{2})(?!\w)"
    r"|(?P<y3>\d{4})年(?P<m3>\d{1,2})月(?P<d3>\d{1,2})日"
    r"|(?P<y4>\d{4})-(?P<m4>0[1-9]|1[0-2])(?![\w-])"
    r"|(?P<m9>0?[1-9]|1[0-2])/(?P<y9>(?:19|20|21)\d\d)(?![\w/])"
    r"|(?P<y5>\d{4})[- ]?Q(?P<q5>[1-4])(?!\w)|Q(?P<q6>[1-4])[-/ ](?P<y6>\d{4})(?!\w)"
    r"|(?P<d7>0?[1-9]|[12]\d|3[01])\.(?P<m7>0?[1-9]|1[0-2])\.(?!\d)"
    r"|(?:(?<=\bon )|(?<=\bby )|(?<=\ble )|(?<=\bam )|(?<=\buntil )|(?<=\bfrom )|(?<=\bau ))"
    r"(?P<a8>\d{1,2})/(?P<b8>\d{1,2})(?![\w/]|[.,]\d)"
    r")"
)
_BARE_DAY_PATTERN = re.compile(
    r"(?i)\b(?:on|by|until|till|from|before)\s+the\s+(\d{1,2})(?:st|nd|rd|th)\b|\bam\s+(\d{1,2})\.(?=\s*$|\s+[a-z])"
)
_DAY_AFTER_WEEKDAY_PATTERN = re.compile(
    r"(?i),?\s+(?:the\s+(\d{1,2})(?:st|nd|rd|th)\b|de[mnr]\s+(\d{1,2})\.(?=\s*$|\s+[a-z]|[,;]))"
)
_PAST_TENSE_PATTERN = re.compile(
    r"(?i)(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bas )(?<!\bthe )(?<!\bif )"
    r"\b(?:was|were|had|paid|sent|came|went|got|met|did|made|took|gave|left|bought|sold|spent|wrote|arrived|called|"
    r"returned|cancelled|canceled|received|ordered|hat|haben|hatten?|war|waren|wurden?|ont|avaient|avait|étaient|était)\b"
    r"(?:\s+(?!(?:and|und|et|but|to|is|are|will|comes?|book|move|set)\b)[^\s.,:;!?]+){0,12}\s*$"
)
_LOOKBACK_FROM_WEEKDAY = 200  # characters before a weekday in which the tense of its clause is looked for
_MONTHS_SEARCHED = 3  # in which a weekday is looked for that falls on a day: "Friday the 13th"


def find_dates(
    text: str,
    tokens: Sequence[WrittenToken],
    spelled: Sequence[SpelledNumber],
    today: date,
    *,
    includes_relative: bool = True,
) -> list[DateMention]:
    """The dates of a text in order, then the periods between two of them, then the repetitions.

    Without ``includes_relative``, no repetitions, and no dates that only ``today`` tells, such as "next Friday".
    """
    matches = _DATE_IN_DIGITS_PATTERN.finditer(text)
    in_digits = [*filter(None, (_read_date_in_digits(match, today) for match in matches))]
    words = _DateWords(text, _build_grammar_words(text, tokens, spelled, in_digits), today)
    mentions = words.shift_by_offsets(sorted([*in_digits, *words.match_patterns()]))
    mentions = [_read_weekday_in_context(text, mention, today) for mention in mentions]
    mentions = sorted([*mentions, *_find_days_without_month(text, mentions, today)])
    mentions += [*words.join_ranges(mentions), *words.find_repetitions()]
    return [mention for mention in mentions if includes_relative or not (mention.is_relative or mention.step)]


def _read_date_in_digits(match: re.Match[str], today: date) -> DateMention | None:
    """The date of a match in digits; None if there is no such day. Of groups ``a`` and ``b`` either may be the day."""
    periods: Sequence[Period]
    match {key[0]: int(value) for key, value in match.groupdict().items() if value and not key.startswith("sep")}:
        case {"a": first, "b": second, "y": year}:
            year += 2000 if year < 100 else 0
            orders = [(year, second, first), (year, first, second)]
            periods = _list_single_days(orders[: 1 if match["sep2"] == "." else 2])
        case {"y": year, "m": month, "d": day}:
            periods = _list_single_days([(year, month, day)])
        case {"y": year, "m": month}:
            periods = _list_months([(year, month)])
        case {"y": year, "q": number}:
            periods = _list_quarters([year], number)
        case {"m": month, "d": day}:
            periods = _nearest_days([(month, day)], today)
        case {"a": first, "b": second}:
            periods = _nearest_days([(second, first), (first, second)], today)
        case _:
            periods = []
    return DateMention(*match.span(), tuple(dict.fromkeys(periods))) if periods else None


def _read_weekday_in_context(text: str, mention: DateMention, today: date) -> DateMention:
    """A weekday with a day of the month, ``Friday the 11th``, becomes the first such Friday in the coming months.

    A weekday alone behind a past tense, "he paid on Friday", may also mean the last one. Any other date is unchanged.
    """
    roles = date_roles_by_word().get(fold_word(text[mention.start : mention.end]), ())
    if not roles or roles[0].sign != "W":
        return mention
    if match := _DAY_AFTER_WEEKDAY_PATTERN.match(text, mention.end):
        months = (today.replace(day=1) + relativedelta(months=ahead) for ahead in range(_MONTHS_SEARCHED))
        days = _list_single_days([(month.year, month.month, int(match[1] or match[2])) for month in months])
        matching = [day for day in days if day.first >= today and day.first.weekday() == roles[0].value]
        if matching:
            return mention._replace(end=match.end(), periods=(matching[0],))
    if not _PAST_TENSE_PATTERN.search(text, max(0, mention.start - _LOOKBACK_FROM_WEEKDAY), mention.start):
        return mention
    last = mention.periods[0].first - timedelta(weeks=1)
    return mention._replace(periods=(*mention.periods, Period(last, last)))


def _find_days_without_month(text: str, mentions: Sequence[DateMention], today: date) -> Iterator[DateMention]:
    """Yields days such as ``on the 15th`` and ``am 15.``: of this month and the next, without those that are past."""
    starts = [mention.start for mention in mentions]
    for match in _BARE_DAY_PATTERN.finditer(text):
        index = bisect_left(starts, match.end()) - 1  # the dates are in order and lie beside each other
        if index < 0 or mentions[index].end <= match.start():
            number = int(match[1] or match[2])
            months = (today, today.replace(day=1) + timedelta(days=31))
            days = _list_single_days([(month.year, month.month, number) for month in months])
            start = match.start(match.lastindex or 0)
            ahead = [day for day in days if day.first >= today]
            yield DateMention(start, match.end(), tuple(ahead or days), is_relative=True)


def _build_grammar_words(
    text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber], in_digits: Sequence[DateMention]
) -> list[_GrammarWord]:
    """The tokens as role characters for the patterns; ``.`` is any other word, ``|`` the end of a phrase."""
    numbers = {number.start_index: number for number in spelled if number.value <= _MOST_SPELLED_DAYS}
    hours = {*numbers, *(place for place, token in enumerate(tokens) if token.text.isdecimal())}
    starts = [mention.start for mention in in_digits]
    words: list[_GrammarWord] = []
    place = end = 0
    while place < len(tokens):
        token = tokens[place]
        words += _read_gap_between_words(text[end : token.start], end, words, token)
        number = numbers.get(place)
        next_place = number.end_index if number is not None else place + 1
        end = tokens[next_place - 1].end
        next_word = tokens[next_place].folded if next_place < len(tokens) else ""
        if number is not None and number.is_ordinal and next_word in _QUARTERS:
            next_place, end = next_place + 1, tokens[next_place].end  # "second quarter"
            words.append(_GrammarWord("q", int(number.value), token.start, end))
        elif (
            _lies_in_mention(token.start, starts, in_digits)
            or _ends_identifier(text, tokens, place)
            or (place + 1 in hours and _is_past_of_hour(tokens, place))
        ):
            words.append(_GrammarWord("#", 0, token.start, end))
        else:
            roles = _find_roles_in_date(token, number)
            words += [_GrammarWord(role.sign, role.value, token.start, end) for role in roles]
        place = next_place
    return words


def _is_past_of_hour(tokens: Sequence[WrittenToken], place: int) -> bool:
    """Whether a word before an hour is the one of "a quarter past eleven"."""
    return tokens[place].folded == "past" and place > 0 and tokens[place - 1].folded in _QUARTERS


def _ends_identifier(text: str, tokens: Sequence[WrittenToken], place: int) -> bool:
    """Whether a number is the end of an identifier: ``C-1 on March 12`` does not mean the first of March."""
    if place == 0 or not tokens[place].text.isdecimal() or len(tokens[place].text) == len("2026"):
        return False
    word_before = tokens[place - 1]
    gap = text[word_before.end : tokens[place].start]
    is_month = any(role.sign == "M" for role in date_roles_by_word().get(word_before.folded, ()))
    return gap in ("-", "_") and word_before.text.isupper() and not is_month


def _lies_in_mention(place: int, starts: Sequence[int], mentions: Sequence[DateMention]) -> bool:
    index = bisect_left(starts, place + 1) - 1
    return index >= 0 and place < mentions[index].end


def _find_roles_in_date(token: WrittenToken, number: SpelledNumber | None) -> Sequence[WordRole]:
    """Which parts of a date the word may be, as the signs of the patterns: a year, a number, a month, a weekday."""
    roles = date_roles_by_word().get(token.folded)
    if number is not None and (roles is None or number.end_index > number.start_index + 1):
        return (WordRole("N", int(number.value)),)
    if token.text.isdecimal() and token.text.isascii():
        value = int(token.text[:9])
        return (WordRole("Y" if len(token.text) == 4 and 1900 <= value < 2200 else "N", value),)
    return roles or (WordRole("."),)


def _read_gap_between_words(
    gap: str, start: int, words_before: Sequence[_GrammarWord], token: WrittenToken
) -> list[_GrammarWord]:
    joins_month = (words_before[-1].role == "N" and token.text.isalpha()) if words_before else False
    if gap == "-" and words_before and (joins_month or (words_before[-1].role == "M" and len(token.text) == 4)):
        return []  # "12-Mar-2026"
    if _DASH_BETWEEN_DATES_PATTERN.fullmatch(gap):
        return [_GrammarWord("r", 0, start, start + len(gap))]
    is_soft = _GAP_WITHIN_DATE_PATTERN.fullmatch(gap) is not None
    if is_soft and _SENTENCE_END_PATTERN.search(gap):  # "4. März" goes on where "on 4 March. Two" does not
        is_soft = bool(words_before) and words_before[-1].role == "N" and not token.text.isdecimal() and "\n" not in gap
    return [] if is_soft else [_GrammarWord("|", 0, start, start + len(gap))]


_OFFSET_PATTERN = re.compile(r"(?P<N>N)?(?P<w>w?)(?P<u>[DKHJ])w?o*(?P<side>[fpv])o*$")
_FOR_LENGTH_PATTERN = re.compile(r"(?i)\b(?:for|für|pour)\s+(?:an?\s+|einen?\s+)?$")
_FROM_DAY_PATTERN = re.compile(r"(?i)\b(?:from|ab)\s+(?:the\s+|dem\s+)?$")
_MOST_WORDS_OF_OFFSET = 12  # words
_OFFSET_AFTER_PATTERN = re.compile(r"i(?P<N>N)(?P<w>w?)(?P<u>[DKHJ])(?P<side>)")
_RANGE_SIGNS_PATTERN = re.compile(r"o*[r&]o*")
_REPETITION_PATTERN = re.compile(r"so*(?:N)?(?P<w>w?)(?P<u>[DKHJ])w?|so*(?P<day>W)")


class _DateWords:
    """The words of a text as the patterns of dates see them."""

    def __init__(self, text: str, words: Sequence[_GrammarWord], today: date) -> None:
        self._text = text
        self._words = words
        self._today = today
        self._signs = "".join(word.role for word in words)
        self._starts = [word.start for word in words]

    def match_patterns(self) -> Iterator[DateMention]:
        """Yields the dates that the patterns find. A word belongs to the first pattern that matches it."""
        is_taken = bytearray(len(self._signs))
        for pattern, read_periods, is_relative in _DATE_GRAMMAR:
            for match in pattern.finditer(self._signs):
                start, end = match.span()
                if any(is_taken[start:end]):
                    continue
                groups = (key for key, part in match.groupdict().items() if part)
                values = {key[0]: self._words[match.start(key)].value for key in groups}
                if periods := read_periods(_MatchedDateWords(match[0], values, self._today)):
                    is_taken[start:end] = b"\1" * (end - start)
                    yield DateMention(*self._span_in_text(match), tuple(dict.fromkeys(periods)), is_relative)

    def _span_in_text(self, match: re.Match[str]) -> tuple[int, int]:
        return self._words[match.start()].start, self._words[match.end() - 1].end

    def shift_by_offsets(self, mentions: Sequence[DateMention]) -> list[DateMention]:
        """The dates, each moved by the offset next to it: ``two days before 4 March``, ``Montag in einer Woche``."""
        shifted: list[DateMention] = []
        for mention in mentions:
            if shifted and mention.start < shifted[-1].end:
                continue
            if offset := self._find_offset_before(mention):
                is_length = self._is_duration(self._words[offset.start()].start, mention.start)
                shifted.append(self._shift_mention(mention, offset, is_length=is_length))
            elif offset := self._find_offset_after(mention):
                shifted.append(self._shift_mention(mention, offset))
            else:
                shifted.append(mention)
        return shifted

    def _find_offset_before(self, mention: DateMention) -> re.Match[str] | None:
        place = bisect_left(self._starts, mention.start)
        offset = _OFFSET_PATTERN.search(self._signs, max(0, place - _MOST_WORDS_OF_OFFSET), place)
        # "1 of 3 months, from 5 January" has none.
        return None if offset and "," in self._text[self._starts[offset.start()] : mention.start] else offset

    def _find_offset_after(self, mention: DateMention) -> re.Match[str] | None:
        """The offset directly after a weekday or a day such as today, ``heute in 14 Tagen``; else None."""
        place = bisect_left(self._starts, mention.end)
        if not 0 < place < len(self._words) or self._signs[place - 1] not in "TW":
            return None
        is_joined = self._text[self._words[place - 1].end : self._starts[place]].isspace()
        return _OFFSET_AFTER_PATTERN.match(self._signs, place) if is_joined else None

    def _is_duration(self, start: int, end: int) -> bool:
        """Whether the offset between these places is how long something lasts: "for three days from tomorrow"."""
        is_after_for = _FOR_LENGTH_PATTERN.search(self._text, max(0, start - 20), start) is not None
        return is_after_for and _FROM_DAY_PATTERN.search(self._text, start, end) is not None

    def _shift_mention(self, mention: DateMention, offset: re.Match[str], *, is_length: bool = False) -> DateMention:
        """The date moved by the offset; with ``is_length`` the period of that length that begins on it."""
        count = self._words[offset.start("N")].value if offset["N"] else 1
        count = -count if offset["side"] and offset["side"] in "pv" else count
        is_length = is_length and count > 0
        spare_days = int(is_length and offset["u"] != "D")
        count -= is_length and not spare_days
        days = [move_day(period.first, count, offset["u"], is_working=bool(offset["w"])) for period in mention.periods]
        start, end = self._span_in_text(offset)
        periods = tuple(_build_day_periods(*(day for day in days if day is not None)))
        if is_length:
            lasts = (period.last - timedelta(days=spare_days) for period in periods)
            periods = tuple(Period(first.first, last) for first, last in zip(mention.periods, lasts, strict=False))
        span = min(mention.start, start), max(mention.end, end)
        return DateMention(*span, periods, mention.is_relative, "", mention.periods)

    def join_ranges(self, mentions: Sequence[DateMention]) -> Iterator[DateMention]:
        """Yields the periods between two dates: ``from Monday to Friday``, ``4 March - 2 April``."""
        for mention, later in pairwise(mentions):
            places = slice(bisect_left(self._starts, mention.end), bisect_left(self._starts, later.start))
            if _RANGE_SIGNS_PATTERN.fullmatch(self._signs[places]):
                pairs = [(first, last) for first in mention.periods for last in later.periods]
                ends = [(first.first, _end_of_range(last, first)) for first, last in pairs]
                periods = tuple(Period(first, last) for first, last in ends if first <= last)
                yield DateMention(mention.start, later.end, periods, mention.is_relative or later.is_relative)

    def find_repetitions(self) -> Iterator[DateMention]:
        """Yields repetitions, which have a step between days instead of days: ``every Monday``, ``daily``."""
        for match in _REPETITION_PATTERN.finditer(self._signs):
            step = "K" if match["day"] else "w" if match["w"] else match["u"]
            yield DateMention(*self._span_in_text(match), (), is_relative=True, step=step)


def _end_of_range(end: Period, start: Period) -> date:
    """The last day of a range, a week later if it lies before the start: "Monday to Friday", said on a Tuesday."""
    is_within_a_week = timedelta(0) < start.first - end.last < timedelta(weeks=1)
    return end.last + timedelta(weeks=1) if is_within_a_week else end.last


DateOrder = Literal["", "day_first", "month_first"]


class ParsedMoment(NamedTuple):
    """A date, a time of day, or both, as read from a value, in the zone that the caller gave."""

    day: date | None
    hour: time | None


_LONGEST_DATE_TEXT = 60
_ARBITRARY_DAY = date(2000, 1, 1)  # a day with its year is the same from wherever it is told
_STATED_YEAR_PATTERN = re.compile(r"(?<!\d)\d{4}(?!\d)|\d[/.-]\s?\d{1,2}[/.-]\s?\d\d(?!\d)")
_TRAILING_TIME_PATTERN = re.compile(r"(?:,?[T\s]+(?:at\s+)?\d{1,2}:\d{2}.*)$", re.DOTALL)
_NUMERIC_DATE_PATTERN = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d{2})(?!\d)")
_ISO_DAY_AND_HOUR_PATTERN = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d")
_ISO_DAY_PATTERN = re.compile(r"\d{4}-\d\d-\d\d")
_MIDNIGHT_SUFFIX_PATTERN = re.compile(r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?$")
_DAY_IN_EIGHT_DIGITS_PATTERN = re.compile(r"(?:19|20|21)\d{6}", re.ASCII)
_DAY_AND_HOUR_PATTERN = re.compile(
    r"(?P<day>\d{1,2}([./-])\d{1,2}\2\d{4})(?:,\s*|\s+)(?:(?:at|um|à)\s+)?(?P<hour>\d\d?:\d\d(?::\d\d)?)(?:\s+Uhr)?"
)
_TIME_OF_DAY_PATTERN = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.0+)?)?")


def read_possible_dates(value: Json) -> tuple[date, ...]:
    """The date that a value is; two, the day first, where day and month may be swapped; empty if it is none."""
    if not isinstance(value, str) or len(value) > _LONGEST_DATE_TEXT:
        return ()
    if (day := read_compact_day(value)) is not None:
        return (day,)
    return _read_days(value.strip()) if _STATED_YEAR_PATTERN.search(value) else ()


def read_compact_day(value: Json) -> date | None:
    """The day of eight digits that are year, month and day, ``20260301``; None for anything else."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    is_day = _DAY_IN_EIGHT_DIGITS_PATTERN.fullmatch(text)
    return _date_or_none(int(text[:4]), int(text[4:6]), int(text[6:])) if is_day else None


@lru_cache(maxsize=16_384)
def _read_days(text: str) -> tuple[date, ...]:
    text = _TRAILING_TIME_PATTERN.sub("", text)
    mentions = find_dates(text, split_words(text), (), _ARBITRARY_DAY, includes_relative=False)
    periods = next((mention.periods for mention in mentions if (mention.start, mention.end) == (0, len(text))), ())
    is_day = all(period.first == period.last for period in periods)
    return tuple(period.first for period in periods) if is_day else ()


def read_whole_days(value: Json) -> frozenset[date]:
    """The day that a text is, two where day and month may be swapped; empty if it has a time other than midnight."""
    return _read_whole_days_of_text(value) if isinstance(value, str) else frozenset()


@lru_cache(maxsize=16_384)  # a read-back compares each of its values with each that a call sets
def _read_whole_days_of_text(value: str) -> frozenset[date]:
    text = _MIDNIGHT_SUFFIX_PATTERN.sub("", value.strip())
    return frozenset() if ":" in text else frozenset(read_possible_dates(text))


def are_same_day(value: Json, other_value: Json) -> bool:
    """Whether both values are the same day, and at least one of them can be read in only one way."""
    days, other_days = read_whole_days(value), read_whole_days(other_value)
    return bool(days & other_days) and 1 in (len(days), len(other_days))


def read_date(value: Json, order: DateOrder = "") -> date | None:
    """The date that a value is; None if it is no date, or could be two and ``order`` does not say which."""
    days = read_possible_dates(str(value) if isinstance(value, int) else value)
    if len(days) == 2 and order:
        return days[0] if order == "day_first" else days[1]
    return days[0] if len(days) == 1 else None


def find_date_order(values: Iterable[Json]) -> DateOrder:
    """The order of day and month in a list of dates, if one of them can be read in only one order; else empty."""
    for value in values:
        is_short = isinstance(value, str) and len(value) <= _LONGEST_DATE_TEXT
        if match := _NUMERIC_DATE_PATTERN.match(str(value).strip()) if is_short else None:
            first, second = int(match[1]), int(match[2])
            if first > 12 >= second:
                return "day_first"
            if second > 12 >= first:
                return "month_first"
    return ""


def read_moment(value: Json, order: DateOrder = "") -> datetime | None:
    """A value's date and time of day in UTC, midnight if it has no time; None if it is no date."""
    if (moment := parse_iso_datetime(value)) is not None:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    day = read_date(value, order)
    return datetime.combine(day, time(), UTC) if day else None


def parse_iso_datetime(value: Json) -> datetime | None:
    """A date with a time of day in ISO 8601, with a zone or without; None for anything else."""
    if not isinstance(value, str) or not has_iso_time(value):
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        return None


def has_iso_time(value: Json) -> bool:
    return isinstance(value, str) and _ISO_DAY_AND_HOUR_PATTERN.match(value) is not None


def read_machine_moment(text: str, zone: tzinfo | None) -> ParsedMoment | None:
    """The date or time in a machine format, ISO 8601 or ``04.12.2026 07:00``, in that zone; None for any other text."""
    if (match := _TIME_OF_DAY_PATTERN.fullmatch(text)) is not None:
        return ParsedMoment(None, _read_hour(match))
    if (compact := read_compact_day(text)) is not None:
        return ParsedMoment(compact, None)
    if not _ISO_DAY_PATTERN.match(text):
        return _read_day_and_hour(text)
    try:
        if len(text) == len("2026-03-04"):
            return ParsedMoment(date.fromisoformat(text), None)
        moment = datetime.fromisoformat(text)
        local = moment.astimezone(zone) if moment.tzinfo and zone else moment
    except (ValueError, OverflowError):  # no day of any month, or beyond the calendar
        return None
    return ParsedMoment(local.date(), local.time().replace(microsecond=0))


def _read_day_and_hour(text: str) -> ParsedMoment | None:
    """The day and hour of a text such as ``04.12.2026, 07:00``; None where day and month may be swapped."""
    match = _DAY_AND_HOUR_PATTERN.fullmatch(text)
    hour = _TIME_OF_DAY_PATTERN.fullmatch(match["hour"]) if match else None
    day = read_date(match["day"]) if match else None
    return ParsedMoment(day, _read_hour(hour)) if day and hour else None


def _read_hour(match: re.Match[str]) -> time:
    return time(int(match[1]), int(match[2]), int(match[3] or 0))
