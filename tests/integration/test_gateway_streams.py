"""What is told of a task over HTTP: streams in three dialects, ``tasks/send``, server-sent events, records, figures."""

import asyncio
import json

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import JsonObject, loads_object
from tests.each_row import each_row
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
async def test_the_same_message_again_with_the_last_id_goes_on_in_every_dialect(play: Stage) -> None:
    sends = {"SendStreamingMessage": (_message("hello"), NEW), "message/stream": (_message_0_3("hello", "m2"), OLD)}
    for method, (params, version) in sends.items():
        whole = await _streamed(play, method, params, version)
        rest = await _streamed(play, method, params, version, after=whole[1].event_id)
        assert [told.told for told in rest] == [told.told for told in whole[2:]]


@pytest.mark.promise("gateway.stream_resumes")
async def test_the_early_protocols_sender_goes_on_too(play: Stage) -> None:
    """It has no message id: the same words to the same task, before their answer was delivered, are the same turn."""
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
async def test_an_id_that_is_kept_no_longer_is_answered_by_the_task_marked_as_a_gap(play: Stage, redis: Redis) -> None:
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
async def test_a_client_who_leaves_ends_nothing_and_frees_its_watcher(play: Stage, redis: Redis) -> None:
    async with rpc_stream(play.client, "tasks/sendSubscribe", _legacy("hold on")) as reader:
        await reader.next()
        await play.worker.has_begun(1)
    async with asyncio.timeout(PATIENCE):
        while await redis.pubsub_channels("*events"):
            await redis.ping()
    play.worker.release.set()
    again = await _streamed(play, "tasks/resubscribe", {"id": "t1"})
    assert at(again[-1].result, "status.state") == "completed"


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
async def test_the_story_ends_with_the_task_and_goes_on_after_an_id(play: Stage) -> None:
    await play.send("t1", "hello")
    whole = await _story(play, "t1")
    rest = await _story(play, "t1", after=whole[0][0])
    nothing = await _story(play, "t1", after=whole[-1][0])
    assert [kind for _, kind, _ in whole] == ["submitted", "phase", "turn_finished"]
    assert whole[-1][2]["data"]["state"] == "completed"  # type: ignore[index]  # JSON
    assert rest == whole[1:]
    assert nothing == []


async def test_the_story_of_a_task_that_waits_for_a_time_ends_there_too(play: Stage) -> None:
    await play.send("t1", "rest until seven")
    story = await _story(play, "t1")
    assert story[-1][2]["data"]["state"] == "working"  # type: ignore[index]  # JSON
    assert [kind for _, kind, _ in story] == ["submitted", "phase", "turn_finished"]
    assert story[-1][2]["data"]["waits_until"]  # type: ignore[index]  # JSON


async def test_a_reader_who_goes_on_at_a_waiting_task_sees_the_next_turn(play: Stage) -> None:
    await play.send("t1", "ask")
    last = (await _story(play, "t1"))[-1][0]
    reading = asyncio.create_task(_story(play, "t1", after=last))
    await play.send("t1", "approve")
    story = await reading
    assert [kind for _, kind, _ in story][-1] == "turn_finished"
    assert story[-1][2]["data"]["state"] == "completed"  # type: ignore[index]  # JSON


async def test_figures_in_the_metadata_arrive_exactly(play: Stage) -> None:
    """The SDK's types turn every number into a binary float; what reaches the worker has not been through them."""
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",'
        '"parts":[{"text":"x"}]},"metadata":{"policy_doc":{"limit":12345678901234567.89,"count":9007199254740993}}}}'
    )
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    await play.client.post("/", content=body, headers=headers)
    assert play.worker.works[0].record.request.policy_doc == '{"count":9007199254740993,"limit":12345678901234567.89}'


@pytest.mark.promise("gateway.legacy_answer")
async def test_the_answer_comes_in_the_same_response_first_and_alone(play: Stage) -> None:
    reply = await play.send("t1", "What is left of the budget?", session_id="s1", difficulty="easy")
    assert reply["id"] is None
    assert at(reply, "result.artifacts.0.parts") == [{"type": "text", "text": "done: What is left of the budget?"}]
    assert at(reply, "result.id") == "t1"
    assert at(reply, "result.status.state") == "completed"
    assert at(reply, "result.metadata.process_type") == "general"


@each_row(
    ("text", "state", "answer"),
    ("block it", "failed", "blocked by policy limit-1"),
    ("fail it", "failed", "the tool server is down"),
    ("ask somebody", "input-required", "waits for a manager's approval"),
)
async def test_a_reason_is_the_text_where_there_is_no_answer(play: Stage, text: str, state: str, answer: str) -> None:
    reply = await play.send("t1", text)
    assert at(reply, "result.status.state") == state
    assert at(reply, "result.artifacts.0.parts.0.text") == answer
    assert at(reply, "result.status.message.parts.0.text") == answer
    assert at(reply, "result.metadata.reason") == answer


async def test_the_session_is_the_named_one_or_else_the_task_id(play: Stage) -> None:
    named = await play.send("t1", "one", session_id="s1")
    unnamed = await play.send("t2", "two")
    standard = await play.rpc(
        "tasks/send", {"id": "t3", "sessionId": "s3", "message": {"role": "user", "parts": [{"text": "x"}]}}
    )
    sessions = [at(reply, "result.sessionId") for reply in (named, unnamed, standard)]
    assert sessions == ["s1", "t2", "s3"]


@pytest.mark.promise("gateway.legacy_resend")
async def test_a_resend_while_the_turn_runs_joins_it(play: Stage) -> None:
    """A client that timed out sends the same again: one turn runs, and both get its answer."""
    first = asyncio.create_task(play.send("t1", "hold this"))
    await play.worker.has_begun(1)
    async with play.sending("t1", "hold this") as second:  # its status came: it was taken in
        play.worker.release.set()
        replies = [await first, loads_object((await second.aread()).decode())]
    assert [at(reply, "result.artifacts.0.parts.0.text") for reply in replies] == ["done: hold this"] * 2
    assert play.worker.seen == ["hold this"]


@pytest.mark.promise("gateway.legacy_resend")
async def test_a_resend_after_the_end_gets_the_answer_that_was_never_delivered(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, blocking_limit=0.2) as play:
        impatient = await play.send("t1", "hold this")
        play.worker.release.set()
        await _ended(play, "t1")
        again = await play.send("t1", "hold this")
    assert at(impatient, "result.status.state") == "submitted"
    assert at(again, "result.artifacts.0.parts.0.text") == "done: hold this"
    assert play.worker.seen == ["hold this"]


@pytest.mark.promise("gateway.legacy_resend")
async def test_the_same_words_after_a_delivered_answer_are_a_new_task_in_the_session(play: Stage) -> None:
    await play.send("t1", "again", session_id="s1")
    second = await play.send("t1", "again", session_id="s1")
    shown = await play.rpc("tasks/get", {"id": "t1"})
    third = await play.send("t1", "something else", session_id="s1")
    newest = await play.rpc("tasks/get", {"id": "t1"})
    assert play.worker.seen == ["again", "again", "something else"]
    assert len({work.record.task_id for work in play.worker.works}) == 3
    assert {work.record.session_id for work in play.worker.works} == {"s1"}
    assert [at(reply, "result.id") for reply in (second, shown, third, newest)] == ["t1"] * 4
    assert at(newest, "result.artifacts.0.parts.0.text") == "done: something else"


async def test_request_fields_reach_the_worker_as_they_came(play: Stage) -> None:
    policy = {"rules": [{"id": "r1", "condition": "amount > 0.1", "action": "block"}], "limit": 12345.67}
    endpoint = "http://127.0.0.1:9009/mcp"
    await play.send("t1", "hello", policy_doc=policy, tools_endpoint=endpoint, difficulty="hard")
    request = play.worker.works[0].record.request
    assert (request.policy_doc, request.tools_endpoint) == (policy, endpoint)
    assert request.metadata == {"difficulty": "hard"}


async def test_request_fields_may_be_spelled_as_answers_spell_them(play: Stage) -> None:
    """A dry run that nobody saw would write, and a policy that nobody saw would not hold."""
    await play.send("t1", "hello", policyDoc="Never.", toolsEndpoint="http://127.0.0.1:9009/mcp", dryRun=True, aWord=1)
    request = play.worker.works[0].record.request
    assert (request.policy_doc, request.tools_endpoint) == ("Never.", "http://127.0.0.1:9009/mcp")
    assert request.is_dry_run
    assert request.metadata == {"dry_run": True, "aWord": 1}


async def test_the_status_comes_before_the_answer(redis: Redis, redis_url: str) -> None:
    """So no idle time-out between client and gateway cuts the wait."""
    async with stage(redis, redis_url) as play, play.sending("t1", "hold") as response:
        await play.worker.has_begun(1)
        status = response.status_code
        play.worker.release.set()
        text = (await response.aread()).decode()
    assert status == 200
    assert "done: hold" in text


async def _ended(play: Stage, task_id: str) -> None:
    async with asyncio.timeout(PATIENCE), play.client.stream("GET", f"/tasks/{task_id}/events") as response:
        await response.aread()
