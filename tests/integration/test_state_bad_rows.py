"""One row that cannot be read, or one look that fails, holds up nothing but itself."""

import asyncio
from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_ended import RedisEndedTasks
from services.executor.core.archiver import Archiver
from services.executor.entrypoints.upkeep_loop import Ticks, keep_up
from shared.contracts.task import TaskRecord
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import accepted, an_end, begin, sessions_of

pytestmark = pytest.mark.promise("upkeep.goes_on")


class FailsOnce(Ticks):
    """Its first look meets something that nobody foresaw."""

    def __init__(self) -> None:
        self.outcomes_behind = 0
        self.looks = 0
        self.looked_again = asyncio.Event()

    async def tick(self) -> int:
        self.looks += 1
        if self.looks == 1:
            raise ValueError("a member that is none")
        self.looked_again.set()
        return 0


async def test_a_look_that_fails_unforeseen_is_not_the_last() -> None:
    ticks = FailsOnce()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        upkeep = group.create_task(keep_up(ticks))
        await ticks.looked_again.wait()
        upkeep.cancel()
    assert ticks.looks >= 2


async def _ended(redis: Redis, store: TaskStore, session_id: str) -> TaskRecord:
    record = await accepted(store, session_id)
    begun = await begin(sessions_of(redis, "one"), session_id)
    await begun.store.finish(an_end(begun.work))
    return record


@pytest.mark.parametrize("spoilt", ["journal", "events", "record"])
async def test_a_task_that_cannot_be_archived_keeps_no_other_from_the_archive(
    redis: Redis, task_store: TaskStore, tmp_path: Path, spoilt: str
) -> None:
    """Its row is of a kind that no script reads. The others are archived and leave, though taken with it."""
    records = [await _ended(redis, task_store, f"s{number}") for number in range(6)]
    bad = records[2]
    name = getattr(keys.task_keys("acme", bad.session_id, bad.task_id), spoilt)
    await redis.delete(name)
    await redis.set(name, "spoilt")
    archive = FolderArchive(tmp_path)
    await Archiver(RedisEndedTasks(redis), archive).tick(range(PARTITIONS))
    assert set(await archive.list("acme")) == {record.task_id for record in records} - {bad.task_id}
    left = [await redis.zrange(keys.partition_keys(number).unarchived, 0, -1) for number in range(PARTITIONS)]
    assert sum(len(members) for members in left) == 1


async def test_without_an_archive_a_spoilt_task_keeps_no_other_from_leaving(
    redis: Redis, task_store: TaskStore
) -> None:
    records = [await _ended(redis, task_store, f"s{number}") for number in range(4)]
    name = keys.task_keys("acme", records[1].session_id, records[1].task_id).record
    await redis.delete(name)
    await redis.set(name, "spoilt")
    await Archiver(RedisEndedTasks(redis), None).tick(range(PARTITIONS))
    left = [await redis.zrange(keys.partition_keys(number).unarchived, 0, -1) for number in range(PARTITIONS)]
    assert sum(len(members) for members in left) == 0
