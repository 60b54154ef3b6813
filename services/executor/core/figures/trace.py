"""Finds where each argument of a call comes from: the task, earlier turns, answers, calculations or the schema."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from dateutil.relativedelta import relativedelta

from services.executor.core.figures.arguments import (
    SOURCED_KINDS,
    ArgumentHints,
    ArgumentKind,
    FieldContentKind,
    ReadField,
    fields_of_facts,
    has_currency_code,
    hints_of_argument,
    is_minor_unit_name,
    kind_of_argument,
    read_epoch,
)
from services.executor.core.figures.dates import (
    DateMention,
    ParsedMoment,
    read_compact_day,
    read_machine_moment,
    read_possible_dates,
)
from services.executor.core.figures.identifiers import (
    ADDRESS_KINDS,
    IdentifierKind,
    WrittenIdentifier,
    find_special_identifiers,
    has_digit,
    kind_of_identifier,
    normalize_identifier,
)
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import (
    Number,
    NumberMention,
    count_decimal_places,
    is_rounding_of,
    read_number,
    read_number_text,
)
from services.executor.core.figures.vocabulary import (
    UNITS_BY_WORD,
    PossibleCurrencies,
    Unit,
    may_share_currency,
    minor_unit_places,
    spaced_words,
)
from services.executor.core.session.values import Fact, describe_field_place
from services.executor.core.tools.name_similarity import may_hold_id
from shared.domain.exact_json import Json, JsonObject, as_object, as_text, dumps

_MOST_DAYS_AHEAD = 366
_FEWEST_DECIMALS_OF_SHARE = 2  # 0.33 is a third, 0.3 is not
_ISO_DURATION_PATTERN = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SECONDS_BY_DURATION_PART = (86_400, 3600, 60, 1)
_LONGEST_DATE = 60
_UNITS_OF_TIME = [UNITS_BY_WORD[name] for name in ("seconds", "minutes", "hours", "days")]


def is_value_in_text(value: Json, hints: ArgumentHints, mentions: Mentions) -> bool:
    """Whether the text contains the scalar in some notation.

    A number within a longer code, date or phone number does not count. A negative number of the text counts for the
    positive value, not the reverse. An amount in minor units (123450 for 1,234.50) counts where the hints say so, or
    where the argument takes integers and the text's amount is no integer.
    """
    if value is None or isinstance(value, dict | list):
        return False
    if isinstance(value, bool):
        return mentions.has_words(dumps(value))
    search = _TextSearch(hints, mentions)
    if isinstance(value, str):
        return search.has_text(value.strip())
    return search.has_number(Decimal(value)) or search.has_part_of_date(value)


class _TextSearch(NamedTuple):
    """Looks in a text for the values of an argument with these hints."""

    hints: ArgumentHints
    mentions: Mentions

    def has_text(self, text: str) -> bool:
        if not text:
            return False
        kind, mentions = kind_of_identifier(text), self.mentions
        return (
            mentions.has_phrase(text)
            or self._has_date(text)
            or self._has_written_number(text)
            or (kind is not None and normalize_identifier(text) in mentions.identifier_keys)
            or (kind not in ADDRESS_KINDS and mentions.has_words(text))
            or any(number.money is not None and text in number.money.codes for number in mentions.numbers)  # EUR: €50
        )

    def _has_written_number(self, text: str) -> bool:
        if (seconds := read_duration(text)) is not None:
            return self._has_quantity(Fraction(seconds), "time")
        number = read_number_text(text)
        return number is not None and any(self.has_number(value, number) for value in number.values)

    def has_number(self, value: Number, argument: NumberMention | None = None) -> bool:
        """Whether the text has the number: as it is, in minor units, or in another unit of measure.

        ``argument``: the number with its money and unit, if the argument is a text.
        """
        hints, mentions = self.hints, self.mentions
        money, unit = (argument.money, argument.unit or hints.unit) if argument else (None, hints.unit)
        negatives = mentions.numbers_by_value.get(-value, ()) if value > 0 or hints.is_signed else ()
        for mention in (*mentions.numbers_by_value.get(value, ()), *negatives):
            is_possible = self._may_fill_argument(mention) and may_share_currency(mention.money, money)
            if is_possible and self._is_in_unit_of_argument(value, mention, unit):
                return True
        return self._has_in_minor_units(value, money) or self._has_in_other_measure(value, unit)

    def _is_in_unit_of_argument(self, value: Number, mention: NumberMention, unit: Unit | None) -> bool:
        if _is_minor_unit_amount(mention) and value:
            return self.hints.is_in_minor_units or self.hints.kind is not ArgumentKind.AMOUNT
        return unit is None or mention.unit in (None, unit)

    def _may_fill_argument(self, mention: NumberMention) -> bool:
        """Whether a mentioned number can be such an argument's value: "one of them" is no amount."""
        kind = self.hints.kind
        if kind in (ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
            is_word = mention.is_small_number_word or (mention.is_spelled and kind is ArgumentKind.ACCOUNT)
            return not (is_word or mention.unit or mention.money)
        if kind is not ArgumentKind.AMOUNT:
            return True
        if mention.is_small_number_word and not mention.money:
            return False
        return mention.unit is None or (mention.unit.measure == "percent" and not self.hints.is_plain_money)

    def _has_in_minor_units(self, value: Number, money: PossibleCurrencies | None) -> bool:
        if self.hints.kind is not ArgumentKind.AMOUNT and not self.hints.is_in_minor_units and not money:
            return False
        return any(
            self._equals_in_minor_units(value, number, mention)
            for mention in self.mentions.numbers
            if mention.unit is None and may_share_currency(mention.money, money)
            for number in mention.values
        )

    def _equals_in_minor_units(self, value: Number, number: Number, mention: NumberMention) -> bool:
        size = 10 ** minor_unit_places(mention.money)
        if _is_minor_unit_amount(mention):
            return value * size == number and not self.hints.is_in_minor_units
        must_be = self.hints.is_integer and number != int(number)
        return (self.hints.is_in_minor_units or must_be) and value == number * size

    def _has_in_other_measure(self, value: Number, unit: Unit | None) -> bool:
        """Whether the text has the number in another measure: percent for a share, 90 minutes for 1.5 hours."""
        kind = self.hints.kind
        if unit is None and kind in (ArgumentKind.AMOUNT, ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
            return kind is ArgumentKind.AMOUNT and not self.hints.is_plain_money and self._has_share(value)
        units = [unit] if unit else _UNITS_OF_TIME if kind is ArgumentKind.QUANTITY else []
        is_quantity = any(self._has_quantity(Fraction(value) * unit.size, unit.measure) for unit in units)
        return is_quantity or self._has_share(value)

    def _has_share(self, value: Number) -> bool:
        for mention in self.mentions.numbers:
            percent = mention.unit if mention.unit is not None and mention.unit.measure == "percent" else None
            for number in mention.values:
                share = Fraction(number) * percent.size / 100 if percent else Fraction(number)
                if (percent and value == share) or (isinstance(number, Fraction) and _rounds_to_share(value, share)):
                    return True
        return False

    def _has_quantity(self, amount: Fraction, measure: str) -> bool:
        """Whether the text has a quantity of this measure equal to ``amount``, which is in the measure's base unit."""
        return any(
            mention.unit is not None
            and mention.unit.measure == measure
            and any(Fraction(number) * mention.unit.size == amount for number in mention.values)
            for mention in self.mentions.numbers
        )

    def _has_date(self, text: str) -> bool:
        moment = read_machine_moment(text, self.mentions.now.tzinfo)
        if moment is None:
            return self._has_written_date(text)
        has_day = moment.day is None or self._has_day(moment.day)
        is_day_alone = moment.day is not None and moment.hour in (None, time(0), time(23, 59), time(23, 59, 59))
        has_moment = has_day and (is_day_alone or moment.hour in self.mentions.times_of_day)
        return has_moment or self._has_start_and_length(moment)

    def _has_written_date(self, text: str) -> bool:
        """Whether ``text`` is wholly one date in words (``4 March 2026``) or a month (``2026-03``), and the searched
        text has it, or for a single day a period or repetition that includes it.
        """
        if len(text) > _LONGEST_DATE or not any(mark.isdecimal() for mark in text):
            return False
        dates = find_mentions(text, self.mentions.now).dates
        if len(dates) != 1 or dates[0].end - dates[0].start < len(text):
            return False
        periods = dates[0].periods
        if any(not set(mention.periods).isdisjoint(periods) for mention in self.mentions.dates):
            return True
        return bool(periods) and periods[0].first == periods[0].last and self._has_day(periods[0].first)

    def _has_day(self, day: date) -> bool:
        """Whether the text has the day: by itself, within a period, or as a day of a repetition."""
        mentions = self.mentions
        periods = [period for mention in mentions.dates for period in mention.periods]
        if day in mentions.days or any(period.first <= day <= period.last for period in periods):
            return True
        bases = [*(period.first for period in periods), mentions.now.date()]
        steps = [mention.step for mention in mentions.dates if mention.step]
        return any(_repetition_falls_on(day, base, step) for step in steps for base in bases)

    def has_part_of_date(self, value: Json) -> bool:
        """Whether a date of the text has that part: ``year: 2026`` and ``month: 3`` where it says March 2026."""
        days = (period.first for mention in self.mentions.dates for period in mention.periods)
        return self.hints.kind is ArgumentKind.DATE and any(value in (day.year, day.month, day.day) for day in days)

    def _has_start_and_length(self, moment: ParsedMoment) -> bool:
        """Whether the text has the start of which this is the end, and the length between: "at 9 for 90 minutes"."""
        if moment.hour is None:
            return False
        mentions = self.mentions
        end = datetime.combine(moment.day or self.mentions.now.date(), moment.hour)
        lengths = filter(None, map(read_duration_of_mention, mentions.numbers))
        return any(
            start.time() in mentions.times_of_day and (moment.day is None or self._has_day(start.date()))
            for start in (end - length for length in lengths)
        )


def _is_minor_unit_amount(mention: NumberMention) -> bool:
    return mention.money is not None and mention.money.is_minor


def read_duration(text: str) -> Decimal | None:
    """The seconds of an ISO 8601 duration, ``PT1H30M``; None for any other text."""
    match = _ISO_DURATION_PATTERN.fullmatch(text) if text.startswith("P") and len(text) > 2 else None
    if match is None:
        return None
    return Decimal(
        sum(int(count or 0) * size for count, size in zip(match.groups(), _SECONDS_BY_DURATION_PART, strict=True))
    )


def _rounds_to_share(value: Number, share: Fraction) -> bool:
    """Whether the value is the share, or the share in percent, rounded to the value's decimal places."""
    if not isinstance(value, Decimal) or count_decimal_places(value) < _FEWEST_DECIMALS_OF_SHARE:
        return value in (share, share * 100)
    return is_rounding_of(value, share) or is_rounding_of(value, share * 100)


def _repetition_falls_on(day: date, base: date, step: str) -> bool:
    """Whether a repetition that begins on ``base`` falls on ``day`` within a year."""
    days = (day - base).days
    falls_on_day = {
        "D": True,
        "w": day.weekday() < 5,
        "K": days % 7 == 0,
        "H": day.day == base.day,
        "J": (day.month, day.day) == (base.month, base.day),
    }
    return 0 <= days <= _MOST_DAYS_AHEAD and falls_on_day[step]


def read_duration_of_mention(mention: NumberMention) -> timedelta | None:
    """The length of time that a number with its unit is, up to a year; else None."""
    if mention.unit is None or mention.unit.measure != "time":
        return None
    seconds = Fraction(mention.values[0]) * mention.unit.size
    return timedelta(seconds=float(seconds)) if 0 < seconds <= _MOST_DAYS_AHEAD * 86_400 else None


_MOST_ORIGINS = 1_000
_MOST_TEXTS_READ = 40  # texts that are read in full to look for one value
_MOST_CHARACTERS = 20_000
_LONGEST_COMPARED_TEXT = 60  # characters of a free text that is compared as a whole, too
_WORD_OR_NUMBER_PATTERN = re.compile(r"[^\W\d_]+|\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{3}(?!\d))*")
_DOTTED_DAY_PATTERN = re.compile(r"(?<!\d)(\d{1,2})\.\d{1,2}\.")
_NON_DIGITS_PATTERN = re.compile(r"\D+")
_ACCOUNT_KINDS = (IdentifierKind.IBAN, IdentifierKind.PHONE)
_ComparableValue = str | Decimal | date | tuple[str, ...]
_ANGLE_BRACKETS_PATTERN = re.compile(r"<([^<>]*+)>")
_NAME_AND_ADDRESS_PATTERN = re.compile(r"\s*+\"?+([^\"<>]++)\"?+\s*+<([^<>@\s]++@[^<>\s]++)>\s*+")


class FactsIndex:
    """An index from a value to every field of the successful reads that shows it, in any notation.

    ``now`` gives the zone, and the year of dates without one. Nothing is read before the first value is looked for.
    """

    def __init__(self, facts: Sequence[Fact], now: datetime) -> None:
        self._facts, self._now = facts, now
        self._mentions_by_text: dict[str, Mentions] = {}

    def find_origins(self, value: Json, hints: ArgumentHints) -> tuple[ReadField, ...]:
        """The fields that hold just this value, up to a bound; if there are none, the texts that contain it."""
        if value is None or isinstance(value, bool | dict | list) or value == "":
            return ()
        fields_by_id = {id(field): field for field in self._find_fields_equal_to(value, hints)}
        origins = tuple(islice(fields_by_id.values(), _MOST_ORIGINS))
        return origins or tuple(field._replace(is_whole=False) for field in self._find_texts_containing(value, hints))

    def find_fields_of_words(self, words: str) -> Sequence[ReadField]:
        """The data fields that consist of exactly these words."""
        return self._fields_by_meaning.get(spaced_words(words), ())

    @cached_property
    def _fields(self) -> Sequence[ReadField]:
        """All fields; epoch seconds also as a moment, and a name with a mail address also as each of the two."""
        fields = []
        for field in fields_of_facts(self._facts):
            moment = read_epoch(field.field_name, field.value, self._now.tzinfo)
            is_named_address = isinstance(field.value, str) and "<" in field.value
            person = _NAME_AND_ADDRESS_PATTERN.fullmatch(str(field.value)) if is_named_address else None
            parts = [moment.isoformat()] if moment else map(str.strip, person.groups() if person else ())
            fields += [field, *(field._replace(value=part) for part in parts)]
        return fields

    @cached_property
    def _fields_by_meaning(self) -> Mapping[_ComparableValue, Sequence[ReadField]]:
        """The fields by what their whole values mean: a text's words; numbers and days, or else an identifier."""
        fields_by_meaning: dict[_ComparableValue, list[ReadField]] = {}
        for field in self._fields:
            text = str(field.value)
            if field.kind is FieldContentKind.STRUCTURED or len(text) <= _LONGEST_COMPARED_TEXT:
                words = [spaced_words(text)] if isinstance(field.value, str) else []
                for meaning in (*words, *(self._read_meanings(text) if has_digit(text) else ())):
                    fields_by_meaning.setdefault(meaning, []).append(field)
        return fields_by_meaning

    def _read_meanings(self, text: str) -> Sequence[_ComparableValue]:
        moment, mention = read_machine_moment(text, self._now.tzinfo), read_number_text(text)
        numbers = [number for number in mention.values if isinstance(number, Decimal)] if mention else []
        figures = (*numbers, *([moment.day] if moment and moment.day else read_possible_dates(text)))
        is_identifier = not figures and kind_of_identifier(text) is not None
        return [normalize_identifier(text)] if is_identifier else figures

    def _find_fields_equal_to(self, value: Json, hints: ArgumentHints) -> Iterator[ReadField]:
        if isinstance(value, str):
            fields = [field for field in self.find_fields_of_words(value) if _is_same_text(value, str(field.value))]
            yield from fields
            yield from self._find_fields_with_day(value)
            if not fields and kind_of_identifier(value) is not None:
                yield from self._fields_by_meaning.get(normalize_identifier(value), ())
        mention = read_number(value)
        for number in mention.values if mention else ():
            if mention is not None and isinstance(number, Decimal):
                with_number = self._find_fields_with_number(number, mention.money)
                yield from (field for field in with_number if not _is_in_other_units(field, hints))
                yield from self._find_fields_in_other_units(number, mention.money, hints)

    def _find_fields_with_number(self, number: Decimal, money: PossibleCurrencies | None) -> Iterator[ReadField]:
        """Yields the fields with that number. A positive number also finds fields with a minus."""
        for figure in (number, -number) if number > 0 else (number,):
            for field in self._fields_by_meaning.get(figure, ()):
                mention = read_number(field.value)
                if mention is None or may_share_currency(mention.money, money):
                    yield field

    def _find_fields_in_other_units(
        self, number: Decimal, money: PossibleCurrencies | None, hints: ArgumentHints
    ) -> Iterator[ReadField]:
        """Yields the fields that show the amount in other units: 123450 in cents for 1234.50, and the reverse."""
        if hints.kind is not ArgumentKind.AMOUNT:
            return
        size = 10 ** minor_unit_places(money)
        if not hints.is_in_minor_units:
            fields = self._fields_by_meaning.get(number * size, ())
            yield from (field for field in fields if is_minor_unit_name(field.name))
        major_amount = number / size
        if hints.is_in_minor_units or (hints.is_integer and major_amount != major_amount.to_integral_value()):
            fields = self._fields_by_meaning.get(major_amount, ())
            yield from (field for field in fields if not is_minor_unit_name(field.name))

    def _find_fields_with_day(self, value: str) -> Iterator[ReadField]:
        moment = read_machine_moment(value, self._now.tzinfo)
        for day in [moment.day] if moment else read_possible_dates(value):
            for field in self._fields_by_meaning.get(day, ()) if day else ():
                shown = read_machine_moment(str(field.value), self._now.tzinfo)
                if moment is None or moment.hour is None or shown is None or shown.hour in (None, moment.hour):
                    yield field

    def _find_texts_containing(self, value: Json, hints: ArgumentHints) -> Iterator[ReadField]:
        """Yields the texts that contain the value among other words, data fields before free text."""
        characters_left = _MOST_CHARACTERS
        texts = sorted(
            self._find_texts_with_rarest_term(value), key=lambda field: field.kind is not FieldContentKind.STRUCTURED
        )
        for field in texts[:_MOST_TEXTS_READ]:
            text = str(field.value)
            characters_left -= len(text)
            if characters_left < 0:
                return
            if text not in self._mentions_by_text:
                self._mentions_by_text[text] = find_mentions(text, self._now, includes_relative=False)
            if is_value_in_text(value, hints, self._mentions_by_text[text]):
                yield field

    def _find_texts_with_rarest_term(self, value: Json) -> Sequence[ReadField]:
        text = as_text(value)
        moment = read_machine_moment(text, self._now.tzinfo) if isinstance(value, str) else None
        if kind_of_identifier(text) in _ACCOUNT_KINDS:
            terms: Sequence[_ComparableValue] = [normalize_identifier(text)]
        elif moment is not None and moment.day is not None:
            terms = [_fold_term(str(moment.day.day))]
        else:
            terms = [*map(_fold_term, _WORD_OR_NUMBER_PATTERN.findall(text))]
        return min((self._texts_by_term.get(term, ()) for term in terms), key=len, default=())

    @cached_property
    def _texts_by_term(self) -> Mapping[_ComparableValue, Sequence[ReadField]]:
        """The texts of several words, or long ones, by each of their words, numbers and special identifiers."""
        fields_by_term: dict[_ComparableValue, list[ReadField]] = {}
        for field in self._fields:
            text = field.value
            if isinstance(text, str) and (" " in text or len(text) > _LONGEST_COMPARED_TEXT):
                terms: set[_ComparableValue] = {
                    *map(_fold_term, [*_WORD_OR_NUMBER_PATTERN.findall(text), *_DOTTED_DAY_PATTERN.findall(text)])
                }
                terms |= {normalize_identifier(identifier.text) for identifier in find_special_identifiers(text)}
                for term in terms:
                    fields_by_term.setdefault(term, []).append(field)
        return fields_by_term


def _is_same_text(value: str, field_text: str) -> bool:
    """Whether two texts with the same words are one value. In numbers the marks count: ``1.5`` is not ``1-5``."""
    if kind_of_identifier(value) in ADDRESS_KINDS:
        return normalize_identifier(value) == normalize_identifier(field_text)
    if value.casefold() == field_text.casefold() or not has_digit(value):
        return True
    return read_number_text(value) is None and read_number_text(field_text) is None


def _is_in_other_units(field: ReadField, hints: ArgumentHints) -> bool:
    """Whether one of the field and the argument is in cents by its name, and the other in whole units."""
    if hints.kind is not ArgumentKind.AMOUNT:
        return False
    if is_minor_unit_name(field.name):
        return hints.is_in_major_units
    return hints.is_in_minor_units and has_currency_code(field.name)


def _fold_term(term: str) -> str:
    """A word folded; of a number its digits without separators and outer zeros, so that 1,200.00 and 1.2k are equal."""
    if term[:1].isdecimal():
        return _NON_DIGITS_PATTERN.sub("", term).strip("0") or "0"
    return spaced_words(term).strip()


_LIST_NUMBER_PATTERN = re.compile(r"^[ \t>*_#-]*(\d{1,3})[.)](?=\s)", re.MULTILINE)
_POSITION_WORD_PATTERN = re.compile(r"(?i)(?:\bstep|\bno\.|\bnumber|\bitem|\bschritt|\bpunkt|\bétape|\bpoint)\s+$")
_VERSION_NUMBER_PATTERN = re.compile(r"(?i)v?\d+(?:\.\d+){2,}[\w.-]*|v\d+(?:\.\d+)*")
_VERSION_BEFORE_PATTERN = re.compile(r"(?i)(?:\bversion|\brelease|\bpython|\bv\.)\s*$")


def find_figures_in_answer(text: str, now: datetime) -> list[NumberMention | WrittenIdentifier]:
    """The figures and identifiers of an answer in order, without list numbers, dates, times, ordinals and versions."""
    mentions = find_mentions(text, now)
    list_starts = {match.start(1) for match in _LIST_NUMBER_PATTERN.finditer(text)}
    starts = list_starts | {number.start for number in mentions.numbers}
    numbers = [number for number in mentions.numbers if number.start not in list_starts]
    figures = [number for number in numbers if _is_figure_mention(number, text)]
    codes = [
        code
        for code in mentions.identifiers
        if code.start not in starts and not _VERSION_NUMBER_PATTERN.fullmatch(code.text)
    ]
    return sorted((*figures, *codes), key=lambda mention: mention.start)


def _is_figure_mention(mention: NumberMention, text: str) -> bool:
    if mention.is_small_number_word:
        return mention.money is not None or mention.unit is not None
    text_before = text[max(0, mention.start - 12) : mention.start]
    return not (_VERSION_BEFORE_PATTERN.search(text_before) or _POSITION_WORD_PATTERN.search(text_before))


class StatedDay(NamedTuple):
    """A day that an answer states. ``days``: what it can mean, likeliest first."""

    text: str
    days: tuple[date, ...]


_POSSIBLE_DAY_PATTERN = re.compile(
    r"(?<!\d)\d{4}(?!\d)|\d[^\W\d_]{0,2}[.\s-]{1,2}(?:\w\w\s)?[^\W\d_]{3}|[^\W\d_]{3}[.\s]{1,2}\d"
)
_WRITTEN_OUT_DATE_PATTERN = re.compile(
    r"(?=.*(?<!\d)\d\d?(?!\d)).*(?:\d{4}|\b[A-Z]\w\w)"
)  # "3 May 2026" or "3 May", not "3 may"
_YEARS_TRIED_EACH_WAY = 5  # before and after this one in which a day without a year may be


def find_days_in_answer(text: str, now: datetime) -> list[StatedDay]:
    """The single days that an answer writes out; none that repeats, is counted from another, or is within a period."""
    if not _POSSIBLE_DAY_PATTERN.search(text):
        return []
    dates = find_mentions(text, now, includes_relative=False).dates
    longer = [other for other in dates if any(period.first != period.last for period in other.periods)]
    stated_days = []
    for mention in dates:
        written = text[mention.start : mention.end]
        is_told_by_other = mention.step or mention.offset_from
        is_in_period = any(other.start <= mention.start and mention.end <= other.end for other in longer)
        if mention.periods and not is_told_by_other and not is_in_period and _WRITTEN_OUT_DATE_PATTERN.match(written):
            stated_days.append(_build_stated_day(written, mention, now))
    return stated_days


def _build_stated_day(text: str, mention: DateMention, now: datetime) -> StatedDay:
    days = [period.first for period in mention.periods]
    if not re.search(r"\d{4}", text):
        years = range(now.year - _YEARS_TRIED_EACH_WAY, now.year + _YEARS_TRIED_EACH_WAY + 1)
        days += [day + relativedelta(year=year) for day in days[:1] for year in years]
    return StatedDay(text, tuple(dict.fromkeys(days)))


class OriginKind(StrEnum):
    """The kind of source that an argument has. ``TASK`` includes earlier turns of the session."""

    TASK = "task"
    FACT = "fact"
    CALCULATED = "calculated"
    SCHEMA = "schema"
    NONE = "none"


CalculatedResult = Decimal | str


@dataclass(frozen=True)
class TraceSources:
    """All that an argument may come from. ``now``: an aware time in the requester's zone. ``earlier``: the session's
    turns before the task. ``calculated``: figures, days and texts by the name of their value; ``calculated_in_cents``:
    the names of those that are in cents.
    """

    task: Mentions
    facts: FactsIndex
    now: datetime
    earlier: Sequence[Mentions]
    calculated: Mapping[str, CalculatedResult]
    calculated_in_cents: Set[str] = frozenset()

    @property
    def texts(self) -> tuple[Mentions, ...]:
        """The task and the earlier turns."""
        return (self.task, *self.earlier)


@dataclass(frozen=True)
class ArgumentTrace:
    """The source of one scalar argument. ``origin_ref``: the fact with the path in it, or a calculated value's name.

    ``source_fields``: all fields that show the value, each with its record. ``is_sourced``: whether the source is good
    enough for the argument's kind: amounts, identifiers, accounts and recipients need a whole data field, a session's
    text or a calculated value; other kinds need no source.
    """

    path: str
    kind: ArgumentKind
    origin: OriginKind
    origin_ref: str = ""
    is_sourced: bool = True
    is_only_in_free_text: bool = False
    source_fields: tuple[ReadField, ...] = ()


_UNSUITABLE_KINDS = {  # a field of this kind is no source for an argument of that kind
    ArgumentKind.AMOUNT: frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.DATE}),
    ArgumentKind.IDENTIFIER: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
    ArgumentKind.ACCOUNT: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
}


def trace_argument(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> Iterator[ArgumentTrace]:
    """Yields the source of each scalar in the argument's value."""
    if isinstance(value, dict):
        properties = as_object(schema.get("properties"))
        for key, inner in value.items():
            yield from trace_argument(f"{name}.{key}", as_object(properties.get(key)), inner, sources)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from trace_argument(f"{name}[{index}]", as_object(schema.get("items")), inner, sources)
    else:
        yield trace_scalar(name, schema, value, sources)


def find_untraced_figures(text: str, sources: TraceSources) -> tuple[str, ...]:
    """The numbers and identifiers of a text, such as an answer, that have no source."""
    return tuple(
        figure.text for figure in find_figures_in_answer(text, sources.now) if not _is_sourced(figure, sources)
    )


def trace_scalar(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> ArgumentTrace:
    """The source of one value of an argument: the task, the schema, a calculated figure, a read, an earlier turn, or a
    combination; the first that fits. None and an empty text count as the schema's. Without a source the origin is
    ``NONE``; ``is_sourced`` is False if the argument's kind needs a source and has no good one.
    """
    hints = hints_of_argument(name, schema, value)
    kind = hints.kind
    if kind is ArgumentKind.DATE and read_compact_day(value) is not None:
        value = str(value)
    if value is None or value == "":
        return ArgumentTrace(name, kind, OriginKind.SCHEMA)
    if is_value_in_text(value, hints, sources.task):
        return ArgumentTrace(name, kind, OriginKind.TASK)
    if kind is ArgumentKind.FREE_TEXT:
        return ArgumentTrace(name, kind, OriginKind.NONE)
    if _is_stated_in_schema(value, schema):
        return ArgumentTrace(name, kind, OriginKind.SCHEMA)
    if (figure := _find_calculated_name(value, hints, sources)) is not None:
        return ArgumentTrace(name, kind, OriginKind.CALCULATED, figure)
    origins = sources.facts.find_origins(value, hints)
    if fields := tuple(field for field in origins if _is_valid_source(field, name, kind)):
        return _build_trace_to_fields(name, kind, fields)
    if any(is_value_in_text(value, hints, turn) for turn in sources.earlier):
        return ArgumentTrace(name, kind, OriginKind.TASK)
    composed = _trace_composed_value(name, value, kind, sources)
    if composed is not None and (composed.is_sourced or not origins):
        return composed
    if origins:
        is_only_in_free_text = all(field.kind is not FieldContentKind.STRUCTURED for field in origins)
        return _build_trace_to_fields(
            name, kind, origins, is_sourced=kind not in SOURCED_KINDS, is_only_in_free_text=is_only_in_free_text
        )
    return ArgumentTrace(name, kind, OriginKind.NONE, is_sourced=kind not in SOURCED_KINDS)


def _build_trace_to_fields(
    name: str,
    kind: ArgumentKind,
    fields: tuple[ReadField, ...],
    *,
    is_sourced: bool = True,
    is_only_in_free_text: bool = False,
) -> ArgumentTrace:
    first_field = describe_field_place(fields[0].fact_id, fields[0].path)
    return ArgumentTrace(name, kind, OriginKind.FACT, first_field, is_sourced, is_only_in_free_text, fields)


def _is_stated_in_schema(value: Json, schema: JsonObject) -> bool:
    """Whether the value is the schema's default, its constant or one of its choices."""
    if isinstance(value, bool):
        return schema.get("default") is value or schema.get("const") is value
    options = schema.get("enum")
    allowed = [schema.get("default"), schema.get("const"), *(options if isinstance(options, list) else [])]
    return any(type(value) is type(choice) and value == choice for choice in allowed)


def _is_valid_source(origin: ReadField, name: str, kind: ArgumentKind) -> bool:
    """Whether a field is a source for an argument of this name and kind: it holds the value alone, and is not of an
    unsuitable kind, such as an id for an amount. A field that seems a quantity may be the source of an id, if it holds
    an integer and its name fits.
    """
    if not origin.is_whole or origin.kind is not FieldContentKind.STRUCTURED:
        return False
    field_kind = kind_of_argument(origin.field_name, {}, origin.value)
    if kind is ArgumentKind.IDENTIFIER and field_kind is ArgumentKind.QUANTITY:
        return isinstance(origin.value, int) and may_hold_id(
            origin.field_name, name.rpartition(".")[2].partition("[")[0]
        )
    return field_kind not in _UNSUITABLE_KINDS.get(kind, ())


def _find_calculated_name(value: Json, hints: ArgumentHints, sources: TraceSources) -> str | None:
    """The name of the calculated value that equals this one; else None."""
    for name, figure in sources.calculated.items():
        own_hints = hints._replace(is_in_minor_units=False) if name in sources.calculated_in_cents else hints
        if _equals_calculated(value, figure, own_hints, sources.now):
            return name
    return None


def _equals_calculated(value: Json, figure: CalculatedResult, hints: ArgumentHints, now: datetime) -> bool:
    """Whether a value equals a calculated one, exactly or in another notation."""
    text = str(figure)
    if str(value) == text:
        return True
    number, calculated = read_number(value), read_number(text)
    if number is not None and calculated is not None:
        sizes = (1, 100) if hints.is_in_minor_units else (1,)
        return any(number.values[0] == calculated.values[0] * size for size in sizes)
    moment = read_machine_moment(str(value), now.tzinfo)
    other = read_machine_moment(text, now.tzinfo)
    if moment is None or other is None or moment.day is None:
        return False
    return moment == other or (moment.day == other.day and None in (moment.hour, other.hour))


def _trace_composed_value(name: str, value: Json, kind: ArgumentKind, sources: TraceSources) -> ArgumentTrace | None:
    """The source of a value that is put together: a person's full name, or names with their addresses,
    ``Ada Lovelace <ada@example.com>``, of which the names need no source, and each address does; else None.
    """
    if not isinstance(value, str):
        return None
    if (person := _find_record_with_words(value, sources.facts)) is not None:
        is_sourced = kind in (ArgumentKind.RECIPIENT, ArgumentKind.OTHER)
        return _build_trace_to_fields(name, kind, (person,), is_sourced=is_sourced)
    in_brackets = [*map(str.strip, _ANGLE_BRACKETS_PATTERN.findall(value))] if kind is ArgumentKind.RECIPIENT else []
    if not in_brackets or not all(map(kind_of_identifier, in_brackets)):
        return None
    addresses = dict.fromkeys([*in_brackets, *(identifier.text for identifier in find_special_identifiers(value))])
    traces = [trace_scalar(name, {}, address, sources) for address in addresses]
    return min(traces, key=lambda trace: trace.is_sourced)


def _find_record_with_words(value: str, facts: FactsIndex) -> ReadField | None:
    """A field of the one record with each of the text's words as a whole field ("Ada", "Lovelace"); else None."""
    words = value.split()
    if not 2 <= len(words) <= 5:
        return None
    fields_by_record = [
        {(field.fact_id, field.record): field for field in facts.find_fields_of_words(word) if field.record is not None}
        for word in words
    ]
    records_with_all = set(fields_by_record[0]).intersection(*fields_by_record[1:])
    if len(records_with_all) != 1:
        return None
    return fields_by_record[0][records_with_all.pop()]


def _is_sourced(figure: NumberMention | WrittenIdentifier, sources: TraceSources) -> bool:
    if isinstance(figure, WrittenIdentifier):
        is_stated = any(normalize_identifier(figure.text) in text.identifier_keys for text in sources.texts)
        return is_stated or _is_calculated_or_read(figure.text, sources)
    hints = ArgumentHints(ArgumentKind.QUANTITY, unit=figure.unit)
    values: list[Json] = [value if isinstance(value, Decimal) else figure.text for value in figure.values]
    is_stated = any(is_value_in_text(value, hints, text) for value in values for text in sources.texts)
    return is_stated or any(_is_calculated_or_read(value, sources) for value in values)


def _is_calculated_or_read(value: Json, sources: TraceSources) -> bool:
    is_calculated = _find_calculated_name(value, ArgumentHints(), sources) is not None
    return is_calculated or bool(sources.facts.find_origins(value, ArgumentHints()))
