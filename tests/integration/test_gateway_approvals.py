"""Decisions and words about writes in doubt: who may send one, and what is handed on."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from shared.contracts.task import TurnKind
from tests.integration.gateway_stage import Stage, at, stage

ANNA = {"id": "anna"}
BOSS = {"id": "boss", "roles": ["approver"], "levels": ["manager"]}
BOB = {"id": "bob"}


@pytest.mark.promise("gateway.decision")
@pytest.mark.parametrize("word", ["approve", "  Approve\n"])
async def test_an_approver_decides_in_anothers_session_by_a_word(redis: Redis, redis_url: str, word: str) -> None:
    async with stage(redis, redis_url) as play:
        asked = await play.send("t1", "ask", principal=ANNA)
        decided = await play.send("t1", word, principal=BOSS)
    assert at(asked, "result.status.state") == "input-required"
    assert at(decided, "result.artifacts.0.parts.0.text") == "approved by boss"
    turn = play.worker.works[1].turn
    assert (turn.kind, turn.data) == (TurnKind.DECISION, {"decision": "approve", "comment": "", "approval_id": None})
    assert (turn.principal.id, turn.principal.levels, turn.principal.verified) == ("boss", ("manager",), False)


async def test_a_data_part_decides_with_a_comment(redis: Redis, redis_url: str) -> None:
    part = {"data": {"decision": "reject", "comment": "too much"}}
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask", principal=ANNA)
        params = {"id": "t1", "message": {"parts": [part]}, "metadata": {"principal": BOSS}}
        reply = await play.rpc("tasks/send", params)
    assert at(reply, "result.status.state") == "failed"
    assert at(reply, "result.artifacts.0.parts.0.text") == "rejected by boss"
    assert play.worker.works[1].turn.data == {"decision": "reject", "comment": "too much", "approval_id": None}


@pytest.mark.promise("gateway.decision_names_its_question")
async def test_the_question_that_an_answer_names_reaches_whoever_compares_it(redis: Redis, redis_url: str) -> None:
    part = {"data": {"decision": "approve", "approval_id": "what-i-saw"}}
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask", principal=ANNA)
        await play.rpc("tasks/send", {"id": "t1", "message": {"parts": [part]}, "metadata": {"principal": BOSS}})
    assert play.worker.works[1].turn.data["approval_id"] == "what-i-saw"


async def test_a_decision_that_is_no_yes_or_no_is_refused(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask")
        reply = await play.rpc("tasks/send", {"id": "t1", "message": {"parts": [{"data": {"decision": "maybe"}}]}})
    assert at(reply, "error.code") == -32602
    assert "approve or reject" in str(at(reply, "error.message"))


@pytest.mark.promise("gateway.decision")
async def test_an_approver_may_send_nothing_else_into_anothers_session(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask", principal=ANNA, session_id="s1")
        into_task = await play.send("t1", "approve it please", principal=BOSS)
        into_session = await play.send("t2", "pay me", principal=BOSS, session_id="s1")
    assert at(into_task, "error.code") == -32602
    assert str(at(into_session, "error.message")).startswith("metadata.session_id: ")
    assert play.worker.seen == ["ask"]


async def test_the_requesters_own_yes_is_handed_on_to_be_judged(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask", principal=ANNA)
        await play.send("t1", "approve", principal=ANNA)
    assert play.worker.works[1].turn.kind is TurnKind.DECISION


async def test_a_decision_word_that_starts_a_task_is_a_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "approve")
    assert play.worker.works[0].turn.kind is TurnKind.MESSAGE


@pytest.mark.promise("gateway.legacy_resend")
async def test_a_decision_sent_again_counts_once(redis: Redis, redis_url: str) -> None:
    """The second yes of an impatient approver is the first one, not a yes to the next gate."""
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask")
        twice = await asyncio.gather(play.send("t1", "approve"), play.send("t1", "approve"))
    assert [at(reply, "result.artifacts.0.parts.0.text") for reply in twice] == ["approved by anonymous"] * 2
    assert [work.turn.kind for work in play.worker.works] == [TurnKind.MESSAGE, TurnKind.DECISION]


async def test_a_decision_works_in_every_dialect(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "ask"}]}
        asked = await play.rpc("SendMessage", {"message": message}, version="1.0")
        task_id = at(asked, "result.task.id")
        data = {"messageId": "m2", "role": "ROLE_USER", "taskId": task_id, "parts": [{"data": {"decision": "approve"}}]}
        decided = await play.rpc("SendMessage", {"message": data}, version="1.0")
        again = await play.rpc("SendMessage", {"message": data}, version="1.0")
    assert at(asked, "result.task.status.state") == "TASK_STATE_INPUT_REQUIRED"
    assert at(decided, "result.task.status.state") == "TASK_STATE_COMPLETED"
    assert at(again, "result.task") == at(decided, "result.task")
    assert len(play.worker.works) == 2


OPERATOR = {"principal": {"id": "olga", "roles": ["operator"]}}
WORD: dict[str, object] = {"call": "c1", "resolution": "done", "comment": "seen", "metadata": OPERATOR}


@pytest_asyncio.fixture
async def doubtful(redis: Redis, redis_url: str) -> AsyncIterator[Stage]:
    """A task with a write in doubt waits."""
    async with stage(redis, redis_url) as running:
        await running.send("t-1", "doubt the write")
        yield running


async def resolve(stage: Stage, task_id: str = "t-1", **changes: object) -> httpx.Response:
    return await said(stage, task_id, {**WORD, **changes})


async def said(stage: Stage, task_id: str, body: dict[str, object]) -> httpx.Response:
    return await stage.client.post(f"/tasks/{task_id}/resolve", json=body)


@pytest.mark.promise("I3.operator_decides")
async def test_an_operators_word_reaches_the_worker_with_who_said_it(doubtful: Stage) -> None:
    answer = await resolve(doubtful)
    assert (answer.status_code, answer.json()["state"]) == (200, "completed")
    turn = doubtful.worker.works[-1].turn
    assert (turn.kind, turn.principal.id) == (TurnKind.RESOLUTION, "olga")
    assert turn.data == {"doubt": "key:1", "call_id": "c1", "resolution": "done", "comment": "seen"}


async def test_the_same_word_again_gets_the_same_answer_and_has_no_further_effect(doubtful: Stage) -> None:
    first, again = await resolve(doubtful), await resolve(doubtful)
    assert (again.status_code, again.json()["answer"]) == (200, first.json()["answer"])
    assert len(doubtful.worker.works) == 2


async def test_another_word_comes_too_late_and_hears_who_was_first(doubtful: Stage) -> None:
    await resolve(doubtful)
    late = await resolve(doubtful, resolution="retry")
    assert (late.status_code, len(doubtful.worker.works)) == (409, 2)
    assert "olga said 'done' of it" in late.json()["error"]


async def test_a_word_that_cannot_be_understood_is_refused_by_its_field(doubtful: Stage) -> None:
    refused: list[tuple[dict[str, object], int, str]] = [
        ({"call": "c2"}, 409, "no write of that name is in doubt"),
        ({"call": ""}, 400, "call"),
        ({"call": None}, 400, "call"),
        ({"call": 7}, 400, "call"),
        ({"resolution": "maybe"}, 400, "retry, skip, done, take-over"),
        ({"resolution": None}, 400, "resolution"),
        ({"comment": 3}, 400, "comment"),
        ({"comment": "x" * 3000}, 400, "comment"),
        ({"metadata": []}, 400, "metadata"),
        ({"metadata": {"principal": {"id": "olga", "roles": ["king"]}}}, 400, "roles"),
    ]
    for changes, status, named in refused:
        answer = await said(doubtful, "t-1", {**WORD, **changes})
        assert (answer.status_code, named in answer.json()["error"]) == (status, True), changes
    for body in (b"", b"[]", b"{", b"\xff"):
        assert (await doubtful.client.post("/tasks/t-1/resolve", content=body)).status_code == 400, body
    assert len(doubtful.worker.works) == 1


async def test_a_task_that_is_unknown_or_has_ended_has_nothing_to_resolve(doubtful: Stage) -> None:
    assert (await resolve(doubtful, "t-9")).status_code == 404
    await doubtful.send("t-2", "hello")
    answer = await resolve(doubtful, "t-2")
    assert (answer.status_code, "has ended" in answer.json()["error"]) == (409, True)
