"""``POST /tasks/{id}/resolve``: who may say what became of a write in doubt, and what they are answered."""

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from shared.contracts.task import TurnKind
from tests.integration.gateway_stage import Stage, stage

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


@pytest.mark.promise("I3.only_an_operator")
@pytest.mark.parametrize("metadata", [{}, {"principal": {"id": "dana", "roles": ["client", "approver"]}}])
async def test_nobody_without_the_role_gets_past_the_gateway(doubtful: Stage, metadata: dict[str, object]) -> None:
    answer = await resolve(doubtful, metadata=metadata)
    assert (answer.status_code, len(doubtful.worker.works)) == (403, 1)
    assert "you do not have the role operator" in answer.json()["error"]


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
