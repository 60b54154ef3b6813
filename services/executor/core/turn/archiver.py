"""Brings ended tasks, and what idle sessions remember, to the archive; then they may leave the durable store."""

import asyncio
from collections.abc import Collection, Sequence

import structlog

from services.executor.core.session.side_by_side import side_by_side
from services.executor.ports.ended import EndedContent, EndedTasks, IdleSession, IdleSessions
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable

_MOST = 64  # taken at once
_AT_ONCE = 4

log = structlog.get_logger()


class Archiver:
    """``archive`` is None where the operator wants none: ended tasks then stay in the store for their whole time."""

    def __init__(self, ended: EndedTasks, archive: Archive | None) -> None:
        self._ended = ended
        self._archive = archive
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def tick(self, partitions: Collection[int]) -> int:
        """Archive what these partitions hold; how many tasks. Dying at any point repeats harmlessly."""
        total, more = 0, True
        while more:
            tasks, more = await self._ended.take(partitions, _MOST, whole=self._archive is not None)
            done = await self._archive_tasks(tasks) if tasks else []
            if done:
                await self._ended.let_go(done, archived=self._archive is not None)
            total += len(done)
            more = more and bool(done)  # what could not be archived is taken again after a while, by whoever comes
        return total

    async def _archive_tasks(self, found: Sequence[EndedContent]) -> list[EndedContent]:
        archive = self._archive
        if archive is None:
            return list(found)
        safe = await side_by_side(self._is_safe(archive, one) for one in found)
        return [one for one, is_safe in zip(found, safe, strict=True) if is_safe]

    async def _is_safe(self, archive: Archive, found: EndedContent) -> bool:
        """Whether the task need not be kept here any longer; one that could not be archived is taken again later."""
        async with self._at_once:
            try:
                if found.envelope is not None:
                    await archive.put(found.task.tenant, found.task.task_id, found.envelope)
            except ArchiveUnavailable as error:
                log.warning("not_archived", task=found.task.task_id, error=str(error))
                return False
            except Exception as error:  # the outer edge of one task: it must not hold up the others
                log.exception("not_archived", task=found.task.task_id, error=repr(error))
                return False
        return True


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
            except Exception as error:  # the outer edge of one session: it must not hold up the others
                log.exception("session_not_archived", session=session.session_id, error=repr(error))
        return False
