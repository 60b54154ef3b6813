"""A task that waits for a person survives the restart of every process, Redis included."""

import tempfile
from pathlib import Path

import pytest

from examples.company import ledger
from shared.domain.exact_json import JsonObject
from tests.e2e.whole_stack import whole_stack

MANAGER: JsonObject = {"id": "dana", "roles": ["approver"], "levels": ["manager"]}


@pytest.mark.long
@pytest.mark.promise("waiting.survives_restart")
async def test_an_approval_given_after_a_restart_is_carried_out_once() -> None:
    with tempfile.TemporaryDirectory(prefix="pa-") as kept:
        async with whole_stack(folder=Path(kept)) as stack:
            asked = await stack.send("Approve expense claim EXP-1001.", "long-wait")
            assert ledger.count(stack.database) == 0
        async with whole_stack(folder=Path(kept)) as stack:
            done = await stack.send("approve", "long-wait", principal=MANAGER)
            assert [write.tool for write in ledger.writes(stack.database)] == ["approve_expense"]
    states = [result["status"]["state"] for result in (asked, done)]  # type: ignore[call-overload,index]  # JSON
    assert states == ["input-required", "completed"]
