"""Whatever bytes are sent to the JSON-RPC address: the answer is JSON-RPC, soon, and never the gateway's own fault."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from random import Random
from typing import cast

import httpx
import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject, loads_object
from tests.http_client import open_http
from tests.integration.gateway_process import gateway_process
from tests.integration.gateway_stage import ScriptedWorker, object_at, stage
from tests.integration.rough_bodies import Rough, rough

LEAN, ALL, SIDE_BY_SIDE = 200, 10_000, 8
PATIENCE = 10.0  # seconds for one answer
MAY_GROW = 24 * 1024 * 1024  # bytes, from the first two thousand requests to the last


async def answer_to(client: httpx.AsyncClient, one: Rough) -> tuple[int, str]:
    """Status and body; of a stream its first event."""
    async with (
        asyncio.timeout(PATIENCE),
        client.stream("POST", "/", content=one.body, headers=dict(one.headers)) as reply,
    ):
        if reply.headers["content-type"].startswith("text/event-stream"):
            return reply.status_code, await first_event(reply)
        return reply.status_code, (await reply.aread()).decode()


async def first_event(reply: httpx.Response) -> str:
    async with aclosing(cast("AsyncGenerator[str, None]", reply.aiter_lines())) as lines:
        async for line in lines:
            if line.startswith("data: "):
                return line.removeprefix("data: ")
    raise AssertionError("the stream ended without an event")


def check(one: Rough, status: int, body: str) -> None:
    """The answer is JSON-RPC, and blames the request if it blames anything."""
    assert status < 500, (one, body)
    reply: JsonObject = loads_object(body)
    assert reply["jsonrpc"] == "2.0"
    assert "id" in reply
    assert ("result" in reply) != ("error" in reply), (one, body)
    if "error" in reply:
        error = object_at(reply, "error")
        assert error["message"]
        assert error["code"] != -32603, (one, body)


async def put(requests: Sequence[Rough], url: str) -> None:
    """All of them, some side by side."""
    waiting = iter(requests)

    async def caller(client: httpx.AsyncClient) -> None:
        for one in waiting:
            check(one, *await answer_to(client, one))

    async with open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client, asyncio.TaskGroup() as all_:
        for _ in range(SIDE_BY_SIDE):
            all_.create_task(caller(client))


@pytest.mark.promise("gateway.rough_bodies")
async def test_rough_requests_are_answered_as_json_rpc(redis: Redis, redis_url: str) -> None:
    random = Random(8)  # noqa: S311 - the same requests in every run
    async with stage(redis, redis_url, blocking_limit=0.05) as play:
        await put([rough(random) for _ in range(LEAN)], play.url)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.promise("gateway.rough_bodies")
async def test_ten_thousand_rough_requests_are_answered_and_memory_stays_flat(
    redis: Redis, redis_url: str, record_property: Callable[[str, object], None]
) -> None:
    """In a process of its own, so that nothing but the gateway is measured."""
    random = Random(9)  # noqa: S311 - the same requests in every run
    told = {"BLOCKING_LIMIT": "0.05", "MAX_WAITING_SESSIONS": "1000000"}
    async with gateway_process(redis_url, **told) as gateway, a_worker(redis, redis_url):
        sizes = [await grown(gateway.pid, [rough(random) for _ in range(ALL // 5)], gateway.url) for _ in range(5)]
    record_property("shown", f"gateway after each 2,000 rough requests: {[size >> 20 for size in sizes]} MB")

    assert sizes[-1] - sizes[0] < MAY_GROW


async def grown(pid: int, requests: Sequence[Rough], url: str) -> int:
    """How large the process is after these requests."""
    await put(requests, url)
    return resident(pid)


@asynccontextmanager
async def a_worker(redis: Redis, redis_url: str) -> AsyncIterator[None]:
    worker = ScriptedWorker(redis, redis_url)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield
        running.cancel()
    await worker.aclose()


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
