"""Decisions: who may send one, and what is handed on."""

import asyncio

import pytest
from redis.asyncio import Redis

from shared.contracts.task import TurnKind
from tests.integration.gateway_stage import at, stage

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


async def test_somebody_without_the_role_may_not_decide(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        await play.send("t1", "ask", principal=ANNA)
        reply = await play.send("t1", "approve", principal=BOB)
    assert at(reply, "error.code") == -32602
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
