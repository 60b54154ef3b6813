"""Runs claimed sessions, one turn after the other, for as long as their leases are kept."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from services.executor.core.states.machine import TenantStopped
from services.executor.core.turn.attempt import TurnAttempt
from services.executor.core.turn.fair_share import FairShareSlots
from services.executor.core.turn.given_up import end_unread
from services.executor.core.turn.heartbeat import LeaseKeeper, RunsHeartbeat
from services.executor.core.turn.reaper import FaultCounts
from services.executor.ports.sessions import (
    Fault,
    FreeSlotsByTenant,
    Lease,
    LeaseHeartbeat,
    Sessions,
    SessionWakes,
    UnreadableTurn,
    Work,
)
from services.executor.ports.turns import HandedOver, LeaseLost, SessionUnavailable
from shared.ports.store import StoreUnavailable

_PATIENCE_SECONDS = 2.0
_SPARED = 4  # times this patience: what a store that answers slowly has for taking many sessions back at once
_STOPPED_SECONDS = 5.0  # then a claim asks whether the tenant is still stopped, lest its lifting came in between
log = structlog.get_logger()


class RunnerLimits(NamedTuple):
    """The runner's limits. ``capacity``: sessions at once. ``attempts``: how often a turn is begun before it is given
    up.

    A turn that a stopping process hands over does not count as begun, nor one for which the session's state could not
    be fetched, for ``session_seconds`` after the turn was accepted.
    """

    lease_seconds: float = 5.0
    capacity: int = 500
    attempts: int = 5
    retry_seconds: float = 1.0
    retry_seconds_most: float = 30.0
    session_seconds: float = 3600.0


@dataclass
class _Claimed:
    """A session that runs here or is being claimed."""

    task: asyncio.Task[None] | None = None
    woken: bool = False  # since it was claimed
    leaves: bool = False  # it is being given back


class Runner:
    """Runs sessions in one process. ``serve`` runs until ``stop``; ``offer`` is called by the queue."""

    def __init__(
        self,
        sessions: Sessions,
        wakes: SessionWakes,
        attempt: TurnAttempt,
        limits: RunnerLimits,
        mended: FaultCounts,
        slots: FairShareSlots,
        heartbeat: RunsHeartbeat,
        after_turn: Sequence[Callable[[str, str], None]] = (),
    ) -> None:
        """``heartbeat``: what keeps the leases. ``after_turn``: called with tenant and session of each turn that is
        over.
        """
        self._sessions = sessions
        self._wakes = wakes
        self._limits = limits
        self._mended = mended
        self._attempt = attempt
        self._slots = slots
        self._leases = LeaseKeeper(limits.lease_seconds)
        self._heartbeat = heartbeat
        self._after_turn = after_turn
        self._group = asyncio.TaskGroup()
        self._here: dict[tuple[str, str], _Claimed] = {}
        self._stopping = asyncio.Event()
        self.has_free_slot = asyncio.Event()
        self.has_free_slot.set()
        self.changed = asyncio.Event()  # a session ended here since whoever waits for that cleared it
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def free(self) -> int:
        """How many more sessions may be taken; none while stopping."""
        return 0 if self.stopping else self._limits.capacity - len(self._here)

    @property
    def free_slots(self) -> FreeSlotsByTenant:
        """The tenants whose sessions may be taken, and how many."""
        return self._slots.free_slots(self.free)

    @property
    def running(self) -> int:
        return len(self._tasks)

    @property
    def _tasks(self) -> list[asyncio.Task[None]]:
        return [one.task for one in self._here.values() if one.task is not None]

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    async def offer(self, tenant: str, session_id: str) -> bool:
        """Claims the session if there is room, and runs it in the background; False if it was not taken.

        A session that runs here already is looked at once more when it ends: its wake may be about a turn that came
        just after its last look.
        """
        name = (tenant, session_id)
        if name in self._here:
            self._here[name].woken = True
            return False
        if self.free <= 0:
            return False
        return await self._claim(name)

    def refuse_new_sessions(self) -> None:
        """Begins to stop: no session is taken from now on."""
        self._stopping.set()
        self.has_free_slot.clear()

    async def serve(self) -> None:
        """Runs what is offered until ``stop``; returns when the last session is given back."""
        async with self._group:
            beating = self._group.create_task(self._heartbeat(self._leases))
            keeping = self._group.create_task(self._slots.keep())
            await self._stopping.wait()
            await self.idle.wait()
            beating.cancel()
            keeping.cancel()

    async def stop(self, grace_seconds: float) -> None:
        """Takes nothing more, and gives back within the grace every session that has work left.

        For half of the grace turns may end by themselves; then each stops after the step in hand; at the end of the
        grace what still runs is cancelled, which its journal and ledger survive as they survive a crash.
        """
        self.refuse_new_sessions()
        if tasks := self._tasks:
            await asyncio.wait(tasks, timeout=grace_seconds / 2)
        self._sessions.halt()
        if tasks := self._tasks:
            await asyncio.wait(tasks, timeout=grace_seconds / 2)
        await self._cancel_all()

    async def _cancel_all(self) -> None:
        """Cancels what still runs again and again, as a library may swallow one; sessions on their way back last."""
        tries = 0
        while tasks := self._tasks:
            for one in self._here.values():
                if one.task is not None and not (one.leaves and tries < _SPARED):
                    one.task.cancel()
            await asyncio.wait(tasks, timeout=_PATIENCE_SECONDS)
            tries += 1

    async def _claim(self, name: tuple[str, str]) -> bool:
        claimed = self._here[name] = _Claimed()
        self.idle.clear()
        lease = None
        try:
            lease = await self._take_lease(name)
        finally:
            if lease is None:
                self._forget_session(name)
        if lease is None:
            return False
        if lease.mended is not None:
            self._mended.add(lease.mended, session=lease.session_id)
        claimed.task = self._group.create_task(self._run_session(name, lease))
        self._mark_capacity()
        claimed.task.add_done_callback(lambda _: self._forget_session(name))
        return True

    async def _take_lease(self, name: tuple[str, str]) -> Lease | None:
        """The session's lease, if its tenant has a free slot and nobody else holds it; else None."""
        if not await self._slots.take(*name):
            return None
        lease = None
        try:
            lease = await self._sessions.claim(*name)
        finally:
            if lease is None:
                await self._leave(name)
        return lease

    async def _leave(self, name: tuple[str, str]) -> None:
        try:
            await self._slots.leave(*name)
        except StoreUnavailable as error:  # a slot ends by itself, and the reaper wakes whoever waited for it
            log.warning("slot_not_left", session=name[1], error=str(error))

    def _forget_session(self, name: tuple[str, str]) -> None:
        """Notes that the session no longer runs here; if it was woken meanwhile, looks at it once more."""
        claimed = self._here.pop(name)
        if claimed.woken and self.free > 0:
            self._group.create_task(self._look_again(name))
        if not self._here:
            self.idle.set()
        self._mark_capacity()
        self.changed.set()

    async def _look_again(self, name: tuple[str, str]) -> None:
        try:
            await self.offer(*name)
        except StoreUnavailable as error:  # the reaper wakes the session again
            log.warning("claim_failed", session=name[1], error=str(error))

    def _mark_capacity(self) -> None:
        if self.free > 0:
            self.has_free_slot.set()
        else:
            self.has_free_slot.clear()

    async def _run_session(self, name: tuple[str, str], lease: Lease) -> None:
        """Runs the session's turns; whatever ends that gives the session back and frees its slot."""
        try:
            await self._run_turns_while_held(lease)
        except asyncio.CancelledError:
            await self._give_back(lease, 0.0, handed_over=True)
            raise
        except LeaseLost:
            self._mended.add(Fault.NOT_OWNED, session=lease.session_id)
        except StoreUnavailable as error:
            log.warning("store_unavailable", session=lease.session_id, error=str(error))
        except Exception as error:  # the outer edge of a session: one that cannot be read must not stop the others
            log.exception("session_failed", session=lease.session_id, error=repr(error))
            await self._give_back(lease, self._limits.retry_seconds_most, error=error)
        finally:
            await self._leave(name)

    async def _run_turns_while_held(self, lease: Lease) -> None:
        """Runs the session's turns while its lease is kept; once that is lost, the turn is cancelled."""
        lost: Exception | None = None
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._leases.watch(lease))
                await self._run_turns(lease)
                watch.cancel()
        except* (LeaseLost, StoreUnavailable) as group_of_one:
            lost = group_of_one.exceptions[0]
        if lost is not None:
            raise lost

    async def _run_turns(self, lease: Lease) -> None:
        """Runs one turn after the other, until none waits or the session was given back."""
        kept = self._leases.heartbeat_of(lease)
        while True:
            if self._stopping.is_set():
                return await self._give_back(lease, 0.0, handed_over=True)
            try:
                with kept.letting_go():
                    work = await self._sessions.next(lease)
                    kept.released = work is None
            except UnreadableTurn as unread:
                if await self._handle_unreadable(lease, unread):
                    continue
                return None
            if work is None or not await self._run_one_turn(lease, work, kept) or kept.released:
                return None

    async def _handle_unreadable(self, lease: Lease, unread: UnreadableTurn) -> bool:
        """Whether an unreadable turn was given up; before that others may try it, who may have a newer version."""
        if unread.attempts <= self._limits.attempts:
            log.warning("turn_unreadable", turn=unread.turn_id, attempts=unread.attempts, error=str(unread))
            await self._give_back(lease, self._compute_pause(unread.attempts), error=unread)
            return False
        log.error("turn_given_up", turn=unread.turn_id, attempts=unread.attempts, last_error=str(unread))
        end = end_unread(unread, lease.tenant, lease.session_id)
        await self._sessions.bury_unread(lease, end)
        self._attempt.count_unrun(end.outcome)
        return True

    async def _run_one_turn(self, lease: Lease, work: Work, kept: LeaseHeartbeat) -> bool:
        """Runs one turn; False if the session was given back for a later attempt."""
        store = self._sessions.turn_store(lease, work, kept)
        try:
            await self._attempt.run_or_end(lease, work, store)
        except (LeaseLost, asyncio.CancelledError):
            raise
        except TenantStopped as stopped:
            log.info("tenant_stopped", session=lease.session_id, reason=stopped.reason)
            await self._give_back(lease, _STOPPED_SECONDS, handed_over=True)
            return False
        except HandedOver:
            await self._give_back(lease, 0.0, handed_over=True)
            return False
        except SessionUnavailable as error:
            await self._put_off(lease, work, error)
            return False
        except Exception as error:  # the outer edge of a turn: whatever it was, the turn is tried again
            log.exception("turn_failed", turn=work.turn.turn_id, attempts=work.attempts, error=repr(error))
            await self._give_back(lease, self._compute_pause(work.attempts), error=error)
            return False
        for tell in self._after_turn:
            tell(lease.tenant, lease.session_id)
        return True

    async def _put_off(self, lease: Lease, work: Work, error: SessionUnavailable) -> None:
        """Gives the session back because its state could not be fetched. The attempt does not count as long as the
        archive may be away; after that it is like any other error.
        """
        waited = work.waited_us / 1_000_000
        log.warning("memory_unavailable", session=lease.session_id, waited_seconds=round(waited), error=str(error))
        if waited > self._limits.session_seconds:
            return await self._give_back(lease, self._compute_pause(work.attempts), error=error)
        pause = min(max(self._limits.retry_seconds, waited / 4), self._limits.retry_seconds_most)
        return await self._give_back(lease, pause, handed_over=True, error=error)

    def _compute_pause(self, attempts: int) -> float:
        return float(min(self._limits.retry_seconds * 2 ** (attempts - 1), self._limits.retry_seconds_most))

    async def _give_back(
        self, lease: Lease, retry_in: float, *, handed_over: bool = False, error: Exception | None = None
    ) -> None:
        """Abandons the lease; if that fails, it runs out by itself and the reaper finds it."""
        said = f"{type(error).__name__}: {error}" if error else ""
        self._here[lease.tenant, lease.session_id].leaves = True
        try:
            with self._leases.heartbeat_of(lease).letting_go():
                await self._sessions.abandon(lease, retry_in, handed_over=handed_over, error=said)
                if not retry_in:
                    await self._wakes.wake_first(lease.tenant, lease.session_id)
        except (LeaseLost, StoreUnavailable) as failure:
            log.warning("abandon_failed", session=lease.session_id, error=str(failure))
