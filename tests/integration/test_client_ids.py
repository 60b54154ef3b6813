"""What is remembered of the ids that clients choose: little, and for a stated time."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.model import Thread
from services.gateway.features.tasks.store import MOST, RedisThreads
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra import keys
from shared.infra.keys import thread_key
from shared.infra.reads import Reads
from shared.infra.task_store import TaskStore
from tests.integration.gateway_stage import Stage, at, stage
from tests.integration.state_stage import accepted


@pytest.fixture
async def threads(redis: Redis, redis_url: str) -> AsyncIterator[RedisThreads]:
    reads = Reads(redis, redis_url)
    yield RedisThreads(redis, reads)
    reads.close()


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_client_that_uses_one_id_for_ever_does_not_fill_the_store(threads: RedisThreads, redis: Redis) -> None:
    """Its newest task and the last answer are never among what is forgotten."""
    key = thread_key("acme", "daily")
    await threads.points_to("acme", "daily", "t9")
    await redis.hset(key, mapping={f"answered:{number}": "turn" for number in range(MOST)})  # type: ignore[misc]  # redis-py
    await threads.note_answer("acme", "daily", "new", "turn-new")
    noted = await redis.hlen(key)  # type: ignore[misc]  # redis-py
    kept = await threads.thread_of("acme", "daily", "new")
    assert MOST // 2 < noted < MOST
    assert (kept.task_id, kept.answered) == ("t9", "turn-new")


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_task_that_was_found_before_is_found_as_it_is_now(
    threads: RedisThreads, redis: Redis, task_store: TaskStore
) -> None:
    """What a replica remembers of a task is never what a client is shown."""
    record = await accepted(task_store)
    found = [await threads.find(task_store, "acme", record.task_id, "") for _ in range(3)]
    row = keys.task_keys("acme", record.session_id, record.task_id).record
    changed = record.model_copy(update={"reason": "changed"})
    await redis.hset(row, "json", changed.model_dump_json())  # type: ignore[misc]  # redis-py
    _, now = await threads.find(task_store, "acme", record.task_id, "")
    await threads.points_to("acme", record.task_id, "newer")
    pointed = await threads.find(task_store, "acme", record.task_id, "")
    await redis.delete(thread_key("acme", record.task_id), row)
    gone = await threads.find(task_store, "acme", record.task_id, "")
    assert found == [(Thread(), record)] * 3
    assert now == changed
    assert pointed == (Thread(task_id="newer"), None)
    assert gone == (Thread(), None)


@pytest.mark.promise("gateway.threads_bounded")
async def test_a_task_that_was_found_before_costs_one_round_trip(
    threads: RedisThreads, redis: Redis, task_store: TaskStore
) -> None:
    record = await accepted(task_store)
    for _ in range(2):
        await threads.find(task_store, "acme", record.task_id, "")
    before = int((await redis.info("stats"))["total_reads_processed"])
    for _ in range(10):
        await threads.find(task_store, "acme", record.task_id, "")
    after = int((await redis.info("stats"))["total_reads_processed"])
    assert after - before <= 10 + 1  # and the question itself


@pytest.mark.promise("gateway.threads_bounded")
async def test_who_knows_a_tasks_session_looks_up_no_id(redis: Redis, task_store: TaskStore) -> None:
    """Followers have the task's record already: its id is resolved once a request, not with each of their reads."""
    record = await accepted(task_store)
    tenant, task_id, session_id = record.tenant, record.task_id, record.session_id
    await redis.delete(keys.alias_key(tenant, task_id))
    standing = await task_store.standing(tenant, task_id, session_id)
    async with aclosing(task_store.watch(tenant, task_id, "0", session_id)) as events:
        first, event = await anext(events)
    assert await task_store.record(tenant, task_id, session_id) == record
    assert standing is not None
    assert (standing.record, standing.newest, event.kind) == (record, first, "submitted")
    assert await task_store.record(tenant, task_id) is None


_NEW = {"A2A-Version": "1.0"}
_CARD = "/.well-known/agent-card.json"


async def _sent(play: Stage) -> str:
    said: JsonObject = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    reply = await play.client.post("/message:send", json={"message": said}, headers=_NEW)
    return str(at(loads_object(reply.text), "task.id"))


@pytest.mark.promise("gateway.message_id_window")
async def test_within_the_window_the_same_id_is_the_same_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, message_id_window=120) as play:
        assert await _sent(play) == await _sent(play)
    keys = [key async for key in redis.scan_iter("*:dedupe:*")]
    assert [0 < await redis.ttl(key) <= 120 for key in keys] == [True]


@pytest.mark.promise("gateway.message_id_window")
async def test_without_a_window_ids_may_repeat(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, message_id_window=0) as play:
        assert await _sent(play) != await _sent(play)


@pytest.mark.promise("gateway.card")
@pytest.mark.parametrize(
    ("card", "has", "lacks"), [("1.0", "supportedInterfaces", "url"), ("0.3", "url", "supportedInterfaces")]
)
async def test_a_setting_says_which_card_is_the_usual_one(
    redis: Redis, redis_url: str, card: str, has: str, lacks: str
) -> None:
    async with stage(redis, redis_url, a2a_card=card) as play:
        usual = loads_object((await play.client.get(_CARD)).text)
        new = loads_object((await play.client.get(_CARD, headers=_NEW)).text)
    assert has in usual
    assert lacks not in usual
    assert "url" not in new
