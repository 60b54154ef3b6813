"""Orchestrators: services that think a task through, from its text to the writes it wants and its answer."""

from enum import StrEnum
from typing import NamedTuple, Protocol

from shared.domain.exact_json import Json, JsonObject


class OrchestratorName(StrEnum):
    """Who thinks a task through. ``local``: the model of this installation, by the strategy that the bandit chose."""

    LOCAL = "local"
    BRAINOS = "brainos"


class OrchestratorResult(NamedTuple):
    """The result of a call, as the orchestrator is told it."""

    name: str
    result: Json


class OrchestratorCall(NamedTuple):
    """A call that the orchestrator asks for: a wish, until the gate let it through."""

    name: str
    params: JsonObject


class OrchestratorMessage(NamedTuple):
    """One message of a conversation that the other side remembers. ``context`` stands before the first one only."""

    conversation_id: str
    message: str
    context: str = ""
    results: tuple[OrchestratorResult, ...] = ()


class OrchestratorReply(NamedTuple):
    """The orchestrator's reply: calls, or a text if it needs none, or both."""

    text: str
    calls: tuple[OrchestratorCall, ...] = ()


class OrchestratorUnavailable(Exception):
    """There is no usable reply: refused, slow, cut off or garbage. The message says which, for people."""


class Orchestrator(Protocol):
    async def send(self, message: OrchestratorMessage) -> OrchestratorReply:
        """Its reply; raises ``OrchestratorUnavailable``. Never sent twice: the other side remembers what it heard."""
