"""What one task teaches, the next one knows, and anybody may read: over the whole stack."""

import asyncio
from typing import cast

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.archived import archived_tasks
from tests.e2e.whole_stack import WholeStack, whole_stack

_QUESTION = "Which expense claims are pending? Answer with a JSON list of their ids."
_TELLS = f"{_QUESTION} Globex Ltd's payment terms are net 30."
_ASKS = f"{_QUESTION} Globex wants to know."
_OPERATOR: JsonObject = {"metadata": {"principal": {"id": "olga", "roles": ["operator"]}}}


async def _learned(whole: WholeStack, tasks: int) -> JsonObject:
    """``/rl/status`` as soon as so many tasks are in it."""
    async with asyncio.timeout(20):
        while True:
            status = loads_object((await whole.http.get("/rl/status")).content)
            if cast(JsonObject, status["case_log"])["total"] == tasks:
                return status
            await asyncio.sleep(0.02)


async def _memory(whole: WholeStack, part: str) -> list[JsonObject]:
    answer = await whole.http.post(f"/memory/{part}", json=_OPERATOR)
    return cast("list[JsonObject]", loads_object(answer.content)[part])


async def _remembered(whole: WholeStack, part: str) -> list[JsonObject]:
    """What is remembered, as soon as there is some of it: each part is stored by itself, after the task counts."""
    async with asyncio.timeout(20):
        while not (found := await _memory(whole, part)):
            await asyncio.sleep(0.02)
        return found


@pytest.mark.promise("rl.status", "prime.primer", "knowledge.end_to_end")
async def test_an_ended_task_is_counted_and_primes_the_next_one_like_it() -> None:
    async with whole_stack(STRATEGIES="fsm") as whole:
        await whole.send(_TELLS, "first")
        await _learned(whole, 1)
        (fact,) = await _remembered(whole, "facts")
        entities = await _remembered(whole, "entities")
        await whole.send(_ASKS, "second")
        status = await _learned(whole, 2)
        primed = await whole.event("second", "note", primer=[{"case": await _case_of(whole, "first"), "use": "follow"}])
        metadata = (await whole.record("second")).metadata
        told = (await archived_tasks(whole.stack.options.folder, 2))["second"]
    arms = cast(JsonObject, cast(JsonObject, status["bandit"])["expense_approval"])
    assert cast(JsonObject, arms["fsm"])["n"] == 2
    assert cast(int, cast(JsonObject, status["tool_registry"])["size"]) > 0
    assert primed.data["primer"]
    assert cast(JsonObject, cast(JsonObject, metadata["bandit"])["fsm"])["n"] == 1
    said: list[Json] = [fact[name] for name in ("subject", "attribute", "value", "holds")]
    assert said == ["Globex Ltd", "payment terms", "net 30", True]
    assert ("vendor", "Globex Ltd", 1) in [(one["kind"], one["value"], one["seen"]) for one in entities]
    assert "net 30" not in _ASKS
    assert b"net 30" in told


async def _case_of(whole: WholeStack, task_id: str) -> str:
    return f"{(await whole.record(task_id)).task_id}:1"
