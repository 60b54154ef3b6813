"""Approvals of plans: what a person is asked and decides, whom the question escalates to, and notices about it."""

from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Literal

from pydantic import Field, field_validator

from shared.contracts.base import Contract
from shared.contracts.grounds import Grounds
from shared.contracts.plan import WritePlan
from shared.contracts.task import Principal
from shared.domain.words import EscalationLevel, Role

MOST_APPROVAL_HOURS = 10_000_000  # a deadline after the year 9999 is no time


class NoticeEvent(StrEnum):
    """A step of an approval that people may be notified of."""

    WAITING = "approval_waiting"
    ESCALATED = "approval_escalated"
    DECIDED = "approval_decided"
    EXPIRED = "approval_expired"


class NoticeTarget(Contract):
    """A webhook for notices. ``standard``: a signed JSON event (Standard Webhooks). ``slack``: a Slack-style body.

    ``secret`` refers to a variable of the gateway (``env:NAME``) with ``whsec_`` and base64, and signs in place of the
    tenant's own; ``url`` may refer to one, too, since a Slack URL is a secret by itself.
    """

    url: str = Field(pattern=r"^(https?://\S+|env:[A-Za-z_][A-Za-z0-9_]*)$")
    events: tuple[NoticeEvent, ...] = tuple(NoticeEvent)
    format: Literal["standard", "slack"] = "standard"
    secret: str = Field(default="", pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*)?$")


class LadderRung(Contract):
    """A level of an approval ladder: the hours it is asked (None: ``approval_hours``), and how many must approve."""

    level: str
    hours: float | None = Field(default=None, gt=0, le=MOST_APPROVAL_HOURS)
    approvers: int = Field(default=1, ge=1, le=20)

    @field_validator("level")
    @classmethod
    def _check_level(cls, word: str) -> str:
        return EscalationLevel.parse(word).word


class Escalation(Contract):
    """A level that did not decide in time; it was asked until ``deadline``."""

    level: str | None
    deadline: datetime
    at: datetime


def are_levels_rising(ladder: tuple[LadderRung, ...]) -> bool:
    """Whether each rung of a ladder is of a higher level than the one before it; True for an empty ladder."""
    ranks = [EscalationLevel.parse(rung.level) for rung in ladder]
    return all(lower < higher for lower, higher in pairwise(ranks))


def list_rungs_above(ladder: tuple[LadderRung, ...], level: str | None) -> tuple[LadderRung, ...]:
    """The rungs of an approval ladder whose level is higher than ``level``, which need not be a rung itself; all rungs
    if it is None.
    """
    return tuple(
        rung for rung in ladder if level is None or EscalationLevel.parse(rung.level) > EscalationLevel.parse(level)
    )


def find_rung_of_level(ladder: tuple[LadderRung, ...], level: str | None) -> LadderRung | None:
    """The rung of that level; None if the ladder has none."""
    return next((rung for rung in ladder if rung.level == level), None)


class ApprovalStatus(StrEnum):
    """Whether an approval waits, or how it was decided."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"  # nobody asks it any more: the inputs changed, or the task ended


class Decision(Contract):
    """A person's decision on an approval."""

    approve: bool
    by: Principal
    at: datetime
    comment: str = ""


class GivenConfirmation(Contract):
    """A confirmation that was given for one plan and verdict, identified by their hashes."""

    about: str
    by: tuple[str, ...]
    at: datetime
    approval_id: str
    plan_hash: str
    verdict_hash: str


class ConfirmationStep(Contract):
    """One of the confirmations that are asked for in sequence: the ``number``-th (from 1) ``of`` all."""

    about: str
    number: int
    of: int
    given: tuple[GivenConfirmation, ...] = ()  # those before it, on the same plan


class Approval(Contract):
    """A frozen plan that waits for decisions. ``needed``: how many different people must approve.

    ``confirmation``: which one this is, if the process asks for several. ``ladder``: the levels to ask next if nobody
    decides in time; ``escalations``: the levels that did not.
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
    confirmation: ConfirmationStep | None = None
    grounds: Grounds = Grounds()
    ladder: tuple[LadderRung, ...] = ()
    escalations: tuple[Escalation, ...] = ()
    notices: tuple[NoticeTarget, ...] = ()  # whom its tenant has told of it

    @property
    def timer_subject(self) -> str:
        """The name of the approval's current deadline timer, which differs for each level."""
        return f"{self.approval_id}+{len(self.escalations)}" if self.escalations else self.approval_id

    def find_objection_to_decider(self, principal: Principal, now: datetime) -> str | None:
        """Why this person's decision would not count now; None if it would. A higher level does not count either."""
        if self.status is not ApprovalStatus.WAITING or now >= self.deadline:
            return f"the approval is no longer waiting (deadline {self.deadline:%Y-%m-%d %H:%M} UTC)"
        if principal.id == self.requester_id:
            return f"{principal.id} asked for this and cannot approve it"
        if Role.APPROVER not in principal.roles:
            return f"{principal.id} does not have the role approver"
        if self.level is not None and EscalationLevel.parse(self.level).word not in {
            word.strip().lower() for word in principal.levels
        }:
            return f"{principal.id} may not decide at level {self.level}"
        if any(decision.by.id == principal.id for decision in self.decisions):
            return f"{principal.id} has already decided"
        return None
