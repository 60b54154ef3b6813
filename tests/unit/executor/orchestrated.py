"""A stage whose tasks are thought through by a BrainOS of ours, over real HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from typing_extensions import override

from services.executor.adapters.brainos import BrainOS, BrainOSAccount
from services.executor.core.session.context import Ports
from services.executor.ports.services import Orchestrator, OrchestratorName
from shared.domain.exact_json import Json, JsonObject
from tests.doubles.mock_brainos import MockBrainOS, Round, answer, call, events, mock_brainos
from tests.unit.executor.stage import TASK, Stage

BRAINOS, LOCAL = OrchestratorName.BRAINOS, OrchestratorName.LOCAL
READ, WRITE = call("get_claim", claim_id="C-1"), call("approve_claim", claim_id="C-1")
WHOLE = (events(READ), events(WRITE), answer("C-1 of 120.50 is approved."))


def understood(*parts: tuple[str, str], form: str = "prose") -> JsonObject:
    """The call by which it says what the task is: its parts, as quotes and kinds."""
    said: list[Json] = [{"quote": quote, "kind": kind} for quote, kind in parts]
    return call("understand", parts=said, process="general", answer_form=form)


class OrchestratedStage(Stage):
    def __init__(self, text: str, client: Orchestrator, orchestrators: tuple[OrchestratorName, ...]) -> None:
        super().__init__(text)
        self._client = client
        self.limits = self.limits._replace(orchestrators=orchestrators)

    @property
    @override
    def ports(self) -> Ports:
        return super().ports._replace(brainos=self._client)


class Scene(NamedTuple):
    stage: OrchestratedStage
    brain: MockBrainOS


@asynccontextmanager
async def orchestrated(
    *rounds: Round, text: str = TASK, by: tuple[OrchestratorName, ...] = (BRAINOS, LOCAL), seconds: float = 5.0
) -> AsyncIterator[Scene]:
    async with mock_brainos(*rounds) as brain:
        client = BrainOS(BrainOSAccount(brain.url, "a-key", "org-1"), seconds)
        try:
            yield Scene(OrchestratedStage(text, client, by), brain)
        finally:
            await client.close()
