"""An approval as the console shows it: what is asked and why, what it rests on, and whether the reader may answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.gateway.features.approvals.views import ApprovalRequest
from services.gateway.features.console.views.words import Badge, count_of, list_of, show_fields, show_json, title_of
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.grounds import ArgumentSource, FigureGround, Grounds, ReadGround
from shared.contracts.plan import Origin, PlannedCall
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import Json, as_object, loads
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


class ApprovalPage(NamedTuple):
    """An approval and its task, with what its page says of them.

    ``why``: the reasons; ``barred``: why the reader's answer would not count, empty if it would.
    """

    approval: Approval
    record: TaskRecord
    calls: tuple[CallBlock, ...]
    why: tuple[str, ...]
    rules: tuple[Ground, ...]
    barred: str

    @property
    def status(self) -> Badge:
        return STATUS[self.approval.status]

    @property
    def waits(self) -> bool:
        return self.approval.status is ApprovalStatus.WAITING

    @property
    def who(self) -> str:
        several = f", {self.approval.needed} people" if self.approval.needed > 1 else ""
        return level_title(self.approval.level) + several

    @property
    def step(self) -> str:
        step = self.approval.confirmation
        return f"Confirmation {step.number} of {step.of}: {step.about}" if step else ""

    @property
    def given(self) -> int:
        return sum(one.approve for one in self.approval.decisions)

    @property
    def reasons(self) -> list[str]:
        """The reasons that no rule below repeats."""
        said = {rule.text for rule in self.rules}
        return [reason for reason in self.why if reason not in said]

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, str(value)) for name, value in as_object(self.record.metadata.get("values")).items())


def approval_page(question: ApprovalRequest, reader: Principal, now: datetime) -> ApprovalPage:
    approval, record = question
    calls = tuple(_block(number, call, approval.grounds) for number, call in enumerate(approval.plan.calls, 1))
    why = tuple(map(_without_code, approval.reasons))
    rules = tuple(
        Ground(rule.rule_id, rule.reason, show_fields(loads(rule.values_json)), _name_action(rule.action, rule.level))
        for rule in approval.grounds.rules
    )
    return ApprovalPage(approval, record, calls, why, rules, why_barred(approval, reader, now))


def level_title(level: str | None) -> str:
    return title_of(level) if level else "Any approver"


def why_barred(approval: Approval, reader: Principal, now: datetime) -> str:
    """Why an answer of the reader would not count now, in a sentence; empty if it would."""
    objection = approval.find_objection(reader, now)
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


def needs(questions: Sequence[ApprovalRequest], reader: Principal, now: datetime) -> list[ApprovalRequest]:
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


def _block(number: int, call: PlannedCall, grounds: Grounds) -> CallBlock:
    sources = {one.argument: one for one in grounds.arguments if one.call_id == call.call_id}
    origins = {one.argument: one for one in call.origins}
    rows = tuple(
        ArgumentRow(name, _argument_in_words(value), _name_origin(value, sources.get(name), origins.get(name), grounds))
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


def _name_origin(value: Json, source: ArgumentSource | None, origin: Origin | None, grounds: Grounds) -> str:
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


def _name_action(action: str, level: str | None) -> str:
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


def figure_origin(figure: FigureGround, grounds: Grounds) -> str:
    return f"{title_of(figure.operation)} of {list_of(tuple(name_ref(one, grounds) for one in figure.operands))}"


def read_question(read: ReadGround) -> str:
    arguments = loads(read.arguments_json)
    return ", ".join(show_json(value) for value in arguments.values()) if isinstance(arguments, dict) else ""


def read_fields(read: ReadGround) -> tuple[tuple[str, str], ...]:
    """The fields of a read's answer, or its text if it is not a complete object."""
    try:
        fields = loads(read.shows)
    except ValueError:
        fields = None
    return show_fields(fields) or (("Answer", f"{read.shows}{' ...' if read.cut else ''}"),)
