"""Where the writes of a tenant's tasks are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from shared.contracts.archive import ArchivedTask
from shared.contracts.task import TaskRecord


class Kept(NamedTuple):
    """A task with what is still kept of it: all, or the record alone (``details`` is None)."""

    record: TaskRecord
    details: ArchivedTask | None


class KeptPage(NamedTuple):
    """``after``: where the next page goes on; empty if there is none."""

    tasks: Sequence[Kept]
    after: str


class LiveTasks(Protocol):
    """The tasks that are in the store. All may raise ``StoreUnavailable``."""

    async def page(self, tenant: str, session: str | None, since: datetime | None, size: int, after: str) -> KeptPage:
        """The last changed first; raises ``ValueError`` for a place that is none."""
        ...

    async def one(self, tenant: str, task_id: str) -> Kept | None: ...


class ArchivedTasks(Protocol):
    """The tasks that are in the archive. All may raise ``ArchiveUnavailable``."""

    async def names(self, tenant: str) -> Sequence[str]:
        """Sorted."""
        ...

    async def one(self, tenant: str, task_id: str) -> ArchivedTask | None: ...
