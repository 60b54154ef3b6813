"""What the reaper finds of dead owners is taken by whoever found it, where it has little to do: past any queue."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from typing_extensions import override

from services.executor.ports.sessions import Wakes
from shared.ports.store import StoreUnavailable

FEW = 8  # sessions: a process that runs more leaves what is found to the queue, which spreads it


class TakesSessions(Protocol):
    """What is needed of the runner."""

    @property
    def running(self) -> int: ...

    async def offer(self, tenant: str, session_id: str) -> bool:
        """Claim the session and run it; False if it was not taken."""
        ...


class NearFirst(Wakes):
    """So a queue that is down or slow does not keep a dead executor's turns, or new ones, from going on."""

    def __init__(self, runner: TakesSessions, wakes: Wakes) -> None:
        self._runner = runner
        self._wakes = wakes

    @override
    async def wake_first(self, tenant: str, session_id: str) -> None:
        await self.wake_unattended([(tenant, session_id)], begun=True)

    @override
    async def wake_unattended(
        self, sessions: Iterable[tuple[str, str]], *, begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Those that were taken here or put into the queue."""
        taken = [one for one in sessions if await self._takes(one)] if begun else []
        left = [one for one in sessions if one not in taken]
        try:
            return [*taken, *await self._wakes.wake_unattended(left, begun=begun)]
        except StoreUnavailable:
            near = [one for one in left if not begun and await self._takes(one)]
            if len(near) < len(left):
                raise
            return [*taken, *near]

    async def _takes(self, session: tuple[str, str]) -> bool:
        return self._runner.running < FEW and await self._runner.offer(*session)
