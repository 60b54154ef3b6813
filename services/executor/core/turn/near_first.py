"""What the reaper finds is taken by the process that found it, where it has little to do: past any queue."""

from typing import Protocol

from typing_extensions import override

from services.executor.ports.sessions import Wakes

FEW = 8  # sessions: a process that runs more leaves what is found to the queue, which spreads it


class TakesSessions(Protocol):
    """What is needed of the runner."""

    @property
    def running(self) -> int: ...

    async def offer(self, tenant: str, session_id: str) -> bool:
        """Claim the session and run it; False if it was not taken."""
        ...


class NearFirst(Wakes):
    """So a queue that is down or slow does not keep a dead executor's turns from going on."""

    def __init__(self, runner: TakesSessions, wakes: Wakes) -> None:
        self._runner = runner
        self._wakes = wakes

    @override
    async def wake(self, tenant: str, session_id: str) -> None:
        if self._runner.running < FEW and await self._runner.offer(tenant, session_id):
            return
        await self._wakes.wake(tenant, session_id)
