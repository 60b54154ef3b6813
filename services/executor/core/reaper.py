"""Mends what a crash or a lost wake left behind, and turns due timers into turns."""

from services.executor.ports import DueTimer, Upkeep, Wakes
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role

TIMER = Principal(id="timer", roles=(Role.OPERATOR,), verified=True)


class Reaper:
    def __init__(self, upkeep: Upkeep, wakes: Wakes) -> None:
        self._upkeep = upkeep
        self._wakes = wakes

    async def tick(self) -> int:
        """One look at all partitions; the number of sessions it woke."""
        overdue = await self._upkeep.overdue()
        woken = set(overdue.sessions)
        for timer in overdue.timers:
            if await self._upkeep.fire(timer, deadline_turn(timer)):
                woken.add(timer.session)
        for tenant, session_id in sorted(woken):
            await self._wakes.wake(tenant, session_id)
        return len(woken)


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
