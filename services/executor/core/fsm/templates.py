"""The process templates: which states a kind of process walks through, as data."""

from collections.abc import Mapping
from typing import Literal

from shared.contracts.base import Contract
from shared.domain.words import FsmState

_LETTERS = {
    "D": FsmState.DECOMPOSE,
    "A": FsmState.ASSESS,
    "C": FsmState.COMPUTE,
    "P": FsmState.POLICY_CHECK,
    "G": FsmState.APPROVAL_GATE,
    "M": FsmState.MUTATE,
    "N": FsmState.SCHEDULE_NOTIFY,
    "X": FsmState.COMPLETE,
}


class Template(Contract):
    """A kind of process, as data. A task keeps the template that it began with.

    ``instructions``: what a model is told besides in a state. ``outputs``: what an answer has to speak of.
    ``approvers``: how many distinct people an approval of it takes.
    ``escalates``: a rule that escalates ends it in ESCALATE, with its work done; elsewhere it waits for a person.
    ``two_persons_about``: words of the task or its facts for which two different people have to approve.
    ``confirmations``: each is an approval of its own, in this order, on the same plan.
    ``sequence``: a change goes out only once the one before it is verified.
    ``notice_to``: whoever has to be told of a change. ``quiet_hours``: notices wait until the tenant's are over.
    """

    process_type: str
    states: tuple[FsmState, ...]
    keywords: tuple[str, ...] = ()
    risk: Literal["low", "medium", "high"] = "low"
    instructions: dict[FsmState, str] = {}
    outputs: tuple[str, ...] = ()
    approvers: int = 1
    escalates: bool = False
    two_persons_about: tuple[str, ...] = ()
    confirmations: tuple[str, ...] = ()
    sequence: bool = False
    notice_to: str = ""
    quiet_hours: bool = False


def _template(
    process_type: str, path: str, keywords: str = "", approvers: int = 1, escalates: bool = False
) -> Template:
    words = tuple(word.strip() for word in keywords.split(",") if word.strip())
    states = tuple(_LETTERS[letter] for letter in path.split())
    return Template(process_type=process_type, states=states, keywords=words, approvers=approvers, escalates=escalates)


_ALL = (
    _template("expense_approval", "D A C P G M X", "expense, reimbursement, spend, receipt, claim"),
    _template("procurement", "D A C P G M N X", "vendor, purchase order, supplier, rfp, quote, procurement"),
    _template("hr_offboarding", "D A P M N X", "offboard, offboarding, termination, access revocation, last day"),
    _template("incident_response", "D A C G M N X", "incident, outage, breach, p1, p2, emergency, sev"),
    _template("invoice_reconciliation", "D A C P M X", "invoice, reconcile, reconciliation, accounts payable"),
    _template("customer_onboarding", "D A M N X", "onboard, onboarding, new customer, new client, provision"),
    _template("compliance_audit", "D A C P G M N X", "compliance, audit, kyc, gdpr, pci, sox, regulatory"),
    _template("dispute_resolution", "D A P G M X", "dispute, chargeback, complaint, contested"),
    _template("order_management", "D A C G M X", "order, shipment, delivery, fulfillment, cart, refund"),
    _template("sla_breach", "D A C P M N X", "sla, service level, uptime, downtime", escalates=True),
    _template("month_end_close", "D A C P G M N X", "month-end, month end, financial close, p&l"),
    _template("ar_collections", "D A C P M N X", "accounts receivable, aging, overdue, collection, bad debt"),
    _template("subscription_migration", "D A C P G M N X", "migrate, migration, downgrade, upgrade, plan change"),
    _template("payroll", "D A C P G M N X", "payroll, salary, wages, compensation, pay run, paye, bacs"),
    _template("general", "D A C P M X"),
)

TEMPLATES: Mapping[str, Template] = {template.process_type: template for template in _ALL}
GENERAL = TEMPLATES["general"]

READ_ONLY = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.COMPLETE)
