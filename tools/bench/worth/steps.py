"""What passes between a scripted model and the adapter of a loop."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from tools.bench.worth.worlds.data import Json


class IntendedCall(NamedTuple):
    """A call that a model intends. `part` is the number of the task's part that it serves."""

    id: str
    tool: str
    arguments: dict[str, Json]
    part: int


class IntendedCalls(NamedTuple):
    """The calls of one reply."""

    calls: tuple[IntendedCall, ...]


class FinalReply(NamedTuple):
    """The last reply; `undone` if it says that a part of the task was not done."""

    text: str
    undone: bool = False


Step: TypeAlias = IntendedCalls | FinalReply


class CallEnding(NamedTuple):
    """How a call ended. A refusal that is `final` is not to be tried again."""

    result: str
    refused: bool = False
    final: bool = False


class PlayProgress(NamedTuple):
    """How far a conversation has come: the replies that the model gave, and the outcomes by the ids of its calls."""

    replies: int
    outcomes: Mapping[str, CallEnding]


BEGINNING = PlayProgress(0, {})
