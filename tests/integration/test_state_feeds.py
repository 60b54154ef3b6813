"""Watching a task: every event once, in order, and what it costs."""

import asyncio
from contextlib import AsyncExitStack, aclosing
from random import Random

import pytest
from redis.asyncio import Redis

from services.executor.ports.turns import TurnStore
from shared.contracts.task import TaskEvent, TaskRecord
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis_pools import MOST_CONNECTIONS
from shared.infra.task_store import TaskStore
from shared.ports.tasks import EventsLost
from tests.doubles.redis_tasks import NOON
from tests.integration.state_stage import accepted, begin, begun_turn, sessions_of

PATIENCE = 20.0
EVENTS, MANY = 60, 150
_OTHERS = 10  # clients of other tests that have not left yet


async def _tell(store: TurnStore, *numbers: int) -> None:
    for number in numbers:
        await store.append((), [TaskEvent(kind="note", at=NOON, data={"n": number})])


async def _numbers(
    store: TaskStore, record: TaskRecord, told: asyncio.Semaphore | None = None, count: int = EVENTS
) -> list[int]:
    """What a watcher sees, up to the last number."""
    seen: list[int] = []
    async with asyncio.timeout(PATIENCE), aclosing(store.watch("acme", record.task_id)) as events:
        async for _, event in events:
            if event.kind == "note":
                seen.append(int(str(event.data["n"])))
                if told:
                    told.release()
            if seen and seen[-1] == count - 1:
                break
    return seen


async def _reads(redis: Redis) -> int:
    """How often a task's events were read: nothing else in this test asks for a stream's figures."""
    stats = await redis.info("commandstats")
    return int(stats.get("cmdstat_xinfo|stream", {"calls": 0})["calls"])


@pytest.mark.promise("state.watch_costs")
async def test_an_event_is_read_once_however_many_watch(redis: Redis, task_store: TaskStore) -> None:
    watchers, told = 40, asyncio.Semaphore(0)
    begun = await begun_turn(redis, task_store)
    async with asyncio.TaskGroup() as group:
        for _ in range(watchers):
            group.create_task(_numbers(task_store, begun.record, told))
        await _tell(begun.store, 0)
        for _ in range(watchers):  # everybody is watching
            await told.acquire()
        before = await _reads(redis)
        for number in range(1, EVENTS):
            await _tell(begun.store, number)
            for _ in range(watchers):
                await told.acquire()
        after = await _reads(redis)
    assert after - before <= EVENTS


@pytest.mark.promise("state.watch_costs")
async def test_a_follower_gets_an_event_with_its_message_unread(redis: Redis, task_store: TaskStore) -> None:
    told = asyncio.Semaphore(0)
    begun = await begun_turn(redis, task_store)
    async with asyncio.TaskGroup() as group:
        follower = group.create_task(_numbers(task_store, begun.record, told))
        await _tell(begun.store, 0)
        await told.acquire()
        before = await _reads(redis)
        for number in range(1, EVENTS):
            await _tell(begun.store, number)
            await told.acquire()
        after = await _reads(redis)
    assert follower.result() == list(range(EVENTS))
    assert after - before <= 2  # the last of what it began by reading


@pytest.mark.promise("state.watch_gapless")
async def test_a_message_without_its_event_has_it_read(redis: Redis, task_store: TaskStore) -> None:
    """As a process of an earlier version publishes."""
    told = asyncio.Semaphore(0)
    begun = await begun_turn(redis, task_store)
    stream = keys.task_keys("acme", begun.record.session_id, begun.record.task_id).events
    async with asyncio.TaskGroup() as group:
        follower = group.create_task(_numbers(task_store, begun.record, told))
        await _tell(begun.store, 0)
        await told.acquire()
        for number in range(1, EVENTS):
            event = TaskEvent(kind="note", at=NOON, data={"n": number})
            await redis.publish(stream, str(await redis.xadd(stream, {"e": event.model_dump_json()})))
    assert follower.result() == list(range(EVENTS))


@pytest.mark.promise("state.watch_costs")
async def test_many_watchers_need_few_connections(redis: Redis, task_store: TaskStore) -> None:
    """Also when all come at once."""
    records = [await accepted(task_store, f"s{number}") for number in range(50)]
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE):
        streams = [task_store.watch("acme", record.task_id) for record in records * 10]
        for events in streams:
            await stack.enter_async_context(aclosing(events))
        await asyncio.gather(*(anext(events) for events in streams))
        clients = await redis.client_list()
    assert len(clients) <= MOST_CONNECTIONS + _OTHERS


@pytest.mark.promise("state.watch_gapless")
async def test_a_watcher_who_leaves_takes_nothing_from_the_others(redis: Redis, task_store: TaskStore) -> None:
    """Also when it leaves while it was reading for all."""
    random = Random(8)  # noqa: S311  # the same in every run
    begun = await begun_turn(redis, task_store)
    async with asyncio.TaskGroup() as group:
        staying = [group.create_task(_numbers(task_store, begun.record)) for _ in range(5)]
        leaving = [asyncio.ensure_future(_numbers(task_store, begun.record)) for _ in range(30)]
        for number in range(EVENTS):
            telling = group.create_task(_tell(begun.store, number))
            if leaving and random.random() < 0.6:
                leaving.pop().cancel()
            await telling
        for watcher in leaving:
            watcher.cancel()
    assert [watcher.result() for watcher in staying] == [list(range(EVENTS))] * 5


@pytest.mark.promise("state.watch_gapless")
async def test_a_watcher_who_is_too_far_behind_is_told_so(redis: Redis, task_store: TaskStore) -> None:
    """And one who has seen enough goes on beside it."""
    begun = await begun_turn(redis, task_store)
    await _tell(begun.store, *range(EVENTS))
    async with aclosing(task_store.watch("acme", begun.record.task_id)) as events:
        ids = [(await anext(events))[0] for _ in range(EVENTS + 1)]
    stream = keys.task_keys("acme", begun.record.session_id, begun.record.task_id).events
    await redis.xtrim(stream, maxlen=10, approximate=False)
    async with aclosing(task_store.watch("acme", begun.record.task_id, ids[3])) as behind:
        with pytest.raises(EventsLost):
            await anext(behind)
        async with aclosing(task_store.watch("acme", begun.record.task_id, ids[-3])) as ahead:
            assert [(await anext(ahead))[0] for _ in range(2)] == ids[-2:]
    async with aclosing(task_store.watch("acme", begun.record.task_id)) as fresh:
        assert (await anext(fresh))[0] == ids[-10]


@pytest.mark.promise("state.watch_gapless")
async def test_watchers_that_come_at_any_time_see_every_event_once(redis: Redis, task_store: TaskStore) -> None:
    begun = await begun_turn(redis, task_store)
    async with asyncio.TaskGroup() as group:
        watchers = []
        for first in range(0, MANY, 30):
            watchers.append(group.create_task(_numbers(task_store, begun.record, count=MANY)))
            await _tell(begun.store, *range(first, first + 30))
    assert [watcher.result() for watcher in watchers] == [list(range(MANY))] * len(watchers)


@pytest.mark.promise("state.watch_gapless")
async def test_a_lost_subscription_loses_no_event(redis: Redis, task_store: TaskStore) -> None:
    begun = await begun_turn(redis, task_store)
    async with asyncio.TaskGroup() as group:
        watchers = [group.create_task(_numbers(task_store, begun.record, count=MANY)) for _ in range(3)]
        await _tell(begun.store, *range(50))
        assert await redis.client_kill_filter(_type="pubsub") == 1
        await _tell(begun.store, *range(50, MANY))
    assert [watcher.result() for watcher in watchers] == [list(range(MANY))] * 3


async def test_nobody_stays_subscribed_to_a_task_that_is_not_watched(redis: Redis, task_store: TaskStore) -> None:
    record = await accepted(task_store)
    async with aclosing(task_store.watch("acme", record.task_id)) as events:
        await anext(events)
        assert len(await redis.pubsub_channels("*events")) == 1
    async with asyncio.timeout(PATIENCE):
        while await redis.pubsub_channels("*events"):
            await redis.ping()


async def test_a_watch_outlives_a_restart_of_redis(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    async with ChannelListener(own_redis) as live:
        store = TaskStore(own_redis, live)
        record = await accepted(store)
        begun = await begin(sessions_of(own_redis, "one", 60.0))
        async with asyncio.TaskGroup() as group:
            watcher = group.create_task(_numbers(store, record, count=MANY))
            await _tell(begun.store, *range(10))
            await asyncio.to_thread(own_server.stop)
            own_server.start()
            await _tell(begun.store, *range(10, MANY))
        assert watcher.result() == list(range(MANY))
