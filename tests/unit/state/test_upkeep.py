"""Who takes what the reaper finds, and when what ended is archived."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager

import pytest
from typing_extensions import override

from services.executor.core.turn.runner import MOST_SESSIONS_WITH_LOCAL_WAKES, LocalFirstWakes
from services.executor.hosting import PartitionsToArchive, keep_archiving
from shared.domain.partition import partition_of
from shared.ports.store import StoreUnavailable
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.idle_runner import IdleRunner
from tests.each_row import each_row


class Archiving:
    """Fails as often as it is told to; ``seen`` holds what it was given."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.seen: asyncio.Queue[Collection[int]] = asyncio.Queue()

    async def archive_once(self, partitions: Collection[int]) -> int:
        self.seen.put_nowait(partitions)
        if self.failures:
            raise self.failures.pop(0)
        return 0

    async def saw(self, partition: int) -> None:
        """Returns when it was given the partition, within a bound."""
        async with asyncio.timeout(20):
            while partition not in await self.seen.get():
                pass


@asynccontextmanager
async def _running(archiving: Archiving, news: PartitionsToArchive) -> AsyncIterator[None]:
    loop = asyncio.create_task(keep_archiving(archiving.archive_once, news))
    try:
        yield
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)


@pytest.mark.promise("archive.off_the_path")
async def test_the_partition_of_a_task_that_ended_here_is_looked_at_soon() -> None:
    archiving, news = Archiving(), PartitionsToArchive()
    async with _running(archiving, news):
        news.add_partition_of("acme", "s1")
        await archiving.saw(partition_of("acme", "s1"))


@pytest.mark.promise("archive.off_the_path")
async def test_a_store_that_is_away_is_asked_again_at_the_next_news() -> None:
    archiving, news = Archiving(StoreUnavailable("away")), PartitionsToArchive()
    async with _running(archiving, news):
        for session in ("s1", "s2"):
            news.add_partition_of("acme", session)
            await archiving.saw(partition_of("acme", session))


@pytest.mark.promise("archive.off_the_path")
async def test_news_of_several_ends_come_together_and_once() -> None:
    news = PartitionsToArchive()
    for session in ("s1", "s2", "s1"):
        news.add_partition_of("acme", session)
    first = await news.await_partitions(5.0)
    assert set(first) == {partition_of("acme", "s1"), partition_of("acme", "s2")}
    assert len(await news.await_partitions(0.01)) == 64


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
