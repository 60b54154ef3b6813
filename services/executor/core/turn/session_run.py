"""Runs a claimed session's turns one by one while its lease lasts. Each turn is run, skipped or given up."""

import asyncio
from typing import NamedTuple

import structlog

from services.executor.core.session.context import run_with_companion
from services.executor.core.session.journal import Journal, RepairedFaultCounter, count_ended_task
from services.executor.core.states.machine import TenantStopped
from services.executor.core.turn.given_up import build_given_up_end, build_outcome_from_store, build_unreadable_turn_end
from services.executor.core.turn.heartbeat import KeptLease, LeaseKeeper
from services.executor.core.write.settling import settle_without_reading
from services.executor.ports.turns import (
    HandedOver,
    Lease,
    LeaseLost,
    RepairedFault,
    Sessions,
    SessionUnavailable,
    SessionWakes,
    TurnEnd,
    TurnRunner,
    TurnStore,
    TurnWork,
    UnreadableTurn,
)
from shared.domain.protected_values import find_protected_values
from shared.ports.meter import Meter, NoMeter
from shared.ports.store import StoreUnavailable

_STOPPED_PAUSE_SECONDS = 5.0  # then a claim asks whether the tenant is still stopped, lest its lifting came in between
_SETTLE_OPEN_WRITES_SECONDS = 60.0  # for reading what the open writes of a turn came to that is given up
log = structlog.get_logger()


class RunnerLimits(NamedTuple):
    """The runner's limits. ``capacity``: sessions at once. ``attempts``: how often a turn may be begun.

    An attempt does not count if a stopping process handed the turn over, or, for ``session_seconds`` after the turn's
    acceptance, if the session's state could not be fetched.
    """

    lease_seconds: float = 5.0
    capacity: int = 500
    attempts: int = 5
    retry_seconds: float = 1.0
    retry_seconds_most: float = 30.0
    session_seconds: float = 3600.0


class SessionRunDependencies(NamedTuple):
    """What every session run uses."""

    sessions: Sessions
    wakes: SessionWakes
    worker: TurnRunner
    limits: RunnerLimits
    fault_counts: RepairedFaultCounter
    meter: Meter = NoMeter()  # it has no state


class SessionRun:
    """Runs one session's turns under one lease. ``is_leaving``: the session is being released."""

    def __init__(
        self, parts: SessionRunDependencies, lease: Lease, leases: LeaseKeeper, stopping: asyncio.Event
    ) -> None:
        self._parts, self._sessions, self._limits = parts, parts.sessions, parts.limits
        self._lease, self._leases, self._stopping = lease, leases, stopping
        self._heartbeat = KeptLease(leases, lease)
        self.is_leaving = False

    async def run(self) -> None:
        """Runs turns until none waits, then releases the session, as on any error. A lost lease cancels the turn."""
        try:
            await run_with_companion(self._run_turns(), self._leases.keep_until_lost(self._heartbeat))
        except asyncio.CancelledError:
            await self._release(0.0, handed_over=True)
            raise
        except LeaseLost:
            self._parts.fault_counts.add(RepairedFault.NOT_OWNED, session=self._lease.session_id)
        except StoreUnavailable as error:
            log.warning("store_unavailable", session=self._lease.session_id, error=str(error))
        except Exception as error:  # the outer edge of a session: one that cannot be read must not stop the others
            log.exception("session_failed", session=self._lease.session_id, error=repr(error))
            await self._release(self._limits.retry_seconds_most, error=error)

    async def _run_turns(self) -> None:
        """Runs turns one after the other, until none waits or the session was released."""
        has_more = True
        while has_more and not self._heartbeat.released:
            if self._stopping.is_set():
                await self._release(0.0, handed_over=True)
                return
            try:
                with self._heartbeat.allow_release():
                    work = await self._sessions.begin_next_turn(self._lease)
                    self._heartbeat.released = work is None
                has_more = work is not None and await self._run_turn(work)
            except UnreadableTurn as unread:
                has_more = await self._give_up_unreadable_turn(unread)

    async def _run_turn(self, work: TurnWork) -> bool:
        """Runs one turn; False if the session was released for a later attempt."""
        lease = self._lease
        try:
            await run_or_end_turn(self._parts, lease, work, self._sessions.turn_store(lease, work, self._heartbeat))
        except (LeaseLost, asyncio.CancelledError):
            raise
        except TenantStopped as stopped:
            log.info("tenant_stopped", session=lease.session_id, reason=str(stopped))
            await self._release(_STOPPED_PAUSE_SECONDS, handed_over=True)
            return False
        except HandedOver:
            await self._release(0.0, handed_over=True)
            return False
        except SessionUnavailable as error:
            await self._postpone_turn(work, error)
            return False
        except Exception as error:  # the outer edge of a turn: whatever it was, the turn is tried again
            log.exception("turn_failed", turn=work.turn.turn_id, attempts=work.attempts, error=repr(error))
            await self._release(self._compute_retry_pause(work.attempts), error=error)
            return False
        return True

    async def _give_up_unreadable_turn(self, unread: UnreadableTurn) -> bool:
        """Whether an unreadable turn was given up; at first it is left to others, who may run a newer release."""
        if unread.attempts <= self._limits.attempts:
            log.warning("turn_unreadable", turn=unread.turn_id, attempts=unread.attempts, error=str(unread))
            await self._release(self._compute_retry_pause(unread.attempts), error=unread)
            return False
        log.error("turn_given_up", turn=unread.turn_id, attempts=unread.attempts, last_error=str(unread))
        end = build_unreadable_turn_end(unread, self._lease.tenant, self._lease.session_id)
        await self._sessions.fail_unreadable_turn(self._lease, end)
        count_ended_task(self._parts.meter, end.outcome, "worker")
        return True

    async def _postpone_turn(self, work: TurnWork, error: SessionUnavailable) -> None:
        """Releases a session whose state could not be read. Within ``session_seconds`` this attempt does not count."""
        waited = work.waited_us / 1_000_000
        log.warning(
            "memory_unavailable", session=self._lease.session_id, waited_seconds=round(waited), error=str(error)
        )
        if waited > self._limits.session_seconds:
            return await self._release(self._compute_retry_pause(work.attempts), error=error)
        pause = min(max(self._limits.retry_seconds, waited / 4), self._limits.retry_seconds_most)
        return await self._release(pause, handed_over=True, error=error)

    def _compute_retry_pause(self, attempts: int) -> float:
        return float(min(self._limits.retry_seconds * 2 ** (attempts - 1), self._limits.retry_seconds_most))

    async def _release(self, retry_in: float, *, handed_over: bool = False, error: Exception | None = None) -> None:
        """Releases the lease. If that fails, the lease expires and the reaper finds the session. ``retry_in``: seconds
        until the turn is tried again; ``handed_over``: the attempt does not count.
        """
        lease, error_text = self._lease, f"{type(error).__name__}: {error}" if error else ""
        self.is_leaving = True
        try:
            with self._heartbeat.allow_release():
                await self._sessions.abandon(lease, retry_in, handed_over=handed_over, error=error_text)
                if not retry_in:
                    await self._parts.wakes.wake_ahead(lease.tenant, lease.session_id)
        except (LeaseLost, StoreUnavailable) as failure:
            log.warning("abandon_failed", session=lease.session_id, error=str(failure))


async def run_or_end_turn(parts: SessionRunDependencies, lease: Lease, work: TurnWork, store: TurnStore) -> None:
    """Runs one attempt at a turn; ends it without running if its task has ended, or it was begun too often."""
    log_fields = {"tenant": lease.tenant, "session": lease.session_id, "task": work.record.task_id}
    with structlog.contextvars.bound_contextvars(**log_fields, turn=work.turn.turn_id):
        if work.record.state.is_terminal:
            await _skip_turn(parts, lease, work, store)
        elif work.attempts > parts.limits.attempts:
            await _give_up_turn(parts, work, store)
        else:
            await parts.worker.run(work, store)


async def _skip_turn(parts: SessionRunDependencies, lease: Lease, work: TurnWork, store: TurnStore) -> None:
    """Ends a turn that came too late. The task stays as it is; a missing outcome is sent to the learner."""
    outcome = await build_outcome_from_store(work.record, store) if work.lacks_outcome else None
    await store.finish(TurnEnd(record=work.record, session=None, outcome=outcome))
    if outcome is not None:
        parts.fault_counts.add(RepairedFault.OUTCOME_MISSING, session=lease.session_id, task=work.record.task_id)


async def _give_up_turn(parts: SessionRunDependencies, work: TurnWork, store: TurnStore) -> None:
    """Ends a turn that was begun too often: its task waits if a write is in doubt, or fails, with a dead letter."""
    attempts = parts.limits.attempts
    log.error("turn_given_up", turn=work.turn.turn_id, attempts=attempts, last_error=work.last_error)
    await settle_open_writes_unread(work, store, await _settle_by_reading_or_explain(parts, work, store))
    end = await build_given_up_end(work, store, attempts)
    await store.finish(end)
    if end.outcome is not None:
        count_ended_task(parts.meter, end.outcome, "worker")


async def _settle_by_reading_or_explain(parts: SessionRunDependencies, work: TurnWork, store: TurnStore) -> str:
    """Tries once to settle the open writes by reading; returns the reason to give for those that are still open."""
    if work.attempts > parts.limits.attempts + 1:
        return "whoever tried ended before it was done"
    try:
        async with asyncio.timeout(_SETTLE_OPEN_WRITES_SECONDS):
            await parts.worker.settle_open_writes(work, store)
    except (LeaseLost, HandedOver, StoreUnavailable):
        raise
    except Exception as error:  # the outer edge of a turn: whatever it was, the turn is given up all the same
        log.exception("writes_not_read", turn=work.turn.turn_id, error=repr(error))
        return f"{type(error).__name__}: {error}"
    return "nobody could read"


async def settle_open_writes_unread(work: TurnWork, store: TurnStore, reason: str) -> None:
    """Settles the open writes of a task that cannot be read, as unverified or in doubt."""
    journal = Journal(store, (), (await store.get_stop_state()).now, 0.0)
    journal.redact_from_now_on(find_protected_values(work.record.request.text))
    await settle_without_reading(store, journal, reason)
