"""A gateway whose store is down or that is told to stop: clients are told so, and nothing is half done."""

import asyncio
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.keys import QUEUE_KEY
from tests.http_client import rpc_body
from tests.integration.gateway_process import GatewayProcess, gateway_process
from tests.integration.gateway_stage import PATIENCE, Stage, at, gateway_client, stage
from tests.sse_reading import SseEvent, rpc_stream


def _held(task_id: str) -> JsonObject:
    return {"id": task_id, "message": {"role": "user", "parts": [{"text": "hold on"}]}}


async def _says_no(leaving: GatewayProcess) -> httpx.Response:
    """What ``/ready`` answers as soon as it does not say yes; the replica still takes requests then."""
    async with asyncio.timeout(PATIENCE):
        while (answer := await leaving.http.get("/ready")).is_success:
            await asyncio.sleep(0.01)
    return answer


async def _waits(leaving: GatewayProcess, task_id: str) -> asyncio.Task[JsonObject]:
    """A blocking call in flight; its answer."""
    begun = asyncio.Event()

    async def call() -> JsonObject:
        async with leaving.http.stream("POST", "/", json=rpc_body("tasks/send", _held(task_id))) as response:
            begun.set()
            return loads_object((await response.aread()).decode())

    task = asyncio.create_task(call())
    await asyncio.wait_for(begun.wait(), PATIENCE)
    return task


async def _goes_on(play: Stage, task_id: str, last: str) -> list[SseEvent]:
    async with rpc_stream(play.client, "tasks/resubscribe", {"id": task_id}, last) as reader:
        play.worker.release.set()
        return await reader.events()


@pytest.mark.promise("gateway.drains")
async def test_a_replica_that_leaves_hands_over_streams_and_finishes_its_calls(redis: Redis, redis_url: str) -> None:
    """It says so first and still takes requests; then streams are told to reconnect, and calls are answered."""
    async with stage(redis, redis_url) as play, gateway_process(redis_url, DRAIN_SECONDS="2") as leaving:
        async with rpc_stream(leaving.http, "tasks/sendSubscribe", _held("t1")) as reader:
            first = await reader.next()
            call = await _waits(leaving, "t2")
            leaving.terminate()
            unready = await _says_no(leaving)
            served = await leaving.http.get("/tasks/t1")
            last = (await reader.rest())[-1]
        assert first is not None
        rest = await _goes_on(play, "t1", first.event_id)
        answer = await asyncio.wait_for(call, PATIENCE)
        code = await leaving.exit_code(PATIENCE)
    assert (unready.status_code, "draining" in unready.text) == (503, True)
    assert served.status_code == 200
    assert (last.data, last.retry, "reconnect" in last.comments[0]) == ("", "1000", True)
    assert at(rest[-1].result, "status.state") == "completed"
    assert at(answer, "result.status.state") == "completed"
    assert code == 0


@pytest.mark.promise("gateway.drains")
async def test_who_still_waits_is_told_how_the_task_stands_within_the_grace(redis: Redis, redis_url: str) -> None:
    """After it the connection would be cut without an answer."""
    async with stage(redis, redis_url) as play, gateway_process(redis_url, GRACE_SECONDS="3") as leaving:
        call = await _waits(leaving, "t1")
        await play.worker.has_begun(1)
        leaving.terminate()
        answer = await asyncio.wait_for(call, PATIENCE)
        code = await leaving.exit_code(PATIENCE)
        play.worker.release.set()
    assert at(answer, "result.status.state") in ("submitted", "working")
    assert code == 0


async def _call(client: httpx.AsyncClient, method: str, params: object, version: str = "") -> JsonObject:
    headers = {"A2A-Version": version} if version else {}
    response = await client.post("/", json=rpc_body(method, params), headers=headers)
    assert response.status_code == 200
    return loads_object(response.text)


@pytest.mark.promise("gateway.store_down")
async def test_every_method_names_redis_when_it_is_down(own_server: EmbeddedRedis) -> None:
    message = {"messageId": "m", "role": "user", "parts": [{"text": "x"}]}
    async with gateway_client(own_server.url) as client:
        own_server.stop()
        replies = [
            await _call(client, "tasks/send", {"id": "t1", "message": {"parts": [{"text": "x"}]}}),
            await _call(client, "tasks/get", {"id": "t1"}),
            await _call(client, "tasks/cancel", {"id": "t1"}),
            await _call(client, "message/send", {"message": message}),
            await _call(client, "GetTask", {"id": "t1"}, "1.0"),
        ]
        rest = [await client.get(path) for path in ("/tasks/t1", "/tasks/t1/events", "/ready")]
        alive = await client.get("/health")
    for reply in replies:
        assert at(reply, "error.code") == -32603
        assert "Redis" in str(at(reply, "error.message"))
    assert [response.status_code for response in rest] == [503] * 3
    assert all("Redis" in response.text for response in rest)
    assert alive.status_code == 200
    place = own_server.url.removeprefix("unix://")
    assert [said for said in (*map(str, replies), *(one.text for one in rest)) if place in said] == []


@pytest.mark.parametrize(
    "path", ["/health", "/ready", "/.well-known/agent-card.json", "/.well-known/agent.json", "/.well-known/jwks.json"]
)
async def test_a_probe_that_asks_with_head_gets_the_status_of_a_get_and_no_body(redis_url: str, path: str) -> None:
    async with gateway_process(redis_url) as gateway:
        asked, read = await gateway.http.head(path), await gateway.http.get(path)
    assert (asked.status_code, asked.content) == (read.status_code, b"") == (200, b"")
    assert asked.headers["content-type"] == read.headers["content-type"]


async def test_a_server_that_would_forget_is_not_ready(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    await own_redis.config_set("appendfsync", "everysec")
    async with gateway_client(own_server.url) as http:
        response = await http.get("/ready")
    assert response.status_code == 503
    assert "appendfsync" in response.json()["problems"][0]


@pytest.mark.long  # it takes three times as long as one answer may
async def test_a_slow_server_is_given_up_on_in_time(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    async with gateway_client(own_server.url) as client:
        await own_redis.client_pause(90_000)
        async with asyncio.timeout(PATIENCE):
            reply = await _call(client, "tasks/get", {"id": "t1"})
    assert at(reply, "error.code") == -32603


async def test_a_client_that_waits_is_told_when_redis_goes(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    """The answer has begun by then: the error comes in its body, and says that the task was accepted."""
    params = {"id": "t1", "message": {"parts": [{"text": "nobody works"}]}}
    async with gateway_client(own_server.url, blocking_limit=1) as client:
        waiting = asyncio.create_task(_call(client, "tasks/send", params))
        await _accepted(own_redis)
        own_server.stop()
        reply = await waiting
    assert at(reply, "error.code") == -32603
    assert "'t1' was accepted" in str(at(reply, "error.message"))


async def test_a_rest_client_that_waits_gets_its_task_as_accepted_when_redis_goes(
    own_server: EmbeddedRedis, own_redis: Redis
) -> None:
    """The status has gone out as a success by then, and REST has no error in a body of success."""
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "nobody works"}]}
    async with gateway_client(own_server.url, blocking_limit=1) as client:
        send = client.post("/message:send", json={"message": message}, headers={"A2A-Version": "1.0"})
        waiting = asyncio.create_task(send)
        await _accepted(own_redis)
        own_server.stop()
        response = await waiting
    assert at(loads_object(response.text), "task.status.state") == "TASK_STATE_SUBMITTED"


async def test_a_queue_that_is_down_loses_no_task(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    nowhere = f"unix://{tmp_path}/no.sock"
    async with stage(redis, redis_url, queue_redis_url=nowhere, blocking_limit=0.1) as play:
        reply = await play.send("t1", "hello")
        ready = await play.client.get("/ready")
    assert at(reply, "result.status.state") == "submitted"
    assert ready.status_code == 503
    assert "QUEUE_REDIS_URL" in ready.json()["problems"][0]


async def _accepted(redis: Redis) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await redis.zcard(QUEUE_KEY):
            await asyncio.sleep(0.01)
