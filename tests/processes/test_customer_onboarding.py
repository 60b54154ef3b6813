"""customer_onboarding: a customer is set up, and only then welcomed."""

import pytest

from examples.demo.books import BookChange
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, statuses
from tests.processes.mishaps import OUT_OF_ORDER
from tests.processes.stage import Stage

SET_UP = (
    "Onboard the new customer Nordlys Tea with email hello@nordlystea.example: create the customer and create a"
    " subscription to the plan Growth with 12 seats"
)
WELCOME = f"{SET_UP}, and send a welcome message to the customer."
READS = {"list_subscriptions": OUT_OF_ORDER, "get_subscription": OUT_OF_ORDER}


def _set_up() -> list[BookChange]:
    customer = row(
        "customers",
        "CUS-817",
        id="CUS-817",
        name="Nordlys Tea",
        email="hello@nordlystea.example",
        kyc_status="missing",
        status="active",
    )
    subscription = row(
        "subscriptions",
        "SBS-1219",
        id="SBS-1219",
        customer_id="CUS-817",
        plan_name="Growth",
        seats=12,
        monthly_cents=20700,
        renews_on="2026-05-01",
        status="active",
    )
    return [*customer, *subscription]


@pytest.mark.promise("process.customer_onboarding")
@pytest.mark.parametrize("text", [WELCOME, f"{SET_UP}."], ids=["asked to", "not asked to"])
async def test_a_customer_is_set_up_and_then_welcomed(stage: Stage, text: str) -> None:
    task = await stage.send(text)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A M N X"), task.reason
    assert statuses(task) == [
        ("create_customer", "verified"),
        ("create_subscription", "verified"),
        ("notify_customer", "sent"),
    ]
    assert stage.writes == ("create_customer", "create_subscription", "notify_customer")
    assert stage.changes == exactly(_set_up(), message(4004, "CUS-817"))


@pytest.mark.promise("process.customer_onboarding")
async def test_nobody_is_welcomed_to_what_no_read_confirms(stage: Stage) -> None:
    """Where its tenant has notices wait for proof."""
    stage.tenants.record = stage.tenants.record.model_copy(update={"notices_after_proof": True})
    stage.faults.after("create_subscription", READS)
    task = await stage.send(WELCOME)
    assert statuses(task)[1] == ("create_subscription", "unverified")
    assert stage.writes == ("create_customer", "create_subscription")
    assert stage.changes == exactly(_set_up())
