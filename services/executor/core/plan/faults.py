"""A proposed call as the checks see it, and the faults that they may find in it."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import NamedTuple

from services.executor.core.figures.arguments import (
    ArgumentHints,
    ArgumentKind,
    ReadField,
    fields_of_facts,
    kind_of_argument,
)
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import Number, read_figure
from services.executor.core.figures.trace import ArgumentTrace
from services.executor.core.records.seen_records import singular_words
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.classes import is_identifying_name
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_text

_MOST_CHARACTERS_OF_VALUE = 80  # of a value in a sentence
_LEAST_NUMERIC_ID = 100  # smaller numbers count things


class Severity(Enum):
    """What follows from a fault. The first two refuse the call; the others send it back to the model once.

    If the model proposes the call again unchanged, it passes with a ``DOUBTFUL`` argument, and a person is asked about
    the last two.
    """

    UNSOURCED = auto()  # no source has it: a read of what the call names may show one
    REFUSED = auto()
    DOUBTFUL = auto()  # it may be a slip, or the model's own choice
    UNMENTIONED = auto()  # a record that no words of the user mention
    CONTRADICTED = auto()  # the part's words, or a record, say something else


class CallFault(NamedTuple):
    """A sentence on what is wrong, or may be wrong, with a call or one of its arguments."""

    argument: str  # its path; empty for the whole call
    reason: str  # a sentence
    severity: Severity = Severity.CONTRADICTED


class PartContext(NamedTuple):
    """The part of the task that a call carries out."""

    quote: str = ""  # the part's words
    other_quotes: Sequence[str] = ()  # the words of the other parts
    write_tools: Sequence[Tool] = ()  # the server's tools that write
    proposed_calls: Sequence[tuple[str, JsonObject]] = ()  # (tool, arguments) of all that the task proposed so far


NO_PART = PartContext()  # where a call is looked at without a part


class ReadFields:
    """The fields of all successful reads, and of the task's files; walked once for all checks of a reply."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts

    @cached_property
    def all(self) -> Sequence[ReadField]:
        return tuple(fields_of_facts(self._facts))

    @cached_property
    def by_record(self) -> Mapping[str, Sequence[ReadField]]:
        """The fields of each record by its identifier, without those of records within it."""
        fields_by_record: dict[str, list[ReadField]] = {}
        for field in self.all:
            if field.record is not None:
                fields_by_record.setdefault(field.record.identifier, []).append(field)
        return fields_by_record

    def list_fields_of_records(self, identifiers: Container[str]) -> list[ReadField]:
        """The fields of the records with these identifiers."""
        return [field for owner, fields in self.by_record.items() if owner in identifiers for field in fields]

    def list_fields_within_records(self, identifiers: Container[str]) -> list[ReadField]:
        """The fields of the records with these identifiers, and of what is nested in them, except of rows of lists."""
        owners = ((field.fact_id, field.record) for field in self.all if field.record is not None)
        places = {(ref, f"{owner.path}.".lstrip(".")) for ref, owner in owners if owner.identifier in identifiers}
        return [
            field
            for field in (self.all if places else ())
            for ref, path in places
            if ref == field.fact_id and field.path.startswith(path) and "[" not in field.path[len(path) :]
        ]

    @cached_property
    def field_words_by_number(self) -> Mapping[Number, Set[str]]:
        """For each number, except amounts, the words of the fields that have it and of the objects around them."""
        field_words_by_number: dict[Number, set[str]] = {}
        for field in self.all:
            number = read_figure(field.value)
            if number is not None and kind_of_argument(field.name, {}, field.value) is not ArgumentKind.AMOUNT:
                field_words_by_number.setdefault(number, set()).update(_words_of_path(field.path))
        return field_words_by_number

    @cached_property
    def record_numbers(self) -> Set[Number]:
        """The numbers of at least three digits that name a record."""
        numbers = (read_figure(field.value) for field in self.all if is_identifying_name(field.name))
        return {number for number in numbers if number is not None and number >= _LEAST_NUMERIC_ID}


@dataclass(frozen=True, kw_only=True)
class ArgumentToCheck(ArgumentTrace):
    """A scalar argument of a proposed call.

    ``hints``: its unit, and whether it is in cents or the like; ``recorded_numbers``: those that the records which the
    call names have in a field of its name.
    """

    value: Json
    hints: ArgumentHints
    recorded_numbers: tuple[Decimal, ...]

    @property
    def field_name(self) -> str:
        """The field's name at the end of the path: ``total`` of ``lines[0].total``."""
        return self.path.rpartition(".")[2].partition("[")[0]

    @property
    def text(self) -> str:
        return as_text(self.value)

    @property
    def number(self) -> Decimal | None:
        """The value, if it is a number or the text of one; else None."""
        return read_figure(self.value)

    @property
    def description(self) -> str:
        return f"{self.path} {shorten_value(self.value)}"

    def build_fault(self, sentence: str, severity: Severity = Severity.CONTRADICTED) -> CallFault:
        return CallFault(self.path, f"{self.description}: {sentence}", severity)


@dataclass(frozen=True, eq=False)
class CallToCheck:
    """A proposed change or notice, and what its arguments are compared with."""

    call: PlannedCall
    tool: Tool
    scalars: Sequence[ArgumentToCheck]  # all that the arguments hold at any depth
    part: PartContext
    part_mentions: Mentions  # the words of its part, or of the task
    user_mentions: Sequence[Mentions]  # all that the user wrote
    facts: Sequence[Fact]  # what was read, and the task's files
    fields: ReadFields  # of the facts
    values: Mapping[str, NamedValue]  # calculated values by name
    titles: Mapping[str, Sequence[str]]  # {id in lower case: names of the record}, of those that were read
    untrusted_texts: Sequence[str]  # texts that somebody wrote and that are no source

    @cached_property
    def arguments(self) -> JsonObject:
        return self.call.arguments

    @cached_property
    def texts(self) -> Set[str]:
        """The texts and whole numbers, as text, among the arguments: they may name records."""
        return texts_of_arguments(self.arguments)

    @cached_property
    def all_titles(self) -> Sequence[str]:
        return tuple(dict.fromkeys(title for titles in self.titles.values() for title in titles))

    def find_value(self, argument: ArgumentToCheck) -> NamedValue | None:
        """The calculated value that the argument is, or None."""
        return self.values[argument.origin_ref] if argument.origin == "calculated" else None

    def list_same_tool_arguments(self) -> list[JsonObject]:
        """The arguments of all proposed calls of the same tool."""
        return [arguments for name, arguments in self.part.proposed_calls if name == self.tool.name]


def texts_of_arguments(arguments: JsonObject) -> Set[str]:
    return {str(argument) for argument in arguments.values() if isinstance(argument, str | int)}


def say_what_part_states(texts: Iterable[str]) -> str:
    """What a part says, as the end of a fault's sentence."""
    return f"this part says {shorten_value(', '.join(texts))}"


def shorten_value(value: Json) -> str:
    return as_text(value)[:_MOST_CHARACTERS_OF_VALUE]


@lru_cache(maxsize=4096)
def _words_of_path(path: str) -> frozenset[str]:
    return frozenset(word for step in re.split(r"[.\[\]]+", path) for word in singular_words(step))
