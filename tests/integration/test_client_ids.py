"""What is kept for clients while they wait: of their ids little, and of sessions as many as all gateways allow."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing

import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.store import MOST_RECORDED_MESSAGES, MessageKey, RedisClientIds
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.keys import client_task_key
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.ports.tasks import Acceptance, TooManyWaiting
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.gateway_stage import Stage, at, stage
from tests.integration.state_stage import accepted, begin, sessions_of


@pytest.fixture
def client_ids(redis: Redis, task_store: TaskStore) -> RedisClientIds:
    return RedisClientIds(redis, task_store)


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_client_that_uses_one_id_for_ever_does_not_fill_the_store(
    client_ids: RedisClientIds, redis: Redis, task_store: TaskStore
) -> None:
    """Its newest task and the last answer are never among what is forgotten."""
    key, record = client_task_key("acme", "daily"), await accepted(task_store)
    daily = MessageKey("acme", "daily", "new")
    await client_ids.record_task(daily, record.task_id)
    await redis.hset(key, mapping={f"answered:{number}": "turn" for number in range(MOST_RECORDED_MESSAGES)})  # type: ignore[misc]  # redis-py
    await client_ids.record_answer_received(daily, "turn-new")
    noted = await redis.hlen(key)  # type: ignore[misc]  # redis-py
    kept = await client_ids.find_task(daily)
    assert MOST_RECORDED_MESSAGES // 2 < noted < MOST_RECORDED_MESSAGES
    assert (kept.record, kept.answered_turn_id) == (record, "turn-new")


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_task_found_before_costs_one_trip(
    client_ids: RedisClientIds, redis: Redis, task_store: TaskStore
) -> None:
    record = await accepted(task_store)
    for _ in range(2):
        await client_ids.find_task(MessageKey("acme", record.task_id))
    before = int((await redis.info("stats"))["total_reads_processed"])
    for _ in range(10):
        await client_ids.find_task(MessageKey("acme", record.task_id))
    after = int((await redis.info("stats"))["total_reads_processed"])
    assert after - before <= 10 + 1  # and the question itself


@pytest.mark.promise("gateway.threads_bounded")
async def test_who_knows_a_tasks_session_looks_up_no_id(redis: Redis, task_store: TaskStore) -> None:
    """Followers have the task's record already: its id is resolved once a request, not with each of their reads."""
    record = await accepted(task_store)
    tenant, task_id, session_id = record.tenant, record.task_id, record.session_id
    await redis.delete(keys.task_location_key(tenant, task_id))
    standing = await task_store.get_snapshot(tenant, task_id, session_id)
    async with aclosing(task_store.watch(tenant, task_id, "0", session_id)) as events:
        first, event = await anext(events)
    assert await task_store.get_record(tenant, task_id, session_id) == record
    assert standing is not None
    assert (standing.record, standing.newest, event.kind) == (record, first, "submitted")
    assert await task_store.get_record(tenant, task_id) is None


_NEW = {"A2A-Version": "1.0"}
_CARD = "/.well-known/agent-card.json"


async def _sent(play: Stage, **context: Json) -> str:
    return str(at(await _answered(play, **context), "id"))


async def _answered(play: Stage, **context: Json) -> Json:
    said: JsonObject = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}], **context}
    reply = await play.client.post("/message:send", json={"message": said}, headers=_NEW)
    return at(loads_object(reply.text), "task")


@pytest.mark.promise("gateway.message_id_window")
async def test_within_the_window_the_same_id_is_the_same_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, message_id_window=120) as play:
        assert await _sent(play) == await _sent(play)
    keys = [key async for key in redis.scan_iter("*:dedupe:*")]
    assert [0 < await redis.ttl(key) <= 120 for key in keys] == [True]


@pytest.mark.promise("gateway.message_id_window")
async def test_an_id_is_the_same_message_only_within_its_context(redis: Redis, redis_url: str) -> None:
    """A message without a context, and the same one with the context that it was given, are one."""
    async with stage(redis, redis_url) as play:
        of_its_own = await _answered(play)
        again = await _sent(play, contextId=at(of_its_own, "contextId"))
        tasks = {name: await _sent(play, contextId=name) for name in ("s1", "s44")}  # they lie in one partition
        assert again == at(of_its_own, "id")
        assert len({again, *tasks.values()}) == 3
        assert tasks == {name: await _sent(play, contextId=name) for name in tasks}


@pytest.mark.promise("gateway.message_id_window")
async def test_without_a_window_ids_may_repeat(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, message_id_window=0) as play:
        assert await _sent(play) != await _sent(play)


@pytest.mark.promise("gateway.card")
@pytest.mark.parametrize(
    ("card", "has", "lacks"), [("1.0", "supportedInterfaces", "url"), ("0.3", "url", "supportedInterfaces")]
)
async def test_a_setting_says_which_card_is_usual(
    redis: Redis, redis_url: str, card: str, has: str, lacks: str
) -> None:
    async with stage(redis, redis_url, a2a_card=card) as play:
        usual = loads_object((await play.client.get(_CARD)).text)
        new = loads_object((await play.client.get(_CARD, headers=_NEW)).text)
    assert has in usual
    assert lacks not in usual
    assert "url" not in new


MOST_WAITING = 100


@pytest.fixture
async def gateways(redis: Redis, redis_server: str) -> AsyncIterator[tuple[TaskStore, TaskStore]]:
    """The stores of two gateways, each with connections of its own."""
    del redis  # its database is empty
    async with AsyncExitStack() as held:
        stores: list[TaskStore] = []
        for _ in range(2):
            client = connect(redis_server)
            held.push_async_callback(client.aclose)
            stores.append(
                TaskStore(client, await held.enter_async_context(ChannelListener(client)), most_waiting=MOST_WAITING)
            )
        yield stores[0], stores[1]


async def _send(store: TaskStore, name: str) -> Acceptance:
    record = a_record(name)
    return await store.accept(record, a_turn(record), dedupe=name)


async def _waiting(redis: Redis) -> int:
    return sum([await redis.zcard(partition.waiting) for partition in keys.all_partitions()])


@pytest.mark.promise("gateway.exact_limit")
async def test_of_500_callers_as_many_are_let_in_as_may_wait(
    gateways: tuple[TaskStore, TaskStore], redis: Redis
) -> None:
    """Whoever was let in finds the task again when the message comes once more; of the others nothing is left."""
    sending = (_send(gateways[number % 2], f"s{number}") for number in range(500))
    replies = await asyncio.gather(*sending, return_exceptions=True)
    assert sum(isinstance(reply, Acceptance) for reply in replies) == MOST_WAITING
    assert sum(isinstance(reply, TooManyWaiting) for reply in replies) == 500 - MOST_WAITING
    assert await _waiting(redis) == MOST_WAITING

    number = next(number for number, reply in enumerate(replies) if isinstance(reply, Acceptance))
    again = await _send(gateways[(number + 1) % 2], f"s{number}")
    assert (again.is_new, await _waiting(redis)) == (False, MOST_WAITING)
    assert len([name async for name in redis.scan_iter("pa:alias:*", count=1000)]) == MOST_WAITING


@pytest.mark.promise("gateway.exact_limit")
async def test_as_many_are_let_in_as_were_begun_or_put_off(gateways: tuple[TaskStore, TaskStore], redis: Redis) -> None:
    """Who was put off waits for a slot of the own tenant, and is nobody's load."""
    for number in range(MOST_WAITING):
        await _send(gateways[0], f"s{number}")
    with pytest.raises(TooManyWaiting):
        await _send(gateways[1], "early")
    await begin(sessions_of(redis, "one"), "s1")
    member = keys.pack_member(keys.SessionMember("acme", "s2"))
    await redis.zadd(keys.partition_keys_of("acme", "s2").waiting, {member: 4_000_000_000_000})

    assert [(await _send(gateways[1], name)).is_new for name in ("late", "later")] == [True, True]
    with pytest.raises(TooManyWaiting):
        await _send(gateways[0], "too late")


@pytest.mark.promise("gateway.exact_limit")
async def test_where_few_waited_a_moment_ago_nothing_is_counted(redis: Redis) -> None:
    """The limit is so far off that it cannot be reached until the next count."""
    async with ChannelListener(redis) as live:
        store = TaskStore(redis, live, most_waiting=5_000)
        await accepted(store, "s1")
        await redis.config_resetstat()
        await accepted(store, "s2")
        commands = await redis.info("commandstats")
    assert "cmdstat_zcount" not in commands
