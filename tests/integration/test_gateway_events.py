"""A task's story over server-sent events, its record, and figures that reach the worker exactly."""

import asyncio
import json

import pytest
from redis.asyncio import Redis

from tests.integration.gateway_stage import PATIENCE, Stage, stage


async def _story(
    play: Stage, task_id: str, after: str = "", query: str = ""
) -> list[tuple[str, str, dict[str, object]]]:
    headers = {"Last-Event-ID": after} if after else {}
    async with asyncio.timeout(PATIENCE):
        response = await play.client.get(f"/tasks/{task_id}/events{query}", headers=headers)
    assert response.headers["content-type"].startswith("text/event-stream")
    frames = [dict(line.split(": ", 1) for line in frame.split("\n")) for frame in response.text.split("\n\n") if frame]
    return [(frame["id"], frame["event"], json.loads(frame["data"])) for frame in frames]


@pytest.mark.promise("gateway.events")
async def test_the_story_ends_with_the_task_and_goes_on_after_an_id(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "hello")
        whole = await _story(play, "t1")
        rest = await _story(play, "t1", after=whole[0][0])
        nothing = await _story(play, "t1", after=whole[-1][0])
    assert [kind for _, kind, _ in whole] == ["submitted", "phase", "turn_finished"]
    assert whole[-1][2]["data"]["state"] == "completed"  # type: ignore[index]  # JSON
    assert rest == whole[1:]
    assert nothing == []


async def test_the_story_of_a_waiting_task_ends_where_it_waits(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask")
        first = await _story(play, "t1")
        await play.send("t1", "approve")
        whole = await _story(play, "t1")
    assert [kind for _, kind, _ in first] == ["submitted", "phase", "turn_finished"]
    assert [kind for _, kind, _ in whole].count("turn_finished") == 2


async def test_the_story_of_a_task_that_waits_for_a_time_ends_there_too(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "rest until seven")
        story = await _story(play, "t1")
    assert story[-1][2]["data"]["state"] == "working"  # type: ignore[index]  # JSON
    assert [kind for _, kind, _ in story] == ["submitted", "phase", "turn_finished"]
    assert story[-1][2]["data"]["waits_until"]  # type: ignore[index]  # JSON


async def test_a_reader_who_goes_on_at_a_waiting_task_sees_the_next_turn(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask")
        last = (await _story(play, "t1"))[-1][0]
        reading = asyncio.create_task(_story(play, "t1", after=last))
        await play.send("t1", "approve")
        story = await reading
    assert [kind for _, kind, _ in story][-1] == "turn_finished"
    assert story[-1][2]["data"]["state"] == "completed"  # type: ignore[index]  # JSON


async def test_figures_in_the_metadata_arrive_exactly(redis: Redis, redis_url: str) -> None:
    """The SDK's types turn every number into a binary float; what reaches the worker has not been through them."""
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",'
        '"parts":[{"text":"x"}]},"metadata":{"policy_doc":{"limit":12345678901234567.89,"count":9007199254740993}}}}'
    )
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    async with stage(redis, redis_url) as play:
        await play.client.post("/", content=body, headers=headers)
    assert play.worker.works[0].record.request.policy_doc == '{"count":9007199254740993,"limit":12345678901234567.89}'
