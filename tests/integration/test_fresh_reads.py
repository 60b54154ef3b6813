"""Reads: what a replica keeps is never what it answers with."""

import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.store import MessageKey, RedisClientIds
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import accepted, an_end, begin, sessions_of, stored_record

Replicas = tuple[RedisClientIds, RedisClientIds]


@pytest.fixture
def replicas(redis: Redis, task_store: TaskStore) -> Replicas:
    return RedisClientIds(redis, task_store), RedisClientIds(redis, task_store)


async def _find(replica: RedisClientIds, task_id: str, tenant: str = "acme") -> TaskRecord | None:
    return (await replica.find(MessageKey(tenant, task_id))).record


async def _read_twice(replicas: Replicas, task_id: str) -> list[TaskRecord | None]:
    return [await _find(one, task_id) for _ in range(2) for one in replicas]


async def _ended(redis: Redis, store: TaskStore) -> TaskRecord:
    record = await accepted(store)
    begun = await begin(sessions_of(redis, "one"))
    await begun.store.finish(an_end(begun.work))
    return await stored_record(store, record)


@pytest.mark.promise("gateway.reads_fresh")
async def test_each_change_is_read_at_once_by_every_replica(
    redis: Redis, task_store: TaskStore, replicas: Replicas
) -> None:
    record = await accepted(task_store)
    row = keys.task_keys("acme", record.session_id, record.task_id).record
    for step, state in enumerate((TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.COMPLETED)):
        changed = record.model_copy(update={"state": state, "reason": f"step {step}"})
        await redis.hset(row, "json", changed.stored_json())  # type: ignore[misc]  # redis-py
        assert await _read_twice(replicas, record.task_id) == [changed] * 4


@pytest.mark.promise("gateway.reads_fresh")
async def test_an_ended_task_that_left_is_gone_at_once(redis: Redis, task_store: TaskStore, replicas: Replicas) -> None:
    record = await _ended(redis, task_store)
    assert await _read_twice(replicas, record.task_id) == [record] * 4
    row = keys.task_keys("acme", record.session_id, record.task_id).record
    await redis.delete(keys.task_location_key("acme", record.task_id), row)
    assert await _read_twice(replicas, record.task_id) == [None] * 4


@pytest.mark.promise("gateway.reads_fresh")
async def test_an_id_of_a_newer_task_leads_there_at_once(
    redis: Redis, task_store: TaskStore, replicas: Replicas
) -> None:
    """Whichever replica noted it."""
    record = await _ended(redis, task_store)
    assert await _read_twice(replicas, record.task_id) == [record] * 4
    await replicas[0].record_task(MessageKey("acme", record.task_id), "newer")
    assert await _read_twice(replicas, record.task_id) == [None] * 4
    await replicas[1].record_task(MessageKey("acme", record.task_id), record.task_id)
    assert await _read_twice(replicas, record.task_id) == [record] * 4


@pytest.mark.promise("gateway.reads_fresh")
async def test_what_is_kept_of_a_task_is_its_tenants(redis: Redis, task_store: TaskStore, replicas: Replicas) -> None:
    record = await _ended(redis, task_store)
    await _read_twice(replicas, record.task_id)
    assert [await _find(one, record.task_id, "other") for one in replicas] == [None] * 2
