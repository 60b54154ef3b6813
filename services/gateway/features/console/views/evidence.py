"""What a task's end rests on: writes with proof, verdict, approvals, figures, and use of models.

Writes come from the same rows as the audit export, so the same is masked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.features.console.views.approvals import ArgumentRow, figure_origin, in_words, name_ref
from services.gateway.features.console.views.tasks import WRITES, dollars, verdict_badge
from services.gateway.features.console.views.words import (
    Badge,
    read_moment,
    read_text,
    read_texts,
    show_fields,
    show_json,
    title_of,
)
from shared.contracts.grounds import Grounds
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import Json, JsonObject, as_object, objects_in

_NOTHING = Grounds()
_OPERATORS_WORD = ("resolution", "by", "comment")


class WriteLine(NamedTuple):
    """One write. ``shows``: what the read-back showed, empty if there was none; ``words``: operators' decisions."""

    call_id: str
    title: str
    tool: str
    connection: str
    status: Badge
    arguments: tuple[ArgumentRow, ...]
    attempt: int
    sent_at: datetime | None
    note: str
    read_back: str
    shows: tuple[tuple[str, str], ...]
    words: tuple[str, ...]


class RuleRow(NamedTuple):
    rule_id: str
    policy: str
    reason: str
    asks: str
    values: tuple[tuple[str, str], ...]


class PolicyEvidence(NamedTuple):
    """A verdict as shown. ``unknown``: rules that could not be decided for want of a value."""

    word: Badge
    rules: tuple[RuleRow, ...]
    unknown: tuple[str, ...]
    problems: tuple[str, ...]


class FigureRow(NamedTuple):
    name: str
    value: str
    origin: str


class TierUsage(NamedTuple):
    """The model calls of one tier. ``cost`` is empty if older events do not tell it."""

    tier: str
    calls: int
    read: str
    written: str
    cost: str


def writes(rows: Sequence[JsonObject], grounds: Grounds | None) -> tuple[WriteLine, ...]:
    return tuple(_write(row, grounds or _NOTHING) for row in rows)


def policy(record: TaskRecord) -> PolicyEvidence | None:
    """The verdict in the task's record; None before there is one."""
    verdict = as_object(record.metadata.get("verdict"))
    if not verdict:
        return None
    rules = tuple(_build_rule(one) for one in objects_in(verdict.get("triggeredRules")))
    unknown, problems = read_texts(verdict.get("indeterminate")), read_texts(verdict.get("problems"))
    return PolicyEvidence(verdict_badge(verdict), rules, unknown, problems)


def unenforced_policy(record: TaskRecord) -> str:
    """What of the request's own policy was not enforced, as the record says; empty if all of it was."""
    return read_text(record.metadata.get("policy_unenforced"))


def figures(record: TaskRecord, grounds: Grounds | None) -> tuple[FigureRow, ...]:
    """The computed figures, with operation and operands if an approval has frozen them."""
    frozen = grounds or _NOTHING
    origins = {one.name: figure_origin(one, frozen) for one in frozen.figures}
    found = {one.name: one.value for one in frozen.figures}
    found |= {name: str(value) for name, value in as_object(record.metadata.get("values")).items()}
    return tuple(FigureRow(title_of(name), value, origins.get(name, "")) for name, value in found.items())


def quality_parts(record: TaskRecord) -> tuple[tuple[str, str], ...]:
    """The parts whose sum the score is: ``Baseline 0.50``, ``Idle -0.05``."""
    return tuple(
        (title_of(name), f"{part:+.2f}" if name != "baseline" else f"{part:.2f}")
        for name, part in as_object(record.metadata.get("quality_parts")).items()
        if isinstance(part, int | float) and not isinstance(part, bool)
    )


def usage(told: Sequence[tuple[str, TaskEvent]]) -> tuple[TierUsage, ...]:
    """The use of models by tier, from the events of their calls."""
    by_tier: dict[str, list[Mapping[str, JsonValue]]] = defaultdict(list)
    for _, event in told:
        if event.kind == "model":
            by_tier[str(event.data.get("tier") or "model")].append(event.data)
    return tuple(_tier_usage(tier, calls) for tier, calls in sorted(by_tier.items()))


def _tier_usage(tier: str, calls: Sequence[Mapping[str, JsonValue]]) -> TierUsage:
    costs = [cost for one in calls if (cost := one.get("nanos")) is not None]
    price = dollars(sum(_count(cost) for cost in costs)) if costs else ""
    sums = (sum(_count(one.get(key)) for one in calls) for key in ("input", "output"))
    read, written = (f"{number:,}" if number else "" for number in sums)
    return TierUsage(title_of(tier), len(calls), read, written, price)


def _write(row: JsonObject, grounds: Grounds) -> WriteLine:
    arguments, proof = as_object(row.get("arguments")), as_object(row.get("proof"))
    sources = {str(one.get("argument")): one for one in objects_in(row.get("provenance"))}
    tool, status, attempt = read_text(row.get("tool")), read_text(row.get("status")), row.get("attempt")
    said = ([read_text(one.get(name)) for name in _OPERATORS_WORD] for one in objects_in(row.get("operators")))
    return WriteLine(
        call_id=read_text(row.get("call_id")),
        title=title_of(tool),
        tool=tool,
        connection=read_text(row.get("connection")),
        status=WRITES.get(status, Badge(title_of(status), "mute")),
        arguments=tuple(
            ArgumentRow(name, show_json(value), _source_words(sources.get(name), grounds))
            for name, value in arguments.items()
        ),
        attempt=attempt if isinstance(attempt, int) else 1,
        sent_at=read_moment(row.get("sent_at")),
        note=read_text(proof.get("note")),
        read_back=read_text(proof.get("read_back")),
        shows=_show_answer(proof.get("shows")),
        words=tuple(f"{title_of(word)} by {by} {comment}".strip() for word, by, comment in said),
    )


def _show_answer(found: Json) -> tuple[tuple[str, str], ...]:
    if found is None:
        return ()
    if isinstance(found, list) and len(found) == 1:
        (found,) = found
    return show_fields(found) if isinstance(found, dict) else (("Answer", show_json(found)),)


def _source_words(source: JsonObject | None, grounds: Grounds) -> str:
    if source is None:
        return ""
    ref = read_text(source.get("ref"))
    told = title_of(ref).lower() if source.get("source") == "value" else name_ref(ref, grounds)
    return in_words(read_text(source.get("source")), told)


def _build_rule(one: JsonObject) -> RuleRow:
    action, level = read_text(one.get("action")), read_text(one.get("level"))
    asks = f"{title_of(action)}{f' by {level}' if level else ''}"
    return RuleRow(
        read_text(one.get("ruleId")) or "rule",
        read_text(one.get("policyId")),
        read_text(one.get("reason")),
        asks,
        show_fields(one.get("values")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
