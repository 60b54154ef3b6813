"""What one task teaches, the next one knows, and anybody may read: over the whole stack."""

import asyncio
from typing import cast

import pytest

from shared.domain.exact_json import JsonObject, loads_object
from tests.e2e.whole_stack import WholeStack, whole_stack

_QUESTION = "Which expense claims are pending? Answer with a JSON list of their ids."


async def _learned(whole: WholeStack, tasks: int) -> JsonObject:
    """``/rl/status`` as soon as so many tasks are in it."""
    async with asyncio.timeout(20):
        while True:
            status = loads_object((await whole.http.get("/rl/status")).content)
            if cast(JsonObject, status["case_log"])["total"] == tasks:
                return status
            await asyncio.sleep(0.02)


@pytest.mark.promise("rl.status")
@pytest.mark.promise("prime.primer")
async def test_an_ended_task_is_counted_and_primes_the_next_one_like_it() -> None:
    async with whole_stack(STRATEGIES="fsm") as whole:
        await whole.send(_QUESTION, "first")
        await _learned(whole, 1)
        await whole.send(_QUESTION, "second")
        status = await _learned(whole, 2)
        primed = await whole.event("second", "note", primer=[{"case": await _case_of(whole, "first"), "use": "follow"}])
        metadata = (await whole.record("second")).metadata
    arms = cast(JsonObject, cast(JsonObject, status["bandit"])["expense_approval"])
    assert cast(JsonObject, arms["fsm"])["n"] == 2
    assert cast(int, cast(JsonObject, status["tool_registry"])["size"]) > 0
    assert primed.data["primer"]
    assert cast(JsonObject, cast(JsonObject, metadata["bandit"])["fsm"])["n"] == 1


async def _case_of(whole: WholeStack, task_id: str) -> str:
    return f"{(await whole.record(task_id)).task_id}:1"
