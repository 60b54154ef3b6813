"""Keeps all leases of a process alive, in one round trip a beat."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import structlog

from services.executor.ports.sessions import Lease, Sessions
from services.executor.ports.turns import LeaseLost
from shared.ports.store import StoreUnavailable

_BEATS_PER_LEASE = 3

log = structlog.get_logger()


class Heart:
    """``beat`` runs as long as the process works; each session runs under ``watch``."""

    def __init__(self, sessions: Sessions, lease_seconds: float) -> None:
        self._sessions = sessions
        self._lease_seconds = lease_seconds
        self._held: dict[Lease, asyncio.Future[None]] = {}
        self._going: set[Lease] = set()

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

    async def beat(self) -> NoReturn:
        """Until it is cancelled. A lease that could not be extended in time counts as lost."""
        while True:
            await asyncio.sleep(self._lease_seconds / _BEATS_PER_LEASE)
            while not await self._extend_leases():
                log.warning("heartbeat_lost")  # the next comes at once: younger leases may still be saved

    async def _extend_leases(self) -> bool:
        """Extend every lease there is; False if the store did not answer in time."""
        held = tuple(self._held)
        try:
            async with asyncio.timeout(self._lease_seconds):
                lost = await self._lost_leases(held)
        except TimeoutError:
            self._tell(held)
            return False
        self._tell(lost)
        return True

    async def _lost_leases(self, leases: tuple[Lease, ...]) -> tuple[Lease, ...]:
        """Extend, trying again while the store does not answer: the caller bounds it. Those that are lost."""
        while leases:
            try:
                return tuple(await self._sessions.extend_all(leases))
            except StoreUnavailable as error:
                log.warning("heartbeat_missed", sessions=len(leases), error=str(error))
                await asyncio.sleep(self._lease_seconds / 20)
        return ()

    def _tell(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            watched = self._held.get(lease)
            if watched is not None and not watched.done() and lease not in self._going:
                watched.set_exception(LeaseLost(lease.session_id))
