"""Tasks that ended, on their way to the archive."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol


class EndedTask(NamedTuple):
    """A task that has ended and is not archived yet."""

    tenant: str
    session_id: str
    task_id: str


class EndedTasks(Protocol):
    """Ended tasks in the durable store. All may raise ``StoreUnavailable``."""

    async def take(self, partitions: Collection[int], most: int) -> tuple[EndedTask, ...]:
        """Tasks of these partitions to be archived now; nobody else takes them for half a minute."""
        ...

    async def read(self, task: EndedTask) -> bytes | None:
        """Everything that is known of it, as an ``ArchivedTask``; None if it is gone."""
        ...

    async def let_go(self, tasks: Sequence[EndedTask], *, archived: bool) -> None:
        """They need not be kept any longer than stated: shorter if they are archived. Repeat it freely."""
        ...
