"""Approvals at the gateway: who may decide, the inbox of what waits, and answers that reach the right calls once."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from shared.contracts.task import TurnKind
from shared.domain.exact_json import JsonObject, loads_object
from tests.e2e.commands import call_purple
from tests.integration.gateway_stage import Stage, at, list_at, object_at, stage

ANNA: JsonObject = {"id": "anna"}
BOSS: JsonObject = {"id": "boss", "roles": ["approver"], "levels": ["manager"]}


@pytest.mark.promise("gateway.decision")
@pytest.mark.parametrize("word", ["approve", "  Approve\n"])
async def test_an_approver_decides_in_anothers_session_by_a_word(play: Stage, word: str) -> None:
    asked = await play.send("t1", "ask", principal=ANNA)
    decided = await play.send("t1", word, principal=BOSS)
    assert at(asked, "result.status.state") == "input-required"
    assert at(decided, "result.artifacts.0.parts.0.text") == "approved by boss"
    turn = play.worker.works[1].turn
    assert (turn.kind, turn.data) == (TurnKind.DECISION, {"decision": "approve", "comment": "", "approval_id": None})
    assert (turn.principal.id, turn.principal.levels, turn.principal.verified) == ("boss", ("manager",), False)


async def test_a_data_part_decides_with_a_comment(play: Stage) -> None:
    part = {"data": {"decision": "reject", "comment": "too much"}}
    await play.send("t1", "ask", principal=ANNA)
    params = {"id": "t1", "message": {"parts": [part]}, "metadata": {"principal": BOSS}}
    reply = await play.rpc("tasks/send", params)
    assert at(reply, "result.status.state") == "failed"
    assert at(reply, "result.artifacts.0.parts.0.text") == "rejected by boss"
    assert play.worker.works[1].turn.data == {"decision": "reject", "comment": "too much", "approval_id": None}


async def test_a_decision_that_is_no_yes_or_no_is_refused(play: Stage) -> None:
    await play.send("t1", "ask")
    reply = await play.rpc("tasks/send", {"id": "t1", "message": {"parts": [{"data": {"decision": "maybe"}}]}})
    assert at(reply, "error.code") == -32602
    assert "approve or reject" in str(at(reply, "error.message"))


@pytest.mark.promise("gateway.decision")
async def test_an_approver_may_send_nothing_else_into_anothers_session(play: Stage) -> None:
    await play.send("t1", "ask", principal=ANNA, session_id="s1")
    into_task = await play.send("t1", "approve it please", principal=BOSS)
    into_session = await play.send("t2", "pay me", principal=BOSS, session_id="s1")
    assert at(into_task, "error.code") == -32602
    assert str(at(into_session, "error.message")).startswith("metadata.session_id: ")
    assert play.worker.seen == ["ask"]


@pytest.mark.promise("gateway.legacy_resend")
async def test_a_decision_sent_again_counts_once(play: Stage) -> None:
    """The second yes of an impatient approver is the first one, not a yes to the next gate."""
    await play.send("t1", "ask")
    play.worker.held_words = ("approve",)
    first = asyncio.create_task(play.send("t1", "approve"))
    await play.worker.has_begun(2)
    async with play.sending(
        "t1", "approve"
    ) as second:  # its status came: it was taken in before the first one's answer
        play.worker.release.set()
        twice = [await first, loads_object((await second.aread()).decode())]
    assert [at(reply, "result.artifacts.0.parts.0.text") for reply in twice] == ["approved by anonymous"] * 2
    assert [work.turn.kind for work in play.worker.works] == [TurnKind.MESSAGE, TurnKind.DECISION]


async def test_a_decision_works_in_every_dialect(play: Stage) -> None:
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


async def test_the_same_word_again_has_no_further_effect_and_another_comes_too_late(doubtful: Stage) -> None:
    first, again = await resolve(doubtful), await resolve(doubtful)
    assert (again.status_code, again.json()["answer"]) == (200, first.json()["answer"])
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


CLERK: JsonObject = {"id": "clerk", "roles": ["approver"], "levels": []}


async def _get(play: Stage, path: str) -> tuple[int, JsonObject]:
    response = await play.client.get(path)
    return response.status_code, loads_object(response.text)


async def _answer(
    play: Stage, approval: str, decision: str, by: JsonObject = BOSS, **more: str
) -> tuple[int, JsonObject]:
    body = {"decision": decision, "metadata": {"principal": by}, **more}
    response = await play.client.post(f"/approvals/{approval}", json=body)
    return response.status_code, loads_object(response.text)


async def _asked(play: Stage, task_id: str = "t1") -> str:
    await play.send(task_id, f"gate {task_id}", principal=ANNA)
    _, found = await _get(play, "/approvals")
    return next(str(one["approval_id"]) for one in _rows(found) if one["task_id"] == task_id)


def _rows(found: JsonObject) -> list[JsonObject]:
    rows = list_at(found, "approvals")
    return [row for row in rows if isinstance(row, dict)]


@pytest.mark.promise("gateway.inbox")
async def test_the_inbox_shows_the_exact_calls_and_why_they_ask(play: Stage) -> None:
    approval = await _asked(play)
    await _asked(play, "t2")
    _, found = await _get(play, "/approvals")
    status, one = await _get(play, f"/approvals/{approval}")
    assert {row["task_id"] for row in _rows(found)} == {"t1", "t2"}
    assert (status, one["task"], one["requester"], one["level"], one["status"]) == (
        200, "gate t1", "anna", "manager", "waiting",
    )  # fmt: skip
    assert at(one, "calls.0.tool") == "pay_invoice"
    assert at(one, "calls.0.arguments") == {"amount": 12.5, "invoice": "I-1"}
    assert at(one, "calls.0.origins") == {"amount": "result f1.amount"}
    assert one["reasons"] == ["limit: over the limit"]


@pytest.mark.promise("upkeep.goes_on")
@pytest.mark.parametrize("field", ["record", "approvals"])
async def test_a_row_of_a_newer_release_hides_no_other(play: Stage, field: str) -> None:
    """Both lists have everything but what that row tells."""
    bad, good = await _asked(play, "t1"), await _asked(play, "t2")
    (name,) = [name async for name in play.redis.scan_iter(f"*:t1:{field}")]
    await play.redis.hset(name, "json" if field == "record" else bad, "{}")  # type: ignore[misc]  # redis-py
    status, found = await _get(play, "/approvals")
    listed = await play.rpc("ListTasks", {}, version="1.0")
    assert (status, [row["approval_id"] for row in _rows(found)]) == (200, [good])
    ids = [at(listed, f"result.tasks.{number}.id") for number in range(len(list_at(listed, "result.tasks")))]
    assert ids == (["t2"] if field == "record" else ["t2", "t1"])


@pytest.mark.promise("gateway.inbox")
async def test_pages_of_the_inbox_have_what_the_whole_has(play: Stage) -> None:
    assert (await _get(play, "/approvals?token=x"))[0] == 400  # also where nothing waits
    for task_id in ("t1", "t2", "t3"):
        await _asked(play, task_id)
    whole, paged, token = _rows((await _get(play, "/approvals"))[1]), list[JsonObject](), ""
    for _ in whole:
        _, page = await _get(play, f"/approvals?limit=1&token={token}")
        token, rows = str(page["token"]), _rows(page)
        paged += rows
        assert len(rows) == 1
    shown = await call_purple("approvals", "list", "--url", play.url, "--json")
    assert (paged, token, len(whole)) == (whole, "", 3)
    assert loads_object(shown.out) == {"approvals": [*whole]}
    assert [row["deadline"] for row in whole] == sorted(str(row["deadline"]) for row in whole)
    for wrong in ("limit=0", "limit=501", "limit=x", "limit=1&token=x", "token=%00"):
        assert (await _get(play, f"/approvals?{wrong}"))[0] == 400, wrong


@pytest.mark.promise("gateway.inbox")
async def test_a_yes_reaches_the_task_once_and_leaves_the_inbox(play: Stage) -> None:
    """Sent twice it is one answer; whoever comes later is told who decided."""
    approval = await _asked(play)
    status, decided = await _answer(play, approval, "approve", comment="fine")
    again, _ = await _answer(play, approval, "approve")
    late, refused = await _answer(play, approval, "reject", {**BOSS, "id": "other"})
    _, left = await _get(play, "/approvals")
    assert (status, decided["status"], decided["task_state"]) == (200, "approved", "completed")
    said = object_at(decided, "decisions.0")
    assert (said["decision"], said["by"], said["comment"]) == ("approve", "boss", "fine")
    assert (again, late) == (200, 409)
    assert "approved by boss" in str(refused["error"])
    assert _rows(left) == []
    assert [work.turn.text for work in play.worker.works] == ["gate t1", "approve"]
    assert play.worker.works[1].turn.data["approval_id"] == approval


@pytest.mark.promise("gateway.inbox")
@pytest.mark.parametrize(
    ("by", "status", "why"),
    [
        ({"id": "anna", "roles": ["approver"], "levels": ["manager"]}, 409, "cannot approve it"),
        (CLERK, 409, "manager"),
        ({"id": "casey"}, 403, "role approver"),
    ],
)
async def test_who_may_not_decide_is_told_why(play: Stage, by: JsonObject, status: int, why: str) -> None:
    """The task goes on waiting."""
    approval = await _asked(play)
    got, body = await _answer(play, approval, "approve", by)
    _, found = await _get(play, "/approvals")
    assert (got, why in str(body["error"])) == (status, True)
    assert [row["approval_id"] for row in _rows(found)] == [approval]


async def test_rights_that_came_later_count(play: Stage) -> None:
    approval = await _asked(play)
    before, _ = await _answer(play, approval, "approve", CLERK)
    after, _ = await _answer(play, approval, "approve", {**CLERK, "levels": ["manager"]})
    assert (before, after) == (409, 200)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"decision": "maybe"}, "decision"), ({}, "decision"), ({"decision": "approve", "comment": 1}, "comment")],
)
async def test_a_wrong_answer_names_its_field(play: Stage, body: JsonObject, field: str) -> None:
    approval = await _asked(play)
    response = await play.client.post(f"/approvals/{approval}", json={**body, "metadata": {"principal": BOSS}})
    unknown, _ = await _answer(play, "nothing", "approve")
    assert (response.status_code, unknown) == (400, 404)
    assert str(loads_object(response.text)["error"]).startswith(field)
