"""An executor for measuring: real queue, leases and runner, but turns that end at once or never.

It is started by ``bench-queue`` alone; ``python -m services.executor`` cannot be told to become this.
"""

import asyncio

from services.executor.hosting import run_sessions
from services.executor.ports import TurnEnd, TurnStore, Work
from services.executor.settings import RunSettings
from shared.contracts.task import TaskEvent
from shared.domain.words import TaskState
from shared.infra.process import configure_logging

WAIT = "wait"
STARTED = "note"


class NoWork:
    """Says when the turn began; then ends it, or waits for ever if that is the task's text."""

    async def run(self, work: Work, store: TurnStore) -> None:
        if work.record.request.text == WAIT:
            await store.append((), (TaskEvent(kind=STARTED, at=work.turn.received_at),))
            await asyncio.Event().wait()
        update = {"state": TaskState.COMPLETED, "metadata": {"waited_us": work.waited_us}}
        await store.finish(TurnEnd(record=work.record.model_copy(update=update), session=await store.session()))


if __name__ == "__main__":
    configure_logging("executor-bench")
    asyncio.run(run_sessions(RunSettings(), NoWork()))
