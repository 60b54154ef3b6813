"""Rows and keys in Redis: each stands in the table and lives as it says; one that cannot be read holds up nothing."""

import asyncio
import re
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_idle import Archiver
from services.executor.adapters.redis_upkeep import Reaper
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.hosting import keep_reaping
from services.executor.ports.turns import JournalEntry, Timer
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.task import TaskRecord, TurnKind
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.partition import PARTITIONS
from shared.domain.words import TaskState, WriteStatus
from shared.infra import keys
from shared.infra.archive_folder import FolderArchive
from shared.infra.stored_tasks import parse_task_events, unpack_task_record_json
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.each_row import each_row
from tests.integration import state_stage
from tests.key_table import KeyKind, key_table, words_of


class FailsOnce(Reaper):
    """Its first look meets something that nobody foresaw."""

    def __init__(self) -> None:
        self.outcomes_behind = 0
        self.looks = 0
        self.looked_again = asyncio.Event()

    @override
    async def repair_once(self) -> int:
        self.looks += 1
        if self.looks == 1:
            raise ValueError("a member that is none")
        self.looked_again.set()
        return 0

    @override
    async def update_outcomes_behind(self) -> None:
        self.outcomes_behind = 0


@pytest.mark.promise("upkeep.goes_on")
async def test_a_look_that_fails_unforeseen_is_not_the_last() -> None:
    ticks = FailsOnce()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        upkeep = group.create_task(keep_reaping(ticks, asyncio.Event()))
        await ticks.looked_again.wait()
        upkeep.cancel()
    assert ticks.looks >= 2


async def _ended(redis: Redis, store: TaskStore, session_id: str) -> TaskRecord:
    record = await state_stage.accepted(store, session_id)
    begun = await state_stage.begin(state_stage.sessions_of(redis, "one"), session_id)
    await begun.store.finish(state_stage.an_end(begun.work))
    return record


@pytest.mark.promise("upkeep.goes_on")
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
    await Archiver(redis, archive).archive_once()
    assert set(await archive.list("acme")) == {record.task_id for record in records} - {bad.task_id}
    left = [await redis.zrange(keys.partition_keys(number).unarchived, 0, -1) for number in range(PARTITIONS)]
    assert sum(len(members) for members in left) == 1


@pytest.mark.promise("upkeep.goes_on")
async def test_without_an_archive_a_spoilt_task_keeps_no_other_here(redis: Redis, task_store: TaskStore) -> None:
    records = [await _ended(redis, task_store, f"s{number}") for number in range(4)]
    name = keys.task_keys("acme", records[1].session_id, records[1].task_id).record
    await redis.delete(name)
    await redis.set(name, "spoilt")
    await Archiver(redis, None).archive_once()
    left = [await redis.zrange(keys.partition_keys(number).unarchived, 0, -1) for number in range(PARTITIONS)]
    assert sum(len(members) for members in left) == 0


async def said(redis: Redis, *words: str) -> object:
    return await redis.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py


@pytest.mark.promise("upkeep.goes_on")
@pytest.mark.parametrize("spoilt", ["record", "newer", "turn"])
async def test_an_unreadable_turn_is_buried_at_last(redis: Redis, task_store: TaskStore, spoilt: str) -> None:
    """It is a dead letter and a failed task, counted once; what waits behind it in its session goes on."""
    bad = await state_stage.accepted(task_store)
    after = a_record("s1")
    await task_store.accept(after, a_turn(after, text="after it"), dedupe=None)
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
    worker = state_stage.Acts(state_stage.finish)
    async with state_stage.running(redis, worker, RunnerLimits(attempts=2)) as runner:
        for _ in range(3):
            assert await runner.offer("acme", "s1")
            await runner.idle.wait()
    partition = keys.partition_keys_of("acme", "s1")
    letters = await redis.xrange(partition.dead_turns)
    letter = DeadTurn.model_validate_json(letters[0][1]["letter"])
    assert (len(letters), letter.turn.turn_id, letter.task_id) == (1, turn_id, bad.task_id)
    assert await said(redis, "HGET", names.record, "state") == "failed"
    stored = loads_object(unpack_task_record_json(str(await said(redis, "HGET", names.record, "json"))))
    is_newer = spoilt == "newer"
    assert (stored["dialect"] == "of a newer release") is is_newer  # kept for a release that can read it
    record = TaskRecord.model_validate_json(dumps({**stored, "dialect": bad.dialect.value}))
    assert (record.state, record.turns_done) == (TaskState.FAILED, (*(["earlier"] if is_newer else []), turn_id))
    assert (record.request == bad.request) is (spoilt != "record")
    entries = await redis.xrange(names.events)
    events = [event for entry_id, row in entries for _, event in parse_task_events(entry_id, row["e"])]
    assert [event.kind for event in events] == ["submitted", "status", "turn_finished"]
    assert events[-1].data == {"turn_id": turn_id, "state": "failed"}
    counted = [row["id"] for _, row in await redis.xrange(partition.outcomes)]
    assert counted == [f"{bad.task_id}:1", f"{after.task_id}:1"]
    assert worker.texts == ["after it"]
    assert not await redis.exists(session.begun)


TABLE = key_table()


def kind_of(name: str) -> KeyKind:
    found = [kind for kind in TABLE if kind.pattern.fullmatch(name)]
    assert len(found) == 1, f"{name} is not in the table, or twice"
    return found[0]


async def _lifetimes(redis: Redis) -> dict[str, tuple[str, int]]:
    """Key -> its stated lifetime and its seconds to live (-1: for good)."""
    return {name: (kind_of(name).lifetime, await redis.ttl(name)) async for name in redis.scan_iter()}


async def _wait_for_approval(redis: Redis, store: TaskStore) -> None:
    """A first turn that uses everything a turn can use, and ends waiting."""
    record = a_record("a:b{c}")
    await store.accept(record, a_turn(record), dedupe="m:1")
    await redis.hset(keys.task_keys("acme", record.session_id, record.task_id).push, "webhook", "off\n{}\nsealed")  # type: ignore[misc]  # redis-py
    await ArqWakes(redis).wake("acme", record.session_id)
    one = state_stage.sessions_of(redis, "one")
    begun = await state_stage.begin(one, record.session_id)
    await begun.store.append([JournalEntry("k", "note", "{}")], [state_stage.NOTE])
    await begun.store.open_write(state_stage.an_entry(), 1.0)
    await begun.store.settle_write(state_stage.an_entry(WriteStatus.UNSENT), WriteStatus.SENDING)
    end = state_stage.an_end(begun.work, TaskState.INPUT_REQUIRED)
    timer = Timer(NOON - timedelta(days=365), "a1")
    await begun.store.finish(end._replace(timer=timer, approval=state_stage.an_approval(record.task_id)))
    assert await one.begin_next_turn(begun.lease) is None


async def _end_it(redis: Redis, store: TaskStore) -> None:
    await Reaper(redis, ArqWakes(redis)).repair_once()
    two = state_stage.sessions_of(redis, "two")
    begun = await state_stage.begin(two, "a:b{c}")
    await state_stage.signalled(store, begun.work.record, TurnKind.CANCEL)
    await begun.store.finish(state_stage.an_end(begun.work, TaskState.REJECTED))
    work = await two.begin_next_turn(begun.lease)
    assert work is not None
    await two.turn_store(begun.lease, work).finish(state_stage.an_end(work, TaskState.CANCELED))
    assert await two.begin_next_turn(begun.lease) is None
    assert await Archiver(redis, None).archive_once() == 1


@pytest.mark.promise("state.keys_listed")
async def test_an_open_task_never_expires(redis: Redis, task_store: TaskStore) -> None:
    await _wait_for_approval(redis, task_store)
    found = await _lifetimes(redis)
    assert {ttl for lifetime, ttl in found.values() if lifetime in ("open", "empty", "kept")} == {-1}
    assert all(ttl > 0 for lifetime, ttl in found.values() if lifetime == "short")


@pytest.mark.promise("state.keys_listed")
async def test_an_ended_task_and_its_idle_session_leave_in_the_stated_time(redis: Redis, task_store: TaskStore) -> None:
    await _wait_for_approval(redis, task_store)
    await _end_it(redis, task_store)
    found = await _lifetimes(redis)
    of_session = {name: ttl for name, (_, ttl) in found.items() if ":s:" in name}
    of_task = {name: ttl for name, (_, ttl) in found.items() if ":t:" in name or ":alias:" in name}
    assert set(map(_last, of_session)) == {"session", "lease"}
    assert set(map(_last, of_task)) >= words_of("A task's")
    assert all(0 < ttl <= keys.SESSION_RETENTION_SECONDS for ttl in of_session.values())
    assert all(0 < ttl <= keys.TASK_RETENTION_SECONDS for ttl in of_task.values())
    left = {name for name, (lifetime, _) in found.items() if lifetime == "empty" and not name.startswith("pa:queue")}
    assert left == set()


@pytest.mark.promise("state.keys_listed")
async def test_a_new_task_keeps_its_session_from_leaving(redis: Redis, task_store: TaskStore) -> None:
    await _wait_for_approval(redis, task_store)
    await _end_it(redis, task_store)
    record = a_record("a:b{c}")
    await task_store.accept(record, a_turn(record), dedupe=None)
    names = keys.session_keys("acme", "a:b{c}")
    assert [await redis.ttl(name) for name in (names.session, names.lease)] == [-1, -1]


@pytest.mark.promise("state.keys_listed")
@each_row(
    ("group", "kind"),
    ("A session's", keys.SessionKeys),
    ("A task's", keys.TaskKeys),
    ("A partition's", keys.PartitionKeys),
    ("What is learned of a tenant", keys.LearnedKeys),
)
def test_the_page_lists_every_key_that_the_code_names(group: str, kind: type) -> None:
    assert {field.name for field in fields(kind)} <= words_of(group)


async def test_no_name_of_a_client_forges_a_key_of_another() -> None:
    assert keys.session_keys("a", "b:s:c") != keys.session_keys("a:b", "s:c")
    assert keys.unpack_member(
        keys.SessionMember, keys.pack_member(keys.SessionMember("a:b", "c{d}/é"))
    ) == keys.SessionMember("a:b", "c{d}/é")


async def test_all_keys_of_a_session_share_one_tag() -> None:
    names = [keys.session_keys("acme", "s").inbox, keys.task_keys("acme", "s", "t").record]
    names += [keys.partition_keys_of("acme", "s").waiting, keys.dedupe_key("acme", "s", "anna", "m")]
    assert len({re.findall(r"\{(p\d\d)\}", name)[0] for name in names}) == 1


def _last(name: str) -> str:
    return name.rpartition(":")[2]
