"""Mends what a crash or a lost wake left behind, and turns due timers into turns."""

from services.executor.core.mended import Mended
from services.executor.ports import DueTimer, Fault, Upkeep, Wakes
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role

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
            if await self._upkeep.fire(timer, deadline_turn(timer)):
                self._mended.add(Fault.TIMER_OVERDUE, session=timer.session_id, task=timer.task_id)
                woken.add(timer.session)
        for tenant, session_id in sorted(woken):
            await self._wakes.wake(tenant, session_id)
        if overdue.unwoken:  # a session whose owner is gone is counted by whoever claims it
            self._mended.add(Fault.NOT_WOKEN, len(overdue.unwoken))
        await self._report()
        return len(woken)

    async def _report(self) -> None:
        fresh = self._mended.unreported
        if fresh:
            await self._upkeep.count(fresh)
            self._mended.reported(fresh)


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
