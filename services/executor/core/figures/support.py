"""Whether a text supports a value: as it stands, in another writing, or by a date relative to today."""

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

from services.executor.core.figures.arguments import ArgumentHints, ArgumentKind
from services.executor.core.figures.dates import ReadMoment, read_machine_moment
from services.executor.core.figures.identifiers import ADDRESSES, identifier_key, whole_form
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import Number, NumberMention, read_written_number
from services.executor.core.figures.vocabulary import UNITS, Unit, agree_in_currency, minor_places
from shared.domain.exact_json import Json, dumps

_MOST_STEPS = 366
_FEWEST_PLACES = 2  # 0.33 is a third, 0.3 is not
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_DAY_SECONDS = (86_400, 3600, 60, 1)
_SHORT = 60
_OF_TIME = [UNITS[name] for name in ("seconds", "minutes", "hours", "days")]


def is_supported(value: Json, hints: ArgumentHints, mentions: Mentions) -> bool:
    """Whether something in the text supports a scalar.

    A number within a longer code, date or telephone number supports nothing. A minus may be dropped, never added. Minor
    units count where the hints say so, or where an integer must mean them (123450 for 1,234.50).
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
    form = whole_form(text)
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
        return _has_amount(Fraction(seconds), "time", mentions)
    written = read_written_number(text)
    return written is not None and any(_has_number(value, hints, mentions, written) for value in written.values)


def read_duration(text: str) -> Decimal | None:
    """The seconds of an ISO 8601 duration, ``PT1H30M``; None for any other text."""
    match = _DURATION.fullmatch(text) if text.startswith("P") and len(text) > 2 else None
    if match is None:
        return None
    return Decimal(sum(int(count or 0) * size for count, size in zip(match.groups(), _DAY_SECONDS, strict=True)))


def _has_number(value: Number, hints: ArgumentHints, mentions: Mentions, written: NumberMention | None = None) -> bool:
    """Whether the text has the number: the same, the same in minor units, or the same in another unit."""
    money, unit = (written.money, written.unit) if written else (None, None)
    unit = unit or hints.unit
    negatives = mentions.numbers_by_value.get(-value, ()) if value > 0 else ()
    for mention in (*mentions.numbers_by_value.get(value, ()), *negatives):
        if _may_mean(mention, hints) and agree_in_currency(mention.money, money):
            is_other_unit = unit is not None and mention.unit is not None and unit != mention.unit
            takes_minor = hints.is_in_minor_units or hints.kind is not ArgumentKind.AMOUNT
            if takes_minor if _is_minor(mention) and value else not is_other_unit:
                return True
    return _has_in_minor_units(value, hints, mentions, written) or _has_measure(value, hints, unit, mentions)


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


def _has_in_minor_units(value: Number, hints: ArgumentHints, mentions: Mentions, written: NumberMention | None) -> bool:
    money = written.money if written else None
    if hints.kind is not ArgumentKind.AMOUNT and not hints.is_in_minor_units and not money:
        return False
    return any(
        _is_in_minor_units(value, said, mention, hints)
        for mention in mentions.numbers
        if mention.unit is None and agree_in_currency(mention.money, money)
        for said in mention.values
    )


def _is_in_minor_units(value: Number, said: Number, mention: NumberMention, hints: ArgumentHints) -> bool:
    size = 10 ** minor_places(mention.money)
    if _is_minor(mention):
        return value * size == said and not hints.is_in_minor_units
    must_be = hints.is_integer and said != int(said)
    return (hints.is_in_minor_units or must_be) and value == said * size


def _has_measure(value: Number, hints: ArgumentHints, unit: Unit | None, mentions: Mentions) -> bool:
    """Whether the text has the number in another measure: percent as a share, a third as 0.33, 90 minutes as 1.5 hours.

    A length of time whose argument does not say its unit may be in seconds, minutes, hours or days.
    """
    if unit is None and hints.kind in (ArgumentKind.AMOUNT, ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT):
        is_share = hints.kind is ArgumentKind.AMOUNT and not hints.is_plain_money
        return is_share and _has_fraction(value, mentions)
    any_unit = _OF_TIME if hints.kind is ArgumentKind.QUANTITY else ()
    return _has_fraction(value, mentions) or any(
        _has_amount(Fraction(value) * one.size, one.measure, mentions) for one in ([unit] if unit else any_unit)
    )


def _has_fraction(value: Number, mentions: Mentions) -> bool:
    for mention in mentions.numbers:
        percent = mention.unit if mention.unit is not None and mention.unit.measure == "percent" else None
        for said in mention.values:
            share = Fraction(said) * percent.size / 100 if percent else Fraction(said)
            if (percent and value == share) or (isinstance(said, Fraction) and _rounds_to(value, share)):
                return True
    return False


def _rounds_to(value: Number, share: Fraction) -> bool:
    """Whether the value is the share, or the share in percent, rounded to the places that the value has."""
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    places = -exponent if isinstance(exponent, int) else 0
    if places < _FEWEST_PLACES:
        return value in (share, share * 100)
    return any(abs(Fraction(value) - one) * 2 <= Fraction(1, 10**places) for one in (share, share * 100))


def _has_amount(amount: Fraction, measure: str, mentions: Mentions) -> bool:
    """Whether a number with a unit of the measure comes to ``amount``, which is in the measure's first unit."""
    of_measure = ((one, one.unit.size) for one in mentions.numbers if one.unit and one.unit.measure == measure)
    return any(Fraction(said) * size == amount for one, size in of_measure for said in one.values)


def _has_date(text: str, mentions: Mentions) -> bool:
    moment = read_machine_moment(text, mentions.zone)
    if moment is None:
        return _has_written_date(text, mentions)
    is_day_told = moment.day is None or _has_day(moment.day, mentions)
    is_day_alone = moment.day is not None and moment.hour in (None, time(0), time(23, 59), time(23, 59, 59))
    return (is_day_told and (is_day_alone or moment.hour in mentions.times_of_day)) or _has_end(moment, mentions)


def _has_written_date(text: str, mentions: Mentions) -> bool:
    """Whether the text has a date in words, ``4 March 2026``, or a month, ``2026-03``."""
    if len(text) > _SHORT or not any(mark.isdecimal() for mark in text):
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
    return any(_is_reached(day, base, one.step) for one in mentions.dates if one.step for base in bases)


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


def _has_part_of_date(value: Json, hints: ArgumentHints, mentions: Mentions) -> bool:
    """Whether a date of the text has that part: ``year: 2026`` and ``month: 3`` where it says March 2026."""
    days = (period.first for mention in mentions.dates for period in mention.periods)
    return hints.kind is ArgumentKind.DATE and any(value in (day.year, day.month, day.day) for day in days)


def _has_end(moment: ReadMoment, mentions: Mentions) -> bool:
    """Whether the text has the start of an end, and the length between them: "at 9 for 90 minutes"."""
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
