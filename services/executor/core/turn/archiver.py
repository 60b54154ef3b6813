"""Brings ended tasks to the archive, off every task's path; then they may leave the durable store."""

import asyncio
from collections.abc import Collection, Sequence

import structlog

from services.executor.core.session.side_by_side import side_by_side
from services.executor.ports.ended import EndedContent, EndedTasks
from shared.ports.archive import Archive, ArchiveUnavailable

_MOST = 64  # tasks taken at once
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
