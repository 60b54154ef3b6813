"""A replica that is told to stop, as a process of its own: what happens to its streams and to who waits."""

import asyncio

import httpx
import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject, loads_object
from tests.integration.gateway_process import GatewayProcess, gateway_process
from tests.integration.gateway_stage import Stage, at, stage
from tests.sse_reading import PATIENCE, SseEvent, rpc_stream


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
        body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": _held(task_id)}
        async with leaving.http.stream("POST", "/", json=body) as response:
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
async def test_a_replica_that_leaves_hands_its_streams_over_and_finishes_its_calls(
    redis: Redis, redis_url: str
) -> None:
    """It says so first and still takes requests; then streams are told to reconnect, and calls are answered."""
    async with stage(redis, redis_url) as play, gateway_process(redis_url, DRAIN_SECONDS="0.5") as leaving:
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
async def test_who_still_waits_is_told_how_the_task_stands_before_the_grace_is_over(
    redis: Redis, redis_url: str
) -> None:
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
