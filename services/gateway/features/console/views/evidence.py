"""The evidence on a task's page: its writes with proofs, its policy verdict, its figures, and its use of models.

Writes are made of the rows of the audit export, with the same values masked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.features.console.views.approvals import (
    RuleRow,
    ValueRow,
    describe_figure_origin,
    describe_reference,
    describe_source,
)
from services.gateway.features.console.views.formatting import (
    Badge,
    field_rows,
    format_json,
    humanize_name,
    parse_time_or_none,
    text_or_empty,
    texts_or_empty,
)
from services.gateway.features.console.views.tasks import WRITE_BADGES, format_nanos_as_dollars, verdict_badge
from shared.contracts.grounds import Grounds
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import Json, JsonObject, as_object, objects_in

_NO_GROUNDS = Grounds()
_DECISION_FIELDS = ("resolution", "by", "comment")


class WriteRow(NamedTuple):
    """One write. ``read_back``: the tool of the read that proves it; ``read_back_fields``: what that read showed."""

    call_id: str
    title: str
    tool: str
    connection: str
    status: Badge
    arguments: tuple[ValueRow, ...]
    attempt: int
    sent_at: datetime | None
    note: str
    read_back: str
    read_back_fields: tuple[tuple[str, str], ...]
    operator_decisions: tuple[str, ...]


class PolicyEvidence(NamedTuple):
    """A policy verdict. ``undecided_rules``: rules that could not be decided since a value was missing."""

    badge: Badge
    rules: tuple[RuleRow, ...]
    undecided_rules: tuple[str, ...]
    problems: tuple[str, ...]


class TierUsage(NamedTuple):
    """The use of one model tier: calls, tokens read and written, cost; empty if the events do not contain it."""

    tier: str
    calls: int
    input_tokens: str
    output_tokens: str
    cost: str


def build_write_rows(rows: Sequence[JsonObject], grounds: Grounds | None) -> tuple[WriteRow, ...]:
    return tuple(_build_write_row(row, grounds or _NO_GROUNDS) for row in rows)


def build_policy_evidence(record: TaskRecord) -> PolicyEvidence | None:
    """The policy verdict in the task's record; None before there is one."""
    verdict = as_object(record.metadata.get("verdict"))
    if not verdict:
        return None
    rules = tuple(_build_rule_row(rule) for rule in objects_in(verdict.get("triggeredRules")))
    undecided_rules = texts_or_empty(verdict.get("indeterminate"))
    problems = texts_or_empty(verdict.get("problems"))
    return PolicyEvidence(verdict_badge(verdict), rules, undecided_rules, problems)


def find_unenforced_policy(record: TaskRecord) -> str:
    """Which part of the policy sent with the task was not enforced, as the record says; empty if all was."""
    return text_or_empty(record.metadata.get("policy_unenforced"))


def build_figure_rows(record: TaskRecord, grounds: Grounds | None) -> tuple[ValueRow, ...]:
    """The computed figures, with operation and operands if an approval recorded them."""
    frozen = grounds or _NO_GROUNDS
    origins = {figure.name: describe_figure_origin(figure, frozen) for figure in frozen.figures}
    values_by_name = {figure.name: figure.value for figure in frozen.figures}
    values_by_name |= {name: str(value) for name, value in as_object(record.metadata.get("values")).items()}
    return tuple(ValueRow(humanize_name(name), value, origins.get(name, "")) for name, value in values_by_name.items())


def list_quality_parts(record: TaskRecord) -> tuple[tuple[str, str], ...]:
    """The names and values that add up to the task's quality: ``Baseline 0.50``, ``Idle -0.05``."""
    return tuple(
        (humanize_name(name), f"{part:+.2f}" if name != "baseline" else f"{part:.2f}")
        for name, part in as_object(record.metadata.get("quality_parts")).items()
        if isinstance(part, int | float) and not isinstance(part, bool)
    )


def sum_usage_by_tier(events: Sequence[tuple[str, TaskEvent]]) -> tuple[TierUsage, ...]:
    """The use of models by tier, from the task's ``model`` events."""
    by_tier: dict[str, list[Mapping[str, JsonValue]]] = defaultdict(list)
    for _, event in events:
        if event.kind == "model":
            by_tier[str(event.data.get("tier") or "model")].append(event.data)
    return tuple(_sum_tier_usage(tier, calls) for tier, calls in sorted(by_tier.items()))


def _sum_tier_usage(tier: str, calls: Sequence[Mapping[str, JsonValue]]) -> TierUsage:
    costs = [cost for call in calls if (cost := call.get("nanos")) is not None]
    price = format_nanos_as_dollars(sum(_convert_to_int_or_zero(cost) for cost in costs)) if costs else ""
    token_sums = (sum(_convert_to_int_or_zero(call.get(key)) for call in calls) for key in ("input", "output"))
    input_tokens, output_tokens = (f"{number:,}" if number else "" for number in token_sums)
    return TierUsage(humanize_name(tier), len(calls), input_tokens, output_tokens, price)


def _build_write_row(row: JsonObject, grounds: Grounds) -> WriteRow:
    arguments, proof = as_object(row.get("arguments")), as_object(row.get("proof"))
    sources = {str(source.get("argument")): source for source in objects_in(row.get("provenance"))}
    tool = text_or_empty(row.get("tool"))
    status = text_or_empty(row.get("status"))
    attempt = row.get("attempt")
    decisions = (
        [text_or_empty(decision.get(name)) for name in _DECISION_FIELDS]
        for decision in objects_in(row.get("operators"))
    )
    return WriteRow(
        call_id=text_or_empty(row.get("call_id")),
        title=humanize_name(tool),
        tool=tool,
        connection=text_or_empty(row.get("connection")),
        status=WRITE_BADGES.get(status, Badge(humanize_name(status), "mute")),
        arguments=tuple(
            ValueRow(name, format_json(value), _describe_write_source(sources.get(name), grounds))
            for name, value in arguments.items()
        ),
        attempt=attempt if isinstance(attempt, int) else 1,
        sent_at=parse_time_or_none(row.get("sent_at")),
        note=text_or_empty(proof.get("note")),
        read_back=text_or_empty(proof.get("read_back")),
        read_back_fields=_build_result_rows(proof.get("shows")),
        operator_decisions=tuple(f"{humanize_name(word)} by {by} {comment}".strip() for word, by, comment in decisions),
    )


def _build_result_rows(answer: Json) -> tuple[tuple[str, str], ...]:
    if answer is None:
        return ()
    if isinstance(answer, list) and len(answer) == 1:
        (answer,) = answer
    return field_rows(answer) if isinstance(answer, dict) else (("Answer", format_json(answer)),)


def _describe_write_source(source: JsonObject | None, grounds: Grounds) -> str:
    if source is None:
        return ""
    ref = text_or_empty(source.get("ref"))
    source_text = humanize_name(ref).lower() if source.get("source") == "value" else describe_reference(ref, grounds)
    return describe_source(text_or_empty(source.get("source")), source_text)


def _build_rule_row(rule: JsonObject) -> RuleRow:
    action, level = text_or_empty(rule.get("action")), text_or_empty(rule.get("level"))
    asks = f"{humanize_name(action)}{f' by {level}' if level else ''}"
    return RuleRow(
        text_or_empty(rule.get("ruleId")) or "rule",
        text_or_empty(rule.get("policyId")),
        text_or_empty(rule.get("reason")),
        asks,
        field_rows(rule.get("values")),
    )


def _convert_to_int_or_zero(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
