"""The port of the upkeep, which repairs faults."""

from collections.abc import Collection, Mapping
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
