"""invoice_reconciliation: the variance to the cent, and neither a duplicate nor a great variance without finance."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, rules, statuses, values
from tests.processes.people import FINANCE
from tests.processes.stage import Stage

FLAG = (
    "Flag invoice INV-6001 with the difference between the invoice and its purchase order, because its reconciliation"
    " does not come out even."
)


@pytest.mark.promise("process.invoice_reconciliation")
async def test_an_invoice_is_flagged_with_its_variance_to_the_cent(stage: Stage) -> None:
    task = await stage.send(FLAG)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P M X"), task.reason
    assert (values(task)["variance"], values(task)["duplicates"]) == ("231.37", "0")
    assert statuses(task) == [("flag_invoice", "verified")]
    assert stage.changes == exactly(row("invoices", "INV-6001", status="flagged", variance_cents=23137))


@pytest.mark.promise("process.invoice_reconciliation")
@pytest.mark.parametrize(
    ("invoice", "variance", "percent"), [("INV-6013", "-0.01", "-0.000135"), ("INV-6001", "231.37", "2.257268")]
)
async def test_a_small_variance_is_let_through(stage: Stage, invoice: str, variance: str, percent: str) -> None:
    """A cent under the order; and more than 2 percent, but not more than 500."""
    task = await stage.send(f"Approve invoice {invoice}.")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P M X"), task.reason
    assert (values(task)["variance"], values(task)["variance_percent"]) == (variance, percent)
    assert stage.changes == exactly(row("invoices", invoice, status="approved"))


@pytest.mark.promise("process.invoice_reconciliation")
async def test_a_great_variance_is_for_finance_to_let_through(stage: Stage) -> None:
    task = await stage.send("Approve invoice INV-6016.")
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert (values(task)["variance"], values(task)["variance_percent"]) == ("725.00", "5.000000")
    assert rules(task) == ["variance-beyond-limits"]
    task = await stage.decide(task, FINANCE)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M X"), task.reason
    assert stage.changes == exactly(row("invoices", "INV-6016", status="approved"))


@pytest.mark.promise("process.invoice_reconciliation")
async def test_a_duplicate_is_taken_to_finance(stage: Stage) -> None:
    """The vendor's other invoices are read for it, although the task speaks of one alone; no order is known for it."""
    stage.tenants.record = stage.tenants.record.model_copy(update={"strict_processes": True})
    task = await stage.send("Approve invoice INV-6025.")
    assert (task.state, values(task)["duplicates"]) == (TaskState.INPUT_REQUIRED, "1")
    assert rules(task) == ["duplicate-invoice", "needs-variance", "needs-variance_percent"]
    task = await stage.decide(task, FINANCE, "reject")
    assert (task.state, path(task), stage.changes) == (TaskState.REJECTED, "D A P G", ())
