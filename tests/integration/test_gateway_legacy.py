"""``tasks/send`` as the clients in the field use it."""

import asyncio

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import loads_object
from tests.integration.gateway_stage import PATIENCE, Stage, at, stage


@pytest.mark.promise("gateway.legacy_answer")
async def test_the_answer_comes_in_the_same_response_first_and_alone(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        reply = await play.send("t1", "What is left of the budget?", session_id="s1", difficulty="easy")
    assert reply["id"] is None
    assert at(reply, "result.artifacts.0.parts") == [{"type": "text", "text": "done: What is left of the budget?"}]
    assert at(reply, "result.id") == "t1"
    assert at(reply, "result.status.state") == "completed"
    assert at(reply, "result.metadata.process_type") == "general"


@pytest.mark.parametrize(
    ("text", "state", "answer"),
    [
        ("block it", "failed", "blocked by policy limit-1"),
        ("fail it", "failed", "the tool server is down"),
        ("ask somebody", "input-required", "waits for a manager's approval"),
    ],
)
async def test_a_reason_is_the_text_where_there_is_no_answer(
    redis: Redis, redis_url: str, text: str, state: str, answer: str
) -> None:
    async with stage(redis, redis_url) as play:
        reply = await play.send("t1", text)
    assert at(reply, "result.status.state") == state
    assert at(reply, "result.artifacts.0.parts.0.text") == answer
    assert at(reply, "result.status.message.parts.0.text") == answer
    assert at(reply, "result.metadata.reason") == answer


async def test_the_session_is_the_named_one_or_else_the_task_id(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        named = await play.send("t1", "one", session_id="s1")
        unnamed = await play.send("t2", "two")
        standard = await play.rpc(
            "tasks/send", {"id": "t3", "sessionId": "s3", "message": {"role": "user", "parts": [{"text": "x"}]}}
        )
    sessions = [at(reply, "result.sessionId") for reply in (named, unnamed, standard)]
    assert sessions == ["s1", "t2", "s3"]


@pytest.mark.promise("gateway.legacy_resend")
async def test_a_resend_while_the_turn_runs_joins_it(redis: Redis, redis_url: str) -> None:
    """A client that timed out sends the same again: one turn runs, and both get its answer."""
    async with stage(redis, redis_url) as play:
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
async def test_the_same_words_after_a_delivered_answer_are_a_new_task_in_the_session(
    redis: Redis, redis_url: str
) -> None:
    async with stage(redis, redis_url) as play:
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


async def test_request_fields_reach_the_worker_as_they_came(redis: Redis, redis_url: str) -> None:
    policy = {"rules": [{"id": "r1", "condition": "amount > 0.1", "action": "block"}], "limit": 12345.67}
    endpoint = "http://127.0.0.1:9009/mcp"
    async with stage(redis, redis_url) as play:
        await play.send("t1", "hello", policy_doc=policy, tools_endpoint=endpoint, difficulty="hard")
    request = play.worker.works[0].record.request
    assert (request.policy_doc, request.tools_endpoint) == (policy, endpoint)
    assert request.metadata == {"difficulty": "hard"}


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
