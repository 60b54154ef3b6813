"""One task for each kind of process, and people who let through whatever is asked of them."""

from collections.abc import Mapping
from types import MappingProxyType

from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from tests.processes.people import approver
from tests.processes.stage import Stage

_LEVELS = ("manager", "finance", "legal", "committee")
_WILLING = (approver("ann", *_LEVELS), approver("bob", *_LEVELS))
_QUESTIONS = 6  # no process asks more often, not even for its confirmations

ERRANDS: Mapping[str, str] = MappingProxyType(
    {
        "expense_approval": "Approve expense claim EXP-1001.",
        "procurement": "Approve purchase order PO-7021.",
        "hr_offboarding": (
            "Offboard employee EMP-404. Revoke all active access of employee EMP-404, then deactivate the employee and"
            " notify EMP-118 that the account is closed."
        ),
        "incident_response": (
            "Resolve incident INC-1510: the printouts were deleted. Notify EMP-103 that it is resolved."
        ),
        "invoice_reconciliation": (
            "Flag invoice INV-6001 with the difference between the invoice and its purchase order, because its"
            " reconciliation does not come out even."
        ),
        "customer_onboarding": (
            "Onboard the new customer Nordlys Tea with email hello@nordlystea.example: create the customer and create a"
            " subscription to the plan Growth with 12 seats."
        ),
        "compliance_audit": (
            "Audit the KYC of customer CUS-813: record a KYC shortfall for each KYC document that is missing or"
            " expired, and notify EMP-103 of the result."
        ),
        "dispute_resolution": "Resolve dispute DSP-2503: the customer gets a voucher.",
        "order_management": "Modify item ITM-2306 of order ORD-2006 to product PRD-2213 at the quoted new total.",
        "sla_breach": (
            "Service level SLA-1404 is broken. Record the SLA credit for incident INC-1504 under SLA-1404, because the"
            " portal was down too long, and notify customer CUS-814 that the credit is recorded."
        ),
        "month_end_close": (
            "Month-end close of period LDP-2402: record the revenue booking of the recognized revenue, then close"
            " period LDP-2402 and notify EMP-103 that the period is closed."
        ),
        "ar_collections": (
            "Work through accounts receivable: take the step of its age for every overdue receivable that was due"
            " before 2026-04-01."
        ),
        "subscription_migration": (
            "Migrate subscription SBS-1208 to plan Growth and notify customer CUS-811 that the plan is changed and"
            " older records are lost."
        ),
        "payroll": (
            'Payroll for 2026-04: approve every payroll run of period "2026-04", then release bank file BNK-2802 over'
            " the total net and notify EMP-103 that the salaries are paid."
        ),
        "general": "Handle the equipment request of EMP-451. Assign asset AST-1721 to employee EMP-451.",
    }
)


async def carried_out(stage: Stage, text: str) -> TaskRecord:
    """The task when nobody is asked any more, everybody having said yes in turn."""
    task = await stage.send(text)
    for question in range(_QUESTIONS):
        if task.state is not TaskState.INPUT_REQUIRED or task.metadata["doubts"]:
            break
        task = await stage.decide(task, _WILLING[question % len(_WILLING)])
    return task
