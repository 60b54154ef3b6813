"""What a proposed call is held against, and what may be wrong with it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum, auto
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentKind
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import NumberMention
from services.executor.core.session.values import Fact, NamedValue
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject


class Severity(Enum):
    """What follows from a fault. The first two refuse the call, the others send it back once; if it is proposed again
    as it is, nobody is asked for a ``DOUBTFUL`` argument, and a person is for the last two.
    """

    UNSOURCED = auto()  # no source has it: a read of what the call names may show one
    REFUSED = auto()
    DOUBTFUL = auto()  # it may be a slip, or the model's own choice
    UNTOLD = auto()  # a record that no word tells of
    AGAINST = auto()  # the part's words, or a record, say something else


class CallFault(NamedTuple):
    """What may be wrong with a call, as a sentence. ``argument``: its path, empty where it is the call itself."""

    argument: str
    why: str
    severity: Severity = Severity.AGAINST


class PartOfCall(NamedTuple):
    """The part that a call carries out. ``quote``: its words; ``others``: those of the task's other parts.

    ``writes``: the names of its server's tools that write; ``calls``: tool and arguments of all calls that the task
    proposes by now.
    """

    quote: str = ""
    others: Sequence[str] = ()
    writes: Sequence[str] = ()
    calls: Sequence[tuple[str, JsonObject]] = ()


THE_WHOLE = PartOfCall()  # where a call is looked at without a part


class SaidArgument(NamedTuple):
    """A scalar argument of a call. ``origin``: the kind of source that its value has; ``figure``: the calculated value
    that it is, if it is one. ``is_minor``: whether it is an amount in cents or the like; ``now``: what the records that
    the call names have in a field of its name.
    """

    path: str
    kind: ArgumentKind
    origin: str
    value: Json
    figure: str = ""
    is_minor: bool = False
    now: tuple[Decimal, ...] = ()


class SaidChange(NamedTuple):
    """A change, its arguments one by one, and what they are held against: ``quoted``, the words of its part or of the
    task; ``said``, all that the user wrote; ``facts``, what was read, the task's files among them.

    ``values``: what was calculated, by name; ``titles``: what the records that were read are called, by their ids;
    ``stated``: the figures of the part to act with.
    """

    tool: Tool
    arguments: JsonObject
    given: Sequence[SaidArgument]
    part: PartOfCall
    quoted: Mentions
    said: Sequence[Mentions]
    facts: Sequence[Fact]
    values: Mapping[str, NamedValue]
    titles: Mapping[str, Sequence[str]]
    stated: Sequence[NumberMention]

    def list_same(self) -> list[JsonObject]:
        """The arguments of all calls of this tool that the task proposes by now."""
        return [arguments for name, arguments in self.part.calls if name == self.tool.name]


def name_of(path: str) -> str:
    """The name of the field at a path: ``total`` of ``lines[0].total``."""
    return path.rpartition(".")[2].partition("[")[0]


def top_of(path: str) -> str:
    """The argument in which a path begins: ``lines`` of ``lines[0].total``."""
    return path.partition(".")[0].partition("[")[0]
