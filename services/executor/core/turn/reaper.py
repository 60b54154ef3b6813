"""Wakes sessions that a crash or a lost wake left behind, turns due timers into turns, and counts both."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import timedelta

import structlog

from services.executor.ports.sessions import Fault, SessionWakes
from services.executor.ports.upkeep import ALL_PARTITIONS, DueTimer, Upkeep
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain import metric_names as names
from shared.domain.words import Role
from shared.ports.meter import Meter, NoMeter
from shared.ports.store import StoreUnavailable


class FaultCounts:
    """Counts the faults that this process repaired, by kind."""

    def __init__(self, meter: Meter = NoMeter()) -> None:  # noqa: B008  # it has no state
        self._counts: Counter[Fault] = Counter()
        self._unreported: Counter[Fault] = Counter()
        self._meter = meter
        for fault in Fault:  # each is shown from the beginning
            meter.add(names.FAULTS_MENDED, 0, fault=fault.value)

    def add(self, fault: Fault, number: int = 1, **labels: str) -> None:
        """Counts a fault and logs it."""
        self._counts[fault] += number
        self._unreported[fault] += number
        self._meter.add(names.FAULTS_MENDED, number, fault=fault.value)
        log.warning("mended", fault=fault.value, count=number, **labels)

    @property
    def counts(self) -> Mapping[str, int]:
        """The count of each kind of fault, including zeros."""
        return {fault.value: self._counts[fault] for fault in Fault}

    def take_unreported(self) -> Mapping[Fault, int]:
        """Returns the counts since the last call, for the installation's counts."""
        unreported, self._unreported = self._unreported, Counter()
        return unreported


log = structlog.get_logger()

_LATE_AFTER = timedelta(seconds=10)  # a timer that nobody has fired for so long was forgotten
TIMER = Principal(id="timer", roles=(Role.OPERATOR,), verified=True)


class Reaper:
    """Wakes sessions that a crash or a lost wake left behind, and fires due timers.

    ``outcomes_behind``: how many outcomes the learner had not applied at the last count. ``seconds_until_due``: by
    partition, in how many seconds something is due, as of the last look.
    """

    def __init__(self, upkeep: Upkeep, wakes: SessionWakes, fault_counts: FaultCounts | None = None) -> None:
        self._upkeep = upkeep
        self._wakes = wakes
        self._fault_counts = fault_counts or FaultCounts()
        self.outcomes_behind = 0
        self.seconds_until_due: Mapping[int, float] = {}

    async def repair_once(self, partitions: Collection[int] = ALL_PARTITIONS) -> int:
        """Fires the partitions' due timers and wakes their overdue sessions, once; returns how many it woke."""
        if len(partitions) == len(ALL_PARTITIONS):
            await self._upkeep.end_dead_leases()
        overdue = await self._upkeep.find_overdue(partitions)
        self.seconds_until_due = overdue.seconds_until_due
        fired = [timer.session for timer in overdue.timers if await self._fire_timer(timer)]
        sessions = sorted({*overdue.orphaned, *overdue.due, *fired})
        woken = len(await self._wakes.wake_unless_queued(sessions, has_begun=True)) if sessions else 0
        if overdue.unwoken:
            forgotten = await self._wakes.wake_unless_queued(sorted(overdue.unwoken))
            woken += len(forgotten)
            if forgotten:  # who claims the session counts a lost owner
                self._fault_counts.add(Fault.NOT_WOKEN, len(forgotten))
        if unreported := self._fault_counts.take_unreported():
            await self._upkeep.add_fault_counts(unreported)
        return woken

    async def update_outcomes_behind(self) -> None:
        self.outcomes_behind = await self._upkeep.count_unsettled_outcomes()

    async def _fire_timer(self, timer: DueTimer) -> bool:
        """Fires a due timer, and returns whether it did; False also if the store fails, lest other sessions wait."""
        try:
            fired = await self._upkeep.fire_timer(timer, deadline_turn(timer))
        except StoreUnavailable as error:
            log.warning("timer_not_fired", session=timer.session_id, task=timer.task_id, error=str(error))
            return False
        if fired and timer.now - timer.due > _LATE_AFTER:
            self._fault_counts.add(Fault.TIMER_OVERDUE, session=timer.session_id, task=timer.task_id)
        return fired


def deadline_turn(timer: DueTimer) -> Turn:
    """The turn of a due timer. Its id is the timer's, so firing twice gives the same turn."""
    return Turn(
        turn_id=f"deadline:{timer.task_id}:{timer.subject}",
        task_id=timer.task_id,
        kind=TurnKind.DEADLINE,
        principal=TIMER,
        received_at=timer.now,
        data={"subject": timer.subject},
    )
