"""An approval as its page shows it: calls, reasons, the source of each value, and whether the reader may answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.gateway.features.approvals.views import ApprovalRequest
from services.gateway.features.console.views import formatting
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.grounds import ArgumentSource, FigureGround, Grounds, ReadGround
from shared.contracts.plan import ArgumentOrigin, PlannedCall
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import Json, loads

STATUS_BADGES = {
    ApprovalStatus.WAITING: formatting.Badge("Waiting", "warn"),
    ApprovalStatus.APPROVED: formatting.Badge("Approved", "good"),
    ApprovalStatus.REJECTED: formatting.Badge("Rejected", "bad"),
    ApprovalStatus.EXPIRED: formatting.Badge("Expired", "mute"),
    ApprovalStatus.SUPERSEDED: formatting.Badge("No longer asked", "mute"),
}


class ValueRow(NamedTuple):
    """An argument or a figure. ``origin``: where the value is from, in words; empty where that is not known."""

    name: str
    value: str
    origin: str


class RuleRow(NamedTuple):
    """A rule that a plan triggered. ``asks``: its action and level in words; ``policy``: the id of its policy."""

    rule_id: str
    policy: str
    reason: str
    asks: str
    values: tuple[tuple[str, str], ...]


class ApprovalPage(NamedTuple):
    """An approval and its task, prepared for their page.

    ``why_not_counted``: why the reader's answer would not count, empty if it would.
    """

    approval: Approval
    record: TaskRecord
    all_reasons: tuple[str, ...]
    rules: tuple[RuleRow, ...]
    why_not_counted: str

    @property
    def status(self) -> formatting.Badge:
        return STATUS_BADGES[self.approval.status]

    @property
    def is_waiting(self) -> bool:
        return self.approval.status is ApprovalStatus.WAITING

    @property
    def approvers(self) -> str:
        several = f", {self.approval.needed} people" if self.approval.needed > 1 else ""
        return level_title(self.approval.level) + several

    @property
    def approvals_given(self) -> int:
        return sum(decision.approve for decision in self.approval.decisions)

    @property
    def reasons(self) -> list[str]:
        """The approval's reasons except those of its rules, which are shown with the rules."""
        rule_texts = {rule.reason for rule in self.rules}
        return [reason for reason in self.all_reasons if reason not in rule_texts]


def build_approval_page(request: ApprovalRequest, reader: Principal, now: datetime) -> ApprovalPage:
    approval, record = request
    reasons = tuple(map(_strip_rule_id, approval.reasons))
    rules = tuple(
        RuleRow(
            rule.rule_id,
            rule.policy_id,
            rule.reason,
            _describe_action(rule.action, rule.level),
            formatting.field_rows(loads(rule.values_json)),
        )
        for rule in approval.grounds.rules
    )
    objection = approval.find_objection_to_decider(reader, now)
    return ApprovalPage(approval, record, reasons, rules, formatting.as_sentence(objection) if objection else "")


def level_title(level: str | None) -> str:
    return formatting.humanize_name(level) if level else "Any approver"


def select_answerable_requests(
    requests: Sequence[ApprovalRequest], reader: Principal, now: datetime
) -> list[ApprovalRequest]:
    """The approvals that the reader may answer now."""
    return [request for request in requests if request.approval.find_objection_to_decider(reader, now) is None]


def summarize_calls(calls: Sequence[PlannedCall]) -> str:
    """The calls in one line: ``Approve expense (EXP-1001) and 2 more calls``."""
    if not calls:
        return "No call"
    first_values = [_describe_argument(value) for value in list(calls[0].arguments.values())[:3]]
    argument_texts = ", ".join(text.splitlines()[0][:60] for text in first_values if text)
    more = f" and {formatting.count_with_noun(len(calls) - 1, 'more call')}" if len(calls) > 1 else ""
    return f"{formatting.humanize_name(calls[0].tool)}{f' ({argument_texts})' if argument_texts else ''}{more}"


def build_argument_rows(call: PlannedCall, grounds: Grounds) -> tuple[ValueRow, ...]:
    """A planned call's arguments with the origin of each."""
    sources = {source.argument: source for source in grounds.arguments if source.call_id == call.call_id}
    origins = {origin.argument: origin for origin in call.origins}
    return tuple(
        ValueRow(
            name, _describe_argument(value), _describe_origin(value, sources.get(name), origins.get(name), grounds)
        )
        for name, value in call.arguments.items()
    )


def _describe_argument(value: Json) -> str:
    """An argument's value as text; a reference to an earlier call's result as a phrase."""
    if isinstance(value, dict) and set(value) == {"$ref"}:
        call, _, path = str(value["$ref"]).partition(".")
        return f"the {path or 'result'} of call {call.removeprefix('c')}"
    return formatting.format_json(value)


def _describe_origin(
    value: Json, source: ArgumentSource | None, origin: ArgumentOrigin | None, grounds: Grounds
) -> str:
    if isinstance(value, dict) and set(value) == {"$ref"}:
        return "known once the earlier call has answered"
    if source is not None:
        return describe_source(source.source, describe_reference(source.ref, grounds))
    return describe_source(origin.source, describe_reference(origin.ref, grounds)) if origin else ""


def describe_source(source: str, ref: str) -> str:
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


def _strip_rule_id(reason: str) -> str:
    """The reason without the rule id that it may begin with (``RULE_ID: sentence``)."""
    rule_id, colon, text = reason.partition(": ")
    return text if colon and rule_id.replace("_", "").replace("-", "").replace(".", "").isalnum() else reason


def _describe_action(action: str, level: str | None) -> str:
    words = {"require_approval": "asks for an approval", "escalate": "escalates", "block": "blocks"}
    return f"{words.get(action, formatting.humanize_name(action).lower())}{f' by {level}' if level else ''}"


def describe_reference(ref: str, grounds: Grounds) -> str:
    """A reference as a phrase: ``f1.amount`` becomes ``amount of get_expense``."""
    word, _, name = ref.partition(" ")
    if word in ("value", "task") and name:
        return formatting.humanize_name(name).lower() if word == "value" else f"{name}, from the request"
    read_ref, _, path = ref.partition(".")
    tool = next((ground.tool for ground in grounds.reads if ground.ref == read_ref), "")
    return f"{path or 'the answer'} of {tool}" if tool else ref


def describe_figure_origin(figure: FigureGround, grounds: Grounds) -> str:
    operands = tuple(describe_reference(operand, grounds) for operand in figure.operands)
    return f"{formatting.humanize_name(figure.operation)} of {formatting.join_in_prose(operands)}"


def describe_read_arguments(ground: ReadGround) -> str:
    arguments = loads(ground.arguments_json)
    return (
        ", ".join(formatting.format_json(value) for value in arguments.values()) if isinstance(arguments, dict) else ""
    )


def build_result_rows(ground: ReadGround) -> tuple[tuple[str, str], ...]:
    """The fields of a read's result as names and values, or its whole text if it is not a complete JSON object."""
    try:
        fields = loads(ground.shows)
    except ValueError:
        fields = None
    return formatting.field_rows(fields) or (("Answer", f"{ground.shows}{' ...' if ground.cut else ''}"),)
