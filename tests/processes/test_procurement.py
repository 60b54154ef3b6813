"""procurement: a purchase is decided once, and then its vendor is told."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, rules, statuses, values
from tests.processes.mishaps import OUT_OF_ORDER
from tests.processes.people import FINANCE, MANAGER
from tests.processes.stage import Stage

TASK = "Approve purchase order PO-7024."
LITTLE_LEFT = (
    "UPDATE budgets SET reserved_cents = allocated_cents - spent_cents - 80000 WHERE department = 'Operations'"
)
BOOKED = exactly(row("budgets", "BUD-04", spent_cents=2296500), row("purchase_orders", "PO-7024", status="approved"))


@pytest.mark.promise("process.procurement")
async def test_a_vendor_is_told_of_an_approval_that_nobody_asked_to_tell(stage: Stage) -> None:
    task = await stage.send("Approve purchase order PO-7021.")
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ())
    task = await stage.decide(task, MANAGER)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M N X"), task.reason
    assert statuses(task) == [("approve_purchase_order", "verified"), ("notify_vendor", "sent")]
    assert stage.writes == ("approve_purchase_order", "notify_vendor")
    assert stage.changes == exactly(
        row("budgets", "BUD-01", spent_cents=5033800),
        row("purchase_orders", "PO-7021", status="approved"),
        message(4004, "VEN-604"),
    )


@pytest.mark.promise("process.procurement")
async def test_a_vendor_is_not_told_of_an_approval_that_no_read_confirms(stage: Stage) -> None:
    """Where its tenant has notices wait for proof."""
    stage.tenants.record = stage.tenants.record.model_copy(update={"notices_after_proof": True})
    stage.faults.after("approve_purchase_order", {"get_purchase_order": OUT_OF_ORDER})
    task = await stage.send(TASK)
    assert statuses(task) == [("approve_purchase_order", "unverified")]
    assert stage.changes == BOOKED
    assert "The vendor was not told" in (task.answer or "")


@pytest.mark.promise("process.procurement")
async def test_a_purchase_beyond_its_budget_is_for_finance_alone_to_decide(stage: Stage) -> None:
    stage.arrange(LITTLE_LEFT)
    task = await stage.send(TASK)
    assert (task.state, values(task)["budget_after"]) == (TaskState.INPUT_REQUIRED, "-90.00"), task.reason
    assert rules(task) == ["budget-exceeded"]
    task = await stage.decide(task, MANAGER)
    assert task.state is TaskState.INPUT_REQUIRED
    task = await stage.decide(task, FINANCE, "reject")
    assert (task.state, path(task), stage.changes) == (TaskState.REJECTED, "D A P G", ())


async def test_as_a_general_task_an_approval_tells_no_vendor(stage: Stage) -> None:
    task = await stage.send(TASK, "general")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
    assert stage.changes == BOOKED
