"""Approvals and the audit export on a stack of real processes, with a tenant that has a ladder of short times."""

import json
from pathlib import Path
from typing import cast

import pytest

from examples.company import ledger
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.whole_stack import WholeStack, whole_stack
from tests.integration.approval_stage import until

_FILE = Path(__file__).parents[2] / "cli" / "defaults" / "company_tenant.json"
_TASK = "Approve expense claim EXP-1001."
_SECOND = 1 / 3600


def _tenant(folder: Path, **changes: object) -> str:
    """The company's own record, in which each claim over a limit takes two people."""
    record = json.loads(_FILE.read_text())
    for rule in record["policies"][0]["rules"]:
        if rule["action"] == "require_approval":
            rule["approvers"] = 2
    path = folder / "tenant.json"
    path.write_text(json.dumps({**record, **changes}))
    return str(path)


async def _inbox(stack: WholeStack) -> list[JsonObject]:
    found = loads_object((await stack.http.get("/approvals")).text)["approvals"]
    return [one for one in cast("list[Json]", found) if isinstance(one, dict)]


async def _answer(stack: WholeStack, approval: str, word: str, by: str, level: str) -> tuple[int, JsonObject]:
    who: JsonObject = {"id": by, "roles": ["approver"], "levels": [level]}
    body = {"decision": word, "comment": f"{by} says so", "metadata": {"principal": who}}
    reply = await stack.http.post(f"/approvals/{approval}", json=body)
    return reply.status_code, loads_object(reply.text)


@pytest.mark.long
@pytest.mark.promise("approvals.escalation")
@pytest.mark.promise("audit.export")
async def test_two_of_the_next_level_approve_what_managers_left_and_the_audit_tells_of_it(tmp_path: Path) -> None:
    ladder = [{"level": "manager", "hours": _SECOND}, {"level": "committee", "hours": 1}]
    async with whole_stack(TENANT_FILE=_tenant(tmp_path, approval_ladder=ladder)) as stack:
        sent = await stack.send(_TASK, "t1")

        async def is_for_the_committee() -> bool:
            return [one["level"] for one in await _inbox(stack)] == ["committee"]

        await until(is_for_the_committee)
        (asked,) = await _inbox(stack)
        name = str(asked["approval_id"])
        theirs, _ = await _answer(stack, name, "approve", "dana", "manager")
        first, _ = await _answer(stack, name, "approve", "carl", "committee")
        before = len(ledger.writes(stack.database))
        second, done = await _answer(stack, name, "approve", "cora", "committee")
        writes = [write.tool for write in ledger.writes(stack.database)]
        exported = loads_object((await stack.http.get("/audit?task=t1")).text)["writes"]
    assert cast(JsonObject, sent["status"])["state"] == "input-required"
    assert asked["evidence"]
    assert (theirs, first, before, second, done["task_state"]) == (409, 200, 0, 200, "completed")
    rows = [row for row in cast("list[Json]", exported) if isinstance(row, dict)]
    assert [row["tool"] for row in rows] == writes
    approvals = cast("list[JsonObject]", rows[0]["approvals"])
    decisions = cast("list[JsonObject]", approvals[0]["decisions"])
    assert [(one["by"], one["comment"]) for one in decisions] == [("carl", "carl says so"), ("cora", "cora says so")]
    assert (approvals[0]["escalated_from"], rows[0]["status"]) == (["manager"], "verified")


@pytest.mark.long
@pytest.mark.promise("I7.expiry_means_no")
async def test_what_expires_on_real_processes_writes_nothing(tmp_path: Path) -> None:
    async with whole_stack(TENANT_FILE=_tenant(tmp_path, approval_hours=_SECOND)) as stack:
        await stack.send(_TASK, "t1")

        async def is_over() -> bool:
            return (await stack.record("t1")).state.is_terminal

        await until(is_over)
        record, left = await stack.record("t1"), await _inbox(stack)
        assert ledger.count(stack.database) == 0
    assert (record.state.value, left) == ("rejected", [])
    assert "no decision before" in (record.reason or "")
