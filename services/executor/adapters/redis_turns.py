"""The store of one turn on Redis. Every script checks the lease's fence before it writes."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import cast

import structlog

from services.executor.adapters.redis_idle import SESSION, restore_session
from services.executor.adapters.redis_intents import StoredIntents
from services.executor.adapters.redis_ledger import RedisLedger
from services.executor.adapters.redis_spend import settle_day_charges
from services.executor.adapters.shared_texts import SharedTexts
from services.executor.adapters.turn_scripts import ClaimReply, TurnScripts
from services.executor.ports import turns as ports
from services.executor.ports.sessions import Lease, LeaseHeartbeat, SessionName, TurnWork
from shared.contracts.approval import Approval
from shared.contracts.task import TaskEvent, TaskRecord
from shared.infra.journal_rows import Row
from shared.infra.lua import Scripts
from shared.ports.archive import Archive
from shared.ports.store import StoreUnavailable

_NEWS_SECONDS = 1.0  # between two questions of a turn whose lease has no heartbeat
log = structlog.get_logger()


class RedisTurnStore(RedisLedger, ports.TurnStore):
    """The store of one turn. Each ``TurnWork`` needs its own."""

    def __init__(
        self,
        scripts: Scripts,
        shared: SharedTexts,
        lease: Lease,
        work: TurnWork,
        lease_ms: int,
        halted: Callable[[], bool],
        heartbeat: LeaseHeartbeat | None,
        archive: Archive | None,
        *,
        is_cluster: bool,
    ) -> None:
        """``heartbeat`` is the lease's. Without one, Redis is asked for every pulse, and the end of the turn does not
        release the lease.
        """
        intents = StoredIntents(scripts.lineage, work)
        super().__init__(scripts, TurnScripts(scripts, shared, lease, work), intents, lease_ms)
        self._lease = lease
        self._halted = halted
        self._heartbeat = heartbeat
        self._archive = archive
        self._is_cluster = is_cluster
        # The session's state, when it was evicted and its owner, as the claim read them, until this turn has ended.
        self._session = work.claimed.session if isinstance(work.claimed, ClaimReply) else None
        # What the archive gave, which one turn asks for more than once.
        self._restored: ports.SessionState | None = None

    async def read_journal(self) -> tuple[ports.JournalEntry, ...]:
        claimed = self._scripts.claimed
        rows = claimed.journal if claimed else await self._redis.execute("XRANGE", self._scripts.task.journal, "-", "+")
        return await self._scripts.journal.read(cast("list[Row]", rows))

    async def read_approval(self) -> Approval | None:
        claimed = self._scripts.claimed
        text = claimed.approval if claimed else await self._fetch_approval()
        return Approval.model_validate_json(text) if text else None

    async def _fetch_approval(self) -> str:
        approvals = self._scripts.task.approvals
        latest = await self._redis.execute("HGET", approvals, "latest")
        return "" if latest is None else str(await self._redis.execute("HGET", approvals, str(latest)))

    async def read_session(self) -> ports.SessionState:
        name = self._scripts.session.session
        found = self._session or await self._redis.execute("HMGET", name, "state", "evicted", "owner")
        state, evicted, owner = (value or None for value in cast("list[str | None]", found))
        if state is not None:
            return SESSION.validate_json(state)
        if evicted is None:
            return ports.SessionState()
        if self._restored is None:
            session = SessionName(self._lease.tenant, self._lease.session_id)
            self._restored = await restore_session(self._archive, session, owner or "")
        return self._restored

    async def get_pulse(self) -> ports.Pulse:
        if self._halted():
            raise ports.HandedOver(self._lease.session_id)
        if self._scripts.heard is None or self._heartbeat is None or self._heartbeat.has_signal():
            return await self.append(())
        pulse, at = self._scripts.heard
        return pulse._replace(now=pulse.now + timedelta(seconds=monotonic() - at))

    async def await_signal(self) -> None:
        if self._heartbeat is None:
            await asyncio.sleep(_NEWS_SECONDS)
        else:
            await self._heartbeat.await_signal()

    async def append(
        self, entries: Sequence[ports.JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> ports.Pulse:
        pulse, _ = await self._scripts.append(ports.JournalBatch(tuple(entries), tuple(events), record))
        return pulse

    async def finish(self, end: ports.TurnEnd) -> None:
        days = end.charges
        if self._is_cluster:  # the tenant's day lies in another slot, and hears of it afterwards
            end = end._replace(charges=())
        if self._heartbeat is None:
            await self._scripts.finish(end, release=False)
        else:
            with self._heartbeat.allow_release():
                self._heartbeat.released = await self._scripts.finish(end, release=True)
        self._session = None
        if self._is_cluster:
            await self._count_spending(end.record.task_id, days)

    async def _count_spending(self, task_id: str, days: Sequence[ports.DayCharges]) -> None:
        try:
            for day, charges in days:
                await settle_day_charges(self._redis, self._lease.tenant, day, charges)
        except StoreUnavailable as error:  # the turn itself is stored
            log.warning("spending_not_counted", task=task_id, error=str(error))
