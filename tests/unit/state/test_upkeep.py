"""Who takes what the reaper finds, and when what ended is archived."""

import asyncio
from collections.abc import Iterable, Sequence

import pytest
from typing_extensions import override

from services.executor.adapters.redis_idle import Archiver
from services.executor.core.turn.runner import MOST_SESSIONS_WITH_LOCAL_WAKES, LocalFirstWakes
from services.executor.hosting import keep_repeating
from shared.ports.store import StoreUnavailable
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.idle_runner import IdleRunner
from tests.each_row import each_row


class Archiving(Archiver):
    """Meets a store that is away at its first look."""

    def __init__(self) -> None:
        self.looks, self.looked_again = 0, asyncio.Event()

    @override
    async def archive_once(self) -> int:
        self.looks += 1
        if self.looks == 1:
            raise StoreUnavailable("away")
        self.looked_again.set()
        return 0


@pytest.mark.promise("archive.off_the_path")
async def test_a_store_that_is_away_is_asked_again() -> None:
    archiving = Archiving()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        loop = group.create_task(keep_repeating(archiving.archive_once, "archiving"))
        await archiving.looked_again.wait()
        loop.cancel()


ONE = ("acme", "s1")


class _Down(HeardWakes):
    @override
    async def wake_unless_queued(
        self, sessions: Iterable[tuple[str, str]], *, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        if list(sessions):
            raise StoreUnavailable("the queue is down")
        return ()


@pytest.mark.promise("reaper.near_first")
@each_row("has_begun", [True, False])
async def test_a_find_is_taken_here_although_the_queue_is_down(has_begun: bool) -> None:
    runner = IdleRunner(running=0)
    assert await LocalFirstWakes(runner, _Down()).wake_unless_queued([ONE], has_begun=has_begun) == [ONE]
    assert runner.offered == [ONE]


@each_row("runner", [IdleRunner(running=MOST_SESSIONS_WITH_LOCAL_WAKES), IdleRunner(running=0, takes=False)])
async def test_what_is_not_taken_here_goes_to_the_queue(runner: IdleRunner) -> None:
    """A busy process spreads the work; a session that it could not claim may be free in a moment."""
    queue = HeardWakes()
    await LocalFirstWakes(runner, queue).wake_unless_queued([ONE], has_begun=True)
    assert queue.heard == [ONE]


async def test_what_others_are_to_take_is_queued_before_anything_is_taken_here() -> None:
    """To claim takes time where everything was dead: nobody else waits for it."""

    class Slow(IdleRunner):
        @override
        async def offer(self, tenant: str, session_id: str) -> bool:
            assert len(queue.heard) == 3
            return await super().offer(tenant, session_id)

    runner, queue = Slow(running=0), HeardWakes()
    found = [("acme", f"s{number}") for number in range(MOST_SESSIONS_WITH_LOCAL_WAKES + 3)]
    assert sorted(await LocalFirstWakes(runner, queue).wake_unless_queued(found, has_begun=True)) == sorted(found)
    assert (len(runner.offered), queue.heard) == (
        MOST_SESSIONS_WITH_LOCAL_WAKES,
        found[MOST_SESSIONS_WITH_LOCAL_WAKES:],
    )


async def test_a_session_that_nobody_has_begun_is_left_to_the_queue_and_where_there_is_none_that_is_said() -> None:
    """It may stand there already, and then it has its place."""
    runner, queue = IdleRunner(running=0), HeardWakes(queued=[ONE])
    assert await LocalFirstWakes(runner, queue).wake_unless_queued([ONE]) == []
    assert runner.offered == []
    with pytest.raises(StoreUnavailable):
        await LocalFirstWakes(IdleRunner(running=MOST_SESSIONS_WITH_LOCAL_WAKES), _Down()).wake_unless_queued([ONE])
