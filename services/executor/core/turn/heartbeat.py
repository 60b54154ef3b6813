"""Extends all leases of a process, in one round trip each time."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from time import monotonic
from typing import NoReturn, TypeAlias

import structlog
from typing_extensions import override

from services.executor.core.session.context import run_with_companion
from services.executor.ports.turns import HeartbeatResult, Lease, LeaseExtender, LeaseHeartbeat, LeaseLost
from shared.ports.store import StoreUnavailable

_RENEWALS_PER_LEASE = 3
_LEASES_UNTIL_HUNG = 6  # times a lease for which a process whose sessions do not move is busy, and not hung
log = structlog.get_logger()


class LeaseKeeper:
    """Extends the leases of a process: ``keep_extending`` always runs, and each session runs under ``keep_until_lost``.

    It may run in another thread than the sessions, so that a long calculation of one session does not cost the others
    their leases. It then stops extending once the sessions' event loop has shown no sign of life for too long: see
    ``keep_recording_liveness``.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._watched: dict[Lease, KeptLease] = {}
        self._alive_at = monotonic()
        self._with_signal: frozenset[Lease] = frozenset()
        self._beat_at = monotonic()

    def may_have_signal(self, lease: Lease) -> bool:
        """Whether a cancel or another signal may wait for the turn: the last heartbeat said so, or is too old."""
        return lease in self._with_signal or monotonic() - self._beat_at > self._lease_seconds

    async def keep_until_lost(self, kept_lease: "KeptLease") -> None:
        """Keeps the lease extended while it is awaited; raises ``LeaseLost`` when the lease is lost."""
        self._watched[kept_lease.lease] = kept_lease
        try:
            await kept_lease.lost
        finally:
            del self._watched[kept_lease.lease]

    async def keep_recording_liveness(self) -> NoReturn:
        """Shows at intervals, until cancelled, that the event loop in which it runs is not blocked."""
        while True:
            self._alive_at = monotonic()
            await asyncio.sleep(self._lease_seconds / _RENEWALS_PER_LEASE)

    async def keep_extending(self, leases: LeaseExtender) -> NoReturn:
        """Extends the leases at intervals, until cancelled; one that is not extended in time is reported as lost.

        While the sessions' loop shows no life it extends none, so that another executor may take them.
        """
        while True:
            await asyncio.sleep(self._lease_seconds / _RENEWALS_PER_LEASE)
            if monotonic() - self._alive_at > _LEASES_UNTIL_HUNG * self._lease_seconds:
                log.error("event_loop_blocked", seconds=round(monotonic() - self._alive_at))
                continue
            while not await self._extend_leases(leases):
                log.warning("heartbeat_timed_out")  # the next comes at once: younger leases may still be saved

    async def _extend_leases(self, leases: LeaseExtender) -> bool:
        """Extends every lease; False if the store did not answer in time."""
        began, leases_to_extend = monotonic(), tuple(self._watched)
        try:
            async with asyncio.timeout(self._lease_seconds):
                result = await self._try_extending(leases, leases_to_extend)
        except TimeoutError:
            self._report_losses(leases_to_extend)
            return False
        self._beat_at, self._with_signal = began, frozenset(result.signaled)
        self._report_losses(result.lost)
        for lease in result.signaled:
            if watched := self._watched.get(lease):
                watched.lost.get_loop().call_soon_threadsafe(watched.news.set)
        return True

    async def _try_extending(self, leases: LeaseExtender, leases_to_extend: tuple[Lease, ...]) -> HeartbeatResult:
        """Extends the leases, trying again while the store does not answer. The caller sets the time limit."""
        while leases_to_extend:
            try:
                return await leases.extend_all(leases_to_extend)
            except StoreUnavailable as error:
                log.warning("heartbeat_attempt_failed", sessions=len(leases_to_extend), error=str(error))
                await asyncio.sleep(self._lease_seconds / 20)
        return HeartbeatResult()

    def _report_losses(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            if watched := self._watched.get(lease):
                watched.lost.get_loop().call_soon_threadsafe(watched.report_loss)


class KeptLease(LeaseHeartbeat):
    """One lease that the keeper extends. Its session awaits ``lost`` and ``news`` in its own event loop."""

    def __init__(self, keeper: LeaseKeeper, lease: Lease) -> None:
        self._keeper = keeper
        self.lease = lease
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.news = asyncio.Event()
        self.released = False
        self._is_releasing = False

    @override
    def may_have_signal(self) -> bool:
        return self._keeper.may_have_signal(self.lease)

    @override
    async def await_signal(self) -> None:
        if self.lost.done():
            raise LeaseLost(self.lease.session_id)
        await self.news.wait()
        self.news.clear()

    @override
    @contextmanager
    def allow_release(self) -> Iterator[None]:
        self._is_releasing = True
        try:
            yield
        finally:
            self._is_releasing = self.released

    def report_loss(self) -> None:
        """Tells the session, in its own event loop, that its lease is lost, unless it is just being released."""
        if not self.lost.done() and not self._is_releasing:
            self.lost.set_exception(LeaseLost(self.lease.session_id))


RunHeartbeat: TypeAlias = Callable[[LeaseKeeper], Coroutine[None, None, NoReturn]]
"""What runs a lease keeper, until it is cancelled."""


OpenLeases = Callable[[], AbstractAsyncContextManager[LeaseExtender]]


def make_heartbeat_in_thread(open_leases: OpenLeases) -> RunHeartbeat:
    """A heartbeat that runs in its own thread, so that a long calculation of a session does not delay it."""

    async def run(keeper: LeaseKeeper) -> NoReturn:
        stop = Future[None]()
        beating = asyncio.create_task(asyncio.to_thread(asyncio.run, _extend_until(stop, keeper, open_leases)))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(keeper.keep_recording_liveness())
                await asyncio.shield(beating)
                raise RuntimeError("the heartbeat ended by itself")
        finally:
            with suppress(InvalidStateError):  # the thread has ended, and its wait with it
                stop.set_result(None)
            await asyncio.wait([beating])

    return run


async def _extend_until(stop: Future[None], keeper: LeaseKeeper, open_leases: OpenLeases) -> None:
    """Extends the leases until ``stop`` has a result, which another thread may set."""

    async def wait() -> None:
        await asyncio.wrap_future(stop)

    async with open_leases() as leases:
        await run_with_companion(wait(), keeper.keep_extending(leases))
