"""One attempt at a turn: it is run, passed over because it came too late, or given up."""

from typing import Protocol

import structlog

from services.executor.core.mended import Mended
from services.executor.core.poison import give_up, known_outcome, letter
from services.executor.ports import Fault, Lease, Sessions, TurnEnd, TurnStore, Work

log = structlog.get_logger()


class RunsTurns(Protocol):
    async def run(self, work: Work, store: TurnStore) -> None:
        """Carry one turn out; it ends with ``store.finish``."""
        ...


class Attempt:
    """``attempts``: how often a turn may be begun."""

    def __init__(self, sessions: Sessions, worker: RunsTurns, attempts: int, mended: Mended) -> None:
        self._sessions = sessions
        self._worker = worker
        self._attempts = attempts
        self._mended = mended

    async def carry_out(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """Run the turn, or end it unrun: because its task has ended, or because it was begun too often."""
        if work.record.state.is_terminal:
            await self._pass_over(lease, work, store)
        elif work.attempts > self._attempts:
            await self._bury(lease, work, store)
        else:
            await self._worker.run(work, store)

    async def _pass_over(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """A turn that came too late: it leaves the queue, the task stays as it is, and its outcome is surely out."""
        if await self._sessions.emit_missing(lease, await known_outcome(work.record, store)):
            self._mended.add(Fault.OUTCOME_MISSING, session=lease.session_id, task=work.record.task_id)
        await store.finish(TurnEnd(record=work.record, session=await store.session()))

    async def _bury(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """End the task of a turn that was begun too often, and put the turn to the dead letters."""
        attempts = self._attempts
        log.error("turn_given_up", turn=work.turn.turn_id, attempts=attempts, last_error=work.last_error)
        end = await give_up(work, store, attempts)
        await self._sessions.bury(lease, letter(work, end.record, attempts))
        await store.finish(end)
