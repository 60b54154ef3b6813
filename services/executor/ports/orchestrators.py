"""The port to orchestrators: external services that work on a whole task, from its text to its writes and answer."""

from enum import StrEnum
from typing import NamedTuple, Protocol

from shared.domain.exact_json import Json, JsonObject


class OrchestratorName(StrEnum):
    """The orchestrators by name. ``local``: this installation's own model, with the strategy that the bandit chose."""

    LOCAL = "local"
    BRAINOS = "brainos"


class OrchestratorResult(NamedTuple):
    """The result of a tool call, as it is sent to the orchestrator."""

    name: str
    result: Json


class ProposedToolCall(NamedTuple):
    """A tool call that the orchestrator asks for. It is only a proposal until the policy gate permits it."""

    name: str
    params: JsonObject


class OrchestratorMessage(NamedTuple):
    """One message of a conversation that the orchestrator remembers. Only the first message has a ``context``."""

    conversation_id: str
    message: str
    context: str = ""
    results: tuple[OrchestratorResult, ...] = ()


class OrchestratorReply(NamedTuple):
    """The orchestrator's reply: tool calls, a text, or both."""

    text: str
    calls: tuple[ProposedToolCall, ...] = ()


class OrchestratorUnavailable(Exception):
    """No usable reply came. The message says whether it was refused, late, cut off or malformed; clients may see it."""


class Orchestrator(Protocol):
    """An outside service that takes the model's place in a conversation: it is told results, and asks for calls."""

    async def send(self, message: OrchestratorMessage) -> OrchestratorReply:
        """Sends the message and returns the reply; raises ``OrchestratorUnavailable``. A message is never sent twice,
        because the orchestrator keeps the conversation.
        """
