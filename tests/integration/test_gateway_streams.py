"""Streams in three dialects over JSON-RPC, on a real store, from two replicas."""

import asyncio

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject
from tests.integration.gateway_stage import PATIENCE, Stage, at, stage
from tests.sse_reading import SseEvent, rpc_stream

NEW, OLD = "1.0", ""


def _message(text: str, message_id: str = "m1", **more: str) -> JsonObject:
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}], **more}}


def _message_0_3(text: str, message_id: str = "m1", **more: str) -> JsonObject:
    parts: JsonObject = {"kind": "text", "text": text}
    return {"message": {"messageId": message_id, "role": "user", "kind": "message", "parts": [parts], **more}}


def _legacy(text: str) -> JsonObject:
    return {"id": "t1", "message": {"role": "user", "parts": [{"type": "text", "text": text}]}}


async def _streamed(play: Stage, method: str, params: JsonObject, version: str = "", after: str = "") -> list[SseEvent]:
    async with rpc_stream(play.client, method, params, after, version) as reader:
        assert reader.response.headers["content-type"].startswith("text/event-stream")
        return await reader.events()


@pytest.mark.promise("gateway.streams")
async def test_a_stream_of_1_0_begins_with_the_task_and_ends_with_its_end(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, model_notice="a planner") as play:
        told = [event.result for event in await _streamed(play, "SendStreamingMessage", _message("hello"), NEW)]
    assert [next(iter(result)) for result in told] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert at(told[0], "task.status.state") == "TASK_STATE_SUBMITTED"
    assert at(told[1], "statusUpdate.status.message.parts.0.text") == "Carrying the task out"
    assert at(told[2], "artifactUpdate.artifact.parts.0.text") == "done: hello"
    assert at(told[2], "artifactUpdate.lastChunk") is True
    assert at(told[3], "statusUpdate.status.state") == "TASK_STATE_COMPLETED"
    assert at(told[3], "statusUpdate.metadata.modelNotice") == "a planner"


@pytest.mark.promise("gateway.stream_resumes")
async def test_the_same_message_again_with_the_last_id_goes_on_in_every_dialect(redis: Redis, redis_url: str) -> None:
    sends = {
        "SendStreamingMessage": (_message("hello"), NEW),
        "message/stream": (_message_0_3("hello", "m2"), OLD),
    }
    async with stage(redis, redis_url) as play:
        for method, (params, version) in sends.items():
            whole = await _streamed(play, method, params, version)
            rest = await _streamed(play, method, params, version, after=whole[1].event_id)
            assert [told.told for told in rest] == [told.told for told in whole[2:]]


@pytest.mark.promise("gateway.stream_resumes")
async def test_the_early_protocols_sender_goes_on_too(redis: Redis, redis_url: str) -> None:
    """It has no message id: the same words to the same task, before their answer was delivered, are the same turn."""
    async with stage(redis, redis_url) as play:
        async with rpc_stream(play.client, "tasks/sendSubscribe", _legacy("hold on")) as reader:
            first = await reader.next()
        assert first is not None
        await play.worker.has_begun(1)
        play.worker.release.set()
        rest = await _streamed(play, "tasks/sendSubscribe", _legacy("hold on"), after=first.event_id)
        seen = play.worker.seen
    assert [("artifact" in event.result, event.result.get("final")) for event in rest] == [
        (False, False),
        (True, None),
        (False, True),
    ]
    assert seen == ["hold on"]


@pytest.mark.promise("gateway.stream_resumes")
async def test_an_id_that_is_kept_no_longer_is_answered_by_the_task_marked_as_a_gap(
    redis: Redis, redis_url: str
) -> None:
    async with stage(redis, redis_url) as play:
        whole = await _streamed(play, "SendStreamingMessage", _message("hello"), NEW)
        task: JsonObject = {"id": at(whole[0].result, "task.id")}
        (stream,) = [key async for key in redis.scan_iter("*:events")]
        await redis.xtrim(stream, maxlen=1, approximate=False)
        old = whole[0].event_id
        (gap,) = await _streamed(play, "SubscribeToTask", task, NEW, after=old)
        story = await play.client.get(f"/tasks/{task['id']}/events", headers={"Last-Event-ID": old})
    assert at(gap.result, "task.metadata.gap.lostAfter") == old
    assert at(gap.result, "task.status.state") == "TASK_STATE_COMPLETED"
    assert gap.comments == (f"gap, the events after {old} are kept no longer",)
    assert "event: snapshot\n" in story.text
    assert f'"lost_after": "{old}"' in story.text


@pytest.mark.promise("gateway.streams")
async def test_a_client_who_leaves_ends_nothing_and_frees_its_watcher(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        async with rpc_stream(play.client, "tasks/sendSubscribe", _legacy("hold on")) as reader:
            await reader.next()
            await play.worker.has_begun(1)
        async with asyncio.timeout(PATIENCE):
            while await redis.pubsub_channels("*events"):
                await redis.ping()
        play.worker.release.set()
        again = await _streamed(play, "tasks/resubscribe", {"id": "t1"})
    assert at(again[-1].result, "status.state") == "completed"
