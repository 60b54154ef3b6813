"""Reads: what a replica keeps is never what it answers with, and the short way answers as the common one does."""

from itertools import product

import httpx
import pytest
from redis.asyncio import Redis

from services.gateway.features.tasks.store import MessageKey, RedisClientIds
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.task_store import TaskStore
from tests.http_client import rpc_body
from tests.integration.gateway_stage import Locked, Stage, at, locked_stage
from tests.integration.state_stage import accepted, an_end, begin, sessions_of, stored_record

Replicas = tuple[RedisClientIds, RedisClientIds]


@pytest.fixture
def replicas(redis: Redis, task_store: TaskStore) -> Replicas:
    return RedisClientIds(redis, task_store), RedisClientIds(redis, task_store)


async def _find(replica: RedisClientIds, task_id: str, tenant: str = "acme") -> TaskRecord | None:
    return (await replica.find_task(MessageKey(tenant, task_id))).record


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


_NEW = [("A2A-Version", "1.0"), ("Content-Type", "application/json")]
_WAYS: tuple[list[tuple[str, str]], ...] = ([], [("X-Note", "a"), ("X-Note", "b")])


async def _task(play: Stage) -> str:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    return str(at(await play.rpc("SendMessage", {"message": message}, "1.0"), "result.task.id"))


def _words(response: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """What was answered, but for the time and the request's own name."""
    changing = ("date", "x-request-id", "ratelimit")
    return response.status_code, {k: v for k, v in response.headers.items() if k not in changing}, response.content


_CALLS = [
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":"a\\u00e9","method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":"","method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":true,"method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":1.5,"method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":null,"method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":1e400,"method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":"\\ud800","method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"TASK","historyLength":0}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"TASK","tenant":"other"}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"nobody-made-this"}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":""}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"~' + "0" * 64 + '"}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\\ud800"}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}',
    '{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":1,"method":["GetTask"],"params":{"id":"TASK"}}',
    '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}',
    '[{"jsonrpc":"2.0"}]',
    "\ufeff" + '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"TASK"}}',
    "{",
    "",
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":' + '{"id":' * 3000 + "1" + "}" * 3001,
]


_PATHS = ["TASK", "nobody-made-this", "TASK?historyLength=0", "TASK:cancel", "%2e%2e", "a" * 300]
_ACCEPTED = ["*/*", "application/json", "application/a2a+json, application/json"]


@pytest.mark.promise("gateway.task_json")
async def test_a_task_is_read_alike_on_both_ways(play: Stage) -> None:
    task_id = await _task(play)
    for call in _CALLS:
        body = call.replace("TASK", task_id).encode()
        short, common = [await play.client.post("/", content=body, headers=[*_NEW, *more]) for more in _WAYS]
        assert _words(short) == _words(common), call
    for name, accept in product(_PATHS, _ACCEPTED):
        path, head = f"/tasks/{name.replace('TASK', task_id)}", [*_NEW, ("Accept", accept)]
        short, common = [await play.client.get(path, headers=[*head, *more]) for more in _WAYS]
        assert _words(short) == _words(common), (path, accept)
    for header in (("Origin", "https://elsewhere.example"), ("Host", "elsewhere.example")):
        head = [*_NEW, header]
        short, common = [await play.client.get("/tasks/t1", headers=[*head, *more]) for more in _WAYS]
        assert _words(short) == _words(common)
        assert short.status_code == 403


@pytest.mark.promise("gateway.keys")
async def test_who_may_not_read_is_refused_alike(locked: Locked) -> None:
    for given in ("", "Bearer pa_unknown_key", f"Bearer {locked.operator}"):
        head = [*_NEW, ("Authorization", given)]
        replies = [await locked.play.client.get("/tasks/nobody-made", headers=[*head, *more]) for more in _WAYS]
        assert _words(replies[0]) == _words(replies[1])


async def test_a_read_counts_once_against_the_limit_of_its_key(redis: Redis, redis_url: str) -> None:
    async with locked_stage(redis, redis_url, rate_requests=5) as locked:
        head = {"A2A-Version": "1.0", "Authorization": f"Bearer {locked.operator}"}
        body = rpc_body("GetTask", {"id": "nobody"})
        calls = [body, body, {**body, "method": "ListTasks"}, body, body, body]
        replies = [await locked.play.client.post("/", json=call, headers=head) for call in calls]
    assert [one.headers["RateLimit"].split(";")[1] for one in replies] == ["r=4", "r=3", "r=2", "r=1", "r=0", "r=0"]
    assert [one.status_code for one in replies] == [200, 200, 200, 200, 200, 429]
