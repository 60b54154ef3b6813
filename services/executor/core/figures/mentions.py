"""Finds what a text mentions: numbers, dates, times, identifiers and words, each with its position."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple, TypeVar

from services.executor.core.figures.dates import DateMention, Period, find_dates, read_machine_moment
from services.executor.core.figures.identifiers import (
    WrittenIdentifier,
    find_codes,
    find_special_identifiers,
    identifier_key,
)
from services.executor.core.figures.numbers import (
    Number,
    NumberMention,
    find_numbers_in_digits,
    find_numbers_in_words,
    join_major_and_minor_amounts,
    read_amount,
    read_number_word,
)
from services.executor.core.figures.vocabulary import (
    PIECE,
    SpelledNumber,
    WrittenToken,
    fold_word,
    likely_languages,
    read_spelled_numbers,
    spaced_words,
    split_words,
)

_HALF_DAY = 12


class TimeMention(NamedTuple):
    """A time of day with its position in a text. ``times`` has two if the text does not say morning or afternoon."""

    start: int
    end: int
    times: tuple[time, ...]


_DIGITS = re.compile(
    r"(?<![\w.,:/])(?<![A-LN-Za-ln-z]-)(?<!\d-\d\d-)(?:"
    r"(?<![T:]\d\d-)(?P<h1>[01]?\d|2[0-4])[:.](?P<m1>[0-5]\d)(?::(?P<s1>[0-5]\d))?(?:\s?(?P<p1>[ap]\.?m\b\.?|uhr\b|h\b))?"
    r"|(?P<h2>0?[1-9]|1[0-2])\s?(?P<p2>[ap]\.?m\b\.?)"
    r"|(?P<h3>[01]?\d|2[0-4])\s?h\s?(?P<m3>[0-5]\d)"
    r"|(?P<h4>[01]?\d|2[0-4])\s?uhr(?:\s(?P<m4>[0-5]\d))?"
    r"|(?P<h5>0?[1-9]|1[0-2])\s?o['’]clock"
    r"|(?<=à )(?P<h6>[01]?\d|2[0-4])\s?(?:h|heures?)"
    r"|(?:(?<=\bat )|(?<=\bum ))(?P<h7>[01]?\d|2[0-4])(?=\s*(?:[.,;?!]|$|\bon\b|\btomorrow\b|\btoday\b))"
    r")(?![\w%]|[.,:/]\d|-\d\d-)",
    re.I,
)
_NAMED_TIMES = {
    "noon": time(12), "midday": time(12), "mittag": time(12), "mittags": time(12), "midi": time(12),
    "midnight": time(0), "mitternacht": time(0), "minuit": time(0),
}  # fmt: skip
_AT = frozenset("at um by gegen vers".split())
_OCLOCK = frozenset("clock o uhr heure heures".split())
_PAST, _TO = frozenset({"past", "nach"}), frozenset({"to", "vor"})
_QUARTERS: Mapping[str, int] = {"half": 30, "quarter": 15, "viertel": 15}
_FRENCH_PARTS: Mapping[tuple[str, ...], int] = {
    ("et", "demie"): 30,
    ("et", "demi"): 30,
    ("et", "quart"): 15,
    ("moins", "le", "quart"): -15,
}
_HOURS = re.compile(
    r"(?<![\w.,:/-])(\d{1,2})(?:\s?[-–]\s?|\s+(?:to|until|till|bis|à)\s+)(?=(\d{1,2})\s?([ap])\.?m\b)", re.I
)


def _find_first_hours_of_ranges(text: str) -> Iterator[TimeMention]:
    """Yields the first hour of ranges such as ``9-11 am``."""
    for match in _HOURS.finditer(text):
        first, last = int(match[1]), int(match[2])
        if 0 < first <= _HALF_DAY and 0 < last <= _HALF_DAY:
            is_afternoon = match[3].lower() == "p" and first % _HALF_DAY <= last % _HALF_DAY
            hour = first % _HALF_DAY + (_HALF_DAY if is_afternoon else 0)
            yield TimeMention(*match.span(1), (time(hour),))


def find_times(text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]) -> Iterator[TimeMention]:
    """Yields the times in digits and in words."""
    yield from _find_first_hours_of_ranges(text)
    for match in _DIGITS.finditer(text):
        if (found := _read_time_in_digits(match)) is not None:
            yield found
    numbers = {
        one.first: (int(one.value), one.after) for one in spelled if one.value == int(one.value) and not one.is_ordinal
    }
    hours = ((place, token) for place, token in enumerate(tokens) if _is_hour(token.written))
    numbers |= {
        place: (int(token.written), place + 1)
        for place, token in hours
        if text[max(0, token.start - 1) : token.start] not in ("-", "/", "_", ".")  # "set A-1 to 5"
    }
    for place, token in enumerate(tokens):
        if (named := _NAMED_TIMES.get(token.folded)) is not None:
            yield TimeMention(token.start, token.end, (named,))
        elif (read := _read_time_in_words(tokens, numbers, place)) is not None:
            minutes, after = read
            yield TimeMention(token.start, tokens[after - 1].end, _possible_times(minutes))


def _is_hour(written: str) -> bool:
    return len(written) <= 2 and written.isascii() and written.isdecimal() and int(written) <= 2 * _HALF_DAY


def _read_time_in_digits(match: re.Match[str]) -> TimeMention | None:
    named = {key[0]: value for key, value in match.groupdict().items() if value}
    if "." in match[0] and ":" not in match[0] and "p" not in named:
        return None  # 9.30 is an amount unless something says that it is a time
    hour, minute, second = (int(named.get(key, 0)) for key in "hms")
    half = named.get("p", "")[:1].lower()
    if half in ("a", "p") and hour <= _HALF_DAY:
        return _build_mention(match, [hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)], minute, second)
    is_said = half or "m" in named or match.lastgroup in ("h4", "h6")
    return _build_mention(
        match, [hour % 24] if is_said or hour > _HALF_DAY else [hour, (hour + _HALF_DAY) % 24], minute, second
    )


def _build_mention(match: re.Match[str], hours: Sequence[int], minute: int, second: int) -> TimeMention:
    return TimeMention(*match.span(), tuple(time(hour, minute, second) for hour in hours))


def _read_time_in_words(
    tokens: Sequence[WrittenToken], numbers: Mapping[int, tuple[int, int]], place: int
) -> tuple[int, int] | None:
    """A time in words, ``half past nine``, as minutes since midnight, and the index of the token after it."""
    word, after = tokens[place].folded, place + 1
    following = tokens[after].folded if after < len(tokens) else ""
    if word == "halb" and after in numbers:
        return numbers[after][0] * 60 - 30, numbers[after][1]
    minutes = _QUARTERS.get(word) or numbers.get(place, (0, 0))[0]
    is_range = place > 0 and tokens[place - 1].folded == "from"  # "from 10 to 15"
    if minutes and place + 2 in numbers and following in _PAST | _TO and minutes < 60 and not is_range:
        hour, end = numbers[place + 2]
        return (hour * 60 + (minutes if following in _PAST else -minutes), end) if hour <= 24 else None
    if place in numbers and not tokens[place].written.isdecimal():
        return _read_spelled_hour(tokens, numbers[place], place)
    return None


def _read_spelled_hour(tokens: Sequence[WrittenToken], number: tuple[int, int], place: int) -> tuple[int, int] | None:
    hour, after = number
    if hour > 24:
        return None
    is_said = False
    while after < len(tokens) and tokens[after].folded in _OCLOCK:
        is_said, after = True, after + 1
    for words, minutes in _FRENCH_PARTS.items():
        if is_said and tuple(token.folded for token in tokens[after : after + len(words)]) == words:
            return hour * 60 + minutes, after + len(words)
    before = tokens[place - 1].folded if place else ""
    return (hour * 60, after) if is_said or (before in _AT and _is_phrase_end(tokens, after)) else None


def _is_phrase_end(tokens: Sequence[WrittenToken], after: int) -> bool:
    """Whether no noun follows the hour: yes for "at ten" and "at ten on Friday", no for "at ten euros"."""
    return after >= len(tokens) or tokens[after].folded in frozenset("on and tomorrow today in am morgen und".split())


def _possible_times(minutes: int) -> tuple[time, ...]:
    hour, minute = divmod(minutes % (24 * 60), 60)
    hours = [hour] if hour > _HALF_DAY else [hour, (hour + _HALF_DAY) % 24]
    return tuple(time(one, minute) for one in hours)


_FROM_NOW = re.compile(r"\b(?:in|dans)\s+$", re.IGNORECASE)
_FROM_NOW_LENGTH = 24  # with some spaces between
_DAY_SECONDS = 86_400  # seconds
_DAY_LENGTH = len("2026-03-04")
_ISO = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?(?![\d:])")
_ANY_DAY = date(2000, 1, 1)
_LETTERS = re.compile(r"[^\W\d_]+")
Mention = NumberMention | DateMention | TimeMention | WrittenIdentifier
_Spanned = TypeVar("_Spanned", NumberMention, DateMention, TimeMention, WrittenIdentifier)


@dataclass(frozen=True)
class Mentions:
    """All that a text mentions. ``now`` is the moment to which its relative dates refer, in the zone of the text."""

    text: str
    now: datetime
    numbers: tuple[NumberMention, ...]
    dates: tuple[DateMention, ...]
    times: tuple[TimeMention, ...]
    identifiers: tuple[WrittenIdentifier, ...]

    @property
    def zone(self) -> tzinfo | None:
        return self.now.tzinfo

    @cached_property
    def numbers_by_value(self) -> Mapping[Number, Sequence[NumberMention]]:
        table: dict[Number, list[NumberMention]] = {}
        for mention in self.numbers:
            for value in mention.values:
                table.setdefault(value, []).append(mention)
        return table

    @cached_property
    def identifier_keys(self) -> frozenset[tuple[str, ...]]:
        return frozenset(identifier_key(one.text) for one in self.identifiers)

    @cached_property
    def days(self) -> frozenset[date]:
        """The first and last day of each period that the text mentions."""
        return frozenset(day for mention in self.dates for period in mention.periods for day in period)

    @cached_property
    def times_of_day(self) -> frozenset[time]:
        return frozenset(one for mention in self.times for one in mention.times)

    def has_phrase(self, phrase: str) -> bool:
        """Whether the text contains the phrase exactly, as whole words and not within a code or number."""
        return any(self._is_whole_word(start, start + len(phrase)) for start in _find_occurrences(phrase, self.text))

    def has_words(self, phrase: str) -> bool:
        """Whether the text has the words in a row, without regard to case, accents and the marks between them."""
        wanted = spaced_words(phrase)
        joined, starts, ends = self._folded_words_with_spans
        if not wanted.strip():
            return False
        first = last = 0  # the piece that begins at a place, and that place
        for place in _find_occurrences(wanted, joined):
            first, last = first + joined.count(" ", last, place), place
            if self._is_whole_word(starts[first], ends[first + wanted.count(" ") - 2]):
                return True
        return False

    def _is_whole_word(self, start: int, end: int) -> bool:
        before, after = self.text[start - 1 : start] if start else "", self.text[end : end + 1]
        if (before.isalnum() and self.text[start].isalnum()) or (after.isalnum() and self.text[end - 1].isalnum()):
            return False
        has_digit = any(mark.isdecimal() for mark in self.text[start:end])
        within = self._positions_in_mentions if has_digit else self._positions_in_identifiers
        return not (within[start] or within[end])

    @cached_property
    def _positions_in_identifiers(self) -> bytearray:
        return _mark_positions_inside(len(self.text), self.identifiers)

    @cached_property
    def _positions_in_mentions(self) -> bytearray:
        return _mark_positions_inside(len(self.text), (*self.identifiers, *self.numbers, *self.dates, *self.times))

    @cached_property
    def _folded_words_with_spans(self) -> tuple[str, Sequence[int], Sequence[int]]:
        spans = [match.span() for match in PIECE.finditer(self.text)]
        pieces = [fold_word(self.text[start:end]) for start, end in spans]
        return f" {' '.join(pieces)} ", [start for start, _ in spans], [end for _, end in spans]


def _mark_positions_inside(length: int, spans: Iterable[Mention]) -> bytearray:
    """For each position of a text of that length, one byte: whether it lies inside a span, not at its edge."""
    marked = bytearray(length + 1)
    for span in spans:
        marked[span.start + 1 : span.end] = b"\1" * (span.end - span.start - 1)
    return marked


def _find_occurrences(phrase: str, text: str) -> Iterator[int]:
    start = text.find(phrase)
    while start >= 0:
        yield start
        start = text.find(phrase, start + 1)


def find_mentions(text: str, now: datetime, *, relative: bool = True) -> Mentions:
    """Finds all that the text mentions. ``now``: aware, in the writer's zone, to which ``relative`` dates refer."""
    tokens = split_words(text)
    languages = likely_languages(token.folded for token in tokens)
    spelled = read_spelled_numbers(text, tokens, languages)
    numbers = [*find_numbers_in_digits(text, languages[0]), *find_numbers_in_words(text, tokens, spelled)]
    free = _FreeCharacters(text)
    special = free.claim_mentions(find_special_identifiers(text))
    days = find_dates(text, tokens, spelled, now.date(), relative=relative)
    days = free.claim_mentions(days, may_overlap=True)
    moments = [*_find_iso_moments(text, now.tzinfo)]
    times = free.claim_mentions([*(hour for _, hour in moments), *find_times(text, tokens, spelled)])
    days += [day for day, _ in moments]
    lengths = _find_lengths_in_dates(numbers, days)
    counted = free.claim_mentions(sorted(numbers, key=lambda one: (one.start, -one.end)))  # "2 dozen" before "2"
    counted += join_major_and_minor_amounts(text, counted)
    if relative:
        soon = [*_find_moments_from_now(text, counted, now)]
        days, times = [*days, *(day for day, _ in soon)], [*times, *(hour for _, hour in soon)]
    spans = {(number.start, number.end) for number in counted}
    codes = [
        code for code in find_codes(text) if (code.start, code.end) in spans or free.are_free(code.start, code.end)
    ]
    return Mentions(
        text=text,
        now=now,
        numbers=tuple(sorted([*counted, *lengths], key=lambda one: one.start)),
        dates=tuple(days),
        times=tuple(times),
        identifiers=tuple(sorted([*special, *codes])),
    )


def _find_iso_moments(text: str, zone: tzinfo | None) -> Iterator[tuple[DateMention, TimeMention]]:
    """Yields day and time of moments such as ``2026-03-04T10:00:00Z``, converted to the zone."""
    for match in _ISO.finditer(text):
        read = read_machine_moment(match[0], zone)
        if read is not None and read.day is not None and read.hour is not None:
            joint = match.start() + _DAY_LENGTH
            day = DateMention(match.start(), joint, (Period(read.day, read.day),))
            yield day, TimeMention(joint, match.end(), (read.hour,))


def _find_moments_from_now(
    text: str, numbers: Sequence[NumberMention], now: datetime
) -> Iterator[tuple[DateMention, TimeMention]]:
    """Yields day and time, to the minute, of ``in two hours``, ``dans 30 minutes``."""
    for number in numbers:
        unit, value = number.unit, number.values[0]
        is_short = unit is not None and unit.measure == "time" and unit.size < _DAY_SECONDS and 0 < value < _DAY_SECONDS
        near = max(0, number.start - _FROM_NOW_LENGTH)
        if unit is not None and is_short and _FROM_NOW.search(text, near, number.start):
            seconds = Fraction(value) * unit.size
            moment = (now + timedelta(seconds=int(seconds))).replace(second=0, microsecond=0)
            span = (number.start, number.end)
            day = DateMention(*span, (Period(moment.date(), moment.date()),), is_relative=True)
            yield day, TimeMention(*span, (moment.time(),))


@lru_cache(maxsize=64)  # a task's text is asked about by each operand
def find_amounts(text: str, today: date = date.min) -> Mapping[Fraction, tuple[str, ...]]:
    """The numbers that a text states, with their notations; an ambiguous ``1.234`` under both possible values."""
    found: dict[Fraction, dict[str, None]] = {}
    for mention in find_mentions_on_day(text, today).numbers:
        if not (mention.text.casefold() == "one" and mention.is_small_number_word):
            number, alone = mention.values[0], read_amount(mention.text)
            if alone is not None:
                found.setdefault(Fraction(alone.number), {})[mention.text] = None
            found.setdefault(Fraction(number), {str(number): None})
    free = _FreeCharacters(text)
    free.claim_mentions(find_mentions_on_day(text, today).numbers, may_overlap=True)
    for match in _LETTERS.finditer(text):
        if free.are_free(match.start(), match.start() + 1) and (implied := read_number_word(match[0])) is not None:
            found.setdefault(Fraction(implied.number), {})[match[0]] = None
    return {number: tuple(writings) for number, writings in found.items()}


@lru_cache(maxsize=64)
def find_stated_days(text: str, today: date) -> frozenset[date]:
    """The days that a text states: of a longer period its first, its last, and the day after it; of
    "two days before 4 March" also 4 March.
    """
    periods = [
        period
        for mention in find_mentions_on_day(text, today).dates
        for period in (*mention.periods, *mention.offset_from)
    ]
    after = [one.last + timedelta(days=1) for one in periods if one.first < one.last < date.max]
    return frozenset([*after, *(day for period in periods for day in period)])


@lru_cache(maxsize=64)
def find_mentions_on_day(text: str, today: date) -> Mentions:
    """What a text mentions, if only the day it was written on is known; ``date.min`` means that not even the day is."""
    is_known = today.year > 1
    now = datetime.combine(today if is_known else _ANY_DAY, time(), UTC)
    return find_mentions(text, now, relative=is_known)


class _FreeCharacters:
    """The characters of a text that no mention has claimed yet: the digits of a date are not also an amount."""

    def __init__(self, text: str) -> None:
        self._taken = bytearray(len(text))

    def are_free(self, start: int, end: int) -> bool:
        return not any(self._taken[start:end])

    def claim_mentions(self, found: Iterable[_Spanned], *, may_overlap: bool = False) -> list[_Spanned]:
        """The mentions whose characters were all free, which they claim; they ``may_overlap`` each other."""
        claimed = []
        for one in [one for one in found if self.are_free(one.start, one.end)]:
            if may_overlap or self.are_free(one.start, one.end):
                self._taken[one.start : one.end] = b"\1" * (one.end - one.start)
                claimed.append(one)
        return claimed


def _find_lengths_in_dates(numbers: Sequence[NumberMention], days: Sequence[DateMention]) -> list[NumberMention]:
    """The lengths of time within dates: ``in 30 days`` is a day and also thirty days."""
    by_start = sorted(days, key=lambda day: day.start)
    starts = [day.start for day in by_start]
    ends = [*accumulate((day.end for day in by_start), max, initial=0)]  # the last end of the days up to each
    return [one for one in numbers if one.unit is not None and one.end <= ends[bisect_right(starts, one.start)]]
