"""expense_approval: a claim is approved once, within the budget it is charged to."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, statuses
from tests.processes.people import MANAGER
from tests.processes.stage import Stage


@pytest.mark.promise("process.expense_approval")
async def test_a_claim_is_approved_and_charged_once(stage: Stage) -> None:
    task = await stage.send("Approve expense claim EXP-1002.")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P G M X"), task.reason
    assert statuses(task) == [("approve_expense", "verified")]
    assert stage.writes == ("approve_expense",)
    assert stage.changes == exactly(
        row("budgets", "BUD-01", spent_cents=4323640), row("expenses", "EXP-1002", status="approved")
    )


@pytest.mark.promise("process.expense_approval")
async def test_a_claim_over_the_limit_waits_for_a_manager(stage: Stage) -> None:
    task = await stage.send("Approve expense claim EXP-1001.")
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ())
    task = await stage.decide(task, MANAGER)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P G M X"), task.reason
    assert stage.changes == exactly(
        row("budgets", "BUD-05", spent_cents=1523900), row("expenses", "EXP-1001", status="approved")
    )
