"""SIGKILL a real executor in the middle of a task: another one takes it to its end, and nothing is written twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio

from examples.company import ledger
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, WriteStatus
from tests.e2e.whole_stack import WholeStack

pytestmark = pytest.mark.asyncio(loop_scope="package")
TOOL = "update_employee_phone"


@pytest_asyncio.fixture(autouse=True, scope="module", loop_scope="package")
async def _a_model_that_thinks(stack: WholeStack) -> AsyncIterator[None]:
    """So that a kill finds a task where its event said that it is."""
    await stack.planner_latency(60)
    yield
    await stack.planner_latency(0)


class Moment(NamedTuple):
    """An event after which the kill strikes."""

    kind: str
    data: JsonObject


MOMENTS = [
    Moment("model", {"step": "talk:1:model"}),
    Moment("state", {"state": "MUTATE"}),
    Moment("write", {"status": "sent"}),
    Moment("write", {"status": "verified"}),
]
MORE_MOMENTS = [
    Moment("submitted", {}),
    Moment("tool", {"tool": "get_employee"}),
    Moment("phase", {"phase": "PRIME"}),
    Moment("state", {"state": "DECOMPOSE"}),
    Moment("state", {"state": "ASSESS"}),
    Moment("model", {"step": "talk:2:model"}),
    Moment("state", {"state": "POLICY_CHECK"}),
]


@pytest.mark.promise("I3.kill_a_process", "I5.accepted_is_never_lost")
@pytest.mark.parametrize(
    "moment",
    [*MOMENTS, *(pytest.param(moment, marks=pytest.mark.long) for moment in MORE_MOMENTS)],
    ids=lambda moment: "-".join([moment.kind, *map(str, moment.data.values())]),
)
async def test_another_executor_takes_the_task_to_its_end(stack: WholeStack, moment: Moment) -> None:
    """Except between intent and answer of a write, every kill leads to the same end: written once, verified."""
    every = [*MOMENTS, *MORE_MOMENTS]
    for number in range(every.index(moment), 100, len(every)):
        phone, task = f"+1 555 {2000 + number}", f"kill-{number}"
        sending = asyncio.create_task(stack.send(f"Update the phone of employee EMP-447 to {phone}.", task))
        await stack.event(task, moment.kind, **moment.data)
        killed = await _kill_the_owner(stack, task)
        result = await sending
        if killed:
            break
    applied = _applied(stack, phone)
    record = await stack.record(task)
    statuses = [write["status"] for write in _writes(record.metadata)]
    if record.state is TaskState.COMPLETED:
        assert (applied, statuses) == (1, [WriteStatus.VERIFIED.value])
    else:  # the kill fell between intent and answer: said to be absent, and so it is; an operator is asked
        assert (record.state, applied, statuses) == (TaskState.INPUT_REQUIRED, 0, [WriteStatus.ABSENT.value])
    assert result["id"] == task


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
    assert await _kill_the_owner(stack, task)
    await sending
    record, applied = await stack.record(task), _applied(stack, phone)
    assert applied == 1 or case == "before the server acts"
    assert [write["status"] for write in _writes(record.metadata)] == [_TRUTH[applied].value]
    assert record.state is (TaskState.COMPLETED if applied else TaskState.INPUT_REQUIRED)
    assert ("verified" if applied else "not repeated") in (record.answer or "")


async def _kill_the_owner(stack: WholeStack, session: str) -> bool:
    """Kill whichever executor has the session, and start another in its place.

    False where the task had ended before anybody could strike, as it may on a slow machine.
    """
    while (held := await stack.held_by(session)) is None:
        if (await stack.record(session)).state not in (TaskState.SUBMITTED, TaskState.WORKING):
            return False
        await asyncio.sleep(0.01)  # between two looks
    pid = int(held.split(":")[1])
    name = stack.executor_of(pid)
    await stack.kill(pid)
    stack.start_again(name)
    return True


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
