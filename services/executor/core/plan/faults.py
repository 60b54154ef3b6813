"""A proposed call as the checks see it, and the faults that they may find in it."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum, auto
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentHints, ArgumentKind
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import NumberMention
from services.executor.core.session.values import Fact, NamedValue
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, as_text

_MOST_CHARACTERS = 80  # of a value in a sentence


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
    """What may be wrong with a call."""

    argument: str  # its path; empty for the whole call
    reason: str  # a sentence
    severity: Severity = Severity.CONTRADICTED


class PartContext(NamedTuple):
    """The part of the task that a call carries out."""

    quote: str = ""  # the part's words
    other_quotes: Sequence[str] = ()  # the words of the other parts
    write_tools: Sequence[Tool] = ()  # the server's tools that write
    proposed_calls: Sequence[tuple[str, JsonObject]] = ()  # (tool, arguments) of all that the task proposed so far


WHOLE_TASK = PartContext()  # where a call is looked at without a part


class ArgumentToCheck(NamedTuple):
    """A scalar argument of a proposed call."""

    path: str
    kind: ArgumentKind
    origin: str  # the kind of its source, an ``OriginKind``
    value: Json
    figure: str = ""  # the name of the calculated value that it is, or empty
    hints: ArgumentHints = ArgumentHints()  # its unit, and whether it is in cents or the like
    recorded_numbers: tuple[Decimal, ...] = ()  # in the field of its name, of the records that the call names

    def build_fault(self, sentence: str) -> CallFault:
        return CallFault(self.path, f"{self.path} {shorten(self.value)}: {sentence}")


class ChangeToCheck(NamedTuple):
    """A proposed change or notice, and what its arguments are compared with."""

    tool: Tool
    arguments: JsonObject
    scalars: Sequence[ArgumentToCheck]  # all that the arguments hold at any depth
    part: PartContext
    part_mentions: Mentions  # the words of its part, or of the task
    user_mentions: Sequence[Mentions]  # all that the user wrote
    facts: Sequence[Fact]  # what was read, and the task's files
    values: Mapping[str, NamedValue]  # calculated values by name
    titles: Mapping[str, Sequence[str]]  # {id in lower case: names of the record}, of those that were read
    part_figures: Sequence[NumberMention]  # the figures of the part to act with
    untrusted_texts: Sequence[str]  # texts that somebody wrote and that are no source

    def list_same_tool_arguments(self) -> list[JsonObject]:
        """The arguments of all proposed calls of the same tool."""
        return [arguments for name, arguments in self.part.proposed_calls if name == self.tool.name]


def quote_part(texts: Iterable[str]) -> str:
    """What a part says, as the end of a fault's sentence."""
    return f"this part says {shorten(', '.join(texts))}"


def shorten(value: Json) -> str:
    return as_text(value)[:_MOST_CHARACTERS]


def field_name_of(path: str) -> str:
    """The field's name at the end of a path: ``total`` of ``lines[0].total``."""
    return path.rpartition(".")[2].partition("[")[0]


def argument_name_of(path: str) -> str:
    """The argument's name at the start of a path: ``lines`` of ``lines[0].total``."""
    return path.partition(".")[0].partition("[")[0]
