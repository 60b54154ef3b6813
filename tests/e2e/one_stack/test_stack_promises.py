"""What holds for the whole: order within a session, a verdict before a write, honest ends when a part is down."""

import asyncio
import json
from datetime import datetime
from typing import cast

import pytest
from pydantic import JsonValue

from cli.stack.child import Child
from examples.company import ledger
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from tests.e2e.commands import call_purple
from tests.e2e.whole_stack import WholeStack
from tests.http_client import open_http

pytestmark = pytest.mark.asyncio(loop_scope="package")
TOOL = "update_employee_phone"


@pytest.mark.promise("I6.one_after_the_other")
async def test_two_turns_of_one_session_through_two_gateways_run_in_order(stack: WholeStack, second: Child) -> None:
    texts = [f"Update the phone of employee EMP-447 to +1 555 410{number}." for number in range(4)]
    async with open_http(base_url=second.spec.url, timeout=90) as other:
        doors = (stack.http, other)
        sends = (
            stack.send(text, f"order-{number}", door=doors[number % 2], session_id="order")
            for number, text in enumerate(texts)
        )
        await asyncio.gather(*sends)
    tasks = [f"order-{number}" for number in range(4)]
    accepted = {task: await stack.accepted_ms(task) for task in tasks}
    records = [await stack.record(task) for task in tasks]
    assert all(record.state is TaskState.COMPLETED for record in records)
    # Of two in the same millisecond either may be the first.
    ordered = sorted(records, key=lambda record: (accepted[record.task_id], _began(record)))
    began = [_began(record) for record in ordered]
    assert all(ended.updated_at <= next_began for ended, next_began in zip(ordered, began[1:], strict=False))
    phones = [str(write.arguments["phone"]) for write in ledger.writes(stack.database, TOOL)]
    applied = [phone for phone in phones if phone.startswith("+1 555 410")]
    assert applied == [record.request.text.split(" to ")[1].rstrip(".") for record in ordered]


@pytest.mark.promise("I1.lying_annotation")
async def test_a_write_that_calls_itself_read_only_is_still_a_write(stack: WholeStack) -> None:
    """The model calls it beside its first reads: it is not made there, but once, planned and with a verdict."""
    await stack.faults({TOOL: {"claim_read_only": True}})
    await stack.planner_faults(f"write_before_read={TOOL}")
    before = ledger.count(stack.database, TOOL)
    await stack.send("Update the phone of employee EMP-447 to +1 555 4200.", "liar")
    await stack.planner_faults("")
    await stack.faults({})
    record = await stack.record("liar")
    assert (record.state, ledger.count(stack.database, TOOL) - before) == (TaskState.COMPLETED, 1)
    (write,) = cast("list[dict[str, JsonValue]]", record.metadata["writes"])
    assert (write["tool"], write["status"], record.metadata["verdict"] is not None) == (TOOL, "verified", True)
    read = [event.data["tool"] for event in await stack.told("liar") if event.kind == "tool"]
    assert (TOOL in read, "get_employee" in read) == (False, True)


@pytest.mark.promise("I3.doubt_waits", "I3.operator_decides")
async def test_a_write_whose_fate_is_unknown_waits_until_an_operator_resolves_it(stack: WholeStack) -> None:
    """The company refuses and cuts the line: nothing changed, and only the operator knows that it is so."""
    await stack.faults({TOOL: {"fail": "out of order", "lose_reply": True, "times": 1}})
    before = ledger.count(stack.database, TOOL)
    await stack.send("Update the phone of employee EMP-447 to +1 555 4250.", "doubt")
    waiting = await stack.record("doubt")
    assert (waiting.state, waiting.metadata["escalated"]) == (TaskState.INPUT_REQUIRED, True)
    url = stack.stack.get_url("gateway")
    shown = await call_purple("task", "show", "doubt", "--url", url, "--json")
    (doubt,) = json.loads(shown.out)["metadata"]["doubts"]
    assert (doubt["tool"], doubt["status"], doubt["before"]) == (TOOL, "absent", doubt["after"])
    word = {"call": doubt["call_id"], "resolution": "retry"}
    assert (await stack.http.post("/tasks/doubt/resolve", json=word)).status_code == 403
    words = ("task", "resolve", "doubt", "--call", doubt["call_id"], "--url", url)
    settled = await call_purple(*words, "retry", "--as", "olga")
    assert (settled.code, ledger.count(stack.database, TOOL) - before) == (0, 1), settled.err
    record = await stack.record("doubt")
    assert (record.state, "verified" in (record.answer or "")) == (TaskState.COMPLETED, True)
    late = await call_purple(*words, "skip", "--as", "otto")
    assert (late.code, "olga said 'retry'" in late.err) == (1, True)


@pytest.mark.promise("I3.our_key")
async def test_a_lost_call_of_a_tool_that_honours_our_key_is_sent_again_by_itself(stack: WholeStack) -> None:
    """The tenant's catalogue names the argument: the notice went out, its answer was lost, and it goes out once."""
    await stack.faults({"notify_employee": {"lose_reply": True, "times": 1}})
    await stack.send("Notify employee EMP-447 that the badge is ready.", "our-key")
    record = await stack.record("our-key")
    assert (record.state, record.metadata["escalated"]) == (TaskState.COMPLETED, False), record.reason
    assert ledger.count(stack.database, "notify_employee") == 1
    (write,) = cast("list[dict[str, JsonValue]]", record.metadata["writes"])
    assert (write["tool"], write["attempt"]) == ("notify_employee", 2)


@pytest.mark.promise("I2.policy_stopped")
async def test_with_the_policy_service_stopped_nothing_is_written(stack: WholeStack) -> None:
    await stack.kill(stack.child("policy").pid)
    before = ledger.count(stack.database)
    result = await stack.send("Update the phone of employee EMP-447 to +1 555 4300.", "no-policy")
    await stack.replaced("policy")
    assert result["status"]["state"] == "failed"  # type: ignore[call-overload,index]  # JSON
    assert "no policy verdict" in ((await stack.record("no-policy")).reason or "")
    assert ledger.count(stack.database) == before


@pytest.mark.promise("bad_input.parts_down")
async def test_a_tool_server_that_is_down_ends_the_task_with_its_name(stack: WholeStack) -> None:
    await stack.kill(stack.child("company").pid)
    await stack.send("Update the phone of employee EMP-447 to +1 555 4400.", "no-company")
    record = await stack.record("no-company")
    await stack.replaced("company")
    assert record.state is TaskState.FAILED
    assert "tool server" in (record.reason or "")


@pytest.mark.promise("waiting.is_data")
async def test_a_waiting_task_holds_nothing(stack: WholeStack) -> None:
    result = await stack.send("Approve expense claim EXP-1001.", "waits")
    assert result["status"]["state"] == "input-required"  # type: ignore[call-overload,index]  # JSON
    await stack.let_go("waits")
    assert [key async for key in stack.redis.scan_iter("arq:*") if b"queue" not in str(key).encode()] == []


def _began(record: TaskRecord) -> datetime:
    return record.started_at or record.accepted_at
