"""Finds where the tools' answers show a value: in a field of its own, or only within a text that somebody wrote."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from services.executor.core.figures.arguments import (
    ArgumentHints,
    ArgumentKind,
    FieldRecord,
    FieldStanding,
    ReadField,
    read_fields,
)
from services.executor.core.figures.dates import read_machine_moment, read_possible_dates
from services.executor.core.figures.identifiers import (
    ADDRESSES,
    IdentifierForm,
    find_special_identifiers,
    has_digit,
    identifier_key,
    whole_form,
)
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import NumberMention, read_machine_number, read_number, read_written_number
from services.executor.core.figures.support import is_supported
from services.executor.core.figures.vocabulary import agree_in_currency, minor_places, spaced_words
from shared.domain.exact_json import Json, as_text


class FactOrigin(NamedTuple):
    """One place where an answer shows a value. ``is_whole``: the field holds this value and nothing more."""

    fact_id: str
    path: str
    standing: FieldStanding
    record: FieldRecord | None
    value: Json
    is_whole: bool

    @property
    def field(self) -> str:
        """The name of the field, without the places in lists."""
        return self.path.rpartition(".")[2].partition("[")[0]


_MOST_ORIGINS = 1_000
_MOST_TEXTS = 40  # texts that are read in full to look for one value
_MOST_CHARACTERS = 20_000
_SHORT = 60  # characters of a free text that is compared as a whole, too
_ISO_START = re.compile(r"\d{4}-\d\d-\d\d")
_TERM = re.compile(r"[^\W\d_]+|\d+(?:[.,'’]\d+|[ \u00a0\u202f]\d{3}(?!\d))*")
_NO_DIGITS = re.compile(r"\D+")
_PERSON = re.compile(r"\s*\"?([^\"<>]+?)\"?\s*<([^<>@\s]+@[^<>\s]+)>\s*")


class FactsIndex:
    """An index from a value to every place where a tool's answer shows it, however it is written."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._numbers: dict[int | Decimal, list[ReadField]] = {}
        self._texts: dict[str, list[ReadField]] = {}
        self._days: dict[date, list[ReadField]] = {}
        # With a digit, and neither a plain number nor an ISO date: read when asked for.
        self._others: list[ReadField] = []
        self._several_words: list[ReadField] = []
        self._texts_read: dict[str, Mentions] = {}

    def add(self, fact_id: str, answer: Json) -> None:
        """Adds every scalar of a tool's answer to the index."""
        for field in read_fields(fact_id, answer):
            if isinstance(field.value, int | Decimal):
                self._numbers.setdefault(field.value, []).append(field)
            elif not isinstance(field.value, str):
                continue
            elif field.standing is FieldStanding.STRUCTURED or len(field.value) <= _SHORT:
                self._add_text(field, field.value)
            else:
                self._several_words.append(field)

    def find_origins(
        self, value: Json, hints: ArgumentHints | None = None, *, most: int = _MOST_ORIGINS
    ) -> tuple[FactOrigin, ...]:
        """The places where the value is a whole field; if there are none, the texts in which it stands among other
        words.
        """
        if value is None or isinstance(value, bool | dict | list) or value == "":
            return ()
        hints = hints or ArgumentHints()
        fields = {id(field): field for field in self._whole_fields(value, hints)}
        found = tuple(_origin(field, is_whole=True) for field in islice(fields.values(), most))
        return found or tuple(_origin(field, is_whole=False) for field in self._texts_around(value, hints))

    def fields_of_words(self, words: str) -> tuple[FactOrigin, ...]:
        """The structured fields that consist of exactly these words."""
        return tuple(_origin(field, is_whole=True) for field in self._texts.get(spaced_words(words), ()))

    def _add_text(self, field: ReadField, value: str) -> None:
        self._texts.setdefault(spaced_words(value), []).append(field)
        if " " in value:
            self._several_words.append(field)
            if "<" in value and (person := _PERSON.fullmatch(value)) is not None:
                self._add_text(field._replace(value=person[1]), person[1])
                self._add_text(field._replace(value=person[2]), person[2])
        if value.isalpha():
            return
        if (number := read_machine_number(value)) is not None:
            self._numbers.setdefault(number, []).append(field)
        elif (day := self._iso_day(value)) is not None:
            self._days.setdefault(day, []).append(field)
        elif has_digit(value):
            self._others.append(field)

    def _iso_day(self, value: str) -> date | None:
        if not _ISO_START.match(value):
            return None
        moment = read_machine_moment(value, self._now.tzinfo)
        return moment.day if moment else None

    def _whole_fields(self, value: Json, hints: ArgumentHints) -> Iterator[ReadField]:
        if isinstance(value, str):
            same = [one for one in self._texts.get(spaced_words(value), ()) if _is_same_text(value, str(one.value))]
            yield from same
            yield from self._same_day(value)
            if not same and whole_form(value) is not None:
                yield from self._identifiers.get(identifier_key(value), ())
        written = read_number(value)
        for number in written.values if written else ():
            if written is not None and isinstance(number, Decimal):
                yield from self._same_number(number, written)
                yield from self._same_in_minor_units(number, written, hints)

    def _same_number(self, number: Decimal, written: NumberMention) -> Iterator[ReadField]:
        """Yields the fields of that number. A field may show it with a minus, but not a negative number without one."""
        for figure in (number, -number) if number > 0 else (number,):
            yield from self._numbers.get(figure, ())
            for mention, field in self._written_numbers.get(figure, ()):
                if agree_in_currency(mention.money, written.money):
                    yield field

    def _same_in_minor_units(
        self, number: Decimal, written: NumberMention, hints: ArgumentHints
    ) -> Iterator[ReadField]:
        """Yields fields that show the amount in other units: 1234.50 for a field in cents with 123450, and 123450 for
        an argument in cents where a field has 1234.50.
        """
        size = 10 ** minor_places(written.money)
        if hints.kind is not ArgumentKind.AMOUNT:
            return
        if not hints.is_in_minor_units:
            yield from filter(_is_in_minor_units, self._numbers.get(number * size, ()))
        whole = number / size
        if hints.is_in_minor_units or (hints.is_integer and whole != whole.to_integral_value()):
            written_so = (field for _, field in self._written_numbers.get(whole, ()))
            fields = (*self._numbers.get(whole, ()), *written_so)
            yield from (field for field in fields if not _is_in_minor_units(field))

    def _same_day(self, value: str) -> Iterator[ReadField]:
        moment = read_machine_moment(value, self._now.tzinfo)
        days = read_possible_dates(value) if moment is None else [moment.day] if moment.day else []
        for field in (field for day in days for field in self._days_by_any_writing.get(day, ())):
            shown = read_machine_moment(str(field.value), self._now.tzinfo)
            if moment is None or moment.hour is None or shown is None or shown.hour in (None, moment.hour):
                yield field

    @cached_property
    def _identifiers(self) -> Mapping[tuple[str, ...], Sequence[ReadField]]:
        table: dict[tuple[str, ...], list[ReadField]] = {}
        for field in self._others:
            if whole_form(str(field.value)) is not None:
                table.setdefault(identifier_key(str(field.value)), []).append(field)
        return table

    @cached_property
    def _written_numbers(self) -> Mapping[Decimal, Sequence[tuple[NumberMention, ReadField]]]:
        """The fields that are an amount written in some other way than programs do, by number."""
        table: dict[Decimal, list[tuple[NumberMention, ReadField]]] = {}
        for field in self._others:
            mention = read_written_number(str(field.value))
            for number in mention.values if mention else ():
                if mention is not None and isinstance(number, Decimal):
                    table.setdefault(number, []).append((mention, field))
        return table

    @cached_property
    def _days_by_any_writing(self) -> Mapping[date, Sequence[ReadField]]:
        table = {day: [*fields] for day, fields in self._days.items()}
        for field in self._others:
            for day in read_possible_dates(field.value):
                table.setdefault(day, []).append(field)
        return table

    def _texts_around(self, value: Json, hints: ArgumentHints) -> Iterator[ReadField]:
        """Yields the texts in which the value stands among other words, structured fields before free text."""
        left = _MOST_CHARACTERS
        texts = sorted(self._texts_with(value), key=lambda one: one.standing is not FieldStanding.STRUCTURED)
        for field in texts[:_MOST_TEXTS]:
            text = str(field.value)
            left -= len(text)
            if left < 0:
                return
            if is_supported(value, hints, self._read(text)):
                yield field

    def _read(self, text: str) -> Mentions:
        known = self._texts_read.get(text)
        if known is None:
            known = self._texts_read[text] = find_mentions(text, self._now, relative=False)
        return known

    def _texts_with(self, value: Json) -> list[ReadField]:
        """The texts that contain the rarest term of the value."""
        if isinstance(value, str) and whole_form(value) in (IdentifierForm.IBAN, IdentifierForm.PHONE):
            return self._texts_by_account.get(identifier_key(value), [])
        moment = read_machine_moment(value, self._now.tzinfo) if isinstance(value, str) else None
        if moment is not None and moment.day is not None:
            return self._texts_by_term.get(_term(str(moment.day.day)), [])
        terms = _TERM.findall(as_text(value))
        return min((self._texts_by_term.get(_term(term), []) for term in terms), key=len, default=[])

    @cached_property
    def _texts_by_account(self) -> Mapping[tuple[str, ...], list[ReadField]]:
        """The texts by the bank accounts and telephone numbers in them, however these are spaced."""
        table: dict[tuple[str, ...], list[ReadField]] = {}
        for field in self._several_words:
            for found in find_special_identifiers(str(field.value)):
                table.setdefault(identifier_key(found.text), []).append(field)
        return table

    @cached_property
    def _texts_by_term(self) -> Mapping[str, list[ReadField]]:
        """The texts of several words, by each of their terms."""
        table: dict[str, list[ReadField]] = {}
        for field in self._several_words:
            for term in {_term(match) for match in _TERM.findall(str(field.value))}:
                table.setdefault(term, []).append(field)
        return table


def index_facts(facts: Mapping[str, Json], now: datetime) -> FactsIndex:
    """An index of all answers. ``facts``: each answer by its id; ``now`` gives the zone, and years to dates without
    one.
    """
    index = FactsIndex(now)
    for fact_id, answer in facts.items():
        index.add(fact_id, answer)
    return index


def _origin(field: ReadField, *, is_whole: bool) -> FactOrigin:
    return FactOrigin(field.fact_id, field.path, field.standing, field.record, field.value, is_whole)


def _is_same_text(value: str, shown: str) -> bool:
    """Whether two texts with the same words are the same value. In numbers and addresses the marks count: ``1.5`` is
    not ``1-5``.
    """
    if whole_form(value) in ADDRESSES:
        return identifier_key(value) == identifier_key(shown)
    if value.casefold() == shown.casefold() or not has_digit(value):
        return True
    return read_written_number(value) is None and read_written_number(shown) is None


def _is_in_minor_units(field: ReadField) -> bool:
    return field.name.lower().endswith(("cents", "minor", "minor_units", "minor_unit", "pence"))


def _term(written: str) -> str:
    """The key of a word or number: a word folded, a number as its digits without gaps and outer zeros, so that 1,200.00
    and 1.2k are one.
    """
    if written[:1].isdecimal():
        return _NO_DIGITS.sub("", written).strip("0") or "0"
    return spaced_words(written).strip()
