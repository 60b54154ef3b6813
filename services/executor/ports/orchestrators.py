"""Orchestrators: who thinks a task through, from its text to the writes it wants and its answer."""

from enum import StrEnum
from typing import NamedTuple, Protocol

from shared.domain.exact_json import Json, JsonObject


class Orchestrating(StrEnum):
    """``local``: the model of this installation, by the strategy that the bandit chose."""

    LOCAL = "local"
    BRAINOS = "brainos"


class ToolTold(NamedTuple):
    """What came of a call, as the orchestrator is told it."""

    name: str
    result: Json


class ToolAsked(NamedTuple):
    """A call that the orchestrator asks for: a wish, until the gate let it through."""

    name: str
    params: JsonObject


class Saying(NamedTuple):
    """One message of a conversation that the other side remembers. ``context`` stands before the first one only."""

    conversation_id: str
    message: str
    context: str = ""
    results: tuple[ToolTold, ...] = ()


class OrchestratorReply(NamedTuple):
    """What it says to that: calls, or a text if it needs none, or both."""

    text: str
    calls: tuple[ToolAsked, ...] = ()


class OrchestratorUnavailable(Exception):
    """No reply that could be used: refused, slow, cut off or garbage. The message says which, for people."""


class Orchestrator(Protocol):
    async def say(self, saying: Saying) -> OrchestratorReply:
        """Its reply; raises ``OrchestratorUnavailable``. Never sent twice: the other side remembers what it heard."""
