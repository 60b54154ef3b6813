"""An ``Orchestrator`` that says one thing after the other, and remembers what it was told."""

from collections.abc import Iterable

from typing_extensions import override

from services.executor.ports.services import (
    Orchestrator,
    OrchestratorMessage,
    OrchestratorReply,
    OrchestratorUnavailable,
)


class ScriptedOrchestrator(Orchestrator):
    """``None``, and whatever comes after the last, is its not being available."""

    def __init__(self, says: Iterable[OrchestratorReply | None]) -> None:
        self._says = iter(says)
        self.told: list[OrchestratorMessage] = []

    @override
    async def send(self, message: OrchestratorMessage) -> OrchestratorReply:
        self.told.append(message)
        said = next(self._says, None)
        if said is None:
            raise OrchestratorUnavailable("it is not there")
        return said
