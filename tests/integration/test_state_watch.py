"""Watching a task: every event once, in order, whatever happens meanwhile."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis.asyncio import Redis

from services.executor.ports.turns import TurnStore
from shared.contracts.task import TaskEvent, TaskRecord
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import NOON
from tests.integration.state_stage import accepted, begin, sessions_of

EVENTS = 150
PATIENCE = 20.0


async def _numbers(store: TaskStore, record: TaskRecord, after: str = "0") -> list[int]:
    """What a watcher sees, up to the last number."""
    seen: list[int] = []
    async with asyncio.timeout(PATIENCE), aclosing(store.watch("acme", record.task_id, after)) as events:
        async for _, event in events:
            if event.kind == "note":
                seen.append(int(str(event.data["n"])))
            if seen and seen[-1] == EVENTS - 1:
                return seen
    return seen


async def _tell(store: TurnStore, first: int, last: int) -> None:
    for number in range(first, last):
        await store.append((), [TaskEvent(kind="note", at=NOON, data={"n": number})])


@pytest.mark.promise("state.watch_gapless")
async def test_watchers_that_come_at_any_time_see_every_event_once(redis: Redis, task_store: TaskStore) -> None:
    record = await accepted(task_store)
    begun = await begin(sessions_of(redis, "one"))
    async with asyncio.TaskGroup() as group:
        watchers = []
        for first in range(0, EVENTS, 30):
            watchers.append(group.create_task(_numbers(task_store, record)))
            await _tell(begun.store, first, first + 30)
    assert [watcher.result() for watcher in watchers] == [list(range(EVENTS))] * len(watchers)


@pytest.mark.promise("state.watch_gapless")
async def test_a_lost_subscription_loses_no_event(redis: Redis, task_store: TaskStore) -> None:
    record = await accepted(task_store)
    begun = await begin(sessions_of(redis, "one"))
    async with asyncio.TaskGroup() as group:
        watchers = [group.create_task(_numbers(task_store, record)) for _ in range(3)]
        await _tell(begun.store, 0, 50)
        assert await redis.client_kill_filter(_type="pubsub") == 1
        await _tell(begun.store, 50, EVENTS)
    assert [watcher.result() for watcher in watchers] == [list(range(EVENTS))] * 3


async def test_nobody_stays_subscribed_to_a_task_that_is_not_watched(redis: Redis, task_store: TaskStore) -> None:
    record = await accepted(task_store)
    async with aclosing(task_store.watch("acme", record.task_id)) as events:
        await anext(events)
        assert len(await redis.pubsub_channels("*events")) == 1
    async with asyncio.timeout(PATIENCE):
        while await redis.pubsub_channels("*events"):
            await redis.ping()


async def test_a_watch_outlives_a_restart_of_redis() -> None:
    with TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        redis = connect(server.url)
        async with Live(redis) as live:
            store = TaskStore(redis, live)
            record = await accepted(store)
            begun = await begin(sessions_of(redis, "one", 60.0))
            async with asyncio.TaskGroup() as group:
                watcher = group.create_task(_numbers(store, record))
                await _tell(begun.store, 0, 10)
                await asyncio.to_thread(server.stop)
                server.start()
                await _tell(begun.store, 10, EVENTS)
            assert watcher.result() == list(range(EVENTS))
        await redis.aclose()
