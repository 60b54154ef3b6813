"""sla_breach: the credit is the agreement's, notices heed quiet hours, and large or repeated breaches escalate."""

from datetime import UTC, datetime, timedelta

import pytest

from examples.demo.books import BookChange
from shared.contracts.task import TurnKind
from shared.contracts.tenant import QuietHours
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, rules, statuses, values
from tests.processes.stage import Stage

pytestmark = pytest.mark.promise("process.sla_breach")


def _breach(incident: str, sla: str, customer: str) -> str:
    return (
        f"Service level {sla} is broken. Record the SLA credit for incident {incident} under {sla}, because the portal"
        f" was down too long, and notify customer {customer} that the credit is recorded."
    )


_SMALL, _LARGE = _breach("INC-1504", "SLA-1404", "CUS-814"), _breach("INC-1514", "SLA-1411", "CUS-815")
_THIRD = _breach("INC-1513", "SLA-1410", "CUS-808")


def _credit(incident: str, sla: str, amount_cents: int) -> list[BookChange]:
    key = "CRD-1602"
    return row("sla_credits", key, id=key, incident_id=incident, sla_id=sla, amount_cents=amount_cents)


_SMALL_CREDIT = _credit("INC-1504", "SLA-1404", 22400)


async def test_the_credit_is_recorded_and_the_customer_told(stage: Stage) -> None:
    task = await stage.send(_SMALL)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P M N X"), task.reason
    assert (values(task)["sla_credit"], rules(task), task.metadata["escalated"]) == ("224.00", [], False)
    assert statuses(task) == [("record_sla_credit", "verified"), ("notify_customer", "sent")]
    assert stage.changes == exactly(_SMALL_CREDIT, message(4004, "CUS-814"))


@pytest.mark.parametrize(
    ("text", "rule", "credit", "customer"),
    [
        (_LARGE, "large-credit", _credit("INC-1514", "SLA-1411", 1280000), "CUS-815"),
        (_THIRD, "third-breach", _credit("INC-1513", "SLA-1410", 1925), "CUS-808"),
    ],
)
async def test_a_large_credit_and_a_third_breach_end_escalated_with_the_work_done(
    stage: Stage, text: str, rule: str, credit: list[BookChange], customer: str
) -> None:
    task = await stage.send(text)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P M N E"), task.reason
    assert (rules(task), task.metadata["escalated"]) == ([rule], True)
    assert stage.changes == exactly(credit, message(4004, customer))


def _quiet(begins: timedelta, ends: timedelta) -> QuietHours:
    now = datetime.now(UTC)
    return QuietHours(start=(now + begins).time(), end=(now + ends).time())


def _set_quiet(stage: Stage, hours: QuietHours) -> None:
    stage.tenants.record = stage.tenants.record.model_copy(update={"quiet_hours": hours, "time_zone": "UTC"})


async def test_in_quiet_hours_the_notice_waits_and_the_credit_does_not(stage: Stage) -> None:
    _set_quiet(stage, _quiet(-timedelta(hours=2), timedelta(hours=2)))
    task = await stage.send(_SMALL)
    assert (task.state, stage.changes) == (TaskState.WORKING, exactly(_SMALL_CREDIT)), task.reason
    assert "quiet hours" in str(task.reason)
    _set_quiet(stage, _quiet(-timedelta(hours=2), -timedelta(hours=1)))
    task = await stage.signal(task, TurnKind.DEADLINE, subject="quiet:over")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P M N X"), task.reason
    assert stage.changes == exactly(_SMALL_CREDIT, message(4004, "CUS-814"))


async def test_the_same_tasks_as_general_ones_heed_no_hours_and_escalate_nothing(stage: Stage) -> None:
    _set_quiet(stage, _quiet(-timedelta(hours=2), timedelta(hours=2)))
    task = await stage.send(_LARGE, process="general")
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A C P M X"), task.reason
    assert (rules(task), "sla_credit" in values(task), task.metadata["escalated"]) == ([], False, False)
    assert stage.changes == exactly(_credit("INC-1514", "SLA-1411", 1280000), message(4004, "CUS-815"))
