"""Mends what a crash or a lost wake left behind, and turns due timers into turns."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

import structlog
from typing_extensions import override

from services.executor.core.session.side_by_side import side_by_side
from services.executor.ports.sessions import Fault, SessionWakes
from services.executor.ports.upkeep import (
    ALL_PARTITIONS,
    DueTimer,
    EndedContent,
    EndedTasks,
    IdleSession,
    IdleSessions,
    Upkeep,
    WaitingSession,
)
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


class FaultCounts:
    """Counts of mended faults. ``unreported`` are those that the installation's own counts do not have yet."""

    def __init__(self) -> None:
        self._counts: Counter[Fault] = Counter()
        self._unreported: Counter[Fault] = Counter()

    def add(self, fault: Fault, number: int = 1, **about: str) -> None:
        """Counts a fault and logs it."""
        self._counts[fault] += number
        self._unreported[fault] += number
        log.warning("mended", fault=fault.value, count=number, **about)

    @property
    def counts(self) -> Mapping[str, int]:
        """The count of every kind of fault, also of those that never happened."""
        return {fault.value: self._counts[fault] for fault in Fault}

    @property
    def unreported(self) -> Mapping[Fault, int]:
        return dict(self._unreported)

    def subtract_reported(self, counts: Mapping[Fault, int]) -> None:
        """Takes off the counts that were added to the installation's."""
        self._unreported -= Counter(counts)


# Sessions: a process that runs more leaves what is found to the queue, which spreads it. So many are claimed in the
# same round trips, before the first of them costs any time.
FEW = 64


class TakesSessions(Protocol):
    """What the upkeep needs of the runner."""

    @property
    def running(self) -> int: ...

    async def offer(self, tenant: str, session_id: str) -> bool:
        """Claims the session and runs it; False if it was not taken."""
        ...


class NearFirst(SessionWakes):
    """So a queue that is down or slow does not keep a dead executor's turns, or new ones, from going on."""

    def __init__(self, runner: TakesSessions, wakes: SessionWakes) -> None:
        self._runner = runner
        self._wakes = wakes

    @override
    async def wake_first(self, tenant: str, session_id: str) -> None:
        await self.wake_unattended([(tenant, session_id)], begun=True)

    @override
    async def wake_unattended(
        self, sessions: Iterable[tuple[str, str]], *, begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Those that were taken here or put into the queue: who is to be taken by others is told first."""
        every = list(sessions)
        free = max(0, FEW - self._runner.running)
        near, left = (every[:free], every[free:]) if begun else ([], every)
        try:
            queued = [*await self._wakes.wake_unattended(left, begun=begun)]
        except StoreUnavailable:
            taken = await self._take(every[:free])
            if len(taken) < len(every):
                raise
            return taken
        taken = await self._take(near)
        back = [one for one in near if one not in taken]
        return [*taken, *queued, *await self._wakes.wake_unattended(back, begun=begun)]

    async def _take(self, sessions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The sessions that were taken here, offered side by side."""
        took = await side_by_side(self._takes(one) for one in sessions)
        return [one for one, is_taken in zip(sessions, took, strict=True) if is_taken]

    async def _takes(self, session: tuple[str, str]) -> bool:
        return self._runner.running < FEW and await self._runner.offer(*session)


_LATE = timedelta(seconds=10)  # a timer that nobody has fired for so long was forgotten


TIMER = Principal(id="timer", roles=(Role.OPERATOR,), verified=True)


class Reaper:
    """Wakes sessions that a crash or a lost wake left behind, and fires due timers. ``outcomes_behind``: how many ended
    tasks the learner had not applied when they were last counted.

    ``soonest``: in how many seconds something will be due in a partition, as the last look found it.
    """

    def __init__(self, upkeep: Upkeep, wakes: SessionWakes, mended: FaultCounts | None = None) -> None:
        self._upkeep = upkeep
        self._wakes = wakes
        self._mended = mended or FaultCounts()
        self.outcomes_behind = 0
        self.soonest: Mapping[int, float] = {}

    async def tick(self, partitions: Collection[int] = ALL_PARTITIONS) -> int:
        """Looks at the partitions once; returns how many sessions it woke. Sessions that wait in the queue are left
        there.
        """
        if len(partitions) == len(ALL_PARTITIONS):
            await self._upkeep.end_dead_leases()
        overdue = await self._upkeep.overdue(partitions)
        self.soonest = overdue.soonest
        fired = [timer.session for timer in overdue.timers if await self._fire_timer(timer)]
        begun = sorted({*overdue.orphaned, *overdue.due, *fired})
        woken = len(await self._wakes.wake_unattended(begun, begun=True)) if begun else 0
        if overdue.unwoken:
            woken += await self._wake_forgotten(overdue.unwoken)
        await self._report()
        return woken

    async def count_outcomes(self) -> None:
        self.outcomes_behind = await self._upkeep.count_unsettled_outcomes()

    async def _wake_forgotten(self, sessions: tuple[WaitingSession, ...]) -> int:
        """Wakes sessions that stand in no queue, and returns how many. One whose owner is gone is counted by whoever
        claims it.
        """
        forgotten = await self._wakes.wake_unattended(sorted(sessions))
        if forgotten:
            self._mended.add(Fault.NOT_WOKEN, len(forgotten))
        return len(forgotten)

    async def _fire_timer(self, timer: DueTimer) -> bool:
        """Whether the timer was fired; one that cannot be keeps no session from being woken."""
        try:
            fired = await self._upkeep.fire(timer, deadline_turn(timer))
        except StoreUnavailable as error:
            log.warning("timer_not_fired", session=timer.session_id, task=timer.task_id, error=str(error))
            return False
        if fired and timer.now - timer.due > _LATE:
            self._mended.add(Fault.TIMER_OVERDUE, session=timer.session_id, task=timer.task_id)
        return fired

    async def _report(self) -> None:
        fresh = self._mended.unreported
        if fresh:
            await self._upkeep.count(fresh)
            self._mended.subtract_reported(fresh)


def deadline_turn(timer: DueTimer) -> Turn:
    """The turn that a due timer becomes; its id is the timer's, so a second firing is the same turn."""
    return Turn(
        turn_id=f"deadline:{timer.task_id}:{timer.subject}",
        task_id=timer.task_id,
        kind=TurnKind.DEADLINE,
        principal=TIMER,
        received_at=timer.now,
        data={"subject": timer.subject},
    )


_MOST = 64  # taken at once
_AT_ONCE = 4


class Archiver:
    """Moves ended tasks to the archive. ``archive`` is None if the operator wants none: then they stay in the store for
    their whole time.
    """

    def __init__(self, ended: EndedTasks, archive: Archive | None) -> None:
        self._ended = ended
        self._archive = archive
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def tick(self, partitions: Collection[int]) -> int:
        """Archives the ended tasks of these partitions; returns how many. Dying at any point repeats harmlessly."""
        total, more = 0, True
        while more:
            tasks, more = await self._ended.take(partitions, _MOST, whole=self._archive is not None)
            done = await self._archive_tasks(tasks) if tasks else []
            if done:
                await self._ended.let_go(done, archived=self._archive is not None)
            total += len(done)
            more = more and bool(done)  # what could not be archived is taken again after a while, by whoever comes
        return total

    async def _archive_tasks(self, found: Sequence[EndedContent]) -> list[EndedContent]:
        archive = self._archive
        if archive is None:
            return list(found)
        safe = await side_by_side(self._archive_task(archive, one) for one in found)
        return [one for one, is_safe in zip(found, safe, strict=True) if is_safe]

    async def _archive_task(self, archive: Archive, found: EndedContent) -> bool:
        """Whether the task may leave the store; one that could not be archived is taken again later."""
        async with self._at_once:
            try:
                if found.envelope is not None:
                    await archive.put(found.task.tenant, found.task.task_id, found.envelope)
            except ArchiveUnavailable as error:
                log.warning("not_archived", task=found.task.task_id, error=str(error))
                return False
            except Exception as error:  # the outer edge of one task: it must not hold up the others
                log.exception("not_archived", task=found.task.task_id, error=repr(error))
                return False
        return True


class Evictor:
    """Moves idle sessions to the archive. ``archive`` is None if the operator wants none: then they stay in the store
    for their whole time.
    """

    def __init__(self, idle: IdleSessions, archive: Archive | None, idle_seconds: float) -> None:
        self._idle = idle
        self._archive = archive
        self._seconds = idle_seconds
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def tick(self, partitions: Collection[int]) -> int:
        """Evicts the idle sessions of these partitions; returns how many. Dying at any point repeats harmlessly."""
        total = 0
        while sessions := await self._idle.take(partitions, self._seconds, _MOST):
            if self._archive is None:
                await self._idle.take_off_idle_list(sessions)
                continue
            gone = sum(await side_by_side(self._evict_session(self._archive, session) for session in sessions))
            total += gone
            if not gone:  # what could not be archived is taken again after a while, by whoever comes
                break
        return total

    async def _evict_session(self, archive: Archive, session: IdleSession) -> bool:
        """Whether the session was evicted: it is stored in the archive first, and removed only if it is still as it was
        read.
        """
        async with self._at_once:
            try:
                found = await self._idle.read(session)
                if found is None:
                    return False
                await archive.put(session.tenant, session.session_id, found.content)
                return await self._idle.evict(session, found.mark)
            except (ArchiveUnavailable, StoreUnavailable) as error:
                log.warning("session_not_archived", session=session.session_id, error=str(error))
            except Exception as error:  # the outer edge of one session: it must not hold up the others
                log.exception("session_not_archived", session=session.session_id, error=repr(error))
        return False
