"""One row that cannot be read, or one look that fails, holds up nothing but itself."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_ended import RedisEndedTasks
from services.executor.core.turn.archiving import Archiver
from services.executor.core.turn.reaper import Reaper
from services.executor.core.turn.runner import RunnerLimits
from services.executor.entrypoints.upkeep_loop import UpkeepPlan, keep_up
from services.executor.ports.sessions import RunsTurns, Work
from services.executor.ports.turns import TurnStore
from services.executor.ports.upkeep import ALL_PARTITIONS
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.partition import PARTITIONS
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.stored_tasks import read_events, record_json
from shared.infra.task_store import TaskStore
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.doubles.runners import a_runner
from tests.integration.state_stage import accepted, an_end, begin, sessions_of

pytestmark = pytest.mark.promise("upkeep.goes_on")


class FailsOnce(Reaper):
    """Its first look meets something that nobody foresaw."""

    def __init__(self) -> None:
        self.outcomes_behind = 0
        self.soonest: Mapping[int, float] = {}
        self.looks = 0
        self.looked_again = asyncio.Event()

    @override
    async def tick(self, partitions: Collection[int] = ALL_PARTITIONS) -> int:
        self.looks += 1
        if self.looks == 1:
            raise ValueError("a member that is none")
        self.looked_again.set()
        return 0

    @override
    async def count_outcomes(self) -> None:
        self.outcomes_behind = 0


async def test_a_look_that_fails_unforeseen_is_not_the_last() -> None:
    ticks = FailsOnce()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        upkeep = group.create_task(keep_up(ticks, UpkeepPlan(), asyncio.Event()))
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


class Ends(RunsTurns):
    """Every turn it gets ends at once."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, work: Work, store: TurnStore) -> None:
        self.ran.append(work.turn.task_id)
        await store.finish(an_end(work))


async def said(redis: Redis, *words: str) -> object:
    return await redis.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py


@pytest.mark.parametrize("spoilt", ["record", "newer", "turn"])
async def test_a_turn_that_cannot_be_read_is_buried_after_its_attempts(
    redis: Redis, task_store: TaskStore, spoilt: str
) -> None:
    """It is a dead letter and a failed task, counted once; what waits behind it in its session goes on."""
    bad = await accepted(task_store)
    after = a_record("s1")
    await task_store.accept(after, a_turn(after), dedupe=None)
    names, session = keys.task_keys("acme", "s1", bad.task_id), keys.session_keys("acme", "s1")
    turn_id = str(await said(redis, "LINDEX", session.inbox, "0"))
    if spoilt == "record":
        await said(redis, "HSET", names.record, "json", '{"v":1}')
    elif spoilt == "newer":
        newer: JsonObject = {
            **loads_object(bad.stored_json()),
            "dialect": "of a newer release",
            "turns_done": ["earlier"],
        }
        await said(redis, "HSET", names.record, "json", dumps(newer))
    else:
        await said(redis, "HSET", session.turns, turn_id, f'{{"task_id":"{bad.task_id}"}}')
    worker = Ends()
    runner = a_runner(sessions_of(redis, "one"), HeardWakes(), worker, RunnerLimits(attempts=2))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        for _ in range(3):
            assert await runner.offer("acme", "s1")
            await runner.idle.wait()
        await runner.stop(0.0)
    partition = keys.partition_keys_of("acme", "s1")
    letters = await redis.xrange(partition.dead_turns)
    letter = DeadTurn.model_validate_json(letters[0][1]["letter"])
    assert (len(letters), letter.turn.turn_id, letter.task_id) == (1, turn_id, bad.task_id)
    assert await said(redis, "HGET", names.record, "state") == "failed"
    stored = loads_object(record_json(str(await said(redis, "HGET", names.record, "json"))))
    is_newer = spoilt == "newer"
    assert (stored["dialect"] == "of a newer release") is is_newer  # kept for a release that can read it
    record = TaskRecord.model_validate_json(dumps({**stored, "dialect": bad.dialect.value}))
    assert (record.state, record.turns_done) == (TaskState.FAILED, (*(["earlier"] if is_newer else []), turn_id))
    assert (record.request == bad.request) is (spoilt != "record")
    entries = await redis.xrange(names.events)
    events = [event for entry_id, row in entries for _, event in read_events(entry_id, row["e"])]
    assert [event.kind for event in events] == ["submitted", "status", "turn_finished"]
    assert events[-1].data == {"turn_id": turn_id, "state": "failed"}
    counted = [row["id"] for _, row in await redis.xrange(partition.outcomes)]
    assert counted == [f"{bad.task_id}:1", f"{after.task_id}:1"]
    assert worker.ran == [after.task_id]
    assert not await redis.exists(session.begun)
