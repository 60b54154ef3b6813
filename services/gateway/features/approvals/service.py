"""Approvals that wait: who may see which, and how they are answered."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, cast
from uuid import NAMESPACE_OID, uuid5

from pydantic import JsonValue

from services.gateway.edge.errors import DecisionNotCounted, InvalidField, NotAnApprover, UnknownApproval
from services.gateway.edge.fields import required_id, short_text_at
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.intake import WORDS
from services.gateway.features.tasks.service import TaskService
from shared.contracts.approval import Approval, ApprovalStatus, NoticeEvent
from shared.contracts.grounds import ArgumentSource, ReadFound, RuleFound
from shared.contracts.plan import PlannedCall
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject, i_json, loads
from shared.domain.words import Role, TaskState


class Question(NamedTuple):
    """An approval, and the record of the task that waits for it."""

    approval: Approval
    record: TaskRecord


class Approvals(Protocol):
    """The tenants' approvals. Both methods may raise ``StoreUnavailable``."""

    async def waiting(self, tenant: str) -> Sequence[Question]:
        """Every undecided approval of the tenant."""

    async def find(self, tenant: str, approval_id: str) -> Question | None:
        """The approval, decided or not; None if there is none, or its deadline has passed."""


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


class References(Protocol):
    def read(self, text: str, tenant: str) -> str:
        """The value that a target's field refers to, or the field itself; raises ``UnreadableReference``."""


def approval_view(
    question: Question, who: Principal | None = None, now: datetime | None = None
) -> dict[str, JsonValue]:
    """All that an approver needs, as JSON. With ``who`` and ``now`` also whether that person's answer would count."""
    approval, record = question
    return {
        "approval_id": approval.approval_id,
        "task_id": record.task_id,
        "session_id": record.session_id,
        "status": approval.status.value,
        "task": record.request.text,
        "task_state": record.state.value,
        "process_type": record.metadata.get("process_type"),
        "requester": record.requester.id,
        "level": approval.level,
        "needed": approval.needed,
        "decisions": decisions_view(approval),
        "reasons": list(approval.reasons),
        "calls": [_call_view(call, approval) for call in approval.plan.calls],
        "plan_hash": approval.plan_hash,
        "confirmation": _confirmation(approval),
        "values": record.metadata.get("values") or {},
        "policy": _policy(approval),
        "evidence": [_read_view(read) for read in approval.grounds.reads],
        "figures": [_plain(figure.model_dump(exclude={"v"}, mode="json")) for figure in approval.grounds.figures],
        "asked_at": approval.asked_at.isoformat(),
        "deadline": approval.deadline.isoformat(),
        "escalations": _escalations(approval),
        "goes_on_to": [rung.level for rung in approval.ladder],
        **(_rights(approval, who, now) if who and now else {}),
    }


def decisions_view(approval: Approval) -> list[JsonValue]:
    """Who has decided what on an approval, as JSON."""
    return [
        {
            "decision": "approve" if one.approve else "reject",
            "by": one.by.id,
            "verified": one.by.verified,
            "at": one.at.isoformat(),
            "comment": one.comment,
        }
        for one in approval.decisions
    ]


def _call_view(call: PlannedCall, approval: Approval) -> JsonValue:
    """A call as JSON. ``origins``: where each argument comes from, in words; ``provenance``: the same for programs."""
    sources = sources_of(call, approval)
    return {
        "call_id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "class": call.tool_class.value,
        "arguments": _plain(call.arguments),
        "origins": {one.argument: f"{one.source} {one.ref}".strip() for one in sources},
        "provenance": [{"argument": one.argument, "source": one.source, "ref": one.ref} for one in sources],
        "read_back": {"tool": call.read_back.tool, "arguments": _json(call.read_back.arguments_json)}
        if call.read_back
        else None,
        "on_failure": call.on_failure,
        "compensation": _call_view(call.compensation, approval) if call.compensation else None,
    }


def sources_of(call: PlannedCall, *asked: Approval) -> list[ArgumentSource]:
    """The source of each of a call's arguments: the last frozen in an approval, or if there is none, the plan's."""
    frozen = [one for approval in asked for one in approval.grounds.arguments if one.call_id == call.call_id]
    planned = [
        ArgumentSource(call_id=call.call_id, argument=one.argument, source=one.source, ref=one.ref)
        for one in call.origins
    ]
    return [*{one.argument: one for one in frozen or planned}.values()]


def _confirmation(approval: Approval) -> JsonValue:
    step = approval.confirmation
    if step is None:
        return None
    given: list[JsonValue] = [{"about": one.about, "by": list(one.by)} for one in step.given]
    return {"about": step.about, "number": step.number, "of": step.of, "given": given}


def _policy(approval: Approval) -> JsonValue:
    """The rules that require the approval, each with the values that decided it."""
    grounds = approval.grounds
    rules: list[JsonValue] = [_rule_view(rule) for rule in grounds.rules]
    return {"rules": rules, "policy_hash": grounds.policy_hash, "versions": list(grounds.policy_versions)}


def _rule_view(rule: RuleFound) -> JsonValue:
    return {
        "rule": rule.rule_id,
        "policy": rule.policy_id,
        "action": rule.action,
        "level": rule.level,
        "approvers": rule.approvers,
        "reason": rule.reason,
        "call_id": rule.call_id,
        "values": _json(rule.values_json),
        "indeterminate": rule.indeterminate,
    }


def _read_view(read: ReadFound) -> JsonValue:
    return {
        "ref": read.ref,
        "connection": read.connection_id,
        "tool": read.tool,
        "arguments": _json(read.arguments_json),
        "shows": _json(read.shows),
        "cut": read.cut,
        "ok": read.ok,
        "note": read.note,
        "supports": list(read.supports),
    }


def _escalations(approval: Approval) -> list[JsonValue]:
    """The levels that did not decide in time."""
    return [
        {"level": one.level, "deadline": one.deadline.isoformat(), "at": one.at.isoformat()}
        for one in approval.escalations
    ]


def _rights(approval: Approval, who: Principal, now: datetime) -> dict[str, JsonValue]:
    objection = approval.objection(who, now)
    return {"may_decide": objection is None, "why_not": objection}


def _json(text: str) -> JsonValue:
    """The value of a JSON text; a text that was cut stays a text."""
    try:
        return _plain(loads(text))
    except ValueError:
        return text


def _plain(value: object) -> JsonValue:
    return cast(JsonValue, i_json(cast(Json, value)))


_LONGEST_COMMENT = 2000


class ApproverAnswer(NamedTuple):
    """An approver's decision on the calls of one approval, with a comment."""

    decision: str
    comment: str = ""


def read_answer(body: JsonObject) -> ApproverAnswer:
    """Parse ``{"decision": "approve" | "reject", "comment"}``; raises ``InvalidField``."""
    word = required_id(body, "decision", "decision").strip().lower()
    if word not in WORDS:
        raise InvalidField("decision", f"must be {' or '.join(WORDS)}")
    return ApproverAnswer(word, short_text_at(body, "comment", _LONGEST_COMMENT))


class ApprovalService:
    """Lists, shows and answers a tenant's approvals. All methods raise ``StoreUnavailable``."""

    def __init__(self, approvals: Approvals, tasks: TaskService, clock: Callable[[], datetime]) -> None:
        self._approvals, self._tasks, self._clock = approvals, tasks, clock

    async def waiting(self, caller: Caller) -> list[Question]:
        """The waiting approvals that the caller may see, the nearest deadline first."""
        questions = [one for one in await self._approvals.waiting(caller.tenant) if _may_see(caller.principal, one)]
        return sorted(questions, key=lambda one: (one.approval.deadline, one.approval.approval_id))

    def view(self, question: Question, caller: Caller) -> dict[str, JsonValue]:
        """The approval as JSON, with whether the caller's answer would count."""
        return approval_view(question, caller.principal, self._clock())

    async def show(self, approval_id: str, caller: Caller) -> Question:
        """One approval; a decided one only until its deadline. Raises ``UnknownApproval``."""
        question = await self._approvals.find(caller.tenant, approval_id)
        if question is None or not _may_see(caller.principal, question):
            raise UnknownApproval(approval_id)
        return question

    async def answer(self, approval_id: str, answer: ApproverAnswer, caller: Caller) -> tuple[Question, bool]:
        """Pass an answer to the waiting task, and wait a little; returns whether it has taken effect yet.

        The same answer by the same person counts once, however often it is sent. Raises ``NotAnApprover``,
        ``UnknownApproval``, and ``DecisionNotCounted`` with the reason.
        """
        if Role.APPROVER not in caller.principal.roles:
            raise NotAnApprover
        question = await self.show(approval_id, caller)
        if _has_said(question.approval, answer, caller.principal):
            return question, True
        _check_open(question)
        turn = _turn(question, answer, caller, self._clock())
        record = await self._tasks.hand_over(question.record, turn)
        after = await self._approvals.find(caller.tenant, approval_id) or question
        if _has_said(after.approval, answer, caller.principal):
            return after._replace(record=record), True
        _check_open(after._replace(record=record))
        if turn.turn_id in record.turns_done:
            why = (record.reason or f"the task is {record.state.value}").partition("\n\n")[0]  # the question follows
            raise DecisionNotCounted(approval_id, why)
        return after, False


def _may_see(principal: Principal, question: Question) -> bool:
    if not principal.verified or {Role.APPROVER, Role.OPERATOR} & {*principal.roles}:
        return True
    return principal.id == question.record.requester.id


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


def _turn(question: Question, answer: ApproverAnswer, caller: Caller, now: datetime) -> Turn:
    """The turn that carries an answer. The same answer to the same level with the same rights has the same id."""
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
