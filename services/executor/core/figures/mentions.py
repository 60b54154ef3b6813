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
    find_code_like_tokens,
    find_special_identifiers,
    normalize_identifier,
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
    WORD_OR_DIGITS_PATTERN,
    SpelledNumber,
    WrittenToken,
    fold_word,
    likely_languages,
    read_spelled_numbers,
    spaced_words,
    split_words,
)

_HOURS_OF_HALF_DAY = 12


class TimeMention(NamedTuple):
    """A time of day with its position in a text. ``times`` has two if the text does not say morning or afternoon."""

    start: int
    end: int
    times: tuple[time, ...]


_TIME_IN_DIGITS_PATTERN = re.compile(
    r"(?i)(?<![\w.,:/])(?<![A-LN-Za-ln-z]-)(?<!\d-\d\d-)(?:"
    r"(?<![T:]\d\d-)(?P<h1>[01]?\d|2[0-4])[:.](?P<m1>[0-5]\d)(?::(?P<s1>[0-5]\d))?(?:\s?(?P<p1>[ap]\.?m\b\.?|uhr\b|h\b))?"
    r"|(?P<h2>0?[1-9]|1[0-2])\s?(?P<p2>[ap]\.?m\b\.?)"
    r"|(?P<h3>[01]?\d|2[0-4])\s?h\s?(?P<m3>[0-5]\d)"
    r"|(?P<h4>[01]?\d|2[0-4])\s?uhr(?:\s(?P<m4>[0-5]\d))?"
    r"|(?P<h5>0?[1-9]|1[0-2])\s?o['’]clock"
    r"|(?<=à )(?P<h6>[01]?\d|2[0-4])\s?(?:h|heures?)"
    r"|(?:(?<=\bat )|(?<=\bum ))(?P<h7>[01]?\d|2[0-4])(?=\s*(?:[.,;?!]|$|\bon\b|\btomorrow\b|\btoday\b))"
    r")(?![\w%]|[.,:/]\d|-\d\d-)"
)
_NAMED_TIMES = {
    "noon": time(12), "midday": time(12), "mittag": time(12), "mittags": time(12), "midi": time(12),
    "midnight": time(0), "mitternacht": time(0), "minuit": time(0),
}  # fmt: skip
_WORDS_BEFORE_HOUR = frozenset("at um by gegen vers".split())
_WORDS_FOR_HOUR = frozenset("clock o uhr heure heures".split())
_WORDS_AFTER_HOUR = frozenset(["", *"on and tomorrow today in am morgen und".split()])
_DIRECTIONS_FROM_HOUR = {"past": 1, "nach": 1, "to": -1, "vor": -1}
_MINUTES_BY_PART_OF_HOUR: Mapping[str, int] = {"half": 30, "quarter": 15, "viertel": 15}
_MINUTES_BY_FRENCH_PART_OF_HOUR: Mapping[tuple[str, ...], int] = {
    ("et", "demie"): 30,
    ("et", "demi"): 30,
    ("et", "quart"): 15,
    ("moins", "le", "quart"): -15,
}
_HOUR_RANGE_PATTERN = re.compile(
    r"(?i)(?<![\w.,:/-])(\d{1,2})(?:\s?[-–]\s?|\s+(?:to|until|till|bis|à)\s+)(?=(\d{1,2})(?::[0-5]\d)?\s?(?:([ap])\.?m|uhr)\b)"
)


def _find_first_hours_of_ranges(text: str) -> Iterator[TimeMention]:
    """Yields the first hour of ranges such as ``9-11 am`` and ``6 bis 14 Uhr``."""
    for match in _HOUR_RANGE_PATTERN.finditer(text):
        first, last = int(match[1]), int(match[2])
        if not match[3] and max(first, last) <= 2 * _HOURS_OF_HALF_DAY:
            yield TimeMention(*match.span(1), (time(first % 24),))
        elif match[3] and 0 < first <= _HOURS_OF_HALF_DAY and 0 < last <= _HOURS_OF_HALF_DAY:
            is_afternoon = match[3].lower() == "p" and first % _HOURS_OF_HALF_DAY <= last % _HOURS_OF_HALF_DAY
            hour = first % _HOURS_OF_HALF_DAY + (_HOURS_OF_HALF_DAY if is_afternoon else 0)
            yield TimeMention(*match.span(1), (time(hour),))


def _find_times(text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]) -> Iterator[TimeMention]:
    """Yields the times in digits and in words."""
    yield from _find_first_hours_of_ranges(text)
    for match in _TIME_IN_DIGITS_PATTERN.finditer(text):
        if (mention := _read_time_in_digits(match)) is not None:
            yield mention
    words = _TimeWords(text, tokens, spelled)
    for place, token in enumerate(tokens):
        if (named_time := _NAMED_TIMES.get(token.folded)) is not None:
            yield TimeMention(token.start, token.end, (named_time,))
        elif (minutes_and_end := words.read_time(place)) is not None:
            minutes, end_place = minutes_and_end
            hour, minute = divmod(minutes % (24 * 60), 60)
            times = tuple(time((hour + hours) % 24, minute) for hours in _possible_hour_offsets(hour))
            yield TimeMention(token.start, tokens[end_place - 1].end, times)


def _read_time_in_digits(match: re.Match[str]) -> TimeMention | None:
    parts = {key[0]: value for key, value in match.groupdict().items() if value}
    if "." in match[0] and ":" not in match[0] and "p" not in parts:
        return None  # 9.30 is an amount unless something says that it is a time
    hour, minute, second = (int(parts.get(key, 0)) for key in "hms")
    half = parts.get("p", "")[:1].lower()
    half_days = _possible_hour_offsets(hour)
    if half in ("a", "p") and hour <= _HOURS_OF_HALF_DAY:
        hour, half_days = hour % _HOURS_OF_HALF_DAY, (_HOURS_OF_HALF_DAY if half == "p" else 0,)
    elif half or "m" in parts or match.lastgroup in ("h4", "h6"):
        half_days = (0,)
    return TimeMention(*match.span(), tuple(time((hour + hours) % 24, minute, second) for hours in half_days))


class _TimeWords:
    """The words of a text, from which times of day are read; a place is the index of a token.

    A time is told as minutes since midnight, with the place after its words.
    """

    def __init__(self, text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]) -> None:
        self._tokens, self._words = tokens, [token.folded for token in tokens]
        cardinals = [number for number in spelled if number.value == int(number.value) and not number.is_ordinal]
        self._numbers = {number.start_index: (int(number.value), number.end_index) for number in cardinals}
        for place, token in enumerate(tokens):
            is_hour = len(token.text) <= 2 and token.text.isascii() and token.text.isdecimal() and int(token.text) <= 24
            is_in_code = text[max(0, token.start - 1) : token.start] in ("-", "/", "_", ".")  # "set A-1 to 5"
            if is_hour and not is_in_code:
                self._numbers[place] = (int(token.text), place + 1)

    def read_time(self, place: int) -> tuple[int, int] | None:
        """The time in words that begins at a place, ``half past nine``; None if none does."""
        word, number = self._words[place], self._numbers.get(place)
        if word == "halb" and place + 1 in self._numbers:
            hour, end = self._numbers[place + 1]
            return hour * 60 - 30, end
        minutes = _MINUTES_BY_PART_OF_HOUR.get(word) or (number[0] if number else 0)
        direction = _DIRECTIONS_FROM_HOUR.get(self._word_at(place + 1), 0)
        is_range = self._word_at(place - 1) == "from"  # "from 10 to 15"
        if 0 < minutes < 60 and direction and place + 2 in self._numbers and not is_range:
            hour, end = self._numbers[place + 2]
            return (hour * 60 + direction * minutes, end) if hour <= 24 else None
        is_spelled = number is not None and not self._tokens[place].text.isdecimal()
        return self._read_spelled_hour(place) if is_spelled else None

    def _read_spelled_hour(self, place: int) -> tuple[int, int] | None:
        """A full hour, or one with a French part such as ``et demie``; None if it is none."""
        hour, end = self._numbers[place]
        first_end = end
        while self._word_at(end) in _WORDS_FOR_HOUR:
            end += 1
        for words, minutes in _MINUTES_BY_FRENCH_PART_OF_HOUR.items():
            if end > first_end and tuple(self._words[end : end + len(words)]) == words and hour <= 24:
                return hour * 60 + minutes, end + len(words)
        # No noun follows the hour in "at ten" and "at ten on Friday", but one does in "at ten euros".
        is_phrase = self._word_at(place - 1) in _WORDS_BEFORE_HOUR and self._word_at(end) in _WORDS_AFTER_HOUR
        return (hour * 60, end) if hour <= 24 and (end > first_end or is_phrase) else None

    def _word_at(self, place: int) -> str:
        """The word at a place; empty beyond the text."""
        return self._words[place] if 0 <= place < len(self._words) else ""


def _possible_hour_offsets(hour: int) -> Sequence[int]:
    """The hours that may be added to an hour told without morning or afternoon."""
    return (0,) if hour > _HOURS_OF_HALF_DAY else (0, _HOURS_OF_HALF_DAY)


_FROM_NOW_PATTERN = re.compile(r"(?i)\b(?:in|dans)\s+$")
_CHARACTERS_OF_FROM_NOW = 24  # with some spaces between
_DAY_SECONDS = 86_400
_ISO_DAY_LENGTH = len("2026-03-04")
_ISO_MOMENT_PATTERN = re.compile(
    r"(?<!\d)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?(?![\d:])"
)
_ARBITRARY_DAY = date(2000, 1, 1)
_RUN_OF_LETTERS_PATTERN = re.compile(r"[^\W\d_]+")
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

    @cached_property
    def numbers_by_value(self) -> Mapping[Number, Sequence[NumberMention]]:
        mentions_by_value: dict[Number, list[NumberMention]] = {}
        for mention in self.numbers:
            for value in mention.values:
                mentions_by_value.setdefault(value, []).append(mention)
        return mentions_by_value

    @cached_property
    def identifier_keys(self) -> frozenset[tuple[str, ...]]:
        return frozenset(normalize_identifier(identifier.text) for identifier in self.identifiers)

    @cached_property
    def days(self) -> frozenset[date]:
        """The first and last day of each period that the text mentions."""
        return frozenset(day for mention in self.dates for period in mention.periods for day in period)

    @cached_property
    def times_of_day(self) -> frozenset[time]:
        return frozenset(hour for mention in self.times for hour in mention.times)

    @cached_property
    def text_without_dates(self) -> str:
        """The text with blanks in place of its dates: "the first" of "May the first" chooses nothing."""
        marks = list(self.text)
        for mention in self.dates:
            marks[mention.start : mention.end] = " " * (mention.end - mention.start)
        return "".join(marks)

    def has_phrase(self, phrase: str) -> bool:
        """Whether the text contains the phrase exactly, as whole words and not within a code or number."""
        return any(self._is_whole_word(start, start + len(phrase)) for start in _find_occurrences(phrase, self.text))

    def has_words(self, phrase: str) -> bool:
        """Whether the text has the words in a row, without regard to case, accents and the marks between them."""
        words = spaced_words(phrase)
        joined_words, starts, ends = self._folded_words_with_spans
        if not words.strip():
            return False
        word_index = last_place = 0  # the index of the word that begins at the last place looked at
        for place in _find_occurrences(words, joined_words):
            word_index, last_place = word_index + joined_words.count(" ", last_place, place), place
            if self._is_whole_word(starts[word_index], ends[word_index + words.count(" ") - 2]):
                return True
        return False

    def _is_whole_word(self, start: int, end: int) -> bool:
        across_start = self.text[start - 1 : start + 1] if start else ""
        across_end = self.text[end - 1 : end + 1]
        if any(len(marks) == 2 and marks[0].isalnum() and marks[1].isalnum() for marks in (across_start, across_end)):
            return False
        has_digit = any(mark.isdecimal() for mark in self.text[start:end])
        is_inside = self._positions_in_mentions if has_digit else self._positions_in_identifiers
        return not (is_inside[start] or is_inside[end])

    @cached_property
    def _positions_in_identifiers(self) -> bytearray:
        return _mark_positions_inside(len(self.text), self.identifiers)

    @cached_property
    def _positions_in_mentions(self) -> bytearray:
        return _mark_positions_inside(len(self.text), (*self.identifiers, *self.numbers, *self.dates, *self.times))

    @cached_property
    def _folded_words_with_spans(self) -> tuple[str, Sequence[int], Sequence[int]]:
        spans = [match.span() for match in WORD_OR_DIGITS_PATTERN.finditer(self.text)]
        pieces = [fold_word(self.text[start:end]) for start, end in spans]
        return f" {' '.join(pieces)} ", [start for start, _ in spans], [end for _, end in spans]


def _mark_positions_inside(length: int, spans: Iterable[Mention]) -> bytearray:
    """For each position of a text of that length, one byte: whether it lies inside a span, not at its edge."""
    is_inside = bytearray(length + 1)
    for span in spans:
        is_inside[span.start + 1 : span.end] = b"\1" * (span.end - span.start - 1)
    return is_inside


def _find_occurrences(phrase: str, text: str) -> Iterator[int]:
    start = text.find(phrase)
    while start >= 0:
        yield start
        start = text.find(phrase, start + 1)


def find_mentions(text: str, now: datetime, *, includes_relative: bool = True) -> Mentions:
    """Finds all that the text mentions. ``now``: aware, in the writer's zone, to which relative dates refer."""
    find = _find_cached if len(text) <= _LONGEST_CACHED_TEXT else _find_mentions_uncached
    return find(text, now.replace(tzinfo=None), now.tzinfo, includes_relative)


def _find_mentions_uncached(text: str, wall_time: datetime, zone: tzinfo | None, includes_relative: bool) -> Mentions:
    """``find_mentions``, with ``now`` in two parts: as keys of the cache, equal moments of other zones would be one."""
    now = wall_time.replace(tzinfo=zone)
    tokens = split_words(text)
    languages = likely_languages(token.folded for token in tokens)
    spelled = read_spelled_numbers(text, tokens, languages)
    numbers = [*find_numbers_in_digits(text, languages[0]), *find_numbers_in_words(text, tokens, spelled)]
    free = _FreeCharacters(text)
    special = free.claim_mentions(find_special_identifiers(text))
    days = find_dates(text, tokens, spelled, now.date(), includes_relative=includes_relative)
    days = free.claim_mentions(days, may_overlap=True)
    moments = [*_find_iso_moments(text, now.tzinfo)]
    times = free.claim_mentions([*(hour for _, hour in moments), *_find_times(text, tokens, spelled)])
    days += [day for day, _ in moments]
    lengths_of_time = _find_lengths_in_dates(numbers, days)
    longest_first = sorted(numbers, key=lambda number: (number.start, -number.end))  # "2 dozen" before "2"
    free_numbers = free.claim_mentions(longest_first)
    free_numbers += join_major_and_minor_amounts(text, free_numbers)
    if includes_relative:
        moments = [*_find_moments_from_now(text, free_numbers, now)]
        days = [*days, *(day for day, _ in moments)]
        times = [*times, *(hour for _, hour in moments)]
    spans = {(number.start, number.end) for number in free_numbers}
    codes = [code for code in find_code_like_tokens(text) if code[:2] in spans or free.are_free(code.start, code.end)]
    return Mentions(
        text=text,
        now=now,
        numbers=tuple(sorted([*free_numbers, *lengths_of_time], key=lambda number: number.start)),
        dates=tuple(days),
        times=tuple(times),
        identifiers=tuple(sorted([*special, *codes])),
    )


# The same texts are asked about for each call of a task.
_find_cached = lru_cache(maxsize=128)(_find_mentions_uncached)
_LONGEST_CACHED_TEXT = 10_000  # characters


def _find_iso_moments(text: str, zone: tzinfo | None) -> Iterator[tuple[DateMention, TimeMention]]:
    """Yields day and time of moments such as ``2026-03-04T10:00:00Z``, converted to the zone."""
    for match in _ISO_MOMENT_PATTERN.finditer(text):
        moment = read_machine_moment(match[0], zone)
        if moment is not None and moment.day is not None and moment.hour is not None:
            day_end = match.start() + _ISO_DAY_LENGTH
            day = DateMention(match.start(), day_end, (Period(moment.day, moment.day),))
            yield day, TimeMention(day_end, match.end(), (moment.hour,))


def _find_moments_from_now(
    text: str, numbers: Sequence[NumberMention], now: datetime
) -> Iterator[tuple[DateMention, TimeMention]]:
    """Yields day and time, to the minute, of ``in two hours``, ``dans 30 minutes``."""
    for number in numbers:
        unit, value = number.unit, number.values[0]
        if unit is None or unit.measure != "time" or unit.size >= _DAY_SECONDS or not 0 < value < _DAY_SECONDS:
            continue
        if _FROM_NOW_PATTERN.search(text, max(0, number.start - _CHARACTERS_OF_FROM_NOW), number.start):
            seconds = Fraction(value) * unit.size
            moment = (now + timedelta(seconds=int(seconds))).replace(second=0, microsecond=0)
            span = (number.start, number.end)
            day = DateMention(*span, (Period(moment.date(), moment.date()),), is_relative=True)
            yield day, TimeMention(*span, (moment.time(),))


@lru_cache(maxsize=64)  # a task's text is asked about by each operand
def find_number_notations(text: str, today: date = date.min) -> Mapping[Fraction, tuple[str, ...]]:
    """The numbers that a text states, as ``{number: notations}``.

    ``1.234`` of a German text is there twice: in its own notation under 1.234, as English reads it, and in plain digits
    under 1234.
    """
    notations_by_number: dict[Fraction, dict[str, None]] = {}
    for mention in _find_mentions_on_day(text, today).numbers:
        if not (mention.text.casefold() == "one" and mention.is_small_number_word):
            number, amount = mention.values[0], read_amount(mention.text)
            if amount is not None:
                notations_by_number.setdefault(Fraction(amount.number), {})[mention.text] = None
            notations_by_number.setdefault(Fraction(number), {str(number): None})
    free = _FreeCharacters(text)
    free.claim_mentions(_find_mentions_on_day(text, today).numbers, may_overlap=True)
    for match in _RUN_OF_LETTERS_PATTERN.finditer(text):
        if free.are_free(match.start(), match.start() + 1) and (implied := read_number_word(match[0])) is not None:
            notations_by_number.setdefault(Fraction(implied.number), {})[match[0]] = None
    return {number: tuple(notations) for number, notations in notations_by_number.items()}


@lru_cache(maxsize=64)
def find_stated_days(text: str, today: date) -> frozenset[date]:
    """The days in a text; of a period the first, last and the day after; of "two days before 4 March" also 4 March."""
    periods = [
        period
        for mention in _find_mentions_on_day(text, today).dates
        for period in (*mention.periods, *mention.offset_from)
    ]
    days_after = [period.last + timedelta(days=1) for period in periods if period.first < period.last < date.max]
    return frozenset([*days_after, *(day for period in periods for day in period)])


@lru_cache(maxsize=64)
def _find_mentions_on_day(text: str, today: date) -> Mentions:
    """What a text mentions, if only the day it was written on is known; ``date.min`` means that not even the day is."""
    is_known = today.year > 1
    now = datetime.combine(today if is_known else _ARBITRARY_DAY, time(), UTC)
    return find_mentions(text, now, includes_relative=is_known)


class _FreeCharacters:
    """The characters of a text that no mention has claimed yet: the digits of a date are not also an amount."""

    def __init__(self, text: str) -> None:
        self._is_claimed = bytearray(len(text))

    def are_free(self, start: int, end: int) -> bool:
        return not any(self._is_claimed[start:end])

    def claim_mentions(self, mentions: Iterable[_Spanned], *, may_overlap: bool = False) -> list[_Spanned]:
        """Claims the characters of those mentions that lie on free ones only, and returns these mentions.

        Only with ``may_overlap`` two of them may share characters.
        """
        claimed = []
        for mention in [mention for mention in mentions if self.are_free(mention.start, mention.end)]:
            if may_overlap or self.are_free(mention.start, mention.end):
                self._is_claimed[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
                claimed.append(mention)
        return claimed


def _find_lengths_in_dates(numbers: Sequence[NumberMention], days: Sequence[DateMention]) -> list[NumberMention]:
    """The lengths of time within dates: ``in 30 days`` is a day and also thirty days."""
    by_start = sorted(days, key=lambda day: day.start)
    starts = [day.start for day in by_start]
    ends = [*accumulate((day.end for day in by_start), max, initial=0)]  # the last end of the days up to each
    with_unit = [number for number in numbers if number.unit is not None]
    return [number for number in with_unit if number.end <= ends[bisect_right(starts, number.start)]]
