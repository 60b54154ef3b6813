"""How many sessions may wait for an executor: held by all gateways together, in the step that stores a message."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from redis.asyncio import Redis

from shared.infra import keys
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.ports.tasks import Accepted, TooManyWait
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.state_stage import accepted, begin, sessions_of

pytestmark = pytest.mark.promise("gateway.exact_limit")
MOST = 100


@pytest.fixture
async def gateways(redis: Redis, redis_server: str) -> AsyncIterator[tuple[TaskStore, TaskStore]]:
    """The stores of two gateways, each with connections of its own."""
    del redis  # its database is empty
    async with AsyncExitStack() as held:
        stores: list[TaskStore] = []
        for _ in range(2):
            client = connect(redis_server)
            held.push_async_callback(client.aclose)
            stores.append(TaskStore(client, await held.enter_async_context(Live(client)), most_waiting=MOST))
        yield stores[0], stores[1]


async def _send(store: TaskStore, name: str) -> Accepted:
    record = a_record(name)
    return await store.accept(record, a_turn(record), dedupe=name)


async def _waiting(redis: Redis) -> int:
    return sum([await redis.zcard(partition.waiting) for partition in keys.all_partitions()])


async def test_of_500_callers_at_once_over_two_gateways_exactly_as_many_are_let_in_as_may_wait(
    gateways: tuple[TaskStore, TaskStore], redis: Redis
) -> None:
    """Whoever was let in finds the task again when the message comes once more; of the others nothing is left."""
    sending = (_send(gateways[number % 2], f"s{number}") for number in range(500))
    replies = await asyncio.gather(*sending, return_exceptions=True)
    assert sum(isinstance(reply, Accepted) for reply in replies) == MOST
    assert sum(isinstance(reply, TooManyWait) for reply in replies) == 500 - MOST
    assert await _waiting(redis) == MOST

    number = next(number for number, reply in enumerate(replies) if isinstance(reply, Accepted))
    again = await _send(gateways[(number + 1) % 2], f"s{number}")
    assert (again.fresh, await _waiting(redis)) == (False, MOST)
    assert len([name async for name in redis.scan_iter("pa:alias:*", count=1000)]) == MOST


async def test_as_many_are_let_in_as_were_begun_or_put_off(gateways: tuple[TaskStore, TaskStore], redis: Redis) -> None:
    """Who was put off waits for a slot of the own tenant, and is nobody's load."""
    for number in range(MOST):
        await _send(gateways[0], f"s{number}")
    with pytest.raises(TooManyWait):
        await _send(gateways[1], "early")
    await begin(sessions_of(redis, "one"), "s1")
    member = keys.pack(keys.Member("acme", "s2"))
    await redis.zadd(keys.partition_keys_of("acme", "s2").waiting, {member: 4_000_000_000_000})

    assert [(await _send(gateways[1], name)).fresh for name in ("late", "later")] == [True, True]
    with pytest.raises(TooManyWait):
        await _send(gateways[0], "too late")


async def test_where_few_waited_a_moment_ago_nothing_is_counted(redis: Redis) -> None:
    """The limit is so far off that it cannot be reached until the next count."""
    async with Live(redis) as live:
        store = TaskStore(redis, live, most_waiting=5_000)
        await accepted(store, "s1")
        await redis.config_resetstat()
        await accepted(store, "s2")
        commands = await redis.info("commandstats")
    assert "cmdstat_zcount" not in commands
