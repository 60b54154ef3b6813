"""compliance_audit: every gap is counted and goes on record; enhanced due diligence is for legal to decide."""

import pytest

from examples.demo.books import BookChange
from shared.domain.words import TaskState
from tests.processes.expectations import exactly, message, path, row, rules, statuses, values
from tests.processes.people import LEGAL, MANAGER
from tests.processes.stage import Stage


def _audit(customer: str) -> str:
    return (
        f"Audit the KYC of customer {customer}: record a KYC shortfall for each KYC document that is missing or"
        " expired, and notify EMP-103 of the result."
    )


def _shortfall(number: int, document: str, customer: str) -> list[BookChange]:
    key = f"SHF-{number}"
    return row("kyc_shortfalls", key, id=key, kyc_document_id=document, customer_id=customer, status="open")


@pytest.mark.promise("process.compliance_audit")
async def test_every_gap_is_counted_and_goes_on_record(stage: Stage) -> None:
    task = await stage.send(_audit("CUS-807"))
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M N X"), task.reason
    assert values(task)["kyc_gaps"] == "2"
    assert statuses(task) == [*[("record_kyc_shortfall", "verified")] * 2, ("notify_employee", "sent")]
    assert stage.changes == exactly(
        _shortfall(2402, "KYD-2317", "CUS-807"), _shortfall(2403, "KYD-2318", "CUS-807"), message(4004, "EMP-103")
    )


@pytest.mark.promise("process.compliance_audit")
@pytest.mark.parametrize(
    ("customer", "document", "sign"),
    [
        ("CUS-813", "KYD-2335", ""),
        ("CUS-804", "KYD-2309", ""),
        ("CUS-807", "KYD-2317", "UPDATE screenings SET politically_exposed_flag = 1 WHERE customer_id = 'CUS-807'"),
    ],
    ids=["high risk", "a sanctions hit", "politically exposed"],
)
async def test_enhanced_due_diligence_is_for_legal_to_decide(
    stage: Stage, customer: str, document: str, sign: str
) -> None:
    """The screening is read for it, although the task does not speak of it."""
    stage.arrange(sign)
    task = await stage.send(_audit(customer))
    assert (task.state, stage.changes, rules(task)) == (TaskState.INPUT_REQUIRED, (), ["enhanced-due-diligence"])
    task = await stage.decide(task, MANAGER)
    assert task.state is TaskState.INPUT_REQUIRED
    task = await stage.decide(task, LEGAL)
    assert (task.state, path(task)) == (TaskState.COMPLETED, "D A P G M N X"), task.reason
    assert {*_shortfall(2402, document, customer)} <= {*stage.changes}
