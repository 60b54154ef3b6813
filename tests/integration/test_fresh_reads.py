"""What a replica keeps of the tasks that it has read is never what it answers with."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.model import Thread
from services.gateway.features.tasks.store import RedisThreads
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.reads import Reads
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import accepted, an_end, begin, sessions_of

pytestmark = pytest.mark.promise("gateway.reads_fresh")


class Replica:
    """One gateway's look at the tasks."""

    def __init__(self, redis: Redis, url: str, store: TaskStore) -> None:
        self.reads, self._store = Reads(redis, url), store
        self.threads = RedisThreads(redis, self.reads)

    async def find(self, task_id: str, tenant: str = "acme") -> tuple[Thread, TaskRecord | None]:
        return await self.threads.find(self._store, tenant, task_id, "")


Replicas = tuple[Replica, Replica]


@pytest.fixture
async def replicas(redis: Redis, redis_url: str, task_store: TaskStore) -> AsyncIterator[Replicas]:
    both = Replica(redis, redis_url, task_store), Replica(redis, redis_url, task_store)
    yield both
    for one in both:
        one.reads.close()


async def _read_twice(replicas: Replicas, task_id: str) -> list[tuple[Thread, TaskRecord | None]]:
    return [await one.find(task_id) for _ in range(2) for one in replicas]


async def _ended(redis: Redis, store: TaskStore) -> TaskRecord:
    record = await accepted(store)
    begun = await begin(sessions_of(redis, "one"))
    await begun.store.finish(an_end(begun.work))
    found = await store.record("acme", record.task_id)
    assert found is not None
    return found


async def test_each_change_of_a_task_is_read_at_once_by_every_replica(
    redis: Redis, task_store: TaskStore, replicas: Replicas
) -> None:
    record = await accepted(task_store)
    row = keys.task_keys("acme", record.session_id, record.task_id).record
    for step, state in enumerate((TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.COMPLETED)):
        changed = record.model_copy(update={"state": state, "reason": f"step {step}"})
        await redis.hset(row, "json", changed.stored_json())  # type: ignore[misc]  # redis-py
        assert await _read_twice(replicas, record.task_id) == [(Thread(), changed)] * 4


async def test_an_ended_task_that_leaves_is_gone_at_once(
    redis: Redis, task_store: TaskStore, replicas: Replicas
) -> None:
    record = await _ended(redis, task_store)
    assert await _read_twice(replicas, record.task_id) == [(Thread(), record)] * 4
    row = keys.task_keys("acme", record.session_id, record.task_id).record
    await redis.delete(keys.alias_key("acme", record.task_id), row)
    assert await _read_twice(replicas, record.task_id) == [(Thread(), None)] * 4


async def test_an_id_that_leads_to_a_newer_task_leads_there_at_once(
    redis: Redis, task_store: TaskStore, replicas: Replicas
) -> None:
    """Whichever replica noted it."""
    record = await _ended(redis, task_store)
    assert await _read_twice(replicas, record.task_id) == [(Thread(), record)] * 4
    await replicas[0].threads.points_to("acme", record.task_id, "newer")
    assert await _read_twice(replicas, record.task_id) == [(Thread("newer"), None)] * 4
    await replicas[1].threads.points_to("acme", record.task_id, record.task_id)
    assert await _read_twice(replicas, record.task_id) == [(Thread(record.task_id), record)] * 4


async def test_what_is_kept_of_a_task_is_its_tenants_alone(
    redis: Redis, task_store: TaskStore, replicas: Replicas
) -> None:
    record = await _ended(redis, task_store)
    await _read_twice(replicas, record.task_id)
    assert [await one.find(record.task_id, "other") for one in replicas] == [(Thread(), None)] * 2
