"""How large a message may be in each protocol, and what happens while too much work waits."""

import asyncio
from typing import NamedTuple

import httpx
import pytest
from redis.asyncio import Redis

from tests.http_client import open_http
from tests.integration.gateway_stage import gateway

SMALL = {"max_parts": 3, "max_text_characters": 50, "max_metadata_characters": 60, "max_body_bytes": 4096}


class Way(NamedTuple):
    """One way to send a message: where to, with what headers, and what stands around the message."""

    path: str
    version: str
    method: str = ""

    def body(self, message: dict[str, object], metadata: dict[str, object]) -> dict[str, object]:
        params = {"message": message, "metadata": metadata}
        if not self.method:
            return {**params, "configuration": {"returnImmediately": True, "blocking": False}}
        if self.method == "tasks/send":
            return {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": {"id": "t1", **params}}
        waits = {"configuration": {"returnImmediately": True, "blocking": False}}
        return {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": {**params, **waits}}


WAYS = {
    "tasks/send": Way("/", "", "tasks/send"),
    "message/send": Way("/", "", "message/send"),
    "SendMessage": Way("/", "1.0", "SendMessage"),
    "REST 1.0": Way("/message:send", "1.0"),
    "REST 0.3": Way("/v1/message:send", "0.3"),
}
EACH_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


Parts = list[dict[str, object]]


def message(parts: Parts, **more: object) -> dict[str, object]:
    return {"messageId": "m1", "role": "ROLE_USER", "parts": parts, **more}


async def sent(client: httpx.AsyncClient, way: Way, body: dict[str, object]) -> httpx.Response:
    headers = {"A2A-Version": way.version} if way.version else {}
    return await client.post(way.path, json=body, headers=headers)


@pytest.mark.promise("gateway.limits")
@EACH_WAY
async def test_a_message_that_holds_too_much_is_refused_by_the_name_of_its_field(
    way: Way, redis: Redis, redis_server: str
) -> None:
    """Too many parts, too much text, too much data, too much metadata; in every protocol, and nothing is stored."""
    short: Parts = [{"text": "a"}]
    cases: list[tuple[str, Parts, dict[str, object]]] = [
        ("message.parts", short * 4, {}),
        ("message.parts", [{"text": "a" * 51}], {}),
        ("message.parts", [{"data": {"a": "b" * 50}}], {}),
        ("metadata", short, {"note": "n" * 60}),
    ]
    async with (
        gateway(redis_server, **SMALL) as url,
        open_http(base_url=url, timeout=10, trust_env=False) as client,
    ):
        for field, parts, extra in cases:
            reply = await sent(client, way, way.body(message(parts), extra))
            assert f"{field}: " in reply.text, reply.text
            assert reply.status_code < 500

    assert await redis.keys("pa:*}:*record*") == []


@pytest.mark.promise("gateway.limits")
async def test_a_question_that_brings_too_long_a_history_is_refused(redis: Redis, redis_server: str) -> None:
    question = {"task_id": "q1", "task": "Which?", "history": [{"role": "user", "content": "a" * 30}] * 2}
    async with (
        gateway(redis_server, **SMALL) as url,
        open_http(base_url=url, timeout=10, trust_env=False) as client,
    ):
        reply = await client.post("/api/a2a/purple-agent", json=question)

    assert (reply.status_code, reply.json()["field"]) == (422, "task")
    assert await redis.keys("pa:*}:*record*") == []


@pytest.mark.promise("gateway.limits")
async def test_no_route_reads_a_body_over_the_limit(redis_server: str) -> None:
    """Each route that takes a POST, whoever reads it; a body is never taken in whole before it is refused."""
    large = b"[" + b" " * 5000
    async with (
        gateway(redis_server, **SMALL) as url,
        open_http(base_url=url, timeout=10, trust_env=False) as client,
    ):
        described: dict[str, dict[str, object]] = (await client.get("/openapi.json")).json()["paths"]
        paths = {path for path, methods in described.items() if "post" in methods}
        statuses = {
            path: (await client.post(path, content=large, headers=_headers(path))).status_code for path in paths
        }

    assert len(paths) > 10
    assert {path: status for path, status in statuses.items() if status >= 500} == {}
    read = {path for path, status in statuses.items() if status == 413}
    assert {"/", "/message:send", "/v1/message:send", "/approvals/{approval_id}", "/api/a2a/purple-agent"} <= read


def _headers(path: str) -> dict[str, str]:
    return {"content-type": "application/json", "A2A-Version": "0.3" if path.startswith("/v1/") else "1.0"}


@pytest.mark.promise("gateway.sheds_load")
@EACH_WAY
async def test_while_too_much_waits_messages_are_refused_and_tasks_are_still_read(
    way: Way, redis: Redis, redis_server: str
) -> None:
    """No executor runs here, so all that is accepted waits."""
    async with (
        gateway(redis_server, max_waiting_sessions=2) as url,
        open_http(base_url=url, timeout=10, trust_env=False) as client,
    ):
        one, two = (message([{"text": "hello"}], messageId=name, contextId=name) for name in ("m1", "m2"))
        simple = WAYS["REST 1.0"]
        first = (await sent(client, simple, simple.body(one, {}))).json()["task"]["id"]
        await sent(client, simple, simple.body(two, {}))
        async with asyncio.timeout(5):
            refused = await sent(client, way, way.body(message([{"text": "more"}], messageId="m3"), {}))
        read = await client.get(f"/tasks/{first}", headers={"A2A-Version": "1.0"})

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert "more work waits" in refused.text
    assert read.status_code == 200
