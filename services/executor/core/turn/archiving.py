"""Moves ended tasks and idle sessions to the archive."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

import structlog

from services.executor.core.session.context import run_in_parallel
from services.executor.ports.sessions import SessionName
from services.executor.ports.upkeep import EndedContent, EndedTasks, IdleSessions
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()

_MOST_TAKEN = 64  # taken at once
_AT_ONCE = 4


class Archiver:
    """Moves ended tasks to the archive. Without an archive they stay in the store until they expire."""

    def __init__(self, ended: EndedTasks, archive: Archive | None) -> None:
        self._ended = ended
        self._archive = archive
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def archive_once(self, partitions: Collection[int]) -> int:
        """Archives ended tasks of these partitions; returns how many. May be interrupted and repeated at any point."""
        total = 0
        while partitions:
            tasks, partitions = await self._ended.claim(partitions, _MOST_TAKEN, with_content=self._archive is not None)
            done = await self._archive_tasks(tasks) if tasks else []
            if not done:  # what could not be archived is taken again after a while, by whoever comes
                break
            await self._ended.set_expiry(done, are_archived=self._archive is not None)
            total += len(done)
        return total

    async def _archive_tasks(self, found: Sequence[EndedContent]) -> list[EndedContent]:
        archive = self._archive
        if archive is None:
            return list(found)
        safe = await run_in_parallel(self._archive_task(archive, one) for one in found)
        return [one for one, is_safe in zip(found, safe, strict=True) if is_safe]

    async def _archive_task(self, archive: Archive, found: EndedContent) -> bool:
        """Whether the task may leave the store. One that could not be archived is tried again later."""

        async def put() -> bool:
            if found.envelope is not None:
                await archive.put(found.task.tenant, found.task.task_id, found.envelope)
            return True

        return await _put_or_log(self._at_once, put, "not_archived", task=found.task.task_id)


class Evictor:
    """Moves idle sessions to the archive. Without an archive they stay in the store until they expire."""

    def __init__(self, idle: IdleSessions, archive: Archive | None, idle_seconds: float) -> None:
        self._idle = idle
        self._archive = archive
        self._seconds = idle_seconds
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def evict_once(self, partitions: Collection[int]) -> int:
        """Evicts idle sessions of these partitions; returns how many. May be interrupted and repeated at any point."""
        total = 0
        while sessions := await self._idle.claim(partitions, self._seconds, _MOST_TAKEN):
            if self._archive is None:
                await self._idle.take_off_idle_list(sessions)
                continue
            gone = sum(await run_in_parallel(self._evict_session(self._archive, session) for session in sessions))
            total += gone
            if not gone:  # what could not be archived is taken again after a while, by whoever comes
                break
        return total

    async def _evict_session(self, archive: Archive, session: SessionName) -> bool:
        """Stores the session in the archive, then removes it from the store if it has not changed; returns whether it
        was removed.
        """

        async def put() -> bool:
            found = await self._idle.read(session)
            if found is None:
                return False
            await archive.put(session.tenant, session.session_id, found.content)
            return await self._idle.evict(session, found.mark)

        return await _put_or_log(self._at_once, put, "session_not_archived", session=session.session_id)


async def _put_or_log(
    at_once: asyncio.Semaphore, put: Callable[[], Awaitable[bool]], failed: str, **about: str
) -> bool:
    """The result of ``put``; False, after a log line, if it failed, so that it is tried again later."""
    async with at_once:
        try:
            return await put()
        except (ArchiveUnavailable, StoreUnavailable) as error:
            log.warning(failed, **about, error=str(error))
        except Exception as error:  # the outer edge of one task or session: it must not hold up the others
            log.exception(failed, **about, error=repr(error))
    return False
