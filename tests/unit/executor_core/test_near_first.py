"""The reaper's finds: those of dead owners are taken here while there is little to do, else spread by the queue."""

from collections.abc import Iterable, Sequence

import pytest
from typing_extensions import override

from services.executor.core.turn.upkeep import FEW, NearFirst, TakesSessions
from shared.ports.store import StoreUnavailable
from tests.doubles.heard_wakes import HeardWakes

ONE = ("acme", "s1")


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


class _Down(HeardWakes):
    @override
    async def wake_unattended(
        self, sessions: Iterable[tuple[str, str]], *, begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        if list(sessions):
            raise StoreUnavailable("the queue is down")
        return ()


@pytest.mark.promise("reaper.near_first")
@pytest.mark.parametrize("begun", [True, False])
async def test_a_find_is_taken_here_although_the_queue_is_down(begun: bool) -> None:
    runner = _Runner(running=0)
    assert await NearFirst(runner, _Down()).wake_unattended([ONE], begun=begun) == [ONE]
    assert runner.offered == ["s1"]


async def test_what_can_be_neither_queued_nor_taken_here_is_said() -> None:
    with pytest.raises(StoreUnavailable):
        await NearFirst(_Runner(running=FEW), _Down()).wake_unattended([ONE])


@pytest.mark.parametrize("runner", [_Runner(running=FEW), _Runner(running=0, takes=False)])
async def test_what_is_not_taken_here_goes_to_the_queue(runner: _Runner) -> None:
    """A busy process spreads the work; a session that it could not claim may be free in a moment."""
    queue = HeardWakes()
    await NearFirst(runner, queue).wake_unattended([ONE], begun=True)
    assert queue.heard == [ONE]


async def test_what_others_are_to_take_is_queued_before_anything_is_taken_here() -> None:
    """To claim takes time where everything was dead: nobody else waits for it."""

    class Slow(_Runner):
        @override
        async def offer(self, tenant: str, session_id: str) -> bool:
            assert len(queue.heard) == 3
            return await super().offer(tenant, session_id)

    runner, queue = Slow(running=0), HeardWakes()
    found = [("acme", f"s{number}") for number in range(FEW + 3)]
    assert sorted(await NearFirst(runner, queue).wake_unattended(found, begun=True)) == sorted(found)
    assert (len(runner.offered), queue.heard) == (FEW, found[FEW:])


async def test_a_session_that_nobody_has_begun_is_left_to_the_queue() -> None:
    """It may stand there already, and then it has its place."""
    runner, queue = _Runner(running=0), HeardWakes(queued=[ONE])
    assert await NearFirst(runner, queue).wake_unattended([ONE]) == []
    assert runner.offered == []
