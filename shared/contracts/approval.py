"""An approval: who may say yes to which exact calls, until when."""

from datetime import datetime
from enum import StrEnum

from shared.contracts.base import Contract
from shared.contracts.plan import WritePlan
from shared.contracts.task import Principal


class ApprovalStatus(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"  # the inputs changed; a new approval was asked for


class Decision(Contract):
    approve: bool
    by: Principal
    at: datetime
    comment: str = ""


class Approval(Contract):
    """A frozen plan waiting for its decisions. ``needed`` counts distinct approvers (two-person rules)."""

    approval_id: str
    task_id: str
    plan: WritePlan
    plan_hash: str
    verdict_hash: str  # digest of policy, context and plan that the verdict was bound to
    level: str | None
    requester_id: str
    reasons: tuple[str, ...]
    needed: int = 1
    asked_at: datetime
    deadline: datetime
    status: ApprovalStatus = ApprovalStatus.WAITING
    decisions: tuple[Decision, ...] = ()
