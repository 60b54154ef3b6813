"""Tasks that ended and sessions that fell idle, on their way to the archive."""

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


class IdleSession(NamedTuple):
    """A session without an open task, a turn or a lease."""

    tenant: str
    session_id: str


class SessionMemory(NamedTuple):
    """What a session remembers, as an ``ArchivedSession``; ``mark`` tells the store which state of it that is."""

    content: bytes
    mark: str


class IdleSessions(Protocol):
    """Idle sessions in the durable store. All may raise ``StoreUnavailable``."""

    async def take(self, partitions: Collection[int], idle_seconds: float, most: int) -> tuple[IdleSession, ...]:
        """Sessions that have been idle for so long; nobody else takes them for half a minute."""
        ...

    async def read(self, session: IdleSession) -> SessionMemory | None:
        """What it remembers; None if it is idle no more, or remembers nothing. Then it is not taken again."""
        ...

    async def evict(self, session: IdleSession, mark: str) -> bool:
        """Let what was read leave the store, in one step; False, and all stays, if the session has work or changed."""
        ...

    async def keep(self, sessions: Sequence[IdleSession]) -> None:
        """Take these no more, until they fall idle anew."""
        ...
