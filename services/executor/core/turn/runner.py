"""Claims and runs sessions while this process has capacity, and releases all of them when it stops."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import structlog
from typing_extensions import override

from services.executor.core.session.context import run_in_parallel
from services.executor.core.turn.heartbeat import LeaseKeeper, RunHeartbeat
from services.executor.core.turn.session_run import SessionRun, SessionRunDependencies
from services.executor.ports.services import Tenants, UnknownTenant
from services.executor.ports.turns import FreeSlotsByTenant, Lease, SessionName, SessionWakes, SlotStore
from shared.ports.store import StoreUnavailable

_TENANT_SLOTS_PER_FREE_SLOT = 9  # that one tenant may have
_CAP_REACHED_SECONDS = 1.0  # for which a reached cap is believed to be, unless a session of the tenant ends here
log = structlog.get_logger()


class _CappedSlot(NamedTuple):
    cap: int
    had_slot: bool


class FairShareSlots:
    """The slots of this process, without which no session runs. To take one may raise ``StoreUnavailable``.

    In this process a tenant may take a further slot while it has fewer than nine times as many as are free. Over all
    executors a tenant's cap applies; a session over it is woken when another one of the tenant ends, or by the reaper.
    """

    def __init__(self, store: SlotStore, tenants: Tenants, wakes: SessionWakes, slot_seconds: float) -> None:
        self._store = store
        self._tenants = tenants
        self._wakes = wakes
        self._slot_seconds = slot_seconds
        self._sessions_by_tenant: Counter[str] = Counter()
        self._with_slots: dict[tuple[str, str], _CappedSlot] = {}  # sessions of tenants with a cap
        self._cap_reached_until: dict[str, float] = {}  # by tenant whose cap was reached: until when that is believed

    def count_free_slots(self, free: int) -> FreeSlotsByTenant:
        """How many sessions of which tenants may be taken, with ``free`` slots free in this process."""
        now = asyncio.get_running_loop().time()
        self._cap_reached_until = {tenant: end for tenant, end in self._cap_reached_until.items() if end > now}
        shares = {
            tenant: compute_fair_slot_count(running, free) for tenant, running in self._sessions_by_tenant.items()
        }
        return FreeSlotsByTenant(
            free, compute_fair_slot_count(0, free), shares | dict.fromkeys(self._cap_reached_until, 0)
        )

    async def acquire(self, tenant: str, session_id: str) -> bool:
        """Takes a slot for the session; False if its tenant's cap is reached: a free slot will wake the session."""
        self._sessions_by_tenant[tenant] += 1
        has_slot = False
        try:
            has_slot = await self._take_slot(tenant, session_id)
        finally:
            if not has_slot:
                self._decrement_session_count(tenant)
        if not has_slot:
            self._cap_reached_until[tenant] = asyncio.get_running_loop().time() + _CAP_REACHED_SECONDS
            await self._store.postpone_reaping(tenant, session_id)
        return has_slot

    async def release(self, tenant: str, session_id: str, *, has_run: bool = True) -> None:
        """Releases a slot of this process, and wakes the session that gets it.

        Without ``has_run`` the session has not run here: then a slot that was taken for it before stays, since another
        executor may be running it.
        """
        self._decrement_session_count(tenant)
        slot = self._with_slots.pop((tenant, session_id), None)
        if slot is not None and (has_run or not slot.had_slot):
            self._cap_reached_until.pop(tenant, None)
            for following in await self._store.release(tenant, session_id, slot.cap):
                await self._wakes.wake_ahead(tenant, following)

    async def keep_extending(self) -> None:
        """Extends this process's slots at intervals, until cancelled."""
        while True:
            await asyncio.sleep(self._slot_seconds / 3)
            try:
                await self._store.extend(sorted(self._with_slots), self._slot_seconds)
            except StoreUnavailable as error:
                log.warning("slots_not_extended", error=str(error))

    async def _take_slot(self, tenant: str, session_id: str) -> bool:
        try:
            cap = (await self._tenants.get(tenant)).max_running
        except UnknownTenant:  # its turns fail, each with the reason
            cap = None
        if cap is None:
            return True
        has_slot, to_wake, had_slot = await self._store.acquire(tenant, session_id, cap, self._slot_seconds)
        for following in to_wake:
            await self._wakes.wake_ahead(tenant, following)
        if has_slot:
            self._with_slots[tenant, session_id] = _CappedSlot(cap, had_slot)
        return has_slot

    def _decrement_session_count(self, tenant: str) -> None:
        self._sessions_by_tenant[tenant] -= 1
        if not self._sessions_by_tenant[tenant]:
            del self._sessions_by_tenant[tenant]


def compute_fair_slot_count(running: int, free: int) -> int:
    """How many free slots a tenant with ``running`` sessions may take. The last is kept for a tenant without any."""
    share = max(0, -(-(_TENANT_SLOTS_PER_FREE_SLOT * free - running) // (_TENANT_SLOTS_PER_FREE_SLOT + 1)))
    return max(0, min(share, free - 1)) if running or free > 1 else free


_CANCEL_WAIT_SECONDS = 2.0
_CANCELS_SPARED_WHILE_LEAVING = 4  # times this wait: what a slow store has for taking many sessions back at once


@dataclass
class _ClaimedSession:
    """A session that runs in this process or is being claimed."""

    task: asyncio.Task[None] | None = None
    run: SessionRun | None = None
    is_woken: bool = False  # since it was claimed


class Runner:
    """Runs sessions in this process. ``serve`` runs until ``stop``; the queue calls ``offer``."""

    def __init__(self, parts: SessionRunDependencies, slots: FairShareSlots, heartbeat: RunHeartbeat) -> None:
        """``heartbeat`` extends the leases."""
        self._parts = parts
        self._sessions = parts.sessions
        self._slots = slots
        self._leases = LeaseKeeper(parts.limits.lease_seconds)
        self._heartbeat = heartbeat
        self._group = asyncio.TaskGroup()
        self._claimed: dict[SessionName, _ClaimedSession] = {}
        self._stopping = asyncio.Event()
        self.has_free_slot = asyncio.Event()
        self.has_free_slot.set()
        self.changed = asyncio.Event()  # a session ended here since the waiting task last cleared it
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def free_capacity(self) -> int:
        """How many more sessions may be taken; 0 while stopping."""
        return 0 if self.is_stopping else self._parts.limits.capacity - len(self._claimed)

    @property
    def free_slots(self) -> FreeSlotsByTenant:
        """The tenants whose sessions may be taken, and how many."""
        return self._slots.count_free_slots(self.free_capacity)

    @property
    def running_count(self) -> int:
        return len(self._tasks)

    @property
    def _tasks(self) -> list[asyncio.Task[None]]:
        return [session.task for session in self._claimed.values() if session.task is not None]

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def offer(self, tenant: str, session_id: str) -> bool:
        """Claims the session if there is capacity, and runs it in the background; False if it was not taken.

        A session that already runs here is offered again when it ends, since the wake may be for a turn that came after
        its last look.
        """
        name = SessionName(tenant, session_id)
        if name in self._claimed:
            self._claimed[name].is_woken = True
            return False
        if self.free_capacity <= 0:
            return False
        return await self._claim(name)

    def refuse_new_sessions(self) -> None:
        """Takes no further session from now on."""
        self._stopping.set()
        self.has_free_slot.clear()

    async def serve(self) -> None:
        """Runs offered sessions until ``stop``; returns when the last one is released."""
        async with self._group:
            beating = self._group.create_task(self._heartbeat(self._leases))
            keeping = self._group.create_task(self._slots.keep_extending())
            await self._stopping.wait()
            await self.idle.wait()
            beating.cancel()
            keeping.cancel()

    async def stop(self, grace_seconds: float) -> None:
        """Takes no further session, and releases every session that has work left, within the grace period.

        For half of it, turns may end by themselves; then each stops after its current step. At the end, what still runs
        is cancelled; journal and ledger make that as safe as a crash.
        """
        self.refuse_new_sessions()
        if tasks := self._tasks:
            await asyncio.wait(tasks, timeout=grace_seconds / 2)
        self._sessions.stop_turns()
        if tasks := self._tasks:
            await asyncio.wait(tasks, timeout=grace_seconds / 2)
        await self._cancel_all()

    async def _cancel_all(self) -> None:
        """Cancels the sessions repeatedly until they end, as libraries may swallow that; those being released last."""
        tries = 0
        while tasks := self._tasks:
            for session in self._claimed.values():
                if session.task is not None and not (
                    session.run and session.run.is_leaving and tries < _CANCELS_SPARED_WHILE_LEAVING
                ):
                    session.task.cancel()
            await asyncio.wait(tasks, timeout=_CANCEL_WAIT_SECONDS)
            tries += 1

    async def _claim(self, name: SessionName) -> bool:
        claimed = self._claimed[name] = _ClaimedSession()
        self.idle.clear()
        lease: Lease | None = None
        has_slot = False
        try:
            has_slot = await self._slots.acquire(*name)
            lease = await self._sessions.claim(*name) if has_slot else None
        finally:
            if lease is None:
                try:
                    if has_slot:
                        await self._release_slot(name, has_run=False)
                finally:
                    self._remove_session(name)
        if lease is None:  # its tenant has no free slot, another owner holds it, or no turn waits
            return False
        if lease.repaired_fault is not None:
            self._parts.fault_counts.add(lease.repaired_fault, session=lease.session_id)
        claimed.run = SessionRun(self._parts, lease, self._leases, self._stopping)
        claimed.task = self._group.create_task(self._run_session(name, claimed.run))
        self._update_free_slot_event()
        claimed.task.add_done_callback(lambda _: self._remove_session(name))
        return True

    async def _release_slot(self, name: SessionName, *, has_run: bool = True) -> None:
        try:
            await self._slots.release(*name, has_run=has_run)
        except StoreUnavailable as error:  # a slot ends by itself, and the reaper wakes the session that waited for it
            log.warning("slot_not_released", session=name.session_id, error=str(error))

    def _remove_session(self, name: SessionName) -> None:
        """Notes that the session no longer runs here; offers it again if it was woken meanwhile."""
        claimed = self._claimed.pop(name)
        if claimed.is_woken and self.free_capacity > 0:
            self._group.create_task(self._offer_again(name))
        if not self._claimed:
            self.idle.set()
        self._update_free_slot_event()
        self.changed.set()

    async def _offer_again(self, name: SessionName) -> None:
        try:
            await self.offer(*name)
        except StoreUnavailable as error:  # the reaper wakes the session again
            log.warning("session_claim_failed", session=name.session_id, error=str(error))

    def _update_free_slot_event(self) -> None:
        if self.free_capacity > 0:
            self.has_free_slot.set()
        else:
            self.has_free_slot.clear()

    async def _run_session(self, name: SessionName, run: SessionRun) -> None:
        try:
            await run.run()
        finally:
            await self._release_slot(name)


# A process that runs more sessions leaves what is found to the queue, which spreads it. So many are claimed in the same
# round trips, before the first of them costs any time.
MOST_SESSIONS_WITH_LOCAL_WAKES = 64


class LocalFirstWakes(SessionWakes):
    """Wakes that this process takes itself while it runs few sessions; others go into the queue.

    So a dead executor's turns continue even while the queue is down or slow.
    """

    def __init__(self, runner: Runner, wakes: SessionWakes) -> None:
        self._runner = runner
        self._wakes = wakes

    @override
    async def wake_ahead(self, tenant: str, session_id: str) -> None:
        await self.wake_unless_queued([(tenant, session_id)], has_begun=True)

    @override
    async def wake_unless_queued(
        self, sessions: Iterable[tuple[str, str]], *, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Wakes the sessions, and returns those that were woken.

        With ``has_begun`` this process takes some itself while it runs few; the others are queued. If the queue is
        down, as many as may run here are offered; raises ``StoreUnavailable`` unless all are taken.
        """
        all_sessions = list(sessions)
        free_slots = max(0, MOST_SESSIONS_WITH_LOCAL_WAKES - self._runner.running_count)
        for_here, for_queue = (
            (all_sessions[:free_slots], all_sessions[free_slots:]) if has_begun else ([], all_sessions)
        )
        try:
            queued = [*await self._wakes.wake_unless_queued(for_queue, has_begun=has_begun)]
        except StoreUnavailable:
            taken_here = await self._take_with_own_runner(all_sessions[:free_slots])
            if len(taken_here) < len(all_sessions):
                raise
            return taken_here
        taken_here = await self._take_with_own_runner(for_here)
        refused = [session for session in for_here if session not in taken_here]
        return [*taken_here, *queued, *await self._wakes.wake_unless_queued(refused, has_begun=has_begun)]

    async def _take_with_own_runner(self, sessions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Offers the sessions to this process's runner in parallel; returns those that it took, to run them."""
        results = await run_in_parallel(self._offer_to_own_runner(session) for session in sessions)
        return [session for session, is_taken in zip(sessions, results, strict=True) if is_taken]

    async def _offer_to_own_runner(self, session: tuple[str, str]) -> bool:
        return self._runner.running_count < MOST_SESSIONS_WITH_LOCAL_WAKES and await self._runner.offer(*session)
