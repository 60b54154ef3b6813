"""Finds what a text mentions: numbers, dates, times, identifiers and words, each with its place."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TypeVar

from services.executor.core.figures.date_grammar import Period
from services.executor.core.figures.dates import DateMention, find_dates, read_machine_moment
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
    join_major_and_minor,
    read_amount,
    read_implied_word,
)
from services.executor.core.figures.times import TimeMention, find_times
from services.executor.core.figures.vocabulary import (
    PIECE,
    fold,
    likely_languages,
    read_spelled_numbers,
    spaced_words,
    split_words,
)

_FROM_NOW = re.compile(r"\b(?:in|dans)\s+$", re.IGNORECASE)
_FROM_NOW_LENGTH = 24  # with some spaces between
_DAY = 86_400  # seconds
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
        """Whether the phrase stands in the text as it is written, as whole words and not within a longer code or
        number.
        """
        return any(self._is_whole(start, start + len(phrase)) for start in _places(phrase, self.text))

    def has_words(self, phrase: str) -> bool:
        """Whether the words of the phrase stand in a row, whatever their case, accents and the marks between them."""
        wanted = spaced_words(phrase)
        joined, starts, ends = self._spaced
        if not wanted.strip():
            return False
        first = last = 0  # the piece that begins at a place, and that place
        for place in _places(wanted, joined):
            first, last = first + joined.count(" ", last, place), place
            if self._is_whole(starts[first], ends[first + wanted.count(" ") - 2]):
                return True
        return False

    def _is_whole(self, start: int, end: int) -> bool:
        before, after = self.text[start - 1 : start] if start else "", self.text[end : end + 1]
        if (before.isalnum() and self.text[start].isalnum()) or (after.isalnum() and self.text[end - 1].isalnum()):
            return False
        has_digit = any(mark.isdecimal() for mark in self.text[start:end])
        within = self._within_anything if has_digit else self._within_identifiers
        return not (within[start] or within[end])

    @cached_property
    def _within_identifiers(self) -> bytearray:
        return _mark_inside(len(self.text), self.identifiers)

    @cached_property
    def _within_anything(self) -> bytearray:
        return _mark_inside(len(self.text), (*self.identifiers, *self.numbers, *self.dates, *self.times))

    @cached_property
    def _spaced(self) -> tuple[str, Sequence[int], Sequence[int]]:
        spans = [match.span() for match in PIECE.finditer(self.text)]
        pieces = [fold(self.text[start:end]) for start, end in spans]
        return f" {' '.join(pieces)} ", [start for start, _ in spans], [end for _, end in spans]


def _mark_inside(length: int, spans: Iterable[Mention]) -> bytearray:
    """One byte for each place of a text of that length: whether it lies within one of the spans, not at its edges."""
    marked = bytearray(length + 1)
    for span in spans:
        marked[span.start + 1 : span.end] = b"\1" * (span.end - span.start - 1)
    return marked


def _places(phrase: str, text: str) -> Iterator[int]:
    start = text.find(phrase)
    while start >= 0:
        yield start
        start = text.find(phrase, start + 1)


def find_mentions(text: str, now: datetime, *, relative: bool = True) -> Mentions:
    """Finds all that the text mentions. ``now``: aware, in the writer's zone; without ``relative`` dates that refer to
    it are left out.
    """
    tokens = split_words(text)
    languages = likely_languages(token.folded for token in tokens)
    spelled = read_spelled_numbers(text, tokens, languages)
    numbers = [*find_numbers_in_digits(text, languages[0]), *find_numbers_in_words(text, tokens, spelled)]
    free = _FreeCharacters(text)
    special = free.claim(find_special_identifiers(text))
    days = find_dates(text, tokens, spelled, now.date(), relative=relative)
    days = free.claim(days, may_overlap=True)
    moments = [*_iso_moments(text, now.tzinfo)]
    times = free.claim([*(hour for _, hour in moments), *find_times(text, tokens, spelled)])
    days += [day for day, _ in moments]
    lengths = _lengths_told_as_dates(numbers, days)
    counted = free.claim(sorted(numbers, key=lambda one: (one.start, -one.end)))  # "2 dozen" before "2"
    counted += join_major_and_minor(text, counted)
    if relative:
        soon = [*_moments_told_from_now(text, counted, now)]
        days, times = [*days, *(day for day, _ in soon)], [*times, *(hour for _, hour in soon)]
    spans = {(number.start, number.end) for number in counted}
    codes = [code for code in find_codes(text) if (code.start, code.end) in spans or free.has(code.start, code.end)]
    return Mentions(
        text=text,
        now=now,
        numbers=tuple(sorted([*counted, *lengths], key=lambda one: one.start)),
        dates=tuple(days),
        times=tuple(times),
        identifiers=tuple(sorted([*special, *codes])),
    )


def _iso_moments(text: str, zone: tzinfo | None) -> Iterator[tuple[DateMention, TimeMention]]:
    """Yields the day and the time of moments such as ``2026-03-04T10:00:00Z``, in the reader's zone."""
    for match in _ISO.finditer(text):
        read = read_machine_moment(match[0], zone)
        if read is not None and read.day is not None and read.hour is not None:
            joint = match.start() + _DAY_LENGTH
            day = DateMention(match.start(), joint, (Period(read.day, read.day),))
            yield day, TimeMention(joint, match.end(), (read.hour,))


def _moments_told_from_now(
    text: str, numbers: Sequence[NumberMention], now: datetime
) -> Iterator[tuple[DateMention, TimeMention]]:
    """Yields the day and time, to the minute, of ``in two hours``, ``dans 30 minutes``."""
    for number in numbers:
        unit, value = number.unit, number.values[0]
        is_short = unit is not None and unit.measure == "time" and unit.size < _DAY and 0 < value < _DAY
        near = max(0, number.start - _FROM_NOW_LENGTH)
        if unit is not None and is_short and _FROM_NOW.search(text, near, number.start):
            seconds = Fraction(value) * unit.size
            moment = (now + timedelta(seconds=int(seconds))).replace(second=0, microsecond=0)
            span = (number.start, number.end)
            day = DateMention(*span, (Period(moment.date(), moment.date()),), is_relative=True)
            yield day, TimeMention(*span, (moment.time(),))


@lru_cache(maxsize=64)  # a task's text is asked about by each operand
def find_amounts(text: str, today: date = date.min) -> Mapping[Fraction, tuple[str, ...]]:
    """The numbers that a text states in their likeliest reading, each with the ways in which it is written.

    A number whose writing means another one by itself, as ``1.234`` of a German text, is listed under that one as well.
    """
    found: dict[Fraction, dict[str, None]] = {}
    for mention in read_told(text, today).numbers:
        if not (mention.text.casefold() == "one" and mention.is_everyday):
            number, alone = mention.values[0], read_amount(mention.text)
            if alone is not None:
                found.setdefault(Fraction(alone.number), {})[mention.text] = None
            found.setdefault(Fraction(number), {str(number): None})
    free = _FreeCharacters(text)
    free.claim(read_told(text, today).numbers, may_overlap=True)
    for match in _LETTERS.finditer(text):
        if free.has(match.start(), match.start() + 1) and (implied := read_implied_word(match[0])) is not None:
            found.setdefault(Fraction(implied.number), {})[match[0]] = None
    return {number: tuple(writings) for number, writings in found.items()}


@lru_cache(maxsize=64)
def find_stated_days(text: str, today: date) -> frozenset[date]:
    """The days that a text states: for a longer period its first, its last, and the day after it."""
    periods = [period for mention in read_told(text, today).dates for period in (*mention.periods, *mention.told_from)]
    after = [one.last + timedelta(days=1) for one in periods if one.first < one.last < date.max]
    return frozenset([*after, *(day for period in periods for day in period)])


@lru_cache(maxsize=64)
def read_told(text: str, today: date) -> Mentions:
    """What a text mentions, if only the day on which it was written is known; a ``today`` of year 1 means not even
    that.
    """
    is_known = today.year > 1
    now = datetime.combine(today if is_known else _ANY_DAY, time(), UTC)
    return find_mentions(text, now, relative=is_known)


class _FreeCharacters:
    """The characters of a text that belong to no mention yet: those of a date are no amount, those of a code no
    number.
    """

    def __init__(self, text: str) -> None:
        self._taken = bytearray(len(text))

    def has(self, start: int, end: int) -> bool:
        return not any(self._taken[start:end])

    def claim(self, found: Iterable[_Spanned], *, may_overlap: bool = False) -> list[_Spanned]:
        """The mentions whose characters are free, which they take.

        ``may_overlap``: they may lie within each other, as two days within a range of days do.
        """
        claimed = []
        for one in [one for one in found if self.has(one.start, one.end)]:
            if may_overlap or self.has(one.start, one.end):
                self._taken[one.start : one.end] = b"\1" * (one.end - one.start)
                claimed.append(one)
        return claimed


def _lengths_told_as_dates(numbers: Sequence[NumberMention], days: Sequence[DateMention]) -> list[NumberMention]:
    """The lengths of time within dates: ``in 30 days`` is a day and also thirty days; so is the length in ``two days
    before 4 March``.
    """
    by_start = sorted(days, key=lambda day: day.start)
    starts = [day.start for day in by_start]
    ends = [*accumulate((day.end for day in by_start), max, initial=0)]  # the last end of the days up to each
    return [one for one in numbers if one.unit is not None and one.end <= ends[bisect_right(starts, one.start)]]
