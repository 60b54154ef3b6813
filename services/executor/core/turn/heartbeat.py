"""Keeps all leases of a process alive, in one round trip a beat."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NoReturn, TypeAlias

import structlog

from services.executor.ports.sessions import ExtendsLeases, Lease
from services.executor.ports.turns import LeaseLost
from shared.ports.store import StoreUnavailable

_BEATS_PER_LEASE = 3
_BUSY_LEASES = 6  # times a lease for which a process whose sessions do not move is believed to be busy, and not hung

log = structlog.get_logger()


class Heart:
    """``beat`` runs as long as the process works; each session runs under ``watch``.

    It may beat in another thread than the sessions run in, so that one session's long calculation costs no other its
    lease. Then it beats for no longer than their event loop has shown signs of life: see ``note_life``.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._held: dict[Lease, asyncio.Future[None]] = {}
        self._going: set[Lease] = set()
        self._alive_at = monotonic()

    async def watch(self, lease: Lease) -> None:
        """Have the lease extended for as long as this is awaited; raises ``LeaseLost`` when it is gone."""
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held[lease] = lost
        try:
            await lost
        finally:
            del self._held[lease]

    @contextmanager
    def letting_go(self, lease: Lease) -> Iterator[None]:
        """Inside, the lease is given back, so that it is gone is no news to whoever watches it."""
        self._going.add(lease)
        try:
            yield
        finally:
            self._going.discard(lease)

    async def note_life(self) -> NoReturn:
        """Runs in the event loop of the sessions until it is cancelled; as long as it does, that loop is not hung."""
        while True:
            self._alive_at = monotonic()
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)

    async def beat(self, leases: ExtendsLeases) -> NoReturn:
        """Until it is cancelled. A lease that could not be extended in time counts as lost."""
        while True:
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)
            if monotonic() - self._alive_at > _BUSY_LEASES * self._lease_seconds:
                log.error("sessions_hung", seconds=round(monotonic() - self._alive_at))
                continue
            while not await self._extend_leases(leases):
                log.warning("heartbeat_lost")  # the next comes at once: younger leases may still be saved

    async def _extend_leases(self, leases: ExtendsLeases) -> bool:
        """Extend every lease there is; False if the store did not answer in time."""
        held = tuple(self._held)
        try:
            async with asyncio.timeout(self._lease_seconds):
                lost = await self._lost_leases(leases, held)
        except TimeoutError:
            self._tell(held)
            return False
        self._tell(lost)
        return True

    async def _lost_leases(self, leases: ExtendsLeases, held: tuple[Lease, ...]) -> tuple[Lease, ...]:
        """Extend, trying again while the store does not answer: the caller bounds it. Those that are lost."""
        while held:
            try:
                return tuple(await leases.extend_all(held))
            except StoreUnavailable as error:
                log.warning("heartbeat_missed", sessions=len(held), error=str(error))
                await asyncio.sleep(self._lease_seconds / 20)
        return ()

    def _tell(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            watched = self._held.get(lease)
            if watched is not None:
                watched.get_loop().call_soon_threadsafe(self._end, lease, watched)

    def _end(self, lease: Lease, watched: "asyncio.Future[None]") -> None:
        """In the loop of the sessions: a lease that is being given back there has not been lost."""
        if not watched.done() and lease not in self._going:
            watched.set_exception(LeaseLost(lease.session_id))


Beats: TypeAlias = Callable[[Heart], Coroutine[None, None, NoReturn]]
"""What makes a heart beat, until it is cancelled."""
