"""The reaper's finds: taken here while there is little to do here, else spread by the queue."""

import pytest

from services.executor.core.turn.near_first import FEW, NearFirst, TakesSessions
from services.executor.ports.sessions import Wakes
from shared.ports.store import StoreUnavailable


class _Runner(TakesSessions):
    def __init__(self, running: int, takes: bool = True) -> None:
        self._running, self._takes = running, takes
        self.offered: list[str] = []

    @property
    def running(self) -> int:
        return self._running

    async def offer(self, tenant: str, session_id: str) -> bool:
        self.offered.append(session_id)
        return self._takes


class _Queue(Wakes):
    def __init__(self, *, down: bool = False) -> None:
        self.woken: list[str] = []
        self._down = down

    async def wake(self, tenant: str, session_id: str) -> None:
        if self._down:
            raise StoreUnavailable("the queue is down")
        self.woken.append(session_id)


@pytest.mark.promise("reaper.near_first")
async def test_a_find_is_taken_here_although_the_queue_is_down() -> None:
    runner = _Runner(running=0)
    await NearFirst(runner, _Queue(down=True)).wake("acme", "s1")
    assert runner.offered == ["s1"]


@pytest.mark.parametrize("runner", [_Runner(running=FEW), _Runner(running=0, takes=False)])
async def test_what_is_not_taken_here_goes_to_the_queue(runner: _Runner) -> None:
    """A busy process spreads the work; a session that it could not claim may be free in a moment."""
    queue = _Queue()
    await NearFirst(runner, queue).wake("acme", "s1")
    assert queue.woken == ["s1"]
