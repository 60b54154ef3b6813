"""Mends what a crash or a lost wake left behind, and turns due timers into turns."""

from collections.abc import Collection

import structlog

from services.executor.core.turn.mended import Mended
from services.executor.ports.sessions import Fault, Wakes
from services.executor.ports.upkeep import DueTimer, Upkeep, WaitingSession
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role
from shared.ports.store import StoreUnavailable

_MOST_FAILURES = 3  # more of them in one look: it is not the sessions' own fault

log = structlog.get_logger()

TIMER = Principal(id="timer", roles=(Role.OPERATOR,), verified=True)


class Reaper:
    """``outcomes_behind``: how many ended tasks the learner had not applied at the last look."""

    def __init__(self, upkeep: Upkeep, wakes: Wakes, mended: Mended | None = None) -> None:
        self._upkeep = upkeep
        self._wakes = wakes
        self._mended = mended or Mended()
        self.outcomes_behind = 0

    async def tick(self) -> int:
        """One look at all partitions; the number of sessions it woke."""
        overdue = await self._upkeep.overdue()
        self.outcomes_behind = overdue.outcomes
        woken = set(overdue.sessions)
        for timer in overdue.timers:
            if await self._fire_timer(timer):
                self._mended.add(Fault.TIMER_OVERDUE, session=timer.session_id, task=timer.task_id)
                woken.add(timer.session)
        await self._wake(woken)
        if overdue.unwoken:  # a session whose owner is gone is counted by whoever claims it
            self._mended.add(Fault.NOT_WOKEN, len(overdue.unwoken))
        await self._report()
        return len(woken)

    async def _fire_timer(self, timer: DueTimer) -> bool:
        """One timer that cannot be fired keeps nobody from being woken."""
        try:
            return await self._upkeep.fire(timer, deadline_turn(timer))
        except StoreUnavailable as error:
            log.warning("timer_not_fired", session=timer.session_id, task=timer.task_id, error=str(error))
            return False

    async def _wake(self, sessions: Collection[WaitingSession]) -> None:
        """Wake them all; a few that cannot be are passed over, and found again soon."""
        failures = 0
        for tenant, session_id in sorted(sessions):
            try:
                await self._wakes.wake(tenant, session_id)
            except StoreUnavailable as error:
                failures += 1
                log.warning("session_not_woken", session=session_id, error=str(error))
                if failures > _MOST_FAILURES:
                    raise

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
