"""Real executor processes: a wake starts a task, and a task outlives its executor."""

import asyncio
import signal
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis.asyncio import Redis

from shared.contracts.task import TaskRecord, TaskRequest
from shared.domain.words import TaskState
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.infra.wakes import ArqWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.executor_process import executor_process
from tools.bench.executor.no_work import STARTED, WAIT

PATIENCE = 30.0


async def _sent(store: TaskStore, text: str, session_id: str) -> TaskRecord:
    record = a_record(session_id).model_copy(update={"request": TaskRequest(text=text)})
    await store.accept(record, a_turn(record), dedupe=None)
    return record


async def _times(store: TaskStore, record: TaskRecord, kind: str, count: int) -> None:
    """Wait until an event of that kind was seen so often."""
    async with asyncio.timeout(PATIENCE), aclosing(store.watch("acme", record.task_id)) as events:
        async for _, event in events:
            count -= event.kind == kind
            if not count:
                return


async def test_a_wake_starts_a_task_in_another_process(redis: Redis, redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url):
        record = await _sent(task_store, "go", "s1")
        await ArqWakes(redis).wake("acme", "s1")
        await _times(task_store, record, "turn_finished", 1)
    ended = await task_store.record("acme", record.task_id)
    assert ended is not None
    assert ended.state is TaskState.COMPLETED


@pytest.mark.promise("state.lost_wake")
async def test_a_task_whose_wake_was_lost_is_carried_out(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url):
        record = await _sent(task_store, "go", "s1")
        await _times(task_store, record, "turn_finished", 1)


@pytest.mark.promise("state.dead_owner")
async def test_the_turn_of_a_killed_executor_is_taken_up_by_another(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url, LEASE_SECONDS="1") as first:
        record = await _sent(task_store, WAIT, "s1")
        await _times(task_store, record, STARTED, 1)
        with executor_process(redis_url, LEASE_SECONDS="1"):
            first.send_signal(signal.SIGKILL)
            await _times(task_store, record, STARTED, 2)


async def test_an_executor_that_is_stopped_hands_its_turns_over(redis_url: str, task_store: TaskStore) -> None:
    with executor_process(redis_url, LEASE_SECONDS="600") as first:
        record = await _sent(task_store, WAIT, "s1")
        await _times(task_store, record, STARTED, 1)
        with executor_process(redis_url):
            first.send_signal(signal.SIGTERM)
            await _times(task_store, record, STARTED, 2)
            assert await asyncio.to_thread(first.wait, PATIENCE) == 0


async def test_a_full_executor_leaves_further_sessions_to_others(
    redis: Redis, redis_url: str, task_store: TaskStore
) -> None:
    with executor_process(redis_url, EXECUTOR_CAPACITY="1"):
        first = await _sent(task_store, WAIT, "s1")
        await _times(task_store, first, STARTED, 1)
        second = await _sent(task_store, "go", "s2")
        await ArqWakes(redis).wake("acme", "s2")
        with executor_process(redis_url, EXECUTOR_CAPACITY="1"):
            await _times(task_store, second, "turn_finished", 1)


async def test_an_executor_outlives_a_restart_of_redis() -> None:
    with TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        redis = connect(server.url)
        async with Live(redis) as live:
            store = TaskStore(redis, live)
            with executor_process(server.url):
                before = await _sent(store, "go", "s1")
                await _times(store, before, "turn_finished", 1)
                await asyncio.to_thread(server.stop)
                server.start()
                after = await _sent(store, "go", "s2")
                await ArqWakes(redis).wake("acme", "s2")
                await _times(store, after, "turn_finished", 1)
        await redis.aclose()
