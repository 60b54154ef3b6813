"""incident_response: where payment data is concerned, two different people let the steps through."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, statuses
from tests.processes.people import MANAGER, approver
from tests.processes.stage import Stage

TASK = "Resolve incident INC-1510: the printouts were deleted. Notify EMP-103 that it is resolved."
DONE = exactly(
    row("incidents", "INC-1510", status="resolved", resolution="the printouts were deleted"), message(4004, "EMP-103")
)


@pytest.mark.promise("process.incident_response")
async def test_two_different_people_let_steps_through_where_payment_data_is_concerned(stage: Stage) -> None:
    """The same person twice is one person."""
    task = await stage.send(TASK)
    assert (task.state, "two different people" in (task.reason or "")) == (TaskState.INPUT_REQUIRED, True)
    for again in (MANAGER, MANAGER):
        task = await stage.decide(task, again)
        assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ())
    task = await stage.decide(task, approver("sam", "manager"))
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A G M N X"), task.reason
    assert statuses(task) == [("resolve_incident", "verified"), ("notify_employee", "sent")]
    assert stage.changes == DONE


@pytest.mark.promise("process.incident_response")
async def test_an_incident_that_concerns_no_payment_data_waits_for_nobody(stage: Stage) -> None:
    task = await stage.send("Assign incident INC-1503 to EMP-305.")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A G M N X"), task.reason
    assert stage.changes == exactly(row("incidents", "INC-1503", employee_id="EMP-305"))
