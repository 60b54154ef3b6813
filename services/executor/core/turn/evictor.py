"""Brings what idle sessions remember to the archive, and lets it leave the durable store."""

import asyncio
from collections.abc import Collection

import structlog

from services.executor.core.session.side_by_side import side_by_side
from services.executor.ports.idle import IdleSession, IdleSessions
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable

_MOST = 64  # sessions taken at once
_AT_ONCE = 4

log = structlog.get_logger()


class Evictor:
    """``archive`` is None where the operator wants none: idle sessions then stay in the store for their whole time."""

    def __init__(self, idle: IdleSessions, archive: Archive | None, idle_seconds: float) -> None:
        self._idle = idle
        self._archive = archive
        self._seconds = idle_seconds
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def tick(self, partitions: Collection[int]) -> int:
        """Evict what these partitions hold; how many sessions. Dying at any point repeats harmlessly."""
        total = 0
        while sessions := await self._idle.take(partitions, self._seconds, _MOST):
            if self._archive is None:
                await self._idle.keep(sessions)
                continue
            gone = sum(await side_by_side(self._evict_session(self._archive, session) for session in sessions))
            total += gone
            if not gone:  # what could not be archived is taken again after a while, by whoever comes
                break
        return total

    async def _evict_session(self, archive: Archive, session: IdleSession) -> bool:
        """Whether the session has left: stored in the archive first, and still as it was when it was read."""
        async with self._at_once:
            try:
                found = await self._idle.read(session)
                if found is None:
                    return False
                await archive.put(session.tenant, session.session_id, found.content)
                return await self._idle.evict(session, found.mark)
            except (ArchiveUnavailable, StoreUnavailable) as error:
                log.warning("session_not_archived", session=session.session_id, error=str(error))
            except (
                Exception
            ) as error:  # the outer edge of one session: one that cannot be read must not hold up the others
                log.exception("session_not_archived", session=session.session_id, error=repr(error))
        return False
