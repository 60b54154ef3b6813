"""What one task says of a vendor, the next one about it knows: over the whole stack, facts found by the learner."""

import asyncio
from typing import cast

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.infra import keys
from tests.e2e.whole_stack import TENANT, WholeStack, whole_stack

_FIRST = (
    "Which expense claims are pending? Answer with a JSON list of their ids. Globex Ltd's payment terms are net 30."
)
_SECOND = "Which expense claims of Globex are pending? Answer with a JSON list of their ids."
_OPERATOR: JsonObject = {"metadata": {"principal": {"id": "olga", "roles": ["operator"]}}}


async def _memory(whole: WholeStack, part: str) -> list[JsonObject]:
    answer = await whole.http.post(f"/memory/{part}", json=_OPERATOR)
    return cast("list[JsonObject]", loads_object(answer.content)[part])


async def _with_facts(whole: WholeStack) -> list[JsonObject]:
    async with asyncio.timeout(20):
        while not (facts := await _memory(whole, "facts")):
            await asyncio.sleep(0.02)
        return facts


async def _experience(whole: WholeStack, task_id: str) -> str:
    """What the task's journal says that it was given of earlier ones."""
    record = await whole.record(task_id)
    name = keys.task_keys(TENANT, record.session_id, record.task_id).journal
    rows = await whole.redis.xrange(name)
    return " ".join(value for _, fields in rows for value in fields.values() if "net 30" in value)


@pytest.mark.promise("knowledge.end_to_end")
async def test_the_second_task_about_a_vendor_is_primed_with_what_the_first_one_taught() -> None:
    async with whole_stack(STRATEGIES="fsm") as whole:
        await whole.send(_FIRST, "first")
        (fact,) = await _with_facts(whole)
        entities = await _memory(whole, "entities")
        await whole.send(_SECOND, "second")
        primed = await _experience(whole, "second")
    said: list[Json] = [fact[name] for name in ("subject", "attribute", "value", "holds")]
    assert said == ["Globex Ltd", "payment terms", "net 30", True]
    assert ("vendor", "Globex Ltd", 1) in [(one["kind"], one["value"], one["seen"]) for one in entities]
    assert "net 30" in primed
