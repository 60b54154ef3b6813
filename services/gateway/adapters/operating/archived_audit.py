"""Ended tasks in the archive, read whole."""

from collections.abc import Sequence

from typing_extensions import override

from services.gateway.ports.audit import ArchivedTasks
from shared.contracts.archive import ArchivedTask, read_archived
from shared.ports.archive import Archive, ArchiveUnavailable


class ArchivedAudit(ArchivedTasks):
    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    @override
    async def names(self, tenant: str) -> Sequence[str]:
        return await self._archive.list(tenant)

    @override
    async def one(self, tenant: str, task_id: str) -> ArchivedTask | None:
        """What cannot be read is no reason to leave it out in silence: ``ArchiveUnavailable``."""
        content = await self._archive.get(tenant, task_id)
        if content is None:
            return None
        try:
            found = read_archived(content)
        except ValueError as error:
            raise ArchiveUnavailable(f"the archived task {task_id!r} cannot be read: {type(error).__name__}") from error
        return found if found.record.tenant == tenant else None
