"""What is found and mended beside the turns."""

from collections.abc import Collection, Mapping
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
        ...

    async def overdue(self, partitions: Collection[int] = ALL_PARTITIONS) -> OverdueWork:
        """Sessions that wait or whose owner was lost, and due timers; what another executor looks after is left out."""
        ...

    async def count_unsettled_outcomes(self) -> int:
        """How many ended tasks have not been applied by the learner."""
        ...

    async def fire(self, timer: DueTimer, turn: Turn) -> bool:
        """Put the turn before the session's inbox, once; False if the timer is gone or its task has ended."""
        ...

    async def count(self, mended: Mapping[Fault, int]) -> None:
        """Add to the counts of the whole installation; after a lost reply one may be counted twice."""
        ...
