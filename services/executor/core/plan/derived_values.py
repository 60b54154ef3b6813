"""Values that no source states: those that follow from one (shares, moved days and terms), and those that do not."""

import re
from collections.abc import Container, Iterator, Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from services.executor.core.figures.arguments import ArgumentKind, ReadField, fields_of_facts
from services.executor.core.figures.dates import read_compact_day, read_machine_moment, read_possible_dates
from services.executor.core.figures.numbers import NumberMention, is_rounding_of, read_figure
from services.executor.core.figures.trace import ArgumentTrace, OriginKind, TraceSources, duration_of
from services.executor.core.records.references import argument_at
from services.executor.core.session.values import Fact
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, as_text

_TERMS = {"days": 1, "weeks": 7}
_LONGEST_TERM = 3_660  # days
_LATER = re.compile(r"\s*(?:later|longer|more|after\b|nach hinten|später|plus tard|más tarde)\b", re.IGNORECASE)
_EARLIER = re.compile(
    r"\s*(?:earlier|sooner|before|nach vorne?|früher|plus tôt|antes)\b(?!\s+(?:noon|midday|lunch|work))", re.IGNORECASE
)
_PUTS_OFF = re.compile(r"\b(?:postpon\w*|delay\w*|extend\w*|prolong\w*|verläng\w*|retras\w*)\b", re.IGNORECASE)
_BRINGS_FORWARD = re.compile(
    r"\b(?:bring\w*\b.*\bforward|advanc\w*|shorten\w*|vorzieh\w*|vorverleg\w*|adelant\w*)\b", re.IGNORECASE
)
_LOOKED_BACK = 200  # characters of its sentence before a length of time in which the verb for its direction stands
_SENTENCE_ENDS = ".!?;\n"
_NO_CHARGE = re.compile(
    r"\b(?:free\s+of\s+(?:charge|cost)|for\s+free|no\s+(?:charge|fee|cost)s?|nothing|kostenlos\w*|kostenfrei\w*|"
    r"unentgeltlich\w*|gratis|nichts|gratuit\w*|rien)\b",
    re.IGNORECASE,
)
_NIGHTS = re.compile(r"\s+(?:(?:more|further|extra|additional)\s+)?(?:nights?|days?)\b", re.IGNORECASE)


class DerivedValues:
    """What can be derived from the session's texts and the records that were read."""

    def __init__(self, sources: TraceSources, facts: Sequence[Fact]) -> None:
        self._sources, self._facts = sources, facts

    def is_implied(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an argument without a source is a share that the task states, a number that it spells out, or the 0
        of something free of charge.
        """
        is_nothing = leaf.kind is ArgumentKind.AMOUNT and read_figure(argument_at(call.arguments, leaf.path)) == 0
        if is_nothing and any(_NO_CHARGE.search(text.text) for text in self._sources.texts):
            return True
        return self.is_share(leaf, call) or self._is_identifier_in_number_words(leaf, call)

    def is_doubtful(self, leaf: ArgumentTrace, call: PlannedCall, tool: Tool) -> bool:
        """Whether the argument is a number, a day or an hour that no source states and that follows from none.

        A number is not doubtful if it is 0 or 1, or the tool's schema gives a maximum for it.
        """
        if leaf.origin is not OriginKind.NONE or leaf.kind is ArgumentKind.FREE_TEXT:
            return False
        value = argument_at(call.arguments, leaf.path)
        value = as_text(value) if leaf.kind is ArgumentKind.DATE and read_compact_day(value) else value
        if isinstance(value, str):
            moment = read_machine_moment(value, self._sources.now.tzinfo)
            if moment is not None and moment.day is None:
                return moment.hour is not None and self._has_times_but_no_lengths
            days = self._read_days(value)
            if leaf.kind is not ArgumentKind.DATE or not days:
                return False
            if self._is_moment_moved_as_asked(value, call):
                return False
            last_days = self._last_days_of_stated_periods
            return not any(day in last_days or self._is_day_moved_as_asked(day, call) for day in days)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value in (0, 1):
            return False
        has_scale = not {"maximum", "exclusiveMaximum"}.isdisjoint(tool.parameters.get(leaf.path, {}))
        return not has_scale and not self.is_share(leaf, call)

    @cached_property
    def _has_times_but_no_lengths(self) -> bool:
        """Whether the session's texts give a time of day, and no length of time from which another may follow."""
        texts = self._sources.texts
        lengths = (duration_of(number) for text in texts for number in text.numbers)
        return any(text.times for text in texts) and not any(length is not None for length in lengths)

    def _is_day_moved_as_asked(self, day: date, call: PlannedCall) -> bool:
        """Whether the day is a named record's day, moved by a distance that the task states: "3 weeks later"."""
        steps = self._stated_distances
        return bool(steps) and not steps.isdisjoint(day - one for one in self._days_of_named_records(call))

    def _is_moment_moved_as_asked(self, value: str, call: PlannedCall) -> bool:
        """Whether a day with an hour is a named record's, moved by a distance that the task states: "1 hour later"."""
        moment = self._read_moment(value) if self._stated_distances else None
        shown = (self._read_moment(one) for one in self._texts_of_named_records(call)) if moment else ()
        return moment is not None and any(one is not None and moment - one in self._stated_distances for one in shown)

    @cached_property
    def _stated_distances(self) -> frozenset[timedelta]:
        task = self._sources.task
        return frozenset(step for number in task.numbers for step in _list_durations(number, task.text))

    def has_days_to_move(self, call: PlannedCall) -> bool:
        """Whether the records that the call names have a day from which a distance can be counted."""
        return any(True for _ in self._days_of_named_records(call))

    def _days_of_named_records(self, call: PlannedCall) -> Iterator[date]:
        return (day for text in self._texts_of_named_records(call) for day in self._read_days(text))

    def _texts_of_named_records(self, call: PlannedCall) -> Iterator[str]:
        """Yields the texts in the records whose identifier the call has, and in the objects nested in them."""
        named = texts_of_call(call)
        for fact in self._facts:
            fields = tuple(fields_of_facts((fact,)))
            places = {place for field in fields if (place := _path_of_named_record(field, named)) is not None}
            for field in fields:
                is_text = isinstance(field.value, str) or read_compact_day(field.value) is not None
                if is_text and any(f"{field.path}.".startswith(place) for place in places):
                    yield as_text(field.value)

    def _read_days(self, value: str) -> Sequence[date]:
        """The day that a value is; two days if day and month could be swapped."""
        moment = read_machine_moment(value, self._sources.now.tzinfo)
        if moment is not None:
            return () if moment.day is None else (moment.day,)
        return read_possible_dates(value)

    def keeps_time_span(self, leaf: ArgumentTrace, call: PlannedCall, leaves: Sequence[ArgumentTrace]) -> bool:
        """Whether this moment is as far from one of the call's moments that have a source as two moments of a named
        record are from each other: a meeting was moved and kept its length.
        """
        moment = self._read_moment(argument_at(call.arguments, leaf.path)) if leaf.origin is OriginKind.NONE else None
        if moment is None:
            return False
        values = (argument_at(call.arguments, one.path) for one in leaves if one.origin is not OriginKind.NONE)
        distances = {moment - other for one in values if (other := self._read_moment(one)) is not None}
        named = texts_of_call(call)
        shown = [one for (owner, _), given in self.values_by_record_field.items() if owner in named for one in given]
        moments = [one for given in shown if (one := self._read_moment(given)) is not None]
        apart = {one - other for one in moments for other in moments if one != other}
        return not apart.isdisjoint(distances)

    def _read_moment(self, value: Json) -> datetime | None:
        """The moment that a value with both a day and an hour is; else None."""
        read = read_machine_moment(value, self._sources.now.tzinfo) if isinstance(value, str) else None
        return datetime.combine(read.day, read.hour) if read and read.day and read.hour is not None else None

    @cached_property
    def _last_days_of_stated_periods(self) -> frozenset[date]:
        """The last day of each period that a text gives by length and first day: "for a week from 1 April"."""
        last: set[date] = set()
        for text in self._sources.texts:
            terms = (number for number in text.numbers if number.unit is not None and number.unit.name in _TERMS)
            for length in {value * _TERMS[term.unit.name] for term in terms if term.unit for value in term.values}:
                if length == int(length) and 0 < length <= _LONGEST_TERM:
                    last.update(day + timedelta(days=int(length) - 1) for day in text.days if day.year < MAXYEAR - 11)
        return frozenset(last)

    def _is_identifier_in_number_words(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an identifier is a number that the user spells out: the shelf "thirty-one"."""
        value = argument_at(call.arguments, leaf.path)
        if leaf.kind is not ArgumentKind.IDENTIFIER or not isinstance(value, str) or not value.isdecimal():
            return False
        texts = self._sources.texts
        said = (one for text in texts for one in text.numbers_by_value.get(Decimal(value), ()))
        return any(not any(mark.isdigit() for mark in one.text) for one in said)

    def is_share(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an amount or quantity is a share that the task states ("by a third") of a field of a named record."""
        value = read_figure(argument_at(call.arguments, leaf.path))
        if leaf.kind not in (ArgumentKind.AMOUNT, ArgumentKind.QUANTITY) or value is None or not self._stated_shares:
            return False
        named = texts_of_call(call)
        fields = [one for (owner, _), values in self.values_by_record_field.items() if owner in named for one in values]
        numbers = [Fraction(number) for one in fields if (number := read_figure(one)) is not None]
        return any(_is_share_of(value, number, share) for number in numbers for share in self._stated_shares)

    @cached_property
    def _stated_shares(self) -> tuple[Fraction, ...]:
        """The fractions and percentages that the session's texts state."""
        found: list[Fraction] = []
        for mention in (one for text in self._sources.texts for one in text.numbers):
            percent = mention.unit is not None and mention.unit.measure == "percent"
            for said in mention.values:
                if percent:
                    found.append(Fraction(said) / 100)
                elif isinstance(said, Fraction):
                    found.append(said)
        return tuple(found)

    @cached_property
    def values_by_record_field(self) -> dict[tuple[str, str], list[Json]]:
        """The values of the records that were read, keyed by record identifier and field name."""
        found: dict[tuple[str, str], list[Json]] = {}
        for field in fields_of_facts(self._facts):
            if field.record is not None:
                found.setdefault((field.record.identifier, field.name), []).append(field.value)
        return found


def _path_of_named_record(field: ReadField, named: Container[str]) -> str | None:
    """The path of the record around a field, ending in a dot, if the call names that record; else None."""
    if field.record is None:
        return None
    is_own = field.record.path == field.parent and str(field.value) in named
    return f"{field.record.path}.".lstrip(".") if is_own or field.record.identifier in named else None


def _list_durations(number: NumberMention, text: str) -> Sequence[timedelta]:
    """The lengths of time, forward or back, that a number can mean; only one direction if the word after it or the verb
    before it says which.
    """
    length = duration_of(number) or _read_length_of_stay(number, text)
    begins = max(text.rfind(mark, 0, number.start) for mark in _SENTENCE_ENDS) + 1
    said = text[max(begins, number.start - _LOOKED_BACK) : number.start]
    is_later = _LATER.match(text, number.end) is not None or _PUTS_OFF.search(said) is not None
    is_earlier = _EARLIER.match(text, number.end) is not None or _BRINGS_FORWARD.search(said) is not None
    if length is None:
        return ()
    return ([length] if is_later or not is_earlier else []) + ([-length] if is_earlier or not is_later else [])


def _read_length_of_stay(number: NumberMention, text: str) -> timedelta | None:
    """The length of a stay: "1 more night"; else None."""
    is_of_nights = _NIGHTS.match(text, number.end) and number.values[0] in range(1, _LONGEST_TERM)
    return timedelta(days=int(number.values[0])) if is_of_nights else None


def _is_share_of(value: Decimal, whole: Fraction, share: Fraction) -> bool:
    """Whether the value is the share of the whole, the whole less the share, or the whole plus the share, rounded."""
    return any(is_rounding_of(value, one) for one in (whole * share, whole * (1 - share), whole * (1 + share)))


def texts_of_call(call: PlannedCall) -> set[str]:
    """The texts and whole numbers among a call's arguments, which may name records."""
    return {str(given) for given in call.arguments.values() if isinstance(given, str | int)}
