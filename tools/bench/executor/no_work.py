"""An executor for measuring: real queue, leases and runner, but turns that end at once, never, or step by step.

It is started by the bench ``queue`` and by tests alone; ``python -m services.executor`` cannot be told to become this.
"""

import asyncio

from services.executor.hosting import run_sessions
from services.executor.ports.services import Tenants
from services.executor.ports.turns import JournalEntry, TurnEnd, TurnRunner, TurnStore, TurnWork
from services.executor.settings import RunSettings
from shared.contracts.task import TaskEvent
from shared.contracts.tenant import TenantRecord
from shared.domain.words import TaskState
from shared.infra.metrics import Metrics
from shared.infra.process import configure_logging

WAIT = "wait"
STEPS = "steps"
STEPS_OF_A_TURN, STEP_SECONDS = 30, 0.1
STARTED = "note"


class NoWorkRunner(TurnRunner):
    """Says when the turn began; then ends it, or waits for ever, or goes step by step, as the task's text says."""

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        began = TaskEvent(kind=STARTED, at=work.turn.received_at)
        text = work.record.request.text
        if text in (WAIT, STEPS):
            await store.append((), (began,))
        if text == WAIT:
            await asyncio.Event().wait()
        if text == STEPS:
            await _step_by_step(store)
        metadata = {"waited_us": work.waited_us, "attempts": work.attempts}
        update = {"state": TaskState.COMPLETED, "metadata": metadata}
        await store.finish(TurnEnd(record=work.record.model_copy(update=update), session=await store.read_session()))


class AnyTenant(Tenants):
    """Every tenant is known, and has no cap."""

    async def get(self, tenant: str) -> TenantRecord:
        return TenantRecord(id=tenant)


async def _step_by_step(store: TurnStore) -> None:
    """As the real worker does it: go on after the last stored step, and ask before each whether it may go on."""
    for number in range(len(await store.read_journal()), STEPS_OF_A_TURN):
        await store.get_stop_state()
        await asyncio.sleep(STEP_SECONDS)
        await store.append((JournalEntry(str(number), "note", "{}"),))


if __name__ == "__main__":
    configure_logging("executor-bench")
    asyncio.run(run_sessions(RunSettings(), NoWorkRunner(), AnyTenant(), None, None, None, Metrics("executor")))
