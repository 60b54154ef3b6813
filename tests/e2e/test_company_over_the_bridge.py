"""The whole stack with the company's tools behind the REST bridge: a renamed column is recovered from."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shared.contracts.task import TaskEvent
from tests.e2e.whole_stack import TENANT, WholeStack, whole_stack

pytestmark = [
    pytest.mark.long,  # the bridge by itself is in the suite: tests/integration/test_rest_bridge.py
    pytest.mark.asyncio(loop_scope="module"),
]
QUESTION = (
    'Query the table "expenses" with filter column "amount" and filter value "2340.00".'
    " Answer with a JSON list of their ids."
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack() -> AsyncIterator[WholeStack]:
    async with whole_stack(COMPANY_PROTOCOL="rest") as whole:
        yield whole


@pytest.mark.promise("drift.recovers", "drift.remembered")
async def test_a_renamed_column_is_recovered_from_and_remembered_in_the_session(stack: WholeStack) -> None:
    await stack.faults({"rename": {"expenses.amount": "total_amount"}})
    await stack.send(QUESTION, "first", session_id="drift")
    await stack.send(QUESTION, "second", session_id="drift")
    await stack.faults({})
    learned = await stack.event("first", "note", renamed_column="amount", now_called="total_amount", found_by="alias")
    assert learned.data["tool"] == "query_table"
    assert [event.data["ok"] for event in await _queries(stack, "first")] == [False, True]
    assert [event.data.get("renamed") for event in await _queries(stack, "second")] == [{"amount": "total_amount"}]
    assert "EXP-1001" in ((await stack.record("second")).answer or "")


async def _queries(stack: WholeStack, task_id: str) -> list[TaskEvent]:
    """The calls of ``query_table`` in an ended task's story."""
    found = []
    async for _, event in stack.store.watch(TENANT, task_id):
        if event.kind == "tool" and event.data.get("tool") == "query_table":
            found.append(event)
        if event.kind == "status":
            return found
    return found
