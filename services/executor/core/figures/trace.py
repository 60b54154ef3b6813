"""Finds where each argument of a call comes from: the task, earlier turns, answers, calculations or the schema."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    STRICT,
    ArgumentHints,
    ArgumentKind,
    ContentKind,
    ReadField,
    hints_of_argument,
    kind_of_argument,
    names_currency,
    names_minor_unit,
    read_fields,
)
from services.executor.core.figures.dates import (
    DateMention,
    ParsedMoment,
    read_compact_day,
    read_machine_moment,
    read_possible_dates,
)
from services.executor.core.figures.identifiers import (
    ADDRESSES,
    IdentifierKind,
    WrittenIdentifier,
    find_special_identifiers,
    has_digit,
    identifier_key,
    kind_of_identifier,
)
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import (
    Number,
    NumberMention,
    read_machine_number,
    read_number,
    read_number_text,
)
from services.executor.core.figures.vocabulary import UNITS, Unit, may_share_currency, minor_unit_places, spaced_words
from services.executor.core.session.values import Fact, place_of_field
from shared.domain.exact_json import Json, JsonObject, as_text, dumps

_MOST_STEPS = 366
_FEWEST_PLACES = 2  # 0.33 is a third, 0.3 is not
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_DAY_SECONDS = (86_400, 3600, 60, 1)
_LONGEST_DATE = 60
_OF_TIME = [UNITS[name] for name in ("seconds", "minutes", "hours", "days")]


def is_value_in_text(value: Json, hints: ArgumentHints, mentions: Mentions) -> bool:
    """Whether the text contains the scalar in some notation.

    A number within a longer code, date or phone number does not count. A negative number of the
    text counts for the positive value, not the reverse. An amount in minor units (123450 for 1,234.50) counts where the
    hints say so, or the value is an integer that cannot mean anything else.
    """
    if value is None or isinstance(value, dict | list):
        return False
    if isinstance(value, bool):
        return mentions.has_words(dumps(value))
    if isinstance(value, str):
        return _has_text(value.strip(), hints, mentions)
    return _has_number(Decimal(value), hints, mentions) or _has_part_of_date(value, hints, mentions)


def _has_text(text: str, hints: ArgumentHints, mentions: Mentions) -> bool:
    if not text:
        return False
    form = kind_of_identifier(text)
    return (
        mentions.has_phrase(text)
        or _has_date(text, mentions)
        or _has_written_number(text, hints, mentions)
        or (form is not None and identifier_key(text) in mentions.identifier_keys)
        or (form not in ADDRESSES and mentions.has_words(text))
        or any(one.money is not None and text in one.money.codes for one in mentions.numbers)  # EUR where it has €50
    )


def _has_written_number(text: str, hints: ArgumentHints, mentions: Mentions) -> bool:
    if (seconds := read_duration(text)) is not None:
        return _has_quantity(Fraction(seconds), "time", mentions)
    written = read_number_text(text)
    return written is not None and any(_has_number(value, hints, mentions, written) for value in written.values)


def read_duration(text: str) -> Decimal | None:
    """The seconds of an ISO 8601 duration, ``PT1H30M``; None for any other text."""
    match = _DURATION.fullmatch(text) if text.startswith("P") and len(text) > 2 else None
    if match is None:
        return None
    return Decimal(sum(int(count or 0) * size for count, size in zip(match.groups(), _DAY_SECONDS, strict=True)))


def _has_number(value: Number, hints: ArgumentHints, mentions: Mentions, written: NumberMention | None = None) -> bool:
    """Whether the text has the number: as it is, in minor units, or in another unit of measure."""
    money, unit = (written.money, written.unit) if written else (None, None)
    unit = unit or hints.unit
    negatives = mentions.numbers_by_value.get(-value, ()) if value > 0 or hints.is_signed else ()
    for mention in (*mentions.numbers_by_value.get(value, ()), *negatives):
        if _may_fill_argument(mention, hints) and may_share_currency(mention.money, money):
            is_other_unit = unit is not None and mention.unit is not None and unit != mention.unit
            takes_minor = hints.is_in_minor_units or hints.kind is not ArgumentKind.AMOUNT
            if takes_minor if _is_minor_unit_amount(mention) and value else not is_other_unit:
                return True
    return _is_stated_in_minor_units(value, hints, mentions, written) or _is_stated_in_other_measure(
        value, hints, unit, mentions
    )


def _may_fill_argument(mention: NumberMention, hints: ArgumentHints) -> bool:
    """Whether a mentioned number can be such an argument's value: "one of them" is no amount."""
    if hints.kind in (ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
        is_word = mention.is_small_number_word or (mention.is_spelled and hints.kind is ArgumentKind.ACCOUNT)
        return not (is_word or mention.unit or mention.money)
    if hints.kind is not ArgumentKind.AMOUNT:
        return True
    if mention.is_small_number_word and not mention.money:
        return False
    return mention.unit is None or (mention.unit.measure == "percent" and not hints.is_plain_money)


def _is_minor_unit_amount(mention: NumberMention) -> bool:
    return mention.money is not None and mention.money.is_minor


def _is_stated_in_minor_units(
    value: Number, hints: ArgumentHints, mentions: Mentions, written: NumberMention | None
) -> bool:
    money = written.money if written else None
    if hints.kind is not ArgumentKind.AMOUNT and not hints.is_in_minor_units and not money:
        return False
    return any(
        _equals_in_minor_units(value, said, mention, hints)
        for mention in mentions.numbers
        if mention.unit is None and may_share_currency(mention.money, money)
        for said in mention.values
    )


def _equals_in_minor_units(value: Number, number: Number, mention: NumberMention, hints: ArgumentHints) -> bool:
    size = 10 ** minor_unit_places(mention.money)
    if _is_minor_unit_amount(mention):
        return value * size == number and not hints.is_in_minor_units
    must_be = hints.is_integer and number != int(number)
    return (hints.is_in_minor_units or must_be) and value == number * size


def _is_stated_in_other_measure(value: Number, hints: ArgumentHints, unit: Unit | None, mentions: Mentions) -> bool:
    """Whether the text has the number in another measure: percent for a share, 90 minutes for 1.5 hours."""
    if unit is None and hints.kind in (ArgumentKind.AMOUNT, ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
        is_share = hints.kind is ArgumentKind.AMOUNT and not hints.is_plain_money
        return is_share and _has_share(value, mentions)
    any_unit = _OF_TIME if hints.kind is ArgumentKind.QUANTITY else ()
    return _has_share(value, mentions) or any(
        _has_quantity(Fraction(value) * one.size, one.measure, mentions) for one in ([unit] if unit else any_unit)
    )


def _has_share(value: Number, mentions: Mentions) -> bool:
    for mention in mentions.numbers:
        percent = mention.unit if mention.unit is not None and mention.unit.measure == "percent" else None
        for said in mention.values:
            share = Fraction(said) * percent.size / 100 if percent else Fraction(said)
            if (percent and value == share) or (isinstance(said, Fraction) and _rounds_to_share(value, share)):
                return True
    return False


def _rounds_to_share(value: Number, share: Fraction) -> bool:
    """Whether the value is the share, or the share in percent, rounded to the value's decimal places."""
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    places = -exponent if isinstance(exponent, int) else 0
    if places < _FEWEST_PLACES:
        return value in (share, share * 100)
    return any(abs(Fraction(value) - one) * 2 <= Fraction(1, 10**places) for one in (share, share * 100))


def _has_quantity(amount: Fraction, measure: str, mentions: Mentions) -> bool:
    """Whether the text has a quantity of this measure equal to ``amount``, which is in the measure's base unit."""
    of_measure = ((one, one.unit.size) for one in mentions.numbers if one.unit and one.unit.measure == measure)
    return any(Fraction(said) * size == amount for one, size in of_measure for said in one.values)


def _has_date(text: str, mentions: Mentions) -> bool:
    moment = read_machine_moment(text, mentions.zone)
    if moment is None:
        return _has_written_date(text, mentions)
    is_day_told = moment.day is None or _has_day(moment.day, mentions)
    is_day_alone = moment.day is not None and moment.hour in (None, time(0), time(23, 59), time(23, 59, 59))
    return (is_day_told and (is_day_alone or moment.hour in mentions.times_of_day)) or _has_start_and_length(
        moment, mentions
    )


def _has_written_date(text: str, mentions: Mentions) -> bool:
    """Whether the text has a date in words, ``4 March 2026``, or a month, ``2026-03``."""
    if len(text) > _LONGEST_DATE or not any(mark.isdecimal() for mark in text):
        return False
    read = find_mentions(text, mentions.now).dates
    if len(read) != 1 or read[0].end - read[0].start < len(text):
        return False
    periods = read[0].periods
    is_day = bool(periods) and periods[0].first == periods[0].last
    return any(not set(one.periods).isdisjoint(periods) for one in mentions.dates) or (
        is_day and _has_day(periods[0].first, mentions)
    )


def _has_day(day: date, mentions: Mentions) -> bool:
    """Whether the text has the day: by itself, within a period, or as a day of a repetition."""
    periods = [period for one in mentions.dates for period in one.periods]
    if day in mentions.days or any(period.first <= day <= period.last for period in periods):
        return True
    bases = [*(period.first for period in periods), mentions.now.date()]
    return any(_repetition_falls_on(day, base, one.step) for one in mentions.dates if one.step for base in bases)


def _repetition_falls_on(day: date, base: date, step: str) -> bool:
    """Whether a repetition that begins on ``base`` falls on ``day`` within a year."""
    days = (day - base).days
    if not 0 <= days <= _MOST_STEPS:
        return False
    match step:
        case "D":
            return True
        case "w":
            return day.weekday() < 5
        case "K":
            return days % 7 == 0
        case "H":
            return day.day == base.day
        case _:
            return (day.month, day.day) == (base.month, base.day)


def _has_part_of_date(value: Json, hints: ArgumentHints, mentions: Mentions) -> bool:
    """Whether a date of the text has that part: ``year: 2026`` and ``month: 3`` where it says March 2026."""
    days = (period.first for mention in mentions.dates for period in mention.periods)
    return hints.kind is ArgumentKind.DATE and any(value in (day.year, day.month, day.day) for day in days)


def _has_start_and_length(moment: ParsedMoment, mentions: Mentions) -> bool:
    """Whether the text has the start that belongs to this end, and the length between them: "at 9 for 90 minutes"."""
    if moment.hour is None:
        return False
    end = datetime.combine(moment.day or mentions.now.date(), moment.hour)
    starts = [end - length for one in mentions.numbers if (length := duration_of(one)) is not None]
    return any(
        start.time() in mentions.times_of_day and (moment.day is None or _has_day(start.date(), mentions))
        for start in starts
    )


def duration_of(mention: NumberMention) -> timedelta | None:
    """The length of time that a number with its unit is, up to a year; else None."""
    if mention.unit is None or mention.unit.measure != "time":
        return None
    seconds = Fraction(mention.values[0]) * mention.unit.size
    return timedelta(seconds=float(seconds)) if 0 < seconds <= _MOST_STEPS * 86_400 else None


_MOST_ORIGINS = 1_000
_MOST_TEXTS = 40  # texts that are read in full to look for one value
_MOST_CHARACTERS = 20_000
_LONGEST_COMPARED_TEXT = 60  # characters of a free text that is compared as a whole, too
_ISO_START = re.compile(r"\d{4}-\d\d-\d\d")
_TERM = re.compile(r"[^\W\d_]+|\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{3}(?!\d))*")
_DOTTED_DAY = re.compile(r"(?<!\d)(\d{1,2})\.\d{1,2}\.")
_NO_DIGITS = re.compile(r"\D+")
_Key = str | Decimal | date | tuple[str, ...]
_PERSON = re.compile(r"\s*\"?([^\"<>]+?)\"?\s*<([^<>@\s]+@[^<>\s]+)>\s*")


class FactsIndex:
    """An index from a value to every field of a tool's answer that shows it, in any notation."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._plain: dict[_Key, list[ReadField]] = {}  # by spaced words, and by plain number or ISO date
        # With a digit, and neither a plain number nor an ISO date: read when asked for.
        self._others: list[ReadField] = []
        self._several_words: list[ReadField] = []
        self._texts_read: dict[str, Mentions] = {}

    def add(self, fact_id: str, answer: Json, tool: str = "") -> None:
        """Adds every scalar of a tool's answer to the index."""
        for field in read_fields(fact_id, answer, tool):
            if isinstance(field.value, int | Decimal):
                self._plain.setdefault(Decimal(field.value), []).append(field)
                self._add_compact_day(field)
            elif not isinstance(field.value, str):
                continue
            elif field.kind is ContentKind.STRUCTURED or len(field.value) <= _LONGEST_COMPARED_TEXT:
                self._add_text(field, field.value)
            else:
                self._several_words.append(field)

    def find_origins(
        self, value: Json, hints: ArgumentHints | None = None, *, most: int = _MOST_ORIGINS
    ) -> tuple[ReadField, ...]:
        """The fields whose whole value is the value, at most ``most``; if there are none, the texts that contain it."""
        if value is None or isinstance(value, bool | dict | list) or value == "":
            return ()
        hints = hints or ArgumentHints()
        fields = {id(field): field for field in self._fields_equal_to(value, hints)}
        found = tuple(islice(fields.values(), most))
        return found or tuple(field._replace(is_whole=False) for field in self._texts_containing(value, hints))

    def find_fields_of_words(self, words: str) -> Sequence[ReadField]:
        """The data fields that consist of exactly these words."""
        return self._plain.get(spaced_words(words), ())

    def _add_text(self, field: ReadField, value: str) -> None:
        self._plain.setdefault(spaced_words(value), []).append(field)
        if " " in value:
            self._several_words.append(field)
            if "<" in value and (person := _PERSON.fullmatch(value)) is not None:
                self._add_text(field._replace(value=person[1]), person[1])
                self._add_text(field._replace(value=person[2]), person[2])
        if value.isalpha():
            return
        self._add_compact_day(field)
        key: _Key | None = read_machine_number(value)
        key = self._parse_iso_day(value) if key is None else key
        if key is not None:
            self._plain.setdefault(key, []).append(field)
        elif has_digit(value):
            self._others.append(field)

    def _add_compact_day(self, field: ReadField) -> None:
        if (day := read_compact_day(field.value)) is not None:
            self._plain.setdefault(day, []).append(field)

    def _parse_iso_day(self, value: str) -> date | None:
        moment = read_machine_moment(value, self._now.tzinfo) if _ISO_START.match(value) else None
        return moment.day if moment else None

    def _fields_equal_to(self, value: Json, hints: ArgumentHints) -> Iterator[ReadField]:
        if isinstance(value, str):
            same = [one for one in self.find_fields_of_words(value) if _is_same_text(value, str(one.value))]
            yield from same
            yield from self._fields_with_day(value)
            if not same and kind_of_identifier(value) is not None:
                yield from self._fields_by_written_value.get(identifier_key(value), ())
        written = read_number(value)
        for number in written.values if written else ():
            if written is not None and isinstance(number, Decimal):
                found = self._fields_with_number(number, written)
                yield from (field for field in found if not _is_in_other_units(field, hints))
                yield from self._fields_in_other_units(number, written, hints)

    def _fields_with_number(self, number: Decimal, written: NumberMention) -> Iterator[ReadField]:
        """Yields the fields with that number. A positive number also finds fields with a minus."""
        for figure in (number, -number) if number > 0 else (number,):
            yield from self._plain.get(figure, ())
            for field in self._fields_by_written_value.get(figure, ()):
                mention = read_number_text(str(field.value))
                if mention is None or may_share_currency(mention.money, written.money):
                    yield field

    def _fields_in_other_units(
        self, number: Decimal, written: NumberMention, hints: ArgumentHints
    ) -> Iterator[ReadField]:
        """Yields the fields that show the amount in other units: 123450 in cents for 1234.50, and the reverse."""
        size = 10 ** minor_unit_places(written.money)
        if hints.kind is not ArgumentKind.AMOUNT:
            return
        if not hints.is_in_minor_units:
            yield from filter(_is_in_minor_units, self._plain.get(number * size, ()))
        whole = number / size
        if hints.is_in_minor_units or (hints.is_integer and whole != whole.to_integral_value()):
            fields = (*self._plain.get(whole, ()), *self._fields_by_written_value.get(whole, ()))
            yield from (field for field in fields if not _is_in_minor_units(field))

    def _fields_with_day(self, value: str) -> Iterator[ReadField]:
        moment = read_machine_moment(value, self._now.tzinfo)
        days = read_possible_dates(value) if moment is None else [moment.day] if moment.day else []
        for field in (
            field
            for day in days
            for table in (self._plain, self._fields_by_written_value)
            for field in table.get(day, ())
        ):
            shown = read_machine_moment(str(field.value), self._now.tzinfo)
            if moment is None or moment.hour is None or shown is None or shown.hour in (None, moment.hour):
                yield field

    @cached_property
    def _fields_by_written_value(self) -> Mapping[_Key, Sequence[ReadField]]:
        """The fields that are an identifier, or a number or day in a human notation, keyed by what they mean."""
        table: dict[_Key, list[ReadField]] = {}
        for field in self._others:
            text = str(field.value)
            mention, form = read_number_text(text), kind_of_identifier(text)
            numbers = [one for one in mention.values if isinstance(one, Decimal)] if mention else []
            keys: list[_Key] = [*numbers, *read_possible_dates(text), *([identifier_key(text)] if form else [])]
            for key in keys:
                table.setdefault(key, []).append(field)
        return table

    def _texts_containing(self, value: Json, hints: ArgumentHints) -> Iterator[ReadField]:
        """Yields the texts that contain the value among other words, data fields before free text."""
        left = _MOST_CHARACTERS
        texts = sorted(self._texts_with_rarest_term(value), key=lambda one: one.kind is not ContentKind.STRUCTURED)
        for field in texts[:_MOST_TEXTS]:
            text = str(field.value)
            left -= len(text)
            if left < 0:
                return
            if is_value_in_text(value, hints, self._find_mentions(text)):
                yield field

    def _find_mentions(self, text: str) -> Mentions:
        known = self._texts_read.get(text)
        if known is None:
            known = self._texts_read[text] = find_mentions(text, self._now, relative=False)
        return known

    def _texts_with_rarest_term(self, value: Json) -> list[ReadField]:
        if isinstance(value, str) and kind_of_identifier(value) in (IdentifierKind.IBAN, IdentifierKind.PHONE):
            return self._texts_by_account.get(identifier_key(value), [])
        moment = read_machine_moment(value, self._now.tzinfo) if isinstance(value, str) else None
        if moment is not None and moment.day is not None:
            return self._fields_by_word.get(_fold_term(str(moment.day.day)), [])
        terms = _TERM.findall(as_text(value))
        return min((self._fields_by_word.get(_fold_term(term), []) for term in terms), key=len, default=[])

    @cached_property
    def _texts_by_account(self) -> Mapping[tuple[str, ...], list[ReadField]]:
        """The texts keyed by the accounts, phone numbers and addresses in them, regardless of spacing."""
        table: dict[tuple[str, ...], list[ReadField]] = {}
        for field in self._several_words:
            for found in find_special_identifiers(str(field.value)):
                table.setdefault(identifier_key(found.text), []).append(field)
        return table

    @cached_property
    def _fields_by_word(self) -> Mapping[str, list[ReadField]]:
        """The texts of several words, keyed by each of their terms."""
        table: dict[str, list[ReadField]] = {}
        for field in self._several_words:
            text = str(field.value)
            for term in {*map(_fold_term, _TERM.findall(text)), *map(_fold_term, _DOTTED_DAY.findall(text))}:
                table.setdefault(term, []).append(field)
        return table


def index_facts(facts: Iterable[Fact], now: datetime) -> FactsIndex:
    """An index of all successful reads. ``now`` gives the zone, and the year of dates without one."""
    index = FactsIndex(now)
    for fact in facts:
        if fact.ok:
            index.add(fact.ref, fact.result, fact.tool)
    return index


def _is_same_text(value: str, shown: str) -> bool:
    """Whether two texts with the same words are one value. In numbers the marks count: ``1.5`` is not ``1-5``."""
    if kind_of_identifier(value) in ADDRESSES:
        return identifier_key(value) == identifier_key(shown)
    if value.casefold() == shown.casefold() or not has_digit(value):
        return True
    return read_number_text(value) is None and read_number_text(shown) is None


def _is_in_other_units(field: ReadField, hints: ArgumentHints) -> bool:
    """Whether one of the field and the argument is in cents by its name, and the other in whole units."""
    if hints.kind is not ArgumentKind.AMOUNT:
        return False
    is_minor = _is_in_minor_units(field)
    return (hints.is_in_major_units and is_minor) or (
        hints.is_in_minor_units and not is_minor and names_currency(field.name)
    )


def _is_in_minor_units(field: ReadField) -> bool:
    return names_minor_unit(field.name)


def _fold_term(written: str) -> str:
    """A word folded; of a number its digits without separators and outer zeros, so that 1,200.00 and 1.2k are equal."""
    if written[:1].isdecimal():
        return _NO_DIGITS.sub("", written).strip("0") or "0"
    return spaced_words(written).strip()


_LIST_NUMBER = re.compile(r"^[ \t>*_#-]*(\d{1,3})[.)](?=\s)", re.MULTILINE)
_POSITION_WORD = re.compile(r"(?:\bstep|\bno\.|\bnumber|\bitem|\bschritt|\bpunkt|\bétape|\bpoint)\s+$", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}[\w.-]*|v\d+(?:\.\d+)*", re.IGNORECASE)
_VERSION_BEFORE = re.compile(r"(?:\bversion|\brelease|\bpython|\bv\.)\s*$", re.IGNORECASE)


def numbers_of_answer(text: str, now: datetime) -> list[NumberMention | WrittenIdentifier]:
    """The figures and identifiers of an answer in order, without list numbers, dates, times, ordinals and versions."""
    read = find_mentions(text, now)
    listed = {match.start(1) for match in _LIST_NUMBER.finditer(text)}
    starts = {one.start for one in read.numbers}
    numbers = [one for one in read.numbers if one.start not in listed and _counts_as_figure(one, text)]
    codes = [one for one in read.identifiers if one.start not in starts | listed and not _VERSION.fullmatch(one.text)]
    return sorted((*numbers, *codes), key=lambda one: one.start)


def _counts_as_figure(mention: NumberMention, text: str) -> bool:
    if mention.is_small_number_word:
        return mention.money is not None or mention.unit is not None
    before = text[max(0, mention.start - 12) : mention.start]
    return not (_VERSION_BEFORE.search(before) or _POSITION_WORD.search(before))


class StatedDay(NamedTuple):
    """A day that an answer states. ``days``: what it can mean, likeliest first."""

    text: str
    days: tuple[date, ...]


_MAY_STATE_DAY = re.compile(r"\d{4}|\d[^\W\d_]{0,2}[.\s-]{1,2}(?:\w\w\s)?[^\W\d_]{3}|[^\W\d_]{3}[.\s]{1,2}\d")
_WRITTEN_OUT = re.compile(r"(?=.*(?<!\d)\d\d?(?!\d)).*(?:\d{4}|\b[A-Z]\w\w)")  # "3 May 2026" or "3 May", not "3 may"
_OTHER_YEARS = 5  # before and after this one in which a day without a year may be


def days_of_answer(text: str, now: datetime) -> list[StatedDay]:
    """The single days that an answer writes out, without those told by another day and the ends of periods."""
    if not _MAY_STATE_DAY.search(text):
        return []
    read = find_mentions(text, now, relative=False).dates
    spans = [(one.start, one.end) for one in read if any(period.first != period.last for period in one.periods)]
    return [
        _build_stated_day(text[one.start : one.end], one, now)
        for one in read
        if one.periods
        and not (one.step or one.offset_from or any(start <= one.start and one.end <= end for start, end in spans))
        and _WRITTEN_OUT.match(text[one.start : one.end])
    ]


def _build_stated_day(written: str, mention: DateMention, now: datetime) -> StatedDay:
    days = [period.first for period in mention.periods]
    if not re.search(r"\d{4}", written):
        years = range(now.year - _OTHER_YEARS, now.year + _OTHER_YEARS + 1)
        days += [day + relativedelta(year=year) for day in days[:1] for year in years]
    return StatedDay(written, tuple(dict.fromkeys(days)))


class OriginKind(StrEnum):
    """The kind of source that an argument has. ``TASK`` includes earlier turns of the session."""

    TASK = "task"
    FACT = "fact"
    CALCULATED = "calculated"
    SCHEMA = "schema"
    NONE = "none"


Calculated = Decimal | str


@dataclass(frozen=True)
class TraceSources:
    """All that an argument may come from. ``now`` is an aware time in the requester's zone."""

    task: Mentions
    facts: FactsIndex
    now: datetime
    earlier: Sequence[Mentions]
    calculated: Mapping[str, Calculated]

    @property
    def texts(self) -> tuple[Mentions, ...]:
        """The task and the earlier turns."""
        return (self.task, *self.earlier)


class ArgumentTrace(NamedTuple):
    """The source of one scalar argument. ``where``: the fact and the path in it, or the name of a calculated value.

    ``origins``: all fields that show the value, each with its record. ``strictness_met``: whether the source is good
    enough for the argument's kind: amounts, identifiers, accounts and recipients need a whole data field, the user's
    words or a calculated value; other kinds need no source.
    """

    path: str
    kind: ArgumentKind
    origin: OriginKind
    where: str = ""
    strictness_met: bool = True
    free_text_only: bool = False
    origins: tuple[ReadField, ...] = ()


_CLASHES = {  # a field of this kind is no source for an argument of that kind
    ArgumentKind.AMOUNT: frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.DATE}),
    ArgumentKind.IDENTIFIER: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
    ArgumentKind.ACCOUNT: frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY, ArgumentKind.DATE}),
}


def trace_argument(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> Iterator[ArgumentTrace]:
    """Yields the source of each scalar in the argument's value."""
    if isinstance(value, dict):
        properties = schema.get("properties")
        for key, inner in value.items():
            known = properties.get(key) if isinstance(properties, dict) else None
            yield from trace_argument(f"{name}.{key}", _schema_or_empty(known), inner, sources)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from trace_argument(f"{name}[{place}]", _schema_or_empty(schema.get("items")), inner, sources)
    else:
        yield trace_scalar(name, schema, value, sources)


def untraced_figures(text: str, sources: TraceSources) -> tuple[str, ...]:
    """The numbers and identifiers of a text, such as an answer, that have no source."""
    return tuple(figure.text for figure in numbers_of_answer(text, sources.now) if not _is_sourced(figure, sources))


def _schema_or_empty(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def trace_scalar(name: str, schema: JsonObject, value: Json, sources: TraceSources) -> ArgumentTrace:
    """The source of one scalar value of an argument."""
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
    if _is_in_schema(value, schema):
        return ArgumentTrace(name, kind, OriginKind.SCHEMA)
    if (figure := _find_calculated_name(value, hints, sources)) is not None:
        return ArgumentTrace(name, kind, OriginKind.CALCULATED, figure)
    origins = sources.facts.find_origins(value, hints)
    if fields := tuple(one for one in origins if _is_valid_source(one, kind)):
        return _trace_to_fields(name, kind, fields)
    if any(is_value_in_text(value, hints, turn) for turn in sources.earlier):
        return ArgumentTrace(name, kind, OriginKind.TASK)
    built = _trace_composed_value(name, value, kind, sources)
    if built is not None and (built.strictness_met or not origins):
        return built
    if origins:
        is_free = all(one.kind is not ContentKind.STRUCTURED for one in origins)
        return _trace_to_fields(name, kind, origins, is_met=kind not in STRICT, is_free=is_free)
    return ArgumentTrace(name, kind, OriginKind.NONE, strictness_met=kind not in STRICT)


def _trace_to_fields(
    name: str, kind: ArgumentKind, origins: tuple[ReadField, ...], *, is_met: bool = True, is_free: bool = False
) -> ArgumentTrace:
    where = place_of_field(origins[0].fact_id, origins[0].path)
    return ArgumentTrace(name, kind, OriginKind.FACT, where, is_met, is_free, origins)


def _is_in_schema(value: Json, schema: JsonObject) -> bool:
    """Whether the value is the schema's default, its constant or one of its choices."""
    if isinstance(value, bool):
        return schema.get("default") is value or schema.get("const") is value
    options = schema.get("enum")
    named = [schema.get("default"), schema.get("const"), *(options if isinstance(options, list) else [])]
    return any(type(value) is type(one) and value == one for one in named)


def _is_valid_source(origin: ReadField, kind: ArgumentKind) -> bool:
    """Whether a field is a source for such an argument: it holds nothing else, and an id is no amount."""
    if not origin.is_whole or origin.kind is not ContentKind.STRUCTURED:
        return False
    return kind not in _CLASHES or kind_of_argument(origin.field_name, {}, origin.value) not in _CLASHES[kind]


def _find_calculated_name(value: Json, hints: ArgumentHints, sources: TraceSources) -> str | None:
    """The name of the calculated value that equals this one; else None."""
    same = (
        name for name, figure in sources.calculated.items() if _equals_calculated(value, figure, hints, sources.now)
    )
    return next(same, None)


def _equals_calculated(value: Json, figure: Calculated, hints: ArgumentHints, now: datetime) -> bool:
    """Whether a value equals a calculated one, exactly or in another notation."""
    text = str(figure)
    if str(value) == text:
        return True
    number, calculated = read_number(value), read_number(text)
    if number is not None and calculated is not None:
        shown_number, figure_number = number.values[0], calculated.values[0]
        return shown_number == figure_number or (hints.is_in_minor_units and shown_number == figure_number * 100)
    shown, meant = read_machine_moment(str(value), now.tzinfo), read_machine_moment(text, now.tzinfo)
    if shown is None or meant is None or shown.day is None:
        return False
    return shown == meant or (shown.day == meant.day and None in (shown.hour, meant.hour))


def _trace_composed_value(name: str, value: Json, kind: ArgumentKind, sources: TraceSources) -> ArgumentTrace | None:
    """The source of a value that is put together: a person's full name, or a name with a mail address; else None."""
    if not isinstance(value, str):
        return None
    if (person := _find_record_with_words(value, sources.facts)) is not None:
        is_met = kind in (ArgumentKind.RECIPIENT, ArgumentKind.OTHER)
        return _trace_to_fields(name, kind, (person,), is_met=is_met)
    return _trace_address(name, value, sources) if kind is ArgumentKind.RECIPIENT and "<" in value else None


def _trace_address(name: str, value: str, sources: TraceSources) -> ArgumentTrace | None:
    """The source of the address in ``Ada Lovelace <ada@example.com>``; the name needs none."""
    address = value.rpartition("<")[2].rstrip("> ")
    if kind_of_identifier(address) is None or "<" in address:
        return None
    return trace_scalar(name, {}, address, sources)


def _find_record_with_words(value: str, facts: FactsIndex) -> ReadField | None:
    """A field of the only record that has each of the text's words as a whole field: "Ada Lovelace" from two names."""
    words = value.split()
    if not 2 <= len(words) <= 5:
        return None
    shown = [
        {(one.fact_id, one.record): one for one in facts.find_fields_of_words(word) if one.record is not None}
        for word in words
    ]
    common = set(shown[0]).intersection(*shown[1:])
    if len(common) != 1:
        return None
    return shown[0][common.pop()]


def _is_sourced(figure: NumberMention | WrittenIdentifier, sources: TraceSources) -> bool:
    if isinstance(figure, WrittenIdentifier):
        is_told = any(identifier_key(figure.text) in text.identifier_keys for text in sources.texts)
        return is_told or _is_calculated_or_read(figure.text, sources)
    hints = ArgumentHints(ArgumentKind.QUANTITY, unit=figure.unit)
    written: list[Json] = [value if isinstance(value, Decimal) else figure.text for value in figure.values]
    return any(
        any(is_value_in_text(value, hints, text) for text in sources.texts) or _is_calculated_or_read(value, sources)
        for value in written
    )


def _is_calculated_or_read(value: Json, sources: TraceSources) -> bool:
    return _find_calculated_name(value, ArgumentHints(), sources) is not None or bool(
        sources.facts.find_origins(value, most=1)
    )
