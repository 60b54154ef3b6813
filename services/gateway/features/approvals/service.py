"""Approvals that wait: who may see which, and how they are answered."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from services.gateway.edge.errors import DecisionNotCounted, InvalidField, MissingRole, UnknownApproval
from services.gateway.edge.fields import required_id_at, short_text_at
from services.gateway.edge.ids import derive_id
from services.gateway.features.approvals.views import Question, approval_view
from services.gateway.features.identity.model import Caller, may_read
from services.gateway.features.tasks.message import WORDS
from shared.contracts.approval import Approval, ApprovalStatus, NoticeEvent
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role, TaskState


class Approvals(Protocol):
    """The tenants' approvals. Both methods may raise ``StoreUnavailable``."""

    async def waiting(self, tenant: str) -> Sequence[Question]:
        """Every undecided approval of the tenant."""

    async def find(self, tenant: str, approval_id: str) -> Question | None:
        """The approval, decided or not; None if there is none, or none that is kept any longer."""


class OwedNotice(NamedTuple):
    """A notice that is due. ``name``: its key in the store."""

    name: str
    event: NoticeEvent
    step: int
    tenant: str
    approval_id: str


class OwedNotices(Protocol):
    """Notices about approvals that were not sent yet. Every method may raise ``StoreUnavailable``."""

    async def take(self) -> Sequence[OwedNotice]:
        """Claim the notices that are due. Another process takes them after a while, should this one die."""

    async def mark_done(self, owed: OwedNotice) -> None: ...


class UnreadableReference(Exception):
    """A target refers to a variable that is not set or not permitted; the message names it, and no secret."""


ReadReference = Callable[[str, str], str]  # of a target's field and its tenant; may raise ``UnreadableReference``
_LONGEST_COMMENT = 2000


class ApproverAnswer(NamedTuple):
    """An approver's decision on the calls of one approval, with a comment."""

    decision: str
    comment: str = ""


def read_answer(body: JsonObject) -> ApproverAnswer:
    """Parse ``{"decision": "approve" | "reject", "comment"}``; raises ``InvalidField``."""
    word = required_id_at(body, "decision", "decision").strip().lower()
    if word not in WORDS:
        raise InvalidField("decision", f"must be {' or '.join(WORDS)}")
    return ApproverAnswer(word, short_text_at(body, "comment", _LONGEST_COMMENT))


# Puts a turn ahead of its session's messages, waits a little for its end, and returns the task.
HandOver = Callable[[TaskRecord, Turn], Awaitable[TaskRecord]]


class ApprovalService:
    """Lists, shows and answers a tenant's approvals. All methods raise ``StoreUnavailable``."""

    def __init__(self, approvals: Approvals, hand_over: HandOver, clock: Callable[[], datetime]) -> None:
        self._approvals, self._hand_over, self._clock = approvals, hand_over, clock

    async def waiting(self, caller: Caller) -> list[Question]:
        """The waiting approvals that the caller may see, the nearest deadline first."""
        questions = [
            one for one in await self._approvals.waiting(caller.tenant) if may_read(caller.principal, one.record)
        ]
        return sorted(questions, key=lambda one: (one.approval.deadline, one.approval.approval_id))

    def view(self, question: Question, caller: Caller) -> dict[str, JsonValue]:
        """The approval as JSON, with whether the caller's answer would count."""
        return approval_view(question, caller.principal, self._clock())

    async def show(self, approval_id: str, caller: Caller) -> Question:
        """One approval; a decided one as long as its task is kept. Raises ``UnknownApproval``."""
        question = await self._approvals.find(caller.tenant, approval_id)
        if question is None or not may_read(caller.principal, question.record):
            raise UnknownApproval(f"approval {approval_id!r} that you may see")
        return question

    async def answer(self, approval_id: str, answer: ApproverAnswer, caller: Caller) -> tuple[Question, bool]:
        """Pass an answer to the waiting task, and wait a little; returns whether it has taken effect yet.

        The same answer by the same person counts once, however often it is sent. Raises ``MissingRole``,
        ``UnknownApproval``, and ``DecisionNotCounted`` with the reason.
        """
        if Role.APPROVER not in caller.principal.roles:
            raise MissingRole("you do not have the role approver")
        question = await self.show(approval_id, caller)
        if _has_said(question.approval, answer, caller.principal):
            return question, True
        _check_open(question)
        turn = _build_turn(question, answer, caller, self._clock())
        record = await self._hand_over(question.record, turn)
        after = await self._approvals.find(caller.tenant, approval_id) or question
        if _has_said(after.approval, answer, caller.principal):
            return after._replace(record=record), True
        _check_open(after._replace(record=record))
        if turn.turn_id in record.turns_done:
            why = (record.reason or f"the task is {record.state.value}").partition("\n\n")[0]  # the question follows
            raise DecisionNotCounted(approval_id, why)
        return after, False


def _check_open(question: Question) -> None:
    approval = question.approval
    if approval.status is ApprovalStatus.SUPERSEDED:
        raise DecisionNotCounted(approval.approval_id, _withdrawal_reason(question))
    if approval.status is not ApprovalStatus.WAITING:
        by = ", ".join(one.by.id for one in approval.decisions)
        raise DecisionNotCounted(approval.approval_id, f"it is {approval.status.value}{f' by {by}' if by else ''}")


def _withdrawal_reason(question: Question) -> str:
    """Why the approval is no longer asked for, and what is asked instead."""
    now = question.record.metadata.get("approval_id")
    if question.record.state is not TaskState.INPUT_REQUIRED or now in (None, question.approval.approval_id):
        return "it is superseded: its task ended, or goes on without it"
    return f"it is superseded: what it rested on has changed, and approval {now!r} is asked instead"


def _has_said(approval: Approval, answer: ApproverAnswer, principal: Principal) -> bool:
    """Whether that answer is among the decisions of an approval that was not superseded."""
    if approval.status is ApprovalStatus.SUPERSEDED:
        return False
    approve = answer.decision == "approve"
    return any(one.by.id == principal.id and one.approve is approve for one in approval.decisions)


def _build_turn(question: Question, answer: ApproverAnswer, caller: Caller, now: datetime) -> Turn:
    """The turn that carries an answer. The same answer to the same level with the same rights has the same id."""
    asked, rights = question.approval, (*caller.principal.roles, *caller.principal.levels)
    return Turn(
        turn_id=derive_id("answer", caller.tenant, asked.timer_subject, answer.decision, caller.principal.id, *rights),
        task_id=question.record.task_id,
        kind=TurnKind.DECISION,
        principal=caller.principal,
        received_at=now,
        text=answer.decision,
        data={"decision": answer.decision, "comment": answer.comment, "approval_id": asked.approval_id},
    )
