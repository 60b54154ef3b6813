"""Sessions that nobody has spoken to for a while."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol


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
