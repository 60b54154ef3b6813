"""Ended tasks in the archive, read whole."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from typing_extensions import override

from services.gateway.ports.audit import ArchivedTasks
from shared.contracts.archive import ArchivedTask, read_archived
from shared.ports.archive import Archive, ArchiveUnavailable

LISTED_SECONDS = 60.0  # a task is asked for here only when it has left the store, which is days after it came here
_LISTED_MOST = 16


class _Listing(NamedTuple):
    until: float
    names: Sequence[str]


class ArchivedAudit(ArchivedTasks):
    """An export goes page by page: its pages share one listing, which in a bucket costs a request a thousand names."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._listed: dict[str, _Listing] = {}

    @override
    async def names(self, tenant: str) -> Sequence[str]:
        now, known = asyncio.get_running_loop().time(), self._listed.pop(tenant, None)
        if known is None or now >= known.until:
            known = _Listing(now + LISTED_SECONDS, await self._archive.list(tenant))
        self._listed[tenant] = known  # the latest used stands last
        if len(self._listed) > _LISTED_MOST:
            self._listed.pop(next(iter(self._listed)))
        return known.names

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
