"""Streams in three dialects over JSON-RPC, on a real store, from two replicas."""

import asyncio

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject, loads_object
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


async def _refused(play: Stage, method: str, params: JsonObject, version: str = "") -> int:
    async with rpc_stream(play.client, method, params, version=version) as reader:
        assert reader.response.headers["content-type"] == "application/json"
        code = at(loads_object((await reader.response.aread()).decode()), "error.code")
    assert isinstance(code, int)
    return code


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


@pytest.mark.promise("gateway.streams")
async def test_a_stream_of_0_3_is_final_where_the_task_waits(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        first = [event.result for event in await _streamed(play, "message/stream", _message_0_3("ask"))]
        task_id = str(first[0]["id"])
        answer = _message_0_3("approve", "m2", taskId=task_id)
        second = [event.result for event in await _streamed(play, "message/stream", answer)]
    assert [result["kind"] for result in first] == ["task", "status-update", "artifact-update", "status-update"]
    assert [result.get("final") for result in first] == [None, False, None, True]
    assert at(first[-1], "status.state") == "input-required"
    assert (first[2]["append"], first[2]["lastChunk"]) == (False, True)
    assert at(second[-1], "status.state") == "completed"
    assert second[-1]["final"] is True


@pytest.mark.promise("gateway.streams")
async def test_a_stream_of_the_early_protocol_begins_with_a_status(redis: Redis, redis_url: str) -> None:
    """Never with a task; each result has the client's own id, and nothing comes after the final status."""
    async with stage(redis, redis_url) as play:
        told = [event.result for event in await _streamed(play, "tasks/sendSubscribe", _legacy("block"))]
        again = [event.result for event in await _streamed(play, "tasks/resubscribe", {"id": "t1"})]
    assert [sorted(result.keys() - {"metadata"}) for result in told] == [
        ["final", "id", "status"],
        ["final", "id", "status"],
        ["artifact", "id"],
        ["final", "id", "status"],
    ]
    assert {result["id"] for result in told} == {"t1"}
    assert [result.get("final") for result in told] == [False, False, None, True]
    assert at(told[-1], "status.state") == "failed"  # it has no word for rejected
    assert [(result["final"], at(result, "status.state")) for result in again] == [(True, "failed")]


@pytest.mark.promise("gateway.stream_ended")
async def test_what_cannot_be_streamed_is_refused_before_a_stream_begins(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        told = await _streamed(play, "SendStreamingMessage", _message("hello"), NEW)
        ended: JsonObject = {"id": at(told[0].result, "task.id")}
        codes = {
            "unknown": await _refused(play, "SubscribeToTask", {"id": "no-such-task"}, NEW),
            "unknown to 0.3": await _refused(play, "tasks/resubscribe", {"id": "no-such-task"}),
            "ended": await _refused(play, "SubscribeToTask", ended, NEW),
            "ended for 0.3": await _refused(play, "tasks/resubscribe", ended),
            "no version": await _refused(play, "SubscribeToTask", ended),
            "no parts": await _refused(play, "message/stream", {"message": {"parts": []}}),
            "no id": await _refused(play, "tasks/resubscribe", {}),
        }
    assert codes == {
        "unknown": -32001,
        "unknown to 0.3": -32001,
        "ended": -32004,
        "ended for 0.3": -32004,
        "no version": -32009,
        "no parts": -32602,
        "no id": -32602,
    }


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
