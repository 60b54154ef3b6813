"""Values that stand in no source and follow from one: shares, moved days and terms; and those that follow from none."""

import re
from collections.abc import Container, Iterator, Sequence
from datetime import MAXYEAR, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from services.executor.core.figures.arguments import ArgumentKind, ReadField, fields_of_facts
from services.executor.core.figures.dates import read_machine_moment, read_possible_dates
from services.executor.core.figures.numbers import NumberMention, is_rounding_of, read_figure
from services.executor.core.figures.trace import ArgumentTrace, OriginKind, TraceSources, duration_of
from services.executor.core.records.references import value_at
from services.executor.core.session.values import Fact
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json

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
_ENDS = ".!?;\n"
_NIGHTS = re.compile(r"\s+(?:(?:more|further|extra|additional)\s+)?(?:nights?|days?)\b", re.IGNORECASE)


class DerivedValues:
    """What follows from the texts of the session and from the records that were read."""

    def __init__(self, sources: TraceSources, facts: Sequence[Fact]) -> None:
        self._sources, self._facts = sources, facts

    def follows(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an argument that stands nowhere is a share that the task states, or a number that it spells out."""
        return self.is_share(leaf, call) or self._is_in_words(leaf, call)

    def is_doubtful(self, leaf: ArgumentTrace, call: PlannedCall, tool: Tool) -> bool:
        """Whether the argument is a whole number, a day or an hour that stands in no source and follows from none.

        A number on a scale that the tool's schema sets is not doubtful.
        """
        if leaf.origin is not OriginKind.NONE or leaf.kind is ArgumentKind.FREE_TEXT:
            return False
        value = value_at(call.arguments, leaf.path)
        if isinstance(value, str):
            moment = read_machine_moment(value, self._sources.now.tzinfo)
            if moment is not None and moment.day is None:
                return moment.hour is not None and self._is_hour_told
            days = self._days_in(value)
            if leaf.kind is not ArgumentKind.DATE or not days:
                return False
            return not any(day in self._last_days or self._is_moved_day(day, call) for day in days)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value in (0, 1):
            return False
        has_scale = not {"maximum", "exclusiveMaximum"}.isdisjoint(tool.parameters.get(leaf.path, {}))
        return not has_scale and not self.is_share(leaf, call)

    @cached_property
    def _is_hour_told(self) -> bool:
        """Whether the session's texts give a time of day, and no length of time from which another one may follow."""
        texts = self._sources.texts
        lengths = (duration_of(number) for text in texts for number in text.numbers)
        return any(text.times for text in texts) and not any(length is not None for length in lengths)

    def _is_moved_day(self, day: date, call: PlannedCall) -> bool:
        """Whether a day lies as far from one of a record that the call names, and on that side of it, as the task says:
        "3 weeks later".
        """
        steps = {step for number in self._sources.task.numbers for step in _list_steps(number, self._sources.task.text)}
        return bool(steps) and not steps.isdisjoint(day - one for one in self._days_of_named(call))

    def has_days_to_move(self, call: PlannedCall) -> bool:
        """Whether the records that the call names have days, from which a distance may be counted."""
        return any(True for _ in self._days_of_named(call))

    def _days_of_named(self, call: PlannedCall) -> Iterator[date]:
        """Yields the days in the records of which the call names an identifier, and in what is nested in them."""
        named = texts_in(call)
        for fact in self._facts:
            fields = tuple(fields_of_facts((fact,)))
            places = {place for field in fields if (place := _place_of_named(field, named)) is not None}
            for field in fields:
                if isinstance(field.value, str) and any(f"{field.path}.".startswith(place) for place in places):
                    yield from self._days_in(field.value)

    def _days_in(self, value: str) -> Sequence[date]:
        """The day that a value is; two where its day and month may be in either order."""
        moment = read_machine_moment(value, self._sources.now.tzinfo)
        if moment is not None:
            return () if moment.day is None else (moment.day,)
        return read_possible_dates(value)

    def keeps_length(self, leaf: ArgumentTrace, call: PlannedCall, leaves: Sequence[ArgumentTrace]) -> bool:
        """Whether a moment is as far from one that has a source as two moments of the named record are from each
        other.
        """
        moment = self._read_moment(value_at(call.arguments, leaf.path)) if leaf.origin is OriginKind.NONE else None
        if moment is None:
            return False
        values = (value_at(call.arguments, one.path) for one in leaves if one.origin is not OriginKind.NONE)
        distances = {moment - other for one in values if (other := self._read_moment(one)) is not None}
        named = texts_in(call)
        shown = [one for (owner, _), given in self.by_record.items() if owner in named for one in given]
        moments = [one for given in shown if (one := self._read_moment(given)) is not None]
        apart = {one - other for one in moments for other in moments if one != other}
        return not apart.isdisjoint(distances)

    def _read_moment(self, value: Json) -> datetime | None:
        """The day and hour of a value that has both; else None."""
        read = read_machine_moment(value, self._sources.now.tzinfo) if isinstance(value, str) else None
        return datetime.combine(read.day, read.hour) if read and read.day and read.hour is not None else None

    @cached_property
    def _last_days(self) -> frozenset[date]:
        """The last day of each term that a text gives with its first day: "for a week from 1 April"."""
        last: set[date] = set()
        for text in self._sources.texts:
            terms = (number for number in text.numbers if number.unit is not None and number.unit.name in _TERMS)
            for length in {value * _TERMS[term.unit.name] for term in terms if term.unit for value in term.values}:
                if length == int(length) and 0 < length <= _LONGEST_TERM:
                    last.update(day + timedelta(days=int(length) - 1) for day in text.days if day.year < MAXYEAR - 11)
        return frozenset(last)

    def _is_in_words(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether an identifier is a number that the user spells out: the shelf "thirty-one"."""
        value = value_at(call.arguments, leaf.path)
        if leaf.kind is not ArgumentKind.IDENTIFIER or not isinstance(value, str) or not value.isdecimal():
            return False
        texts = self._sources.texts
        said = (one for text in texts for one in text.numbers_by_value.get(Decimal(value), ()))
        return any(not any(mark.isdigit() for mark in one.text) for one in said)

    def is_share(self, leaf: ArgumentTrace, call: PlannedCall) -> bool:
        """Whether a number is a share that the task states ("by a third") of a field of the named record.

        Only for amounts and quantities.
        """
        value = read_figure(value_at(call.arguments, leaf.path))
        if leaf.kind not in (ArgumentKind.AMOUNT, ArgumentKind.QUANTITY) or value is None or not self._shares:
            return False
        named = texts_in(call)
        fields = [one for (owner, _), values in self.by_record.items() if owner in named for one in values]
        numbers = [Fraction(number) for one in fields if (number := read_figure(one)) is not None]
        return any(_is_share_of(value, number, share) for number in numbers for share in self._shares)

    @cached_property
    def _shares(self) -> tuple[Fraction, ...]:
        """The fractions and percentages that the task and earlier turns state."""
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
    def by_record(self) -> dict[tuple[str, str], list[Json]]:
        """The values that the records show, by identifier and field."""
        found: dict[tuple[str, str], list[Json]] = {}
        for field in fields_of_facts(self._facts):
            if field.record is not None:
                found.setdefault((field.record.identifier, field.name), []).append(field.value)
        return found


def _place_of_named(field: ReadField, named: Container[str]) -> str | None:
    """The path, with a dot behind it, of the record around a field if the call names it; else None."""
    if field.record is None:
        return None
    is_own = field.record.path == field.parent and str(field.value) in named
    return f"{field.record.path}.".lstrip(".") if is_own or field.record.identifier in named else None


def _list_steps(number: NumberMention, text: str) -> Sequence[timedelta]:
    """The distances that a number may mean, back or on; only one of them where the word behind it says which, or the
    verb before it.
    """
    length = duration_of(number) or _read_nights(number, text)
    begins = max(text.rfind(mark, 0, number.start) for mark in _ENDS) + 1
    said = text[max(begins, number.start - _LOOKED_BACK) : number.start]
    is_later = _LATER.match(text, number.end) is not None or _PUTS_OFF.search(said) is not None
    is_earlier = _EARLIER.match(text, number.end) is not None or _BRINGS_FORWARD.search(said) is not None
    if length is None:
        return ()
    return ([length] if is_later or not is_earlier else []) + ([-length] if is_earlier or not is_later else [])


def _read_nights(number: NumberMention, text: str) -> timedelta | None:
    """The length of a stay that a number gives: "1 more night"; else None."""
    is_of_nights = _NIGHTS.match(text, number.end) and number.values[0] in range(1, _LONGEST_TERM)
    return timedelta(days=int(number.values[0])) if is_of_nights else None


def _is_share_of(value: Decimal, whole: Fraction, share: Fraction) -> bool:
    """Whether the value is the share, what is left without it, or what comes with it, rounded as it is written."""
    return any(is_rounding_of(value, one) for one in (whole * share, whole * (1 - share), whole * (1 + share)))


def texts_in(call: PlannedCall) -> set[str]:
    """The texts and whole numbers among a call's arguments: what may name a record."""
    return {str(given) for given in call.arguments.values() if isinstance(given, str | int)}
