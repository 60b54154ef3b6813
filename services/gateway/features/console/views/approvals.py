"""An approval as the console shows it: what is asked and why, what it rests on, and whether the reader may answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.gateway.features.approvals.service import Question
from services.gateway.features.console.views.words import Badge, count_of, list_of, show_fields, show_json, title_of
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.grounds import ArgumentSource, Grounds, ReadFound
from shared.contracts.plan import Origin, PlannedCall
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, loads
from shared.domain.words import Role

STATUS = {
    ApprovalStatus.WAITING: Badge("Waiting", "warn"),
    ApprovalStatus.APPROVED: Badge("Approved", "good"),
    ApprovalStatus.REJECTED: Badge("Rejected", "bad"),
    ApprovalStatus.EXPIRED: Badge("Expired", "mute"),
    ApprovalStatus.SUPERSEDED: Badge("No longer asked", "mute"),
}
_ON_FAILURE = {
    "stop": "If it fails, nothing after it is done.",
    "continue": "If it fails, the rest goes on.",
    "compensate": "If it fails, the calls before it are taken back.",
}


class ArgumentRow(NamedTuple):
    name: str
    value: str
    origin: str  # where the value is from, in words; empty where that is not known


class CallBlock(NamedTuple):
    """One call, as it will be sent. ``undo``: the call that would take it back."""

    number: int
    title: str
    tool: str
    connection: str
    arguments: tuple[ArgumentRow, ...]
    proof: str
    on_failure: str
    undo: "CallBlock | None" = None


class Ground(NamedTuple):
    """One reason for the plan: a heading, a sentence, and its values."""

    heading: str
    text: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    more: str = ""


class DecisionRow(NamedTuple):
    word: Badge
    by: str
    verified: bool
    at: datetime
    comment: str


class ApprovalPage(NamedTuple):
    """The content of an approval's page. ``barred``: why the reader's answer would not count; empty if it would."""

    approval_id: str
    task_id: str
    status: Badge
    waits: bool
    title: str
    process: str
    requester: str
    requester_verified: bool
    who: str
    step: str
    asked_at: datetime
    deadline: datetime
    calls: tuple[CallBlock, ...]
    why: tuple[str, ...]
    reasons: tuple[str, ...]
    rules: tuple[Ground, ...]
    figures: tuple[Ground, ...]
    reads: tuple[Ground, ...]
    values: tuple[tuple[str, str], ...]
    decisions: tuple[DecisionRow, ...]
    given: int
    needed: int
    escalations: tuple[str, ...]
    plan_hash: str
    barred: str


def approval_page(question: Question, reader: Principal, now: datetime) -> ApprovalPage:
    approval, record = question
    process = record.metadata.get("process_type")
    step, grounds = approval.confirmation, approval.grounds
    rules = _rules(question)
    reasons, said = tuple(map(_without_code, approval.reasons)), {rule.text for rule in rules}
    return ApprovalPage(
        approval_id=approval.approval_id,
        task_id=record.task_id,
        status=STATUS[approval.status],
        waits=approval.status is ApprovalStatus.WAITING,
        title=record.request.text,
        process=title_of(process) if isinstance(process, str) else "",
        requester=record.requester.id,
        requester_verified=record.requester.verified,
        who=_who(approval),
        step=f"Confirmation {step.number} of {step.of}: {step.about}" if step else "",
        asked_at=approval.asked_at,
        deadline=approval.deadline,
        calls=tuple(_block(number, call, grounds) for number, call in enumerate(approval.plan.calls, 1)),
        why=reasons,
        reasons=tuple(reason for reason in reasons if reason not in said),
        rules=rules,
        figures=tuple(_figures(grounds)),
        reads=tuple(_reads(grounds)),
        values=_values(record.metadata.get("values")),
        decisions=tuple(_decisions(approval)),
        given=sum(one.approve for one in approval.decisions),
        needed=approval.needed,
        escalations=tuple(title_of(one.level or "approver") for one in approval.escalations),
        plan_hash=approval.plan_hash,
        barred=why_barred(approval, reader, now),
    )


def why_barred(approval: Approval, reader: Principal, now: datetime) -> str:
    """Why an answer of the reader would not count now, in a sentence; empty if it would."""
    objection = approval.objection(reader, now)
    if objection is None:
        return ""
    if approval.status is not ApprovalStatus.WAITING or now >= approval.deadline:
        return "It takes no answer any more."
    if reader.id == approval.requester_id:
        return "You asked for this yourself, so somebody else must answer."
    if Role.APPROVER not in reader.roles:
        return "Your key does not have the role approver: others answer this."
    if any(decision.by.id == reader.id for decision in approval.decisions):
        return "You have answered; the others must answer too."
    return f"It takes the level {approval.level}, which your key does not list."


def needs(questions: Sequence[Question], reader: Principal, now: datetime) -> list[Question]:
    """The questions that the reader can answer."""
    return [one for one in questions if not why_barred(one.approval, reader, now)]


def summary_of(calls: tuple[CallBlock, ...]) -> str:
    """What would be done, in one line: ``Approve expense (EXP-1001)``."""
    if not calls:
        return "No call"
    first = calls[0]
    about = ", ".join(row.value.splitlines()[0][:60] for row in first.arguments[:3] if row.value)
    more = f" and {count_of(len(calls) - 1, 'more call')}" if len(calls) > 1 else ""
    return f"{first.title}{f' ({about})' if about else ''}{more}"


def _who(approval: Approval) -> str:
    level = title_of(approval.level) if approval.level else "Any approver"
    return f"{level}, {approval.needed} people" if approval.needed > 1 else level


def _block(number: int, call: PlannedCall, grounds: Grounds) -> CallBlock:
    sources = {one.argument: one for one in grounds.arguments if one.call_id == call.call_id}
    origins = {one.argument: one for one in call.origins}
    rows = tuple(
        ArgumentRow(name, _argument_in_words(value), _origin(value, sources.get(name), origins.get(name), grounds))
        for name, value in call.arguments.items()
    )
    proof = f"Afterwards it is read back with {call.read_back.tool}." if call.read_back else ""
    undo = _block(number, call.compensation, grounds) if call.compensation else None
    on_failure = _ON_FAILURE[call.on_failure]
    return CallBlock(number, title_of(call.tool), call.tool, call.connection_id, rows, proof, on_failure, undo)


def _argument_in_words(value: Json) -> str:
    """An argument's value as text; a reference to an earlier call's result in words."""
    if isinstance(value, dict) and set(value) == {"$ref"}:
        call, _, path = str(value["$ref"]).partition(".")
        return f"the {path or 'result'} of call {call.removeprefix('c')}"
    return show_json(value)


def _origin(value: Json, source: ArgumentSource | None, origin: Origin | None, grounds: Grounds) -> str:
    if isinstance(value, dict) and set(value) == {"$ref"}:
        return "known once the earlier call has answered"
    if source is not None:
        return in_words(source.source, name_ref(source.ref, grounds))
    return in_words(origin.source, name_ref(origin.ref, grounds)) if origin else ""


def in_words(source: str, ref: str) -> str:
    match source:
        case "task":
            return "from the request"
        case "result":
            return f"read: {ref}" if ref else "read from a system"
        case "value":
            return f"worked out: {ref}" if ref else "worked out"
        case "call":
            return "from an earlier call"
        case _:
            return "the worker's own words"


def _without_code(reason: str) -> str:
    """The sentence of ``RULE_ID: sentence``, since the rule is shown below with all its details."""
    code, colon, text = reason.partition(": ")
    return text if colon and code.replace("_", "").replace("-", "").replace(".", "").isalnum() else reason


def _rules(question: Question) -> tuple[Ground, ...]:
    """The rules that the approval froze, or those in the verdict if an older worker froze none."""
    found = question.approval.grounds.rules
    if found:
        return tuple(
            Ground(rule.rule_id, rule.reason, show_fields(loads(rule.values_json)), _asks(rule.action, rule.level))
            for rule in found
        )
    verdict = question.record.metadata.get("verdict")
    rules = verdict.get("triggeredRules") if isinstance(verdict, dict) else None
    name_ref = [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
    return tuple(
        Ground(str(rule.get("ruleId") or "rule"), str(rule.get("reason") or ""), _values(rule.get("values")))
        for rule in name_ref
    )


def _asks(action: str, level: str | None) -> str:
    words = {"require_approval": "asks for an approval", "escalate": "escalates", "block": "blocks"}
    return f"{words.get(action, title_of(action).lower())}{f' by {level}' if level else ''}"


def name_ref(ref: str, grounds: Grounds) -> str:
    """A reference in words: ``f1.amount`` is the amount that get_expense showed."""
    word, _, rest = ref.partition(" ")
    if word in ("value", "task") and rest:
        return title_of(rest).lower() if word == "value" else f"{rest}, from the request"
    fact, _, path = ref.partition(".")
    tool = next((read.tool for read in grounds.reads if read.ref == fact), "")
    return f"{path or 'the answer'} of {tool}" if tool else ref


def _figures(grounds: Grounds) -> list[Ground]:
    return [
        Ground(
            title_of(one.name),
            one.value,
            (),
            f"{title_of(one.operation)} of {list_of(tuple(name_ref(operand, grounds) for operand in one.operands))}",
        )
        for one in grounds.figures
    ]


def _reads(grounds: Grounds) -> list[Ground]:
    return [Ground(one.tool, one.note, _fields_of(one), _question_in(one.arguments_json)) for one in grounds.reads]


def _question_in(arguments_json: str) -> str:
    arguments = loads(arguments_json)
    return ", ".join(show_json(value) for value in arguments.values()) if isinstance(arguments, dict) else ""


def _fields_of(read: ReadFound) -> tuple[tuple[str, str], ...]:
    """The fields of a read's answer, or its text if it is not a complete object."""
    try:
        fields = loads(read.shows)
    except ValueError:
        fields = None
    return show_fields(fields) or (("Answer", f"{read.shows}{' ...' if read.cut else ''}"),)


def _values(values: object) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in values.items()) if isinstance(values, dict) else ()


def _decisions(approval: Approval) -> list[DecisionRow]:
    said = {True: Badge("Approved", "good"), False: Badge("Rejected", "bad")}
    return [
        DecisionRow(said[one.approve], one.by.id, one.by.verified, one.at, one.comment) for one in approval.decisions
    ]
