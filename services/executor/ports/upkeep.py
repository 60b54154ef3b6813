"""Upkeep beside the turns: what mends faults, and what brings ended tasks and idle sessions to the archive."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from services.executor.ports.sessions import Fault, SessionName
from shared.contracts.task import Turn
from shared.domain.partition import PARTITIONS

ALL_PARTITIONS: Collection[int] = range(PARTITIONS)


class DueTimer(NamedTuple):
    """A timer whose moment has come."""

    tenant: str
    session_id: str
    task_id: str
    subject: str
    now: datetime
    due: datetime

    @property
    def session(self) -> SessionName:
        return SessionName(self.tenant, self.session_id)


class OverdueWork(NamedTuple):
    """What one look at partitions found.

    ``soonest``: in how many seconds something will be due in a partition, where something waits.
    """

    unwoken: tuple[SessionName, ...] = ()  # work waits; nobody has claimed it for a while
    due: tuple[SessionName, ...] = ()  # likewise, and it was to be looked at now: a further try, a free slot
    orphaned: tuple[SessionName, ...] = ()  # their owner's lease has run out
    timers: tuple[DueTimer, ...] = ()
    soonest: Mapping[int, float] = MappingProxyType({})


class Upkeep(Protocol):
    async def end_dead_leases(self) -> int:
        """Ends the leases of executors that are known to be dead, so that nobody waits for them to run out; returns how
        many.
        """

    async def find_overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        """Sessions that wait or whose owner was lost, and due timers; what another executor looks after is left out."""

    async def count_unsettled_outcomes(self) -> int:
        """How many ended tasks have not been applied by the learner."""

    async def fire_timer(self, timer: DueTimer, turn: Turn) -> bool:
        """Put the turn before the session's inbox, once; False if the timer is gone or its task has ended."""

    async def add_fault_counts(self, mended: Mapping[Fault, int]) -> None:
        """Add to the counts of the whole installation; after a lost reply one may be counted twice."""


class EndedTask(NamedTuple):
    """A task that has ended and is not archived yet."""

    tenant: str
    session_id: str
    task_id: str


class EndedContent(NamedTuple):
    """What is archived of an ended task. ``envelope`` is an ``ArchivedTask``; None if the task is gone, or only its
    name was asked for.
    """

    task: EndedTask
    envelope: bytes | None = None


class ClaimedTasks(NamedTuple):
    """Tasks to archive, without those whose content cannot be read. ``more``: partitions that may have others."""

    tasks: tuple[EndedContent, ...]
    more: Collection[int] = ()


class EndedTasks(Protocol):
    """Ended tasks in the durable store. All may raise ``StoreUnavailable``."""

    async def claim(self, partitions: Collection[int], most: int, *, with_content: bool) -> ClaimedTasks:
        """Tasks of these partitions to archive now, each with all its content, or only its name.

        Nobody else takes them for half a minute.
        """

    async def set_expiry(self, tasks: Sequence[EndedContent], *, archived: bool) -> None:
        """Notes that the tasks need not be kept longer than stated, shorter if they are archived. May be repeated."""


class PackedSession(NamedTuple):
    """What a session remembers, as an ``ArchivedSession``; ``mark`` tells the store which state of it that is."""

    content: bytes
    mark: str


class IdleSessions(Protocol):
    """Sessions without an open task, a turn or a lease, in the durable store. All may raise ``StoreUnavailable``."""

    async def claim(self, partitions: Collection[int], idle_seconds: float, most: int) -> tuple[SessionName, ...]:
        """Sessions that have been idle for so long; nobody else takes them for half a minute."""

    async def read(self, session: SessionName) -> PackedSession | None:
        """The session's state; None if it is no longer idle, or remembers nothing. Then it is not taken again."""

    async def evict(self, session: SessionName, mark: str) -> bool:
        """Let what was read leave the store, in one step; False, and all stays, if the session has work or changed."""

    async def take_off_idle_list(self, sessions: Sequence[SessionName]) -> None:
        """Take these sessions off the list until they fall idle anew; what they remember stays in the store."""
