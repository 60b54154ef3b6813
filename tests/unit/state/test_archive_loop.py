"""What ended here is archived soon, and no failure of archiving ends the loop."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest

from services.executor.entrypoints.upkeep_loop import ArchiveNews, keep_archived
from shared.domain.partition import partition_of
from shared.ports.store import StoreUnavailable


class Archiving:
    """Fails as often as it is told to; ``seen`` holds what it was given."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.seen: asyncio.Queue[Collection[int]] = asyncio.Queue()

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
