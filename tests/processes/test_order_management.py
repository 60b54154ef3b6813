"""order_management: what a change costs is known before an order is modified, and a large order takes a manager."""

import pytest

from examples.company.faults import ToolFault
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, path, row, rules, statuses, values
from tests.processes.people import MANAGER
from tests.processes.stage import Stage

pytestmark = pytest.mark.promise("process.order_management")

_TASK = "Modify item ITM-2306 of order ORD-2006 to product PRD-2213 at the quoted new total."
_LARGE = "Modify item ITM-2308 of order ORD-2008 to product PRD-2215 at the quoted new total."
_STATED = "Modify item ITM-2306 of order ORD-2006 to product PRD-2213 at a total of $368.70."
_MODIFIED = exactly(
    row("order_items", "ITM-2306", product_id="PRD-2213", price_cents=6145),
    row("orders", "ORD-2006", item="Water filter with sensor", total_cents=36870),
)
_UNPRICED = ({"get_price_quote": ToolFault(fail="no quotes today")}, {"order_items.price": "tariff"})


async def test_an_order_is_modified_at_the_difference_that_was_worked_out_before(stage: Stage) -> None:
    task = await stage.send(_TASK)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A G M X"), task.reason
    assert values(task) == {"price_delta": "56.70"}
    assert statuses(task) == [("modify_order_item", "verified")]
    assert stage.changes == _MODIFIED


async def test_an_order_that_becomes_large_waits_for_a_manager(stage: Stage) -> None:
    task = await stage.send(_LARGE)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert (values(task), rules(task)) == ({"price_delta": "9237.00"}, ["large-order"])
    task = await stage.decide(task, MANAGER)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A G M X"), task.reason
    assert stage.changes == exactly(
        row("order_items", "ITM-2308", product_id="PRD-2215", price_cents=89875),
        row("orders", "ORD-2008", item="Coffee beans 25 kg", total_cents=1078500),
    )


async def test_without_a_known_difference_a_strict_tenant_is_asked(stage: Stage) -> None:
    """The task states the total itself, there is no quote, and the item shows no price by any known name."""
    stage.faults.replace(*_UNPRICED)
    stage.tenants.record = stage.tenants.record.model_copy(update={"strict_processes": True})
    task = await stage.send(_STATED)
    assert (task.state, stage.changes) == (TaskState.INPUT_REQUIRED, ()), task.reason
    assert "price_delta" in str(task.reason)
    task = await stage.decide(task, MANAGER)
    assert (task.state, stage.changes) == (TaskState.COMPLETED, _MODIFIED), task.reason
