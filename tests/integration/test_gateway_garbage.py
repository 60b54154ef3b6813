"""Requests with something wrong somewhere: whatever it is, it is answered as JSON-RPC, and never with a 5xx."""

import json
from random import Random

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import loads_object
from tests.integration.gateway_stage import stage

BODIES = 250
METHODS = {
    "tasks/send": "",
    "tasks/get": "",
    "tasks/cancel": "",
    "tasks/sendSubscribe": "",
    "tasks/pushNotificationConfig/set": "",
    "message/send": "",
    "message/stream": "",
    "SendMessage": "1.0",
    "GetTask": "1.0",
    "ListTasks": "1.0",
    "CancelTask": "1.0",
    "SubscribeToTask": "1.0",
    "CreateTaskPushNotificationConfig": "1.0",
    "GetExtendedAgentCard": "1.0",
}
JUNK: tuple[object, ...] = (
    None, True, False, 0, -1, 3.5, 10**30, "", " ", "x" * 400, "\x00", "\u202e", "Ω", [], {}, [[]], [None],
    {"": ""}, {"text": 5}, {"a": {"b": [1, {"c": None}]}}, "ROLE_USER", "../../etc/passwd", "{p00}:*", "a:b",
)  # fmt: skip


def _valid() -> dict[str, object]:
    message = {
        "messageId": "m1",
        "role": "user",
        "contextId": "c1",
        "taskId": "t1",
        "metadata": {"session_id": "c1"},
        "parts": [{"text": "hello"}, {"data": {"decision": "approve", "comment": "ok"}}],
    }
    metadata = {
        "policy_doc": {"rules": [{"id": "r1"}]},
        "tools_endpoint": "http://127.0.0.1:1/",
        "session_id": "c1",
        "principal": {"id": "anna", "roles": ["client"], "levels": ["cfo"]},
    }
    return {
        "id": "t1",
        "sessionId": "c1",
        "historyLength": 2,
        "message": message,
        "metadata": metadata,
        "configuration": {"blocking": True, "historyLength": 1},
        "pushNotificationConfig": {"url": "http://127.0.0.1/"},
    }


def _spoil(value: object, random: Random) -> object:
    """Replace, drop or rename one thing somewhere in a JSON value."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        if random.random() < 0.15:
            return {other: item for other, item in value.items() if other != key}
        return {**value, key: _spoil(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.7:
        index = random.randrange(len(value))
        return [*value[:index], _spoil(value[index], random), *value[index + 1 :]]
    return random.choice(JUNK)


def _body(random: Random) -> tuple[str, dict[str, str]]:
    method = random.choice(list(METHODS))
    call: object = {"jsonrpc": "2.0", "id": random.choice([1, "a", None]), "method": method, "params": _valid()}
    for _ in range(random.randrange(1, 4)):
        call = _spoil(call, random)
    version = METHODS[method] if random.random() < 0.9 else random.choice(["", "1.0", "0.3", "9", "x"])
    return json.dumps(call), {"A2A-Version": version} if version else {}


@pytest.mark.promise("gateway.bad_input")
async def test_no_spoiled_request_is_the_gateways_fault(redis: Redis, redis_url: str) -> None:
    random = Random(20260301)  # noqa: S311 - the same requests in every run
    async with stage(redis, redis_url, blocking_limit=0.02) as play:
        for _ in range(BODIES):
            body, headers = _body(random)
            headers["Content-Type"] = "application/json"
            response = await play.client.post("/", content=body, headers=headers)
            assert response.status_code < 500, body
            reply = loads_object(response.text.removeprefix("event: error").strip().removeprefix("data: "))
            assert ("result" in reply) != ("error" in reply), body
            if "error" in reply:
                error = reply["error"]
                assert isinstance(error, dict)
                assert error["code"] != -32603, (body, reply)
