"""Runs claimed sessions: one turn after the other, for as long as the lease is ours."""

import asyncio
from typing import NamedTuple, Protocol

import structlog

from services.executor.core.poison import give_up
from services.executor.ports import Lease, LeaseLost, Sessions, TurnEnd, TurnStore, Wakes, Work
from shared.ports.store import StoreUnavailable

_PATIENCE_SECONDS = 2.0

log = structlog.get_logger()


class RunsTurns(Protocol):
    async def run(self, work: Work, store: TurnStore) -> None:
        """Carry one turn out; it ends with ``store.finish``."""
        ...


class RunnerLimits(NamedTuple):
    """``capacity``: sessions at once. ``attempts``: how often a turn is begun before it is given up;
    one that a stopping process hands over does not count."""

    lease_seconds: float = 5.0
    capacity: int = 500
    attempts: int = 5
    retry_seconds: float = 1.0
    retry_seconds_most: float = 30.0


class Runner:
    """Sessions in one process. ``serve`` runs until ``stop``; ``offer`` comes from the queue."""

    def __init__(self, sessions: Sessions, wakes: Wakes, worker: RunsTurns, limits: RunnerLimits) -> None:
        self._sessions = sessions
        self._wakes = wakes
        self._worker = worker
        self._limits = limits
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self._reserved = 0
        self._stopping = asyncio.Event()
        self.room = asyncio.Event()
        self.room.set()
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def free(self) -> int:
        """Sessions that may still be taken; none while stopping."""
        return 0 if self._stopping.is_set() else self._limits.capacity - len(self._running) - self._reserved

    @property
    def running(self) -> int:
        return len(self._running)

    async def offer(self, tenant: str, session_id: str) -> bool:
        """Claim the session if there is room, and run it in the background; False if it was not taken."""
        if self.free <= 0:
            return False
        self._reserved += 1
        try:
            lease = await self._sessions.claim(tenant, session_id)
            if lease is not None:
                self._start(lease)
        finally:
            self._reserved -= 1
        return lease is not None

    async def serve(self) -> None:
        """Run what is offered until ``stop``; returns when the last session is given back."""
        async with self._group:
            await self._stopping.wait()

    async def stop(self, grace_seconds: float) -> None:
        """Take nothing more; let turns that run end within the grace; give back every session that has work left."""
        self._stopping.set()
        self.room.clear()
        if self._running:
            await asyncio.wait(self._running, timeout=grace_seconds)
        while self._running:  # again and again: a library may swallow one cancellation
            for task in tuple(self._running):
                task.cancel()
            await asyncio.wait(self._running, timeout=_PATIENCE_SECONDS)

    def _start(self, lease: Lease) -> None:
        task = self._group.create_task(self._session(lease))
        self._running.add(task)
        self.idle.clear()
        task.add_done_callback(self._ended)
        self._mark_room()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._mark_room()
        if not self._running:
            self.idle.set()

    def _mark_room(self) -> None:
        if self.free > 0:
            self.room.set()
        else:
            self.room.clear()

    async def _session(self, lease: Lease) -> None:
        try:
            await self._held(lease)
        except asyncio.CancelledError:
            await self._give_back(lease, 0.0, handed_over=True)
            raise
        except LeaseLost:
            log.warning("lease_lost", session=lease.session_id, fence=lease.fence)
        except StoreUnavailable as error:
            log.warning("store_unavailable", session=lease.session_id, error=str(error))
        except Exception as error:  # the outer edge of a session: one that cannot be read must not stop the others
            log.exception("session_failed", session=lease.session_id, error=repr(error))
            await self._give_back(lease, self._limits.retry_seconds_most)

    async def _held(self, lease: Lease) -> None:
        """Work while the heart beats; if it stops, the work is cancelled."""
        lost: Exception | None = None
        try:
            async with asyncio.TaskGroup() as group:
                heart = group.create_task(self._beat(lease))
                await self._work_off(lease)
                heart.cancel()
        except* (LeaseLost, StoreUnavailable) as group_of_one:
            lost = group_of_one.exceptions[0]
        if lost is not None:
            raise lost

    async def _beat(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(self._limits.lease_seconds / 3)
            try:
                async with asyncio.timeout(self._limits.lease_seconds / 2):
                    await self._extend(lease)
            except TimeoutError:
                raise LeaseLost(lease.session_id) from None

    async def _extend(self, lease: Lease) -> None:
        """Extend, trying again while the store does not answer: the caller bounds it."""
        while True:
            try:
                return await self._sessions.extend(lease)
            except StoreUnavailable as error:
                log.warning("heartbeat_missed", session=lease.session_id, error=str(error))
                await asyncio.sleep(self._limits.lease_seconds / 20)

    async def _work_off(self, lease: Lease) -> None:
        while True:
            if self._stopping.is_set():
                return await self._give_back(lease, 0.0, handed_over=True)
            work = await self._sessions.next(lease)
            if work is None and await self._sessions.release(lease):
                return None
            if work is not None and not await self._turn(lease, work):
                return None

    async def _turn(self, lease: Lease, work: Work) -> bool:
        """One turn; False if the session was given back for a later attempt."""
        store = self._sessions.turn_store(lease, work)
        try:
            await self._end_or_run(work, store)
        except (LeaseLost, asyncio.CancelledError):
            raise
        except Exception as error:  # the outer edge of a turn: whatever it was, the turn is tried again
            log.exception("turn_failed", turn=work.turn.turn_id, attempts=work.attempts, error=repr(error))
            await self._give_back(lease, self._pause(work.attempts))
            return False
        return True

    async def _end_or_run(self, work: Work, store: TurnStore) -> None:
        if work.record.state.is_terminal:  # a turn that came too late: it leaves the queue, the task stays as it is
            await store.finish(TurnEnd(record=work.record, session=await store.session()))
        elif work.attempts > self._limits.attempts:
            log.error("turn_given_up", turn=work.turn.turn_id, attempts=work.attempts)
            await store.finish(await give_up(work, store, self._limits.attempts))
        else:
            await self._worker.run(work, store)

    def _pause(self, attempts: int) -> float:
        return float(min(self._limits.retry_seconds * 2 ** (attempts - 1), self._limits.retry_seconds_most))

    async def _give_back(self, lease: Lease, retry_in: float, *, handed_over: bool = False) -> None:
        """Abandon the lease; if that fails, it runs out by itself and the reaper sees it."""
        try:
            await self._sessions.abandon(lease, retry_in, handed_over=handed_over)
            if not retry_in:
                await self._wakes.wake(lease.tenant, lease.session_id)
        except (LeaseLost, StoreUnavailable) as error:
            log.warning("abandon_failed", session=lease.session_id, error=str(error))
