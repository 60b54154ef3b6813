"""Keeps all leases of a process alive, with one round trip for each beat."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NoReturn, TypeAlias

import structlog
from typing_extensions import override

from services.executor.ports.sessions import Beat, ExtendsLeases, Lease, LeaseHeartbeat
from services.executor.ports.turns import LeaseLost
from shared.ports.store import StoreUnavailable

_BEATS_PER_LEASE = 3
_BUSY_LEASES = 6  # times a lease for which a process whose sessions do not move is believed to be busy, and not hung
log = structlog.get_logger()


class LeaseKeeper:
    """Keeps the leases of a process: ``keep_extending`` runs as long as it works, each session under its lease's
    ``watch``.

    It may extend them in another thread than the sessions run in, so that one session's long calculation costs no other
    its lease. Then it does so for no longer than their event loop has shown signs of life: see ``note_life``.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._watched: dict[Lease, KeptLease] = {}
        self._alive_at = monotonic()
        self._called: frozenset[Lease] = frozenset()
        self._beat_at = monotonic()

    def keep(self, lease: Lease) -> "KeptLease":
        return KeptLease(self, lease)

    def has_news(self, lease: Lease) -> bool:
        """Whether the store has to be asked what is wanted of the lease's turn: the last beat said so, or is old."""
        return lease in self._called or monotonic() - self._beat_at > self._lease_seconds

    @contextmanager
    def extending(self, kept: "KeptLease") -> Iterator[None]:
        """A context in which the lease is extended."""
        self._watched[kept.lease] = kept
        try:
            yield
        finally:
            del self._watched[kept.lease]

    async def note_life(self) -> NoReturn:
        """Shows, until cancelled, that the event loop of the sessions, in which it runs, is not hung."""
        while True:
            self._alive_at = monotonic()
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)

    async def keep_extending(self, leases: ExtendsLeases) -> NoReturn:
        """Extends the leases at intervals until cancelled. A lease that could not be extended in time counts as
        lost.
        """
        while True:
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)
            if monotonic() - self._alive_at > _BUSY_LEASES * self._lease_seconds:
                log.error("sessions_hung", seconds=round(monotonic() - self._alive_at))
                continue
            while not await self._extend_leases(leases):
                log.warning("heartbeat_lost")  # the next comes at once: younger leases may still be saved

    async def _extend_leases(self, leases: ExtendsLeases) -> bool:
        """Extends every lease; False if the store did not answer in time."""
        began, watched = monotonic(), tuple(self._watched)
        try:
            async with asyncio.timeout(self._lease_seconds):
                beat = await self._try_extending(leases, watched)
        except TimeoutError:
            beat = None
        if beat is not None:
            self._beat_at, self._called = began, frozenset(beat.called)
        for lease in watched if beat is None else (*beat.lost, *beat.called):
            if kept := self._watched.get(lease):
                kept.hear_beat(is_lost=beat is None or lease in beat.lost)
        return beat is not None

    async def _try_extending(self, leases: ExtendsLeases, watched: tuple[Lease, ...]) -> Beat:
        """Extends the leases, trying again while the store does not answer: the caller bounds it."""
        while watched:
            try:
                return await leases.extend_all(watched)
            except StoreUnavailable as error:
                log.warning("heartbeat_missed", sessions=len(watched), error=str(error))
                await asyncio.sleep(self._lease_seconds / 20)
        return Beat()


class KeptLease(LeaseHeartbeat):
    """One lease, which its keeper extends while somebody awaits ``watch``."""

    def __init__(self, keeper: LeaseKeeper, lease: Lease) -> None:
        self._keeper = keeper
        self.lease = lease
        self.released = False
        self._is_going = False  # it is being given back, so its end is no loss
        self._news = asyncio.Event()
        self._lost: asyncio.Future[None] | None = None  # in the loop of its session, while that watches

    async def watch(self) -> None:
        """Has the lease extended for as long as this is awaited; raises ``LeaseLost`` when it is gone."""
        self._lost = asyncio.get_running_loop().create_future()
        with self._keeper.extending(self):
            await self._lost

    def hear_beat(self, *, is_lost: bool) -> None:
        """Tells the session, in its loop, that its lease is lost, or that there is news. From any thread."""
        if self._lost is not None:
            tell = self._report_loss if is_lost else self._news.set
            self._lost.get_loop().call_soon_threadsafe(tell)

    def _report_loss(self) -> None:
        if self._lost is not None and not self._lost.done() and not self._is_going:
            self._lost.set_exception(LeaseLost(self.lease.session_id))

    @override
    def has_news(self) -> bool:
        return self._keeper.has_news(self.lease)

    @override
    async def await_news(self) -> None:
        """As in the port; raises ``LeaseLost`` if nobody watches the lease."""
        if self._lost is None or self._lost.done():
            raise LeaseLost(self.lease.session_id)
        await self._news.wait()
        self._news.clear()

    @override
    @contextmanager
    def letting_go(self) -> Iterator[None]:
        self._is_going = True
        try:
            yield
        finally:
            self._is_going = self.released


RunsHeartbeat: TypeAlias = Callable[[LeaseKeeper], Coroutine[None, None, NoReturn]]
"""What runs a lease keeper, until it is cancelled."""
