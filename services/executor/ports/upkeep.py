"""The ports of the upkeep: repairing faults, and moving ended tasks and idle sessions to the archive."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from services.executor.ports.sessions import Fault, SessionName
from shared.contracts.task import Turn
from shared.domain.partition import PARTITIONS

ALL_PARTITIONS: Collection[int] = range(PARTITIONS)


class DueTimer(NamedTuple):
    """A timer whose time has come."""

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
    """What one survey of partitions found. ``seconds_until_due``: by partition, until something there is due."""

    unwoken: tuple[SessionName, ...] = ()  # work waits; nobody has claimed it for a while
    due: tuple[SessionName, ...] = ()  # likewise, and it was to be looked at now: a further try, a free slot
    orphaned: tuple[SessionName, ...] = ()  # their owner's lease has run out
    timers: tuple[DueTimer, ...] = ()
    seconds_until_due: Mapping[int, float] = MappingProxyType({})


class Upkeep(Protocol):
    """What the reaper asks of the durable store: which sessions and timers are overdue, and to repair them."""

    async def end_dead_leases(self) -> int:
        """Ends the leases of executors that are known to be dead, so that nobody waits for them; returns how many."""

    async def find_overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        """Sessions that wait too long or whose owner is gone, and due timers; without those that another executor is
        handling.
        """

    async def count_unsettled_outcomes(self) -> int:
        """How many outcomes of ended tasks the learner has not applied yet."""

    async def fire_timer(self, timer: DueTimer, turn: Turn) -> bool:
        """Puts the timer's turn at the head of the session's queue, once; False if the timer or its task is over."""

    async def add_fault_counts(self, counts: Mapping[Fault, int]) -> None:
        """Adds to the installation's fault counts. After ``StoreUnavailable`` they may or may not count."""


class EndedTask(NamedTuple):
    """A task that has ended and is not archived yet."""

    tenant: str
    session_id: str
    task_id: str


class EndedContent(NamedTuple):
    """An ended task's content for the archive. ``envelope``: an ``ArchivedTask`` as JSON; None if the task is gone, or
    only its name was asked for.
    """

    task: EndedTask
    envelope: bytes | None = None


class ClaimedTasks(NamedTuple):
    """Ended tasks to archive, without those that cannot be read, and the partitions that may have more."""

    tasks: tuple[EndedContent, ...]
    partitions_with_more: Collection[int] = ()


class EndedTasks(Protocol):
    """Ended tasks in the durable store. Every method may raise ``StoreUnavailable``."""

    async def claim(self, partitions: Collection[int], most: int, *, with_content: bool) -> ClaimedTasks:
        """Claims ended tasks of these partitions for half a minute; returns each with its content, or only its name."""

    async def set_expiry(self, tasks: Sequence[EndedContent], *, are_archived: bool) -> None:
        """Lets the tasks expire after the retention time, or sooner if they are archived. May be repeated."""


class PackedSession(NamedTuple):
    """A session's state as ``ArchivedSession`` JSON. ``mark`` identifies this version of the state to the store."""

    content: bytes
    mark: str


class IdleSessions(Protocol):
    """Stored sessions that have no open task, turn or lease. Every method may raise ``StoreUnavailable``."""

    async def claim(self, partitions: Collection[int], idle_seconds: float, most: int) -> tuple[SessionName, ...]:
        """Claims for half a minute sessions that have been idle for that long."""

    async def read(self, session: SessionName) -> PackedSession | None:
        """The session's state; None, and it leaves the idle list, if it is no longer idle or remembers nothing."""

    async def evict(self, session: SessionName, mark: str) -> bool:
        """Removes the session from the store in one step; False, with nothing removed, if it has work or its state is
        no longer that of ``mark``.
        """

    async def take_off_idle_list(self, sessions: Sequence[SessionName]) -> None:
        """Removes these sessions from the idle list until they become idle again. Their state stays in the store."""
