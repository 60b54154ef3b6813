"""Claims and runs sessions while this process has capacity, and releases all of them when it stops."""

import asyncio
from dataclasses import dataclass

import structlog

from services.executor.core.turn.fair_share import FairShareSlots
from services.executor.core.turn.heartbeat import LeaseKeeper, RunHeartbeat
from services.executor.core.turn.session_run import SessionRun, SessionRunDependencies
from services.executor.ports.sessions import FreeSlotsByTenant, Lease, SessionName
from shared.ports.store import StoreUnavailable

_CANCEL_WAIT_SECONDS = 2.0
_CANCELS_SPARED_WHILE_LEAVING = 4  # times this wait: what a slow store has for taking many sessions back at once
log = structlog.get_logger()


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
        self.changed = asyncio.Event()  # a session ended here since whoever waits for that cleared it
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
        """Cancels what runs until it ends, since a library may swallow a cancellation; sessions being released last."""
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
        except StoreUnavailable as error:  # a slot ends by itself, and the reaper wakes whoever waited for it
            log.warning("slot_not_left", session=name.session_id, error=str(error))

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
            log.warning("claim_failed", session=name.session_id, error=str(error))

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
