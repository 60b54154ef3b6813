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
    SUPERSEDED = "superseded"  # nobody asks it any more: the inputs changed, or the task ended


class Decision(Contract):
    approve: bool
    by: Principal
    at: datetime
    comment: str = ""


class Confirmed(Contract):
    """A confirmation that was given, on a plan of that hash and a verdict of that one."""

    about: str
    by: tuple[str, ...]
    at: datetime
    approval_id: str
    plan_hash: str
    verdict_hash: str


class Confirmation(Contract):
    """Which of several confirmations is asked for: the ``number``-th, counted from 1, ``of`` so many."""

    about: str
    number: int
    of: int
    given: tuple[Confirmed, ...] = ()  # those before it, on the same plan


class Approval(Contract):
    """A frozen plan waiting for its decisions. ``needed`` counts distinct approvers (two-person rules).

    ``confirmation``: where a process asks for several in sequence, which one this is.
    """

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
    confirmation: Confirmation | None = None
