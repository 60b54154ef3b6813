"""When the reaper looks where, and when what ended is archived."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest
from typing_extensions import override

from services.executor.core.turn.archiving import Archiver
from services.executor.entrypoints.upkeep_loop import ArchiveNews, UpkeepPlan, keep_archived
from shared.domain.partition import PARTITIONS, partition_of
from shared.ports.store import StoreUnavailable

EVERYWHERE = list(range(PARTITIONS))


def test_a_sweep_comes_first_and_again_after_its_pause() -> None:
    plan = UpkeepPlan(sweep_seconds=5.0)
    assert list(plan.partitions(100.0)) == EVERYWHERE
    plan.note(EVERYWHERE, {}, 100.0)
    assert (list(plan.partitions(104.9)), list(plan.partitions(105.0))) == ([], EVERYWHERE)


def test_a_partition_in_which_something_falls_due_is_looked_at_then() -> None:
    plan = UpkeepPlan(sweep_seconds=60.0)
    plan.note(EVERYWHERE, {3: 1.5, 9: 30.0}, 100.0)
    assert (list(plan.partitions(101.0)), list(plan.partitions(101.5))) == ([], [3])
    plan.note([3], {}, 101.5)
    assert list(plan.partitions(102.0)) == []
    assert list(plan.partitions(130.0)) == [9]


async def test_where_a_turn_ended_here_is_looked_at_for_a_while() -> None:
    """Its session's release, or its next try, comes after it."""
    plan = UpkeepPlan(sweep_seconds=60.0)
    clock = asyncio.get_running_loop().time()
    plan.note(EVERYWHERE, {}, clock)
    plan.tell("acme", "s1")
    own = partition_of("acme", "s1")
    assert list(plan.partitions(clock + 1)) == [own]
    plan.note([own], {}, clock + 1)
    assert list(plan.partitions(clock + 5)) == [own]
    assert list(plan.partitions(clock + 30)) == []


class Archiving(Archiver):
    """Fails as often as it is told to; ``seen`` holds what it was given."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.seen: asyncio.Queue[Collection[int]] = asyncio.Queue()

    @override
    async def tick(self, partitions: Collection[int]) -> int:
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
async def _running(archiving: Archiving, news: ArchiveNews) -> AsyncIterator[None]:
    loop = asyncio.create_task(keep_archived(archiving, news))
    try:
        yield
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)


@pytest.mark.promise("archive.off_the_path")
async def test_the_partition_of_a_task_that_ended_here_is_looked_at_soon() -> None:
    archiving, news = Archiving(), ArchiveNews()
    async with _running(archiving, news):
        news.tell("acme", "s1")
        await archiving.saw(partition_of("acme", "s1"))


@pytest.mark.promise("archive.off_the_path")
async def test_a_store_that_is_away_is_asked_again_at_the_next_news() -> None:
    archiving, news = Archiving(StoreUnavailable("away")), ArchiveNews()
    async with _running(archiving, news):
        for session in ("s1", "s2"):
            news.tell("acme", session)
            await archiving.saw(partition_of("acme", session))


@pytest.mark.promise("archive.off_the_path")
async def test_news_of_several_ends_come_together_and_once() -> None:
    news = ArchiveNews()
    for session in ("s1", "s2", "s1"):
        news.tell("acme", session)
    first = await news.next(5.0)
    assert set(first) == {partition_of("acme", "s1"), partition_of("acme", "s2")}
    assert len(await news.next(0.01)) == 64
