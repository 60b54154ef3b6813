"""The approvals that wait: who sees which, and how one is answered."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from pydantic import JsonValue

from services.gateway.core.approvals.view import approval_view
from services.gateway.core.errors import DecisionNotCounted, InvalidField, NotAnApprover, UnknownApproval
from services.gateway.core.fields import required_id, text_at
from services.gateway.core.tasks.decisions import WORDS
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.ports.approvals import Approvals, Question
from services.gateway.ports.identity import Caller
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role, TaskState

_LONGEST_COMMENT = 2000


class Answer(NamedTuple):
    """What an approver says of the calls as they stand in one approval."""

    decision: str
    comment: str = ""


def read_answer(body: JsonObject) -> Answer:
    """``{"decision": "approve" | "reject", "comment"}``; raises ``InvalidField``."""
    word = required_id(body, "decision", "decision").strip().lower()
    if word not in WORDS:
        raise InvalidField("decision", f"must be {' or '.join(WORDS)}")
    comment = text_at(body, "comment", "comment") or ""
    if len(comment) > _LONGEST_COMMENT:
        raise InvalidField("comment", f"must be at most {_LONGEST_COMMENT} characters")
    return Answer(word, comment)


class ApprovalDesk:
    """What people do with the approvals of their tenant. All methods raise ``StoreUnavailable``."""

    def __init__(self, approvals: Approvals, desk: TaskDesk, clock: Callable[[], datetime]) -> None:
        self._approvals, self._desk, self._clock = approvals, desk, clock

    async def waiting(self, caller: Caller) -> list[Question]:
        """Those that the caller may see, the nearest deadline first."""
        questions = [one for one in await self._approvals.waiting(caller.tenant) if _may_see(caller.principal, one)]
        return sorted(questions, key=lambda one: (one.approval.deadline, one.approval.approval_id))

    def view(self, question: Question, caller: Caller) -> dict[str, JsonValue]:
        """As the caller is shown it, with whether their answer would count."""
        return approval_view(question, caller.principal, self._clock())

    async def shown(self, approval_id: str, caller: Caller) -> Question:
        """One of them, also a decided one until its deadline comes. Raises ``UnknownApproval``."""
        question = await self._approvals.find(caller.tenant, approval_id)
        if question is None or not _may_see(caller.principal, question):
            raise UnknownApproval(approval_id)
        return question

    async def answer(self, approval_id: str, answer: Answer, caller: Caller) -> tuple[Question, bool]:
        """Hand the answer to the task that waits and wait a little for what it does; whether it is heeded already.

        The same answer of the same person is one answer, however often it is sent. Raises ``NotAnApprover``,
        ``UnknownApproval``, and ``DecisionNotCounted`` with the reason.
        """
        if Role.APPROVER not in caller.principal.roles:
            raise NotAnApprover
        question = await self.shown(approval_id, caller)
        if _has_said(question.approval, answer, caller.principal):
            return question, True
        _check_open(question)
        turn = _turn(question, answer, caller, self._clock())
        record = await self._desk.hand_over(question.record, turn)
        after = await self._approvals.find(caller.tenant, approval_id) or question
        if _has_said(after.approval, answer, caller.principal):
            return after._replace(record=record), True
        _check_open(after._replace(record=record))
        if turn.turn_id in record.turns_done:
            raise DecisionNotCounted(approval_id, record.reason or f"the task is {record.state.value}")
        return after, False


def _may_see(principal: Principal, question: Question) -> bool:
    if not principal.verified or {Role.APPROVER, Role.OPERATOR} & {*principal.roles}:
        return True
    return principal.id == question.record.requester.id


def _check_open(question: Question) -> None:
    approval = question.approval
    if approval.status is ApprovalStatus.SUPERSEDED:
        raise DecisionNotCounted(approval.approval_id, _taken_back(question))
    if approval.status is not ApprovalStatus.WAITING:
        by = ", ".join(one.by.id for one in approval.decisions)
        raise DecisionNotCounted(approval.approval_id, f"it is {approval.status.value}{f' by {by}' if by else ''}")


def _taken_back(question: Question) -> str:
    """Why nobody asks it any more, and what is asked instead."""
    now = question.record.metadata.get("approval_id")
    if question.record.state is not TaskState.INPUT_REQUIRED or now in (None, question.approval.approval_id):
        return "it is superseded: its task ended, or goes on without it"
    return f"it is superseded: what it rested on has changed, and approval {now!r} is asked instead"


def _has_said(approval: Approval, answer: Answer, principal: Principal) -> bool:
    """Whether that is among the decisions, on a question that was not taken back since."""
    if approval.status is ApprovalStatus.SUPERSEDED:
        return False
    approve = answer.decision == "approve"
    return any(one.by.id == principal.id and one.approve is approve for one in approval.decisions)


def _turn(question: Question, answer: Answer, caller: Caller, now: datetime) -> Turn:
    """The same answer to the same level with the same rights is the same turn."""
    asked, rights = question.approval, (*caller.principal.roles, *caller.principal.levels)
    name = "\x00".join(("answer", caller.tenant, asked.timer_subject, answer.decision, caller.principal.id, *rights))
    return Turn(
        turn_id=str(uuid5(NAMESPACE_OID, name)),
        task_id=question.record.task_id,
        kind=TurnKind.DECISION,
        principal=caller.principal,
        received_at=now,
        text=answer.decision,
        data={"decision": answer.decision, "comment": answer.comment, "approval_id": asked.approval_id},
    )
