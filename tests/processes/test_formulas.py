"""A figure that a task names in general terms is calculated, audited and written."""

import pytest

from shared.domain.words import TaskState
from tests.processes.expectations import statuses, values
from tests.processes.stage import Stage


@pytest.mark.promise("planner.formulas")
async def test_a_refund_is_of_the_prorated_amount_that_the_task_describes(stage: Stage) -> None:
    """120.00 less 10 of 30 days: 80.00, though the order itself has another total."""
    task = await stage.send(
        "Refund order ORD-2002 the prorated remaining amount, because it was cancelled early. The total is 120.00,"
        " with 10 days used of 30 total days."
    )
    assert (task.state, statuses(task)) == (TaskState.COMPLETED, [("create_refund", "verified")]), task.reason
    assert values(task)["prorated_remaining"] == "80.00"
    (amount,) = [
        change.value for change in stage.changes if (change.table, change.column) == ("refunds", "amount_cents")
    ]
    assert amount == 8000
