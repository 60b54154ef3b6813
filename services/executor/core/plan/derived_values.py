"""Values that no source states: those that follow from one (shares, moved days and terms), and those that do not."""

import re
from collections.abc import Container, Iterator, Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from services.executor.core.figures.arguments import ArgumentKind, ReadField, fields_of_facts, read_epoch
from services.executor.core.figures.dates import read_compact_day, read_machine_moment, read_possible_dates
from services.executor.core.figures.identifiers import has_digit
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
        distances = self._stated_distances
        return bool(distances) and any(day - recorded in distances for recorded in self._days_of_named_records(call))

    def _is_moment_moved_as_asked(self, value: str, call: PlannedCall) -> bool:
        """Whether a day with an hour is a named record's, moved by a distance that the task states: "1 hour later"."""
        moment = self._read_moment(value) if self._stated_distances else None
        if moment is None:
            return False
        recorded_moments = map(self._read_moment, self._texts_of_named_records(call))
        return any(recorded and moment - recorded in self._stated_distances for recorded in recorded_moments)

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
        """Yields the texts and days, as text, in the records whose ids the call has, and in what is nested in them."""
        called_ids = texts_of_call(call)
        for fact in self._facts:
            fields = tuple(fields_of_facts((fact,)))
            places = {place for field in fields if (place := _path_of_named_record(field, called_ids)) is not None}
            for field in fields:
                epoch = read_epoch(field.field_name, field.value, self._sources.now.tzinfo)
                is_text = epoch or isinstance(field.value, str) or read_compact_day(field.value) is not None
                if is_text and any(f"{field.path}.".startswith(place) for place in places):
                    yield epoch.isoformat() if epoch else as_text(field.value)

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
        sourced_paths = (other.path for other in leaves if other.origin is not OriginKind.NONE)
        values = (argument_at(call.arguments, path) for path in sourced_paths)
        distances = {moment - other for value in values if (other := self._read_moment(value)) is not None}
        moments = [found for value in self._values_of_named_records(call) if (found := self._read_moment(value))]
        recorded_distances = {later - earlier for later in moments for earlier in moments if later != earlier}
        return not recorded_distances.isdisjoint(distances)

    def _values_of_named_records(self, call: PlannedCall) -> Iterator[Json]:
        called_ids = texts_of_call(call)
        for (owner, _), values in self.values_by_record_field.items():
            yield from values if owner in called_ids else ()

    def _read_moment(self, value: Json) -> datetime | None:
        """The moment that a value with both a day and an hour is; else None."""
        moment = read_machine_moment(value, self._sources.now.tzinfo) if isinstance(value, str) else None
        if moment is None or moment.day is None or moment.hour is None:
            return None
        return datetime.combine(moment.day, moment.hour)

    @cached_property
    def _last_days_of_stated_periods(self) -> frozenset[date]:
        """The last day of each period that a text gives by length and first day: "for a week from 1 April"."""
        last_days: set[date] = set()
        for text in self._sources.texts:
            terms = (number for number in text.numbers if number.unit is not None and number.unit.name in _TERMS)
            lengths = {value * _TERMS[term.unit.name] for term in terms if term.unit for value in term.values}
            for length in lengths:
                if length == int(length) and 0 < length <= _LONGEST_TERM:
                    span = timedelta(days=int(length) - 1)
                    last_days.update(day + span for day in text.days if day.year < MAXYEAR - 11)
        return frozenset(last_days)

    def _is_identifier_in_number_words(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an identifier is a number that the user spells out: the shelf "thirty-one"."""
        value = argument_at(call.arguments, leaf.path)
        if leaf.kind is not ArgumentKind.IDENTIFIER or not isinstance(value, str) or not value.isdecimal():
            return False
        mentions = (text.numbers_by_value.get(Decimal(value), ()) for text in self._sources.texts)
        return any(not has_digit(number.text) for numbers in mentions for number in numbers)

    def is_share(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an amount or quantity is a share that the task states ("by a third") of a field of a named record."""
        value = read_figure(argument_at(call.arguments, leaf.path))
        if leaf.kind not in (ArgumentKind.AMOUNT, ArgumentKind.QUANTITY) or value is None or not self._stated_shares:
            return False
        figures = map(read_figure, self._values_of_named_records(call))
        wholes = [Fraction(figure) for figure in figures if figure is not None]
        return any(_is_share_of(value, whole, share) for whole in wholes for share in self._stated_shares)

    @cached_property
    def _stated_shares(self) -> tuple[Fraction, ...]:
        """The fractions and percentages that the session's texts state."""
        shares: list[Fraction] = []
        for mention in (number for text in self._sources.texts for number in text.numbers):
            is_percent = mention.unit is not None and mention.unit.measure == "percent"
            for value in mention.values:
                if is_percent:
                    shares.append(Fraction(value) / 100)
                elif isinstance(value, Fraction):
                    shares.append(value)
        return tuple(shares)

    @cached_property
    def values_by_record_field(self) -> dict[tuple[str, str], list[Json]]:
        """``{(record id, field name): its values}`` of all that was read."""
        values_by_field: dict[tuple[str, str], list[Json]] = {}
        for field in fields_of_facts(self._facts):
            if field.record is not None:
                values_by_field.setdefault((field.record.identifier, field.name), []).append(field.value)
        return values_by_field


def _path_of_named_record(field: ReadField, named: Container[str]) -> str | None:
    """The path of the record around a field, with a dot, or empty at the top; None if the call does not name it."""
    if field.record is None:
        return None
    is_own = field.record.path == field.parent and str(field.value) in named
    return f"{field.record.path}.".lstrip(".") if is_own or field.record.identifier in named else None


def _list_durations(number: NumberMention, text: str) -> Sequence[timedelta]:
    """The lengths of time that a number can mean: forward, back, or both if no word near it says which."""
    length = duration_of(number) or _read_length_of_stay(number, text)
    begins = max(text.rfind(mark, 0, number.start) for mark in _SENTENCE_ENDS) + 1
    text_before = text[max(begins, number.start - _LOOKED_BACK) : number.start]
    is_later = _LATER.match(text, number.end) is not None or _PUTS_OFF.search(text_before) is not None
    is_earlier = _EARLIER.match(text, number.end) is not None or _BRINGS_FORWARD.search(text_before) is not None
    if length is None:
        return ()
    return ([length] if is_later or not is_earlier else []) + ([-length] if is_earlier or not is_later else [])


def _read_length_of_stay(number: NumberMention, text: str) -> timedelta | None:
    """The length of a stay: "1 more night"; else None."""
    is_of_nights = _NIGHTS.match(text, number.end) and number.values[0] in range(1, _LONGEST_TERM)
    return timedelta(days=int(number.values[0])) if is_of_nights else None


def _is_share_of(value: Decimal, whole: Fraction, share: Fraction) -> bool:
    """Whether the value is the share of the whole, the whole less the share, or the whole plus the share, rounded."""
    return any(is_rounding_of(value, rounded) for rounded in (whole * share, whole * (1 - share), whole * (1 + share)))


def texts_of_call(call: PlannedCall) -> set[str]:
    """The texts and whole numbers, as text, among a call's arguments: they may name records."""
    return {str(argument) for argument in call.arguments.values() if isinstance(argument, str | int)}
