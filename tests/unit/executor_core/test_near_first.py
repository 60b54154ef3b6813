"""The reaper's finds: those of dead owners are taken here while there is little to do, else spread by the queue."""

from collections.abc import Iterable, Sequence

import pytest
from typing_extensions import override

from services.executor.core.turn.local_wakes import FEW_SESSIONS, LocalFirstWakes
from shared.ports.store import StoreUnavailable
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.idle_runner import IdleRunner
from tests.each_row import each_row

ONE = ("acme", "s1")


class _Down(HeardWakes):
    @override
    async def wake_unattended(
        self, sessions: Iterable[tuple[str, str]], *, begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        if list(sessions):
            raise StoreUnavailable("the queue is down")
        return ()


@pytest.mark.promise("reaper.near_first")
@each_row("begun", [True, False])
async def test_a_find_is_taken_here_although_the_queue_is_down(begun: bool) -> None:
    runner = IdleRunner(running=0)
    assert await LocalFirstWakes(runner, _Down()).wake_unattended([ONE], begun=begun) == [ONE]
    assert runner.offered == [ONE]


async def test_what_can_be_neither_queued_nor_taken_here_is_said() -> None:
    with pytest.raises(StoreUnavailable):
        await LocalFirstWakes(IdleRunner(running=FEW_SESSIONS), _Down()).wake_unattended([ONE])


@each_row("runner", [IdleRunner(running=FEW_SESSIONS), IdleRunner(running=0, takes=False)])
async def test_what_is_not_taken_here_goes_to_the_queue(runner: IdleRunner) -> None:
    """A busy process spreads the work; a session that it could not claim may be free in a moment."""
    queue = HeardWakes()
    await LocalFirstWakes(runner, queue).wake_unattended([ONE], begun=True)
    assert queue.heard == [ONE]


async def test_what_others_are_to_take_is_queued_before_anything_is_taken_here() -> None:
    """To claim takes time where everything was dead: nobody else waits for it."""

    class Slow(IdleRunner):
        @override
        async def offer(self, tenant: str, session_id: str) -> bool:
            assert len(queue.heard) == 3
            return await super().offer(tenant, session_id)

    runner, queue = Slow(running=0), HeardWakes()
    found = [("acme", f"s{number}") for number in range(FEW_SESSIONS + 3)]
    assert sorted(await LocalFirstWakes(runner, queue).wake_unattended(found, begun=True)) == sorted(found)
    assert (len(runner.offered), queue.heard) == (FEW_SESSIONS, found[FEW_SESSIONS:])


async def test_a_session_that_nobody_has_begun_is_left_to_the_queue() -> None:
    """It may stand there already, and then it has its place."""
    runner, queue = IdleRunner(running=0), HeardWakes(queued=[ONE])
    assert await LocalFirstWakes(runner, queue).wake_unattended([ONE]) == []
    assert runner.offered == []
