"""Keeps all leases of a process alive, with one round trip for each beat."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple, NoReturn, TypeAlias

import structlog
from typing_extensions import override

from services.executor.ports.sessions import Beat, ExtendsLeases, Lease, LeaseHeartbeat
from services.executor.ports.turns import LeaseLost
from shared.ports.store import StoreUnavailable

_BEATS_PER_LEASE = 3
_BUSY_LEASES = 6  # times a lease for which a process whose sessions do not move is believed to be busy, and not hung
log = structlog.get_logger()


class _Watch(NamedTuple):
    """What a watched lease's session waits for; both live in the event loop of the session."""

    lost: asyncio.Future[None]
    news: asyncio.Event


class LeaseKeeper:
    """Keeps the leases of a process: ``keep_extending`` runs as long as it works, each session under ``watch``.

    It may extend them in another thread than the sessions run in, so that one session's long calculation costs no other
    its lease. Then it does so for no longer than their event loop has shown signs of life: see ``note_life``.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._watched: dict[Lease, _Watch] = {}
        self._going: set[Lease] = set()
        self._alive_at = monotonic()
        self._called: frozenset[Lease] = frozenset()
        self._beat_at = monotonic()

    def has_news(self, lease: Lease) -> bool:
        """Whether the store has to be asked what is wanted of the lease's turn: the last beat said so, or is old."""
        return lease in self._called or monotonic() - self._beat_at > self._lease_seconds

    async def watch(self, lease: Lease) -> None:
        """Has the lease extended for as long as this is awaited; raises ``LeaseLost`` when it is gone."""
        watched = _Watch(asyncio.get_running_loop().create_future(), asyncio.Event())
        self._watched[lease] = watched
        try:
            await watched.lost
        finally:
            del self._watched[lease]
            self._going.discard(lease)

    async def await_news(self, lease: Lease) -> None:
        """Waits for a beat after which the store has to be asked; raises ``LeaseLost`` if nobody watches the lease."""
        if lease not in self._watched:
            raise LeaseLost(lease.session_id)
        news = self._watched[lease].news
        await news.wait()
        news.clear()

    def heartbeat_of(self, lease: Lease) -> "KeptLease":
        return KeptLease(self, lease)

    def let_go(self, lease: Lease, *, going: bool = True) -> None:
        """Notes that the lease is being given back, so that its end is not reported as a loss."""
        (self._going.add if going else self._going.discard)(lease)

    async def note_life(self) -> NoReturn:
        """Shows, until cancelled, that the event loop of the sessions, in which it runs, is not hung."""
        while True:
            self._alive_at = monotonic()
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)

    async def keep_extending(self, leases: ExtendsLeases) -> NoReturn:
        """Extends the leases at intervals until cancelled; one that could not be extended in time is lost."""
        while True:
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)
            if monotonic() - self._alive_at > _BUSY_LEASES * self._lease_seconds:
                log.error("sessions_hung", seconds=round(monotonic() - self._alive_at))
                continue
            while not await self._extend_leases(leases):
                log.warning("heartbeat_lost")  # the next comes at once: younger leases may still be saved

    async def _extend_leases(self, leases: ExtendsLeases) -> bool:
        """Extends every lease; False if the store did not answer in time."""
        began, kept = monotonic(), tuple(self._watched)
        try:
            async with asyncio.timeout(self._lease_seconds):
                beat = await self._try_extending(leases, kept)
        except TimeoutError:
            self._report_losses(kept)
            return False
        self._beat_at, self._called = began, frozenset(beat.called)
        self._report_losses(beat.lost)
        for lease in beat.called:
            if watched := self._watched.get(lease):
                watched.lost.get_loop().call_soon_threadsafe(watched.news.set)
        return True

    async def _try_extending(self, leases: ExtendsLeases, kept: tuple[Lease, ...]) -> Beat:
        """Extends the leases, trying again while the store does not answer: the caller bounds it."""
        while kept:
            try:
                return await leases.extend_all(kept)
            except StoreUnavailable as error:
                log.warning("heartbeat_missed", sessions=len(kept), error=str(error))
                await asyncio.sleep(self._lease_seconds / 20)
        return Beat()

    def _report_losses(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            watched = self._watched.get(lease)
            if watched is not None:
                watched.lost.get_loop().call_soon_threadsafe(self._report_loss, lease, watched.lost)

    def _report_loss(self, lease: Lease, lost: asyncio.Future[None]) -> None:
        """Tells the session, in its loop, that its lease is lost, unless that is being given back there."""
        if not lost.done() and lease not in self._going:
            lost.set_exception(LeaseLost(lease.session_id))


class KeptLease(LeaseHeartbeat):
    """One lease that the keeper extends."""

    def __init__(self, keeper: LeaseKeeper, lease: Lease) -> None:
        self._keeper = keeper
        self._lease = lease
        self.released = False

    @override
    def has_news(self) -> bool:
        return self._keeper.has_news(self._lease)

    @override
    async def await_news(self) -> None:
        await self._keeper.await_news(self._lease)

    @override
    @contextmanager
    def letting_go(self) -> Iterator[None]:
        self._keeper.let_go(self._lease)
        try:
            yield
        finally:
            self._keeper.let_go(self._lease, going=self.released)


RunsHeartbeat: TypeAlias = Callable[[LeaseKeeper], Coroutine[None, None, NoReturn]]
"""What runs a lease keeper, until it is cancelled."""
