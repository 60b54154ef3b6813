"""SIGKILL a real executor while a write is on its way: another one says what came of it, and does not repeat it."""

import asyncio

import pytest

from examples.company import ledger
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, WriteStatus
from tests.e2e.whole_stack import WholeStack

pytestmark = pytest.mark.asyncio(loop_scope="package")
TOOL = "update_employee_phone"


OPEN_CALLS: dict[str, JsonObject] = {
    "before the server acts": {"delay_before_ms": 600},
    "applied after the caller died": {"delay_before_ms": 600, "ignore_disconnect": True},
    "applied before the answer": {"delay_after_ms": 600, "ignore_disconnect": True},
}
_TRUTH = {0: WriteStatus.ABSENT, 1: WriteStatus.VERIFIED}


@pytest.mark.promise("I3.kill_a_process")
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if "caller died" in case else pytest.mark.long) for case in OPEN_CALLS]
)
async def test_a_kill_between_sending_and_result_never_writes_twice(stack: WholeStack, case: str) -> None:
    """The successor lets the call's time pass and reads; it does not send. The answer says truly what is so."""
    number = list(OPEN_CALLS).index(case)
    phone, task = f"+1 555 {3000 + number}", f"open-{number}"
    await stack.faults({TOOL: {**OPEN_CALLS[case], "times": 1}})
    sending = asyncio.create_task(stack.send(f"Update the phone of employee EMP-447 to {phone}.", task))
    await _the_company_has_the_call(stack)
    await _kill_the_owner(stack, task)
    await sending
    record, applied = await stack.record(task), _applied(stack, phone)
    assert applied == 1 or case == "before the server acts"
    assert [write["status"] for write in _writes(record.metadata)] == [_TRUTH[applied].value]
    assert record.state is (TaskState.COMPLETED if applied else TaskState.INPUT_REQUIRED)
    assert ("verified" if applied else "not repeated") in (record.answer or "")


async def _kill_the_owner(stack: WholeStack, session: str) -> None:
    """Kill whichever executor has the session, and start another in its place."""
    held = await stack.held_by(session)
    assert held is not None
    pid = int(held.split(":")[1])
    name = stack.executor_of(pid)
    await stack.kill(pid)
    stack.start_again(name)


async def _the_company_has_the_call(stack: WholeStack) -> None:
    """A fault that counts its times is used up when the call arrives."""
    async with asyncio.timeout(20):
        while TOOL in await stack.faults_in_force():
            await asyncio.sleep(0.01)


def _applied(stack: WholeStack, phone: str) -> int:
    return sum(write.arguments.get("phone") == phone for write in ledger.writes(stack.database, TOOL))


def _writes(metadata: object) -> list[dict[str, Json]]:
    assert isinstance(metadata, dict)
    return list(metadata["writes"])
