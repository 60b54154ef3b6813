"""One session's durable state in memory: ``TurnStore`` for tests of the worker, with the same promises as on Redis."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from services.executor.ports.turns import (
    EMPTY_BATCH,
    HandedOver,
    JournalBatch,
    JournalEntry,
    LeaseLost,
    LedgerConflict,
    SessionState,
    StopState,
    TurnEnd,
    TurnStore,
    TurnWork,
)
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain.words import SENDABLE_STATUSES, WriteStatus
from shared.ports.daily_spend import DailySpend, UnlimitedSpend


class MemoryTurns(TurnStore):
    """A task's state across its turns. ``fenced`` makes every later write raise ``LeaseLost``.

    ``die_before`` counts writes: that one and all after it raise ``Died``, as if the process had been killed there.
    """

    def __init__(self, record: TaskRecord) -> None:
        self.record = record
        self.steps: dict[str, JournalEntry] = {}
        self.writes: dict[str, LedgerEntry] = {}
        self.approvals: list[Approval] = []
        self.remembered = SessionState()
        self.events: list[TaskEvent] = []
        self.ends: list[TurnEnd] = []
        self.cancel: Turn | None = None
        self.fenced = False
        self.stopped: str | None = None  # why the tenant is stopped
        self.halted = False  # whether the process is to stop: asked whether it may go on, it is told no
        self.die_before: int | None = None
        self.stored = 0
        self.ahead = timedelta()
        self.daily: DailySpend = UnlimitedSpend()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def work(self, turn: Turn, attempts: int = 1) -> TurnWork:
        return TurnWork(turn=turn, record=self.record, attempts=attempts)

    async def read_journal(self) -> tuple[JournalEntry, ...]:
        return tuple(self.steps.values())

    async def read_ledger(self) -> Mapping[str, LedgerEntry]:
        return dict(self.writes)

    async def read_approval(self) -> Approval | None:
        return self.approvals[-1] if self.approvals else None

    async def read_session(self) -> SessionState:
        return self.remembered

    async def get_stop_state(self) -> StopState:
        if self.halted:
            raise HandedOver(self.record.session_id)
        return await self._get_stop_state()

    async def await_signal(self) -> None:
        await asyncio.sleep(0.02)

    async def _get_stop_state(self) -> StopState:
        await asyncio.sleep(0)
        if self.fenced:
            raise LeaseLost(self.record.session_id)
        return StopState(self.now(), self.cancel, self.stopped)

    async def append(
        self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> StopState:
        return await self._keep(JournalBatch(tuple(entries), tuple(events), record))

    async def open_write(
        self,
        entry: LedgerEntry,
        call_seconds: float,
        batch: JournalBatch = EMPTY_BATCH,
        was_shown_before: Callable[[], bool] = lambda: False,
    ) -> StopState:
        stop_state = await self._get_stop_state()
        if stop_state.must_stop:
            return stop_state._replace(was_refused=True)
        known = self.writes.get(entry.key)
        if known is not None and known.status not in SENDABLE_STATUSES:
            raise LedgerConflict(entry.key)
        return await self._keep(batch, entry)

    async def settle_write(
        self, entry: LedgerEntry, status_before: WriteStatus, batch: JournalBatch = EMPTY_BATCH
    ) -> StopState:
        await self._get_stop_state()
        if entry.key not in self.writes or self.writes[entry.key].status is not status_before:
            raise LedgerConflict(entry.key)
        return await self._keep(batch, entry)

    async def _keep(self, batch: JournalBatch, write: LedgerEntry | None = None) -> StopState:
        await self._write()
        self._keep_steps(batch.entries)
        self.events += batch.events
        self.record = batch.record or self.record
        if write is not None:
            self.writes[write.key] = write
        return await self._get_stop_state()

    def _keep_steps(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            self.steps.setdefault(entry.key, entry)

    async def finish(self, end: TurnEnd) -> None:
        await self._write()
        self._keep_steps(end.entries)
        for day, charges in end.charges:
            await self.daily.settle_charges(end.record.tenant, day, charges)
        self.record = end.record
        self.remembered = self.remembered if end.session is None else end.session
        self.events += end.events
        if end.settled_approval is not None:
            one = end.settled_approval
            self.approvals = [one if known.approval_id == one.approval_id else known for known in self.approvals]
        if end.approval is not None:
            self.approvals = [known for known in self.approvals if known.approval_id != end.approval.approval_id]
            self.approvals.append(end.approval)
        self.ends.append(end)

    async def _write(self) -> None:
        await self._get_stop_state()
        if self.die_before is not None and self.stored >= self.die_before:
            raise Died
        self.stored += 1


class Died(BaseException):
    """The process that ran this turn is gone: no code of it runs on."""
