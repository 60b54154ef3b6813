"""A task is read the same way by the short way and by the common one.

A header that comes twice is enough for the common way, and changes no answer.
"""

from itertools import product

import httpx
import pytest
from redis.asyncio import Redis

from services.gateway.first_key import first_key
from tests.integration.gateway_stage import Stage, stage
from tests.integration.test_gateway_keys import LOCKED, locked

_NEW = [("A2A-Version", "1.0"), ("Content-Type", "application/json")]
_WAYS: tuple[list[tuple[str, str]], ...] = ([], [("X-Note", "a"), ("X-Note", "b")])


async def _task(play: Stage) -> str:
    params = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    sent = await play.client.post("/", json=body, headers={"A2A-Version": "1.0"})
    return str(sent.json()["result"]["task"]["id"])


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
async def test_a_task_is_read_alike_on_both_ways(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
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
async def test_who_may_not_read_is_refused_alike(redis: Redis, redis_url: str) -> None:
    async with locked(redis, redis_url) as (play, token):
        for given in ("", "Bearer pa_unknown_key", f"Bearer {token}"):
            head = [*_NEW, ("Authorization", given)]
            replies = [await play.client.get("/tasks/nobody-made", headers=[*head, *more]) for more in _WAYS]
            assert _words(replies[0]) == _words(replies[1])


async def test_a_read_counts_once_against_the_limit_of_its_key(redis: Redis, redis_url: str) -> None:
    token = (await first_key(redis_url, "acme", "olga", again=False)).token
    async with stage(redis, redis_url, **LOCKED, rate_requests=5) as play:
        head = {"A2A-Version": "1.0", "Authorization": f"Bearer {token}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "nobody"}}
        calls = [body, body, {**body, "method": "ListTasks"}, body, body, body]
        replies = [await play.client.post("/", json=call, headers=head) for call in calls]
    assert [one.headers["RateLimit"].split(";")[1] for one in replies] == ["r=4", "r=3", "r=2", "r=1", "r=0", "r=0"]
    assert [one.status_code for one in replies] == [200, 200, 200, 200, 200, 429]
