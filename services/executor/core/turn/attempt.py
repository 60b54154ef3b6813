"""One attempt at a turn: it is run, passed over because it came too late, or given up."""

import asyncio
from typing import Protocol

import structlog

from services.executor.core.turn.mended import Mended
from services.executor.core.turn.poison import give_up, known_outcome, letter, settle_blindly
from services.executor.ports.sessions import Fault, Lease, Sessions, Work
from services.executor.ports.turns import HandedOver, LeaseLost, TurnEnd, TurnStore
from shared.ports.store import StoreUnavailable

_LOOK_SECONDS = 60.0  # for reading what the open writes of a turn came to that is given up

log = structlog.get_logger()


class RunsTurns(Protocol):
    async def run(self, work: Work, store: TurnStore) -> None:
        """Carry one turn out; it ends with ``store.finish``."""
        ...

    async def settle(self, work: Work, store: TurnStore) -> None:  # noqa: ARG002  # who writes nothing has nothing open
        """Settle what is open in the ledger of a turn that is given up, as far as reading can. May raise anything."""
        return


class TurnAttempt:
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
            await self._give_up(lease, work, store)
        else:
            await self._worker.run(work, store)

    async def _pass_over(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """A turn that came too late: it leaves the queue, the task stays as it is, and its outcome is surely out."""
        if await self._sessions.emit_missing(lease, await known_outcome(work.record, store)):
            self._mended.add(Fault.OUTCOME_MISSING, session=lease.session_id, task=work.record.task_id)
        await store.finish(TurnEnd(record=work.record, session=None))

    async def _give_up(self, lease: Lease, work: Work, store: TurnStore) -> None:
        """End a turn that was begun too often. Its task waits for an operator if a write is in doubt; else it ends too,
        and the turn goes to the dead letters.
        """
        attempts = self._attempts
        log.error("turn_given_up", turn=work.turn.turn_id, attempts=attempts, last_error=work.last_error)
        await settle_blindly(work, store, await self._read_open_writes(work, store))
        end = await give_up(work, store, attempts)
        if end.record.state.is_terminal:
            await self._sessions.bury(lease, letter(work, end.record, attempts))
        await store.finish(end)

    async def _read_open_writes(self, work: Work, store: TurnStore) -> str:
        """Let the open writes be read, once: what killed the turn may kill this too. Returns why it was not done."""
        if work.attempts > self._attempts + 1:
            return "whoever tried ended before it was done"
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._worker.settle(work, store)
        except (LeaseLost, HandedOver, StoreUnavailable):
            raise
        except Exception as error:  # the outer edge of a turn: whatever it was, the turn is given up all the same
            log.exception("writes_not_read", turn=work.turn.turn_id, error=repr(error))
            return f"{type(error).__name__}: {error}"
        return "nobody could read"
