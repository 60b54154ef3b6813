"""One attempt at a turn: it is run, skipped as it came too late, or given up."""

import asyncio

import structlog

from services.executor.core.session.journal import Journal, count_ended_task
from services.executor.core.turn.given_up import give_up, known_outcome
from services.executor.core.turn.reaper import FaultCounts
from services.executor.core.write.settling import settle_without_reading
from services.executor.ports.sessions import Fault, Lease, RunsTurns, Work
from services.executor.ports.turns import HandedOver, LeaseLost, TurnEnd, TurnStore
from shared.contracts.outcome import TaskOutcome
from shared.domain.marks import marked_values
from shared.ports.meter import Meter
from shared.ports.store import StoreUnavailable

_LOOK_SECONDS = 60.0  # for reading what the open writes of a turn came to that is given up
log = structlog.get_logger()


class TurnAttempt:
    """Runs one attempt at a turn, or ends the turn without it. ``attempts``: how often a turn may be begun."""

    def __init__(self, worker: RunsTurns, attempts: int, mended: FaultCounts, meter: Meter) -> None:
        self._worker = worker
        self._attempts = attempts
        self._mended = mended
        self._meter = meter

    async def run_or_end(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """Run the turn, or end it unrun because its task has ended or it was begun too often."""
        named = {"tenant": lease.tenant, "session": lease.session_id, "task": work.record.task_id}
        with structlog.contextvars.bound_contextvars(**named, turn=work.turn.turn_id):
            if work.record.state.is_terminal:
                await self._pass_over(lease, work, store)
            elif work.attempts > self._attempts:
                await self._give_up(work, store)
            else:
                await self._worker.run(work, store)

    async def _pass_over(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """A turn that came too late: it leaves the queue, the task stays as it is, and its outcome is surely out."""
        outcome = await known_outcome(work.record, store) if work.lacks_outcome else None
        await store.finish(TurnEnd(record=work.record, session=None, outcome=outcome))
        if outcome is not None:
            self._mended.add(Fault.OUTCOME_MISSING, session=lease.session_id, task=work.record.task_id)

    async def _give_up(self, work: Work, store: TurnStore) -> None:
        """End a turn that was begun too often. If a write is in doubt its task waits, else it ends as a dead letter."""
        log.error("turn_given_up", turn=work.turn.turn_id, attempts=self._attempts, last_error=work.last_error)
        await settle_blindly(work, store, await self._read_open_writes(work, store))
        end = await give_up(work, store, self._attempts)
        await store.finish(end)
        if end.outcome is not None:
            self.count_unrun(end.outcome)

    def count_unrun(self, ended: TaskOutcome) -> None:
        """Counts a task that ended because no attempt could carry it out."""
        count_ended_task(self._meter, ended, "worker")

    async def _read_open_writes(self, work: Work, store: TurnStore) -> str:
        """Let the open writes be read, once: what killed the turn may kill this too. Returns why it was not done."""
        if work.attempts > self._attempts + 1:
            return "whoever tried ended before it was done"
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._worker.settle_open_writes(work, store)
        except (LeaseLost, HandedOver, StoreUnavailable):
            raise
        except Exception as error:  # the outer edge of a turn: whatever it was, the turn is given up all the same
            log.exception("writes_not_read", turn=work.turn.turn_id, error=repr(error))
            return f"{type(error).__name__}: {error}"
        return "nobody could read"


async def settle_blindly(work: Work, store: TurnStore, why: str) -> None:
    """Settles the open writes of a task of which nothing could be read: they end unverified or in doubt, and nothing is
    guessed.
    """
    journal = Journal(store, (), (await store.pulse()).now, 0.0)
    journal.hide(marked_values(work.record.request.text))
    await settle_without_reading(store, journal, why)
