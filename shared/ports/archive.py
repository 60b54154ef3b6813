"""The port to the archive: opaque contents by tenant and id."""

import re
from typing import Protocol

HASHED_ID_PATTERN = re.compile(r"~[0-9a-f]{64}")


class ArchiveUnavailable(Exception):
    """The archive is down, full or refuses access, or its content cannot be read; the message says which."""


class UnreadableArchivedContent(ArchiveUnavailable):
    """One content cannot be decrypted or parsed, at any later try; others may be read."""


class Archive(Protocol):
    """Contents by tenant and id, that of a task, a session or a file; no id reaches another tenant's contents.

    Ids may be any text but a long id's hash (``HASHED_ID_PATTERN``): gateways refuse a client's id of that form.

    Every method may raise ``ArchiveUnavailable``.
    """

    async def put(self, tenant: str, content_id: str, content: bytes) -> None:
        """Stores the content durably and atomically, in place of an older one. May be repeated."""

    async def get(self, tenant: str, content_id: str) -> bytes | None:
        """The newest stored content; None if there is none."""

    async def list(self, tenant: str) -> tuple[str, ...]:
        """The ids of the tenant's contents, sorted.

        An id of over 180 characters is returned as ``~`` and its hash, which the other methods accept, too.
        """

    async def delete(self, tenant: str, content_id: str) -> bool:
        """Removes a content for good; False if there was none."""
