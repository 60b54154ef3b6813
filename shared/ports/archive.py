"""The archive of ended tasks: opaque contents by tenant and task."""

from typing import Protocol


class ArchiveUnavailable(Exception):
    """The archive is down, full, refused or holds something that cannot be read; the message says which."""


class Archive(Protocol):
    """All may raise ``ArchiveUnavailable``. Ids are any text; no id reaches another tenant's contents."""

    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        """Store durably, in place of what was there: whole or not at all. Repeat it freely."""
        ...

    async def get(self, tenant: str, task_id: str) -> bytes | None:
        """What was stored last; None if there is nothing."""
        ...

    async def list(self, tenant: str) -> tuple[str, ...]:
        """The ids of the tenant's archived tasks, sorted. An id of over 180 characters stands as ``~`` and its hash,
        which the other methods take for it.
        """
        ...

    async def delete(self, tenant: str, task_id: str) -> bool:
        """Remove it for good; False if there was nothing."""
        ...
