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

_MOST_AT_ONCE = 64  # tasks or sessions
_MOST_UPLOADS = 4


class Archiver:
    """Moves ended tasks to the archive. Without an archive they stay in the store until they expire."""

    def __init__(self, ended: EndedTasks, archive: Archive | None) -> None:
        self._ended = ended
        self._archive = archive
        self._uploads = asyncio.Semaphore(_MOST_UPLOADS)

    async def archive_once(self, partitions: Collection[int]) -> int:
        """Archives ended tasks of these partitions; returns how many. May be interrupted and repeated at any point."""
        total = 0
        while partitions:
            has_archive = self._archive is not None
            tasks, partitions = await self._ended.claim(partitions, _MOST_AT_ONCE, with_content=has_archive)
            archived = await self._archive_tasks(tasks) if tasks else []
            if not archived:  # what could not be archived is taken again after a while, by whoever comes
                break
            await self._ended.set_expiry(archived, are_archived=has_archive)
            total += len(archived)
        return total

    async def _archive_tasks(self, tasks: Sequence[EndedContent]) -> list[EndedContent]:
        archive = self._archive
        if archive is None:
            return list(tasks)
        results = await run_in_parallel(self._archive_task(archive, task) for task in tasks)
        return [task for task, is_safe in zip(tasks, results, strict=True) if is_safe]

    async def _archive_task(self, archive: Archive, content: EndedContent) -> bool:
        """Whether the task may leave the store. One that could not be archived is tried again later."""

        async def put() -> bool:
            if content.envelope is not None:
                await archive.put(content.task.tenant, content.task.task_id, content.envelope)
            return True

        return await _put_or_log(self._uploads, put, "not_archived", task=content.task.task_id)


class Evictor:
    """Moves idle sessions to the archive. Without an archive they stay in the store until they expire."""

    def __init__(self, idle: IdleSessions, archive: Archive | None, idle_seconds: float) -> None:
        self._idle = idle
        self._archive = archive
        self._idle_seconds = idle_seconds
        self._uploads = asyncio.Semaphore(_MOST_UPLOADS)

    async def evict_once(self, partitions: Collection[int]) -> int:
        """Evicts idle sessions of these partitions; returns how many. May be interrupted and repeated at any point."""
        total = 0
        while sessions := await self._idle.claim(partitions, self._idle_seconds, _MOST_AT_ONCE):
            if self._archive is None:
                await self._idle.take_off_idle_list(sessions)
                continue
            evicted = sum(await run_in_parallel(self._evict_session(self._archive, session) for session in sessions))
            total += evicted
            if not evicted:  # what could not be archived is taken again after a while, by whoever comes
                break
        return total

    async def _evict_session(self, archive: Archive, session: SessionName) -> bool:
        """Archives the session, then removes it from the store if it has not changed; returns whether it did."""

        async def put() -> bool:
            session_content = await self._idle.read(session)
            if session_content is None:
                return False
            await archive.put(session.tenant, session.session_id, session_content.content)
            return await self._idle.evict(session, session_content.mark)

        return await _put_or_log(self._uploads, put, "session_not_archived", session=session.session_id)


async def _put_or_log(
    uploads: asyncio.Semaphore, put: Callable[[], Awaitable[bool]], failure_event: str, **labels: str
) -> bool:
    """The result of ``put``; False if it failed, which is logged as ``failure_event``: it is tried again later."""
    async with uploads:
        try:
            return await put()
        except (ArchiveUnavailable, StoreUnavailable) as error:
            log.warning(failure_event, **labels, error=str(error))
        except Exception as error:  # the outer edge of one task or session: it must not hold up the others
            log.exception(failure_event, **labels, error=repr(error))
    return False
