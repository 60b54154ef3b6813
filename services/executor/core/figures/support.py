"""Whether a text supports a value, and how: as it stands, in another writing, by a date relative to today."""

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentHints, ArgumentKind
from services.executor.core.figures.dates import DateMention, ReadMoment, read_machine_moment
from services.executor.core.figures.identifiers import ADDRESSES, identifier_key, whole_form
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import Number, NumberMention, read_written_number
from services.executor.core.figures.times import TimeMention
from services.executor.core.figures.vocabulary import UNITS, Unit, agree_in_currency, minor_places
from shared.domain.exact_json import Json, dumps


class How(StrEnum):
    """How a source says the value."""

    EXACT = "exact quote"
    NUMBER = "same number in other writing"
    MINOR_UNITS = "same amount in minor units"
    DATE = "same date in other writing"
    RELATIVE_DATE = "date told from today"
    WORDS = "case or punctuation variant"
    UNIT = "number with unit conversion"
    REPETITION = "a day of a repetition"
    WITHIN = "a day within a period"
    END = "start and duration"
    PARTS = "built from parts that have sources"


class ValueSource(NamedTuple):
    """The place in a text that supports a value, and how it does."""

    how: How
    start: int
    end: int
    text: str


_MOST_STEPS = 366
_FEWEST_PLACES = 2  # 0.33 is a third, 0.3 is not
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_DAY_SECONDS = (86_400, 3600, 60, 1)
_SHORT = 60
_OF_TIME = [UNITS[name] for name in ("seconds", "minutes", "hours", "days")]


def find_source(value: Json, hints: ArgumentHints, mentions: Mentions) -> ValueSource | None:
    """The place that supports a scalar, and how it does; None if nothing in the text does.

    A number within a longer code, date or telephone number supports nothing. A minus may be dropped, never added. Minor
    units count where the hints say so, or where an integer must mean them (123450 for 1,234.50).
    """
    if value is None or isinstance(value, dict | list):
        return None
    if isinstance(value, bool):
        return _words_source(dumps(value), mentions)
    if isinstance(value, str):
        return _text_source(value, hints, mentions)
    return _number_source(Decimal(value), hints, mentions) or _part_of_date_source(value, hints, mentions)


def _text_source(value: str, hints: ArgumentHints, mentions: Mentions) -> ValueSource | None:
    text = value.strip()
    if not text:
        return None
    if place := mentions.place_of(text):
        return ValueSource(How.EXACT, *place, text)
    return (
        _date_source(text, mentions)
        or _written_number_source(text, hints, mentions)
        or _identifier_source(text, mentions)
        or _words_source(text, mentions)
        or _currency_source(text, mentions)
    )


def _currency_source(text: str, mentions: Mentions) -> ValueSource | None:
    """The amount that supports a currency code: ``EUR`` where the text has €50."""
    for mention in mentions.numbers:
        if mention.money is not None and text in mention.money.codes:
            return _source(How.WORDS, mention)
    return None


def _words_source(text: str, mentions: Mentions) -> ValueSource | None:
    place = mentions.place_of_words(text) if whole_form(text) not in ADDRESSES else None
    return ValueSource(How.WORDS, *place, mentions.text[place.start : place.end]) if place else None


def _identifier_source(text: str, mentions: Mentions) -> ValueSource | None:
    if whole_form(text) is None:
        return None
    found = mentions.identifiers_by_key.get(identifier_key(text))
    return ValueSource(How.WORDS, found.start, found.end, found.text) if found else None


def _written_number_source(text: str, hints: ArgumentHints, mentions: Mentions) -> ValueSource | None:
    if (seconds := read_duration(text)) is not None:
        return _converted_source(Fraction(seconds), "time", mentions)
    written = read_written_number(text)
    if written is None:
        return None
    for value in written.values:
        found = _number_source(value, hints, mentions, written)
        if found is not None:
            return found
    return None


def read_duration(text: str) -> Decimal | None:
    """The seconds of an ISO 8601 duration, ``PT1H30M``; None for any other text."""
    match = _DURATION.fullmatch(text) if text.startswith("P") and len(text) > 2 else None
    if match is None:
        return None
    return Decimal(sum(int(count or 0) * size for count, size in zip(match.groups(), _DAY_SECONDS, strict=True)))


def _number_source(
    value: Number, hints: ArgumentHints, mentions: Mentions, written: NumberMention | None = None
) -> ValueSource | None:
    """The number of the text that supports a number: the same, the same in minor units, or the same in another unit."""
    money, unit = (written.money, written.unit) if written else (None, None)
    unit = unit or hints.unit
    negatives = mentions.numbers_by_value.get(-value, ()) if value > 0 else ()
    for mention in (*mentions.numbers_by_value.get(value, ()), *negatives):
        if _may_mean(mention, hints) and agree_in_currency(mention.money, money):
            is_other_unit = unit is not None and mention.unit is not None and unit != mention.unit
            takes_minor = hints.is_in_minor_units or hints.kind is not ArgumentKind.AMOUNT
            if takes_minor if _is_minor(mention) and value else not is_other_unit:
                return _source(How.NUMBER, mention)
    return _minor_source(value, hints, mentions, written) or _measured_source(value, hints, unit, mentions)


def _source(how: How, mention: NumberMention | DateMention | TimeMention) -> ValueSource:
    return ValueSource(how, mention.start, mention.end, mention.text)


def _may_mean(mention: NumberMention, hints: ArgumentHints) -> bool:
    """Whether a mention can be the value of such an argument: "one of them" is no amount, nor is 20 %.

    A shelf may be "thirty-one"; an account is never spelled out.
    """
    if hints.kind in (ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
        is_word = mention.is_everyday or (mention.is_spelled and hints.kind is ArgumentKind.ACCOUNT)
        return not (is_word or mention.unit or mention.money)
    if hints.kind is not ArgumentKind.AMOUNT:
        return True
    if mention.is_everyday and not mention.money:
        return False
    return mention.unit is None or (mention.unit.measure == "percent" and not hints.is_plain_money)


def _is_minor(mention: NumberMention) -> bool:
    return mention.money is not None and mention.money.is_minor


def _minor_source(
    value: Number, hints: ArgumentHints, mentions: Mentions, written: NumberMention | None
) -> ValueSource | None:
    money = written.money if written else None
    if hints.kind is not ArgumentKind.AMOUNT and not hints.is_in_minor_units and not money:
        return None
    for mention in mentions.numbers:
        if mention.unit is None and agree_in_currency(mention.money, money):
            size = 10 ** minor_places(mention.money)
            if any(_is_in_minor_units(value, one, size, mention, hints) for one in mention.values):
                return _source(How.MINOR_UNITS, mention)
    return None


def _is_in_minor_units(value: Number, said: Number, size: int, mention: NumberMention, hints: ArgumentHints) -> bool:
    if _is_minor(mention):
        return value * size == said and not hints.is_in_minor_units
    must_be = hints.is_integer and said != int(said)
    return (hints.is_in_minor_units or must_be) and value == said * size


def _measured_source(value: Number, hints: ArgumentHints, unit: Unit | None, mentions: Mentions) -> ValueSource | None:
    """The number of the text that supports a number in another measure: percent as a share, a third as 0.33, 90 minutes
    as 1.5 hours.

    A length of time whose argument does not say its unit may be in seconds, minutes, hours or days.
    """
    if unit is None and hints.kind in (ArgumentKind.AMOUNT, ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
        is_share = hints.kind is ArgumentKind.AMOUNT and not hints.is_plain_money
        return _fraction_source(value, mentions) if is_share else None
    any_unit = _OF_TIME if hints.kind is ArgumentKind.QUANTITY else ()
    sought = [Fraction(value) * one.size for one in ([unit] if unit else any_unit)]
    found = (_converted_source(amount, unit.measure if unit else "time", mentions) for amount in sought)
    return _fraction_source(value, mentions) or next((one for one in found if one), None)


def _fraction_source(value: Number, mentions: Mentions) -> ValueSource | None:
    for mention in mentions.numbers:
        percent = mention.unit if mention.unit is not None and mention.unit.measure == "percent" else None
        for said in mention.values:
            share = Fraction(said) * percent.size / 100 if percent else Fraction(said)
            if (percent and value == share) or (isinstance(said, Fraction) and _rounds_to(value, share)):
                return _source(How.NUMBER, mention)
    return None


def _rounds_to(value: Number, share: Fraction) -> bool:
    """Whether the value is the share, or the share in percent, rounded to the places that the value has."""
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    places = -exponent if isinstance(exponent, int) else 0
    if places < _FEWEST_PLACES:
        return value in (share, share * 100)
    return any(abs(Fraction(value) - one) * 2 <= Fraction(1, 10**places) for one in (share, share * 100))


def _converted_source(amount: Fraction, measure: str, mentions: Mentions) -> ValueSource | None:
    """The number with a unit of the measure that comes to ``amount``, which is in the measure's first unit."""
    of_measure = ((one, one.unit.size) for one in mentions.numbers if one.unit and one.unit.measure == measure)
    found = (one for one, size in of_measure if any(Fraction(said) * size == amount for said in one.values))
    return next((_source(How.UNIT, one) for one in found), None)


def _date_source(text: str, mentions: Mentions) -> ValueSource | None:
    moment = read_machine_moment(text, mentions.zone)
    if moment is None:
        return _written_date_source(text, mentions)
    if moment.day is None and moment.hour is not None:
        return _time_source(moment.hour, mentions) or _end_source(moment, mentions)
    day = _day_source(moment.day, mentions) if moment.day else None
    if day is None or moment.hour is None or moment.hour in (time(0), time(23, 59), time(23, 59, 59)):
        return day or _end_source(moment, mentions)
    hour = _time_source(moment.hour, mentions)
    return day if hour is not None else _end_source(moment, mentions)


def _written_date_source(text: str, mentions: Mentions) -> ValueSource | None:
    """The date of the text that supports a date in words, ``4 March 2026``, or a month, ``2026-03``."""
    if len(text) > _SHORT or not any(mark.isdecimal() for mark in text):
        return None
    read = find_mentions(text, mentions.now).dates
    if len(read) != 1 or read[0].end - read[0].start < len(text):
        return None
    for mention in mentions.dates:
        if not set(mention.periods).isdisjoint(read[0].periods):
            return _source(How.DATE, mention)
    is_day = read[0].periods and read[0].periods[0].first == read[0].periods[0].last
    return _day_source(read[0].periods[0].first, mentions) if is_day else None


def _day_source(day: date, mentions: Mentions) -> ValueSource | None:
    if (mention := mentions.days.get(day)) is not None:
        return _source(How.RELATIVE_DATE if mention.is_relative else How.DATE, mention)
    first_days = [*(period.first for one in mentions.dates for period in one.periods), mentions.now.date()]
    for mention in mentions.dates:
        if mention.step and any(_is_reached(day, base, mention.step) for base in first_days):
            return _source(How.REPETITION, mention)
    for mention in mentions.dates:
        if any(period.first <= day <= period.last for period in mention.periods):
            return _source(How.WITHIN, mention)
    return None


def _is_reached(day: date, base: date, step: str) -> bool:
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


def _part_of_date_source(value: Json, hints: ArgumentHints, mentions: Mentions) -> ValueSource | None:
    """The date that supports a part of one: ``year: 2026`` and ``month: 3`` where the text says March 2026."""
    if hints.kind is not ArgumentKind.DATE:
        return None
    for mention in mentions.dates:
        if any(value in (period.first.year, period.first.month, period.first.day) for period in mention.periods):
            return _source(How.DATE, mention)
    return None


def _time_source(hour: time, mentions: Mentions) -> ValueSource | None:
    mention = mentions.times_of_day.get(hour)
    return _source(How.DATE, mention) if mention else None


def _end_source(moment: ReadMoment, mentions: Mentions) -> ValueSource | None:
    """The length that supports an end, if the text also says the start: "at 9 for 90 minutes"."""
    if moment.hour is None:
        return None
    lengths = [(one, length) for one in mentions.numbers if (length := duration_of(one)) is not None]
    end = datetime.combine(moment.day or mentions.now.date(), moment.hour)
    for mention, length in lengths:
        start = end - length
        is_day_said = moment.day is None or _day_source(start.date(), mentions) is not None
        if is_day_said and start.time() in mentions.times_of_day:
            return _source(How.END, mention)
    return None


def duration_of(mention: NumberMention) -> timedelta | None:
    """The length of time that a number with its unit is, up to a year; else None."""
    if mention.unit is None or mention.unit.measure != "time":
        return None
    seconds = Fraction(mention.values[0]) * mention.unit.size
    return timedelta(seconds=float(seconds)) if 0 < seconds <= _MOST_STEPS * 86_400 else None
