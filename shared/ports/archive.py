"""The archive of ended tasks: opaque contents by tenant and task."""

from typing import Protocol


class ArchiveUnavailable(Exception):
    """The archive is down, full or refused, or its content cannot be read; the message says which."""


class Archive(Protocol):
    """Contents by tenant and task id. Ids are any text; no id reaches another tenant's contents.

    Every method may raise ``ArchiveUnavailable``.
    """

    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        """Store the content durably, as a whole, in place of an older one. It may be repeated."""

    async def get(self, tenant: str, task_id: str) -> bytes | None:
        """The content stored last; None if there is none."""

    async def list(self, tenant: str) -> tuple[str, ...]:
        """The ids of the tenant's archived tasks, sorted.

        An id of over 180 characters is given as ``~`` and its hash, which the other methods accept in its place.
        """

    async def delete(self, tenant: str, task_id: str) -> bool:
        """Remove a task's content for good; False if there was none."""
