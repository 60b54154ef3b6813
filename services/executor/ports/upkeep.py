"""What is found and mended beside the turns; ended tasks and idle sessions on their way to the archive."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from services.executor.ports.sessions import Fault
from shared.contracts.task import Turn
from shared.domain.partition import PARTITIONS

ALL_PARTITIONS: Collection[int] = range(PARTITIONS)


class WaitingSession(NamedTuple):
    """A session that has work and no living lease."""

    tenant: str
    session_id: str


class DueTimer(NamedTuple):
    """A timer whose moment has come."""

    tenant: str
    session_id: str
    task_id: str
    subject: str
    now: datetime
    due: datetime

    @property
    def session(self) -> WaitingSession:
        return WaitingSession(self.tenant, self.session_id)


class OverdueWork(NamedTuple):
    """What one look at partitions found.

    ``soonest``: in how many seconds something will be due in a partition, where something waits.
    """

    unwoken: tuple[WaitingSession, ...] = ()  # work waits; nobody has claimed it for a while
    due: tuple[
        WaitingSession, ...
    ] = ()  # likewise, and this is when it was to be looked at: a further try, a free slot
    orphaned: tuple[WaitingSession, ...] = ()  # their owner's lease has run out
    timers: tuple[DueTimer, ...] = ()
    soonest: Mapping[int, float] = MappingProxyType({})


class Upkeep(Protocol):
    async def end_dead_leases(self) -> int:
        """End the leases of executors that are known to be dead, so that nobody waits for their time; how many."""

    async def overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        """Sessions that wait or whose owner was lost, and due timers; what another executor looks after is left out."""

    async def count_unsettled_outcomes(self) -> int:
        """How many ended tasks have not been applied by the learner."""

    async def fire(self, timer: DueTimer, turn: Turn) -> bool:
        """Put the turn before the session's inbox, once; False if the timer is gone or its task has ended."""

    async def count(self, mended: Mapping[Fault, int]) -> None:
        """Add to the counts of the whole installation; after a lost reply one may be counted twice."""


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

    async def let_go(self, tasks: Sequence[EndedContent], *, archived: bool) -> None:
        """They need not be kept any longer than stated: shorter if they are archived. Repeat it freely."""


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

    async def read(self, session: IdleSession) -> SessionMemory | None:
        """What it remembers; None if it is idle no more, or remembers nothing. Then it is not taken again."""

    async def evict(self, session: IdleSession, mark: str) -> bool:
        """Let what was read leave the store, in one step; False, and all stays, if the session has work or changed."""

    async def leave_in_store(self, sessions: Sequence[IdleSession]) -> None:
        """Take these no more, until they fall idle anew."""
