"""``POST /api/a2a/purple-agent`` over real HTTP and a real store, with a scripted worker in the executor's place."""

import asyncio
from typing import cast

import pytest
from redis.asyncio import Redis

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.integration.gateway_stage import Stage, stage

PATH = "/api/a2a/purple-agent"


async def _post(play: Stage, **body: object) -> tuple[int, JsonObject]:
    response = await play.client.post(PATH, json=body)
    return response.status_code, loads_object(response.text)


@pytest.mark.promise("solver.endpoint")
async def test_a_task_is_answered_in_the_documented_shape(play: Stage) -> None:
    """Exactly the response of the contract; what the worker gets is the task, its context, history and rules."""
    rules: Json = {"rules": [{"id": "r1", "type": "deny", "keywords": ["x"]}], "default_action": "allow"}
    history: Json = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    status, reply = await _post(
        play, task_id="t1", task="Paris, Berlin", policy_doc=rules, history=history, context="Two of them."
    )
    request = play.worker.works[0].record.request
    assert status == 200
    assert reply == {
        "task_id": "t1",
        "answers": ["done: Paris, Berlin\n\nTwo of them."],
        "metadata": {
            "policy_compliant": True,
            "policy_violations": [],
            "applied_rules": [],
            "memory_compressed": False,
            "memory_summary": None,
        },
    }
    assert request.text == "Paris, Berlin\n\nTwo of them."
    assert request.policy_doc == rules
    assert request.solver is not None
    assert [turn.content for turn in request.solver.history] == ["hello", "hi"]


async def test_a_wrong_field_is_named_with_422(play: Stage) -> None:
    wrong: list[tuple[object, str]] = [
        ({"task": "x"}, "task_id"),
        ({"task_id": "t"}, "task"),
        ({"task_id": "t", "task": " "}, "task"),
        ({"task_id": 7, "task": "x"}, "task_id"),
        ({"task_id": "t", "task": "x", "expected_format": "csv"}, "expected_format"),
        ({"task_id": "t", "task": "x", "policy_doc": 3}, "policy_doc"),
        ({"task_id": "t", "task": "x", "policy_doc": '{"rules": ['}, "policy_doc"),
        ({"task_id": "t", "task": "x", "policy_doc": {"ruls": []}}, "policy_doc"),
        ({"task_id": "t", "task": "x", "policy_doc": {"rules": "all"}}, "policy_doc.rules"),
        ({"task_id": "t", "task": "x", "policyDoc": {"rules": "all"}}, "policy_doc.rules"),
        ({"task_id": "t", "task": "x", "policyDoc": "Never.", "policy_doc": "Never."}, "body.policy_doc"),
        ({"task_id": "t", "task": "x", "policy_doc": {"rules": [{"type": "deny"}]}}, "policy_doc.text_rules.0.id"),
        ({"task_id": "t", "task": "x", "history": {}}, "history"),
        ({"task_id": "t", "task": "x", "history": ["y"]}, "history.0"),
        ({"task_id": "t", "task": "x", "history": [{"role": "system", "content": "y"}]}, "history.0.role"),
        ({"task_id": "t", "task": "x", "history": [{"role": "user"}]}, "history.0.content"),
        ({"task_id": "t", "task": "x", "context": ["y"]}, "context"),
        (["x"], "body"),
    ]
    responses = [await play.client.post(PATH, json=body) for body, _ in wrong]
    refused = [loads_object(response.text) for response in responses]
    assert [(response.status_code, one["field"]) for response, one in zip(responses, refused, strict=True)] == [
        (422, field) for _, field in wrong
    ]
    assert [one for one in refused if not str(one["error"]).startswith(f"{one['field']}: ")] == []


async def test_what_is_not_json_is_400(play: Stage) -> None:
    for body in (b"{", b"", b"\xff", b'{"task": NaN}', b"[" * 5000):
        response = await play.client.post(PATH, content=body)
        assert response.status_code == 400, body
        assert "error" in loads_object(response.text)


@pytest.mark.parametrize(("task", "status"), [("fail it", 500), ("down it", 502), ("block it", 200), ("ask one", 202)])
async def test_how_it_went_is_the_status(play: Stage, task: str, status: int) -> None:
    """502 where a part that the worker needs was down, 202 where a person has to decide; a policy's no is an answer."""
    got, reply = await _post(play, task_id="t1", task=task)
    assert got == status
    if task == "block it":
        assert reply["answers"] == []
        assert cast(JsonObject, reply["metadata"])["policy_violations"] == ["blocked by policy limit-1"]
        assert cast(JsonObject, reply["metadata"])["policy_compliant"] is False
    else:
        assert reply["task_id"] == "t1"
        assert reply["error"]
        assert ("metadata" in reply) is (status >= 500), "what was found of the policy, of a task that has ended"


async def test_the_same_request_sent_twice_at_once_is_one_task(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play, asyncio.TaskGroup() as group:
        both = [group.create_task(_post(play, task_id="t1", task="hold on")) for _ in range(2)]
        await play.worker.has_begun(1)
        other, refused = await _post(play, task_id="t1", task="something else")
        play.worker.release.set()
        first, second = [await one for one in both]
        assert first == second
        assert len(play.worker.works) == 1
        assert (other, "another content" in str(refused["error"])) == (409, True)


async def test_a_task_that_takes_too_long_can_be_waited_for_again(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, blocking_limit=0.2) as play:
        slow, reply = await _post(play, task_id="t1", task="hold on")
        play.worker.release.set()
        again, answered = await _post(play, task_id="t1", task="hold on")
        while again == 504:
            again, answered = await _post(play, task_id="t1", task="hold on")
    assert (slow, again) == (504, 200)
    assert "send the same request again" in str(reply["error"])
    assert answered["answers"] == ["done: hold on"]
    assert len(play.worker.works) == 1
