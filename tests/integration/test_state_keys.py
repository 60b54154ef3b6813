"""Every key that a task leaves in Redis stands in the table, and lives as long as the table says."""

import re
from dataclasses import fields
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_ended import RedisEndedTasks
from services.executor.adapters.redis_upkeep import RedisUpkeep
from services.executor.core.turn.archiving import Archiver
from services.executor.core.turn.reaper import Reaper
from services.executor.ports.turns import JournalEntry, Timer
from shared.contracts.approval import Approval
from shared.contracts.plan import WritePlan
from shared.contracts.task import TurnKind
from shared.domain.partition import PARTITIONS
from shared.domain.words import TaskState, WriteStatus
from shared.infra import keys
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.each_row import each_row
from tests.integration.state_stage import NOTE, an_end, an_entry, begin, sessions_of, signalled
from tests.key_table import KeyKind, key_table, words_of

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
    one = sessions_of(redis, "one")
    begun = await begin(one, record.session_id)
    await begun.store.append([JournalEntry("k", "note", "{}")], [NOTE])
    await begun.store.open_write(an_entry(), 1.0)
    await begun.store.settle_write(an_entry(WriteStatus.UNSENT), WriteStatus.SENDING)
    end = an_end(begun.work, TaskState.INPUT_REQUIRED)
    timer = Timer(NOON - timedelta(days=365), "a1")
    await begun.store.finish(end._replace(timer=timer, approval=_approval(record.task_id)))
    assert await one.next(begun.lease) is None


async def _end_it(redis: Redis, store: TaskStore) -> None:
    await Reaper(RedisUpkeep(redis), ArqWakes(redis)).tick()
    two = sessions_of(redis, "two")
    begun = await begin(two, "a:b{c}")
    await signalled(store, begun.work.record, TurnKind.CANCEL)
    await begun.store.finish(an_end(begun.work, TaskState.REJECTED))
    work = await two.next(begun.lease)
    assert work is not None
    await two.turn_store(begun.lease, work).finish(an_end(work, TaskState.CANCELED))
    assert await two.next(begun.lease) is None
    assert await Archiver(RedisEndedTasks(redis), None).tick(range(PARTITIONS)) == 1


def _approval(task_id: str) -> Approval:
    return Approval(
        approval_id="a1",
        task_id=task_id,
        plan=WritePlan(task_id=task_id),
        plan_hash="h",
        verdict_hash="v",
        level=None,
        requester_id="anna",
        reasons=(),
        asked_at=NOON,
        deadline=NOON,
    )


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
    [
        ("A session's", keys.SessionKeys),
        ("A task's", keys.TaskKeys),
        ("A partition's", keys.PartitionKeys),
        ("What is learned of a tenant", keys.LearnedKeys),
    ],
)
def test_the_page_lists_every_key_that_the_code_names(group: str, kind: type) -> None:
    assert {field.name for field in fields(kind)} <= words_of(group)


async def test_no_name_of_a_client_forges_a_key_of_another() -> None:
    assert keys.session_keys("a", "b:s:c") != keys.session_keys("a:b", "s:c")
    assert keys.unpack(keys.Member, keys.pack(keys.Member("a:b", "c{d}/é"))) == keys.Member("a:b", "c{d}/é")


async def test_all_keys_of_a_session_share_one_tag() -> None:
    names = [keys.session_keys("acme", "s").inbox, keys.task_keys("acme", "s", "t").record]
    names += [keys.partition_keys_of("acme", "s").waiting, keys.dedupe_key("acme", "s", "anna", "m")]
    assert len({re.findall(r"\{(p\d\d)\}", name)[0] for name in names}) == 1


def _last(name: str) -> str:
    return name.rpartition(":")[2]
