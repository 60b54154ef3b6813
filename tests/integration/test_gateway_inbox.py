"""The approver's inbox: what waits, and an answer that reaches the right calls once."""

import asyncio

import pytest
from redis.asyncio import Redis

from services.gateway.first_key import first_key
from shared.domain.exact_json import JsonObject, loads_object
from tests.integration.gateway_stage import Stage, at, stage

ANNA: JsonObject = {"id": "anna"}
BOSS: JsonObject = {"id": "boss", "roles": ["approver"], "levels": ["manager"]}
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
    rows = found["approvals"]
    assert isinstance(rows, list)
    return [row for row in rows if isinstance(row, dict)]


@pytest.mark.promise("gateway.inbox")
async def test_the_inbox_shows_the_exact_calls_and_why_they_ask(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
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


@pytest.mark.promise("gateway.inbox")
async def test_a_yes_reaches_the_task_once_and_leaves_the_inbox(redis: Redis, redis_url: str) -> None:
    """Sent twice it is one answer; whoever comes later is told who decided."""
    async with stage(redis, redis_url) as play:
        approval = await _asked(play)
        status, decided = await _answer(play, approval, "approve", comment="fine")
        again, _ = await _answer(play, approval, "approve")
        late, refused = await _answer(play, approval, "reject", {**BOSS, "id": "other"})
        _, left = await _get(play, "/approvals")
    assert (status, decided["status"], decided["task_state"]) == (200, "approved", "completed")
    said = at(decided, "decisions.0")
    assert isinstance(said, dict)
    assert (said["decision"], said["by"], said["comment"]) == ("approve", "boss", "fine")
    assert (again, late) == (200, 409)
    assert "approved by boss" in str(refused["error"])
    assert _rows(left) == []
    assert [work.turn.text for work in play.worker.works] == ["gate t1", "approve"]
    assert play.worker.works[1].turn.data["approval_id"] == approval


async def test_two_people_who_answer_at_once_are_not_both_heeded(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        approval = await _asked(play)
        answers = await asyncio.gather(
            _answer(play, approval, "approve"), _answer(play, approval, "reject", {**BOSS, "id": "other"})
        )
    assert sorted(status for status, _ in answers) == [200, 409]


@pytest.mark.promise("gateway.inbox")
@pytest.mark.parametrize(
    ("by", "status", "why"),
    [
        ({"id": "anna", "roles": ["approver"], "levels": ["manager"]}, 409, "cannot approve it"),
        (CLERK, 409, "manager"),
        ({"id": "casey"}, 403, "role approver"),
    ],
)
async def test_who_may_not_decide_is_told_why(
    redis: Redis, redis_url: str, by: JsonObject, status: int, why: str
) -> None:
    """The task goes on waiting."""
    async with stage(redis, redis_url) as play:
        approval = await _asked(play)
        got, body = await _answer(play, approval, "approve", by)
        _, found = await _get(play, "/approvals")
    assert (got, why in str(body["error"])) == (status, True)
    assert [row["approval_id"] for row in _rows(found)] == [approval]


async def test_rights_that_came_later_count(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        approval = await _asked(play)
        before, _ = await _answer(play, approval, "approve", CLERK)
        after, _ = await _answer(play, approval, "approve", {**CLERK, "levels": ["manager"]})
    assert (before, after) == (409, 200)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"decision": "maybe"}, "decision"), ({}, "decision"), ({"decision": "approve", "comment": 1}, "comment")],
)
async def test_a_wrong_answer_names_its_field(redis: Redis, redis_url: str, body: JsonObject, field: str) -> None:
    async with stage(redis, redis_url) as play:
        approval = await _asked(play)
        response = await play.client.post(f"/approvals/{approval}", json={**body, "metadata": {"principal": BOSS}})
        unknown, _ = await _answer(play, "nothing", "approve")
    assert (response.status_code, unknown) == (400, 404)
    assert str(loads_object(response.text)["error"]).startswith(field)


async def test_a_verified_client_sees_its_own_and_an_approver_all_of_the_tenant(redis: Redis, redis_url: str) -> None:
    made = await first_key(redis_url, "acme", "olga", again=False)
    keys = {"Authorization": f"Bearer {made.token}"}
    settings = {"authentication": "keys", "profile": "production"}
    async with stage(redis, redis_url, **settings) as play:
        tokens = {}
        for principal, role in (("anna", "client"), ("ben", "client"), ("dana", "approver")):
            wish = {"key": {"principal": principal, "roles": [role]}}
            tokens[principal] = (await play.client.post("/keys/create", json=wish, headers=keys)).json()["token"]
        params = {"id": "t1", "message": {"parts": [{"text": "gate t1"}]}}
        body = {"jsonrpc": "2.0", "method": "tasks/send", "params": params}
        await play.client.post("/", json=body, headers={"X-API-Key": tokens["anna"]})
        seen = {who: await play.client.get("/approvals", headers={"X-API-Key": key}) for who, key in tokens.items()}
    counts = {who: len(response.json()["approvals"]) for who, response in seen.items()}
    assert counts == {"anna": 1, "ben": 0, "dana": 1}
