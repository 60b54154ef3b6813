"""Tasks that ended, on their way to the archive."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol


class EndedTask(NamedTuple):
    """A task that has ended and is not archived yet."""

    tenant: str
    session_id: str
    task_id: str


class EndedContent(NamedTuple):
    """``envelope`` is an ``ArchivedTask``; None where the task is gone, or only its name was asked for."""

    task: EndedTask
    envelope: bytes | None = None


class TakenTasks(NamedTuple):
    """Without those whose content cannot be read. ``more``: there may be others to take."""

    tasks: tuple[EndedContent, ...]
    more: bool = False


class EndedTasks(Protocol):
    """Ended tasks in the durable store. All may raise ``StoreUnavailable``."""

    async def take(self, partitions: Collection[int], most: int, *, whole: bool) -> TakenTasks:
        """Tasks of these partitions to be archived now, with everything that is known of each, or its name alone.

        Nobody else takes them for half a minute.
        """
        ...

    async def let_go(self, tasks: Sequence[EndedContent], *, archived: bool) -> None:
        """They need not be kept any longer than stated: shorter if they are archived. Repeat it freely."""
        ...
