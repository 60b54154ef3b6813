"""expense_approval: a claim is approved once, within the budget it is charged to."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, rules, statuses, values
from tests.processes.people import FINANCE, MANAGER
from tests.processes.stage import Stage

TASK = "Approve expense claim EXP-1003."  # over 449.00
LITTLE_LEFT = "UPDATE budgets SET reserved_cents = allocated_cents - spent_cents - 40000 WHERE id = 'BUD-01'"


@pytest.mark.promise("process.expense_approval")
async def test_a_claim_is_approved_and_charged_once(stage: Stage) -> None:
    task = await stage.send("Approve expense claim EXP-1002.")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M X"), task.reason
    assert values(task)["budget_after"] == "68263.60"
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
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M X"), task.reason
    assert stage.changes == exactly(
        row("budgets", "BUD-05", spent_cents=1523900), row("expenses", "EXP-1001", status="approved")
    )


@pytest.mark.promise("process.expense_approval")
async def test_a_claim_beyond_its_budget_is_for_finance_alone_to_decide(stage: Stage) -> None:
    """It is within every limit of the tenant; only what it leaves of the budget asks for somebody."""
    stage.arrange(LITTLE_LEFT)
    task = await stage.send(TASK)
    assert (task.state, values(task)["budget_after"]) == (TaskState.INPUT_REQUIRED, "-49.00"), task.reason
    assert rules(task) == ["budget-exceeded"]
    task = await stage.decide(task, MANAGER)
    assert task.state is TaskState.INPUT_REQUIRED
    task = await stage.decide(task, FINANCE, "reject")
    assert (task.state, path(task)) == (TaskState.REJECTED, "D A P G"), task.reason
    assert "budget_after" not in values(task)  # it was not spent
    assert (stage.writes, stage.changes) == ((), ())


async def test_as_a_general_task_a_claim_beyond_its_budget_waits_for_nobody(stage: Stage) -> None:
    """The write is tried, and only the company's own books refuse it."""
    stage.arrange(LITTLE_LEFT)
    task = await stage.send(TASK, "general")
    assert (task.state, statuses(task)) == (TaskState.FAILED, [("approve_expense", "refused")])
    assert (values(task), stage.changes) == ({}, ())
