"""The audit rows: each write of a task with its requester, approvals, arguments, rules, status and proof."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from services.gateway.features.approvals.views import build_decisions_view, list_argument_sources
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.archive import ArchivedTask
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject, as_object, loads, objects_in
from shared.domain.protected_values import ProtectedKind, find_protected_values
from shared.domain.redaction import redact_json


def build_audit_rows(task: ArchivedTask, kept_in: str) -> list[JsonObject]:
    """A row for each write in the task's ledger, in the order of sending. ``kept_in``: ``store`` or ``archive``.

    What the privacy guard marks is masked; digests are of the unmasked values.
    """
    known_values = find_protected_values(task.record.request.text)
    rows = [_audit_row(task, entry, kept_in) for entry in sorted(task.ledger.values(), key=_sending_order_key)]
    return [_mask_row(row, known_values) for row in rows]


def build_rows_from_record(record: TaskRecord) -> list[JsonObject]:
    """A row with fewer fields for each write, from the task's record alone, if ledger and archive are gone."""
    known_values = find_protected_values(record.request.text)
    rows = (_short_row(record, write) for write in objects_in(record.metadata.get("writes")))
    return [_mask_row(row, known_values) for row in rows]


def read_time_of_row(row: JsonObject) -> datetime | None:
    """When the write was sent, else when its task last changed; None if the row has neither time."""
    for name in ("sent_at", "task_updated_at"):
        if isinstance(moment := row.get(name), str):
            return datetime.fromisoformat(moment)
    return None


def _audit_row(task: ArchivedTask, entry: LedgerEntry, kept_in: str) -> JsonObject:
    approvals = [approval for approval in task.approvals if approval.plan_hash == entry.plan_hash]
    return {
        **_describe_task(task.record),
        "call_id": entry.call.call_id,
        "connection": entry.call.connection_id,
        "tool": entry.call.tool,
        "class": entry.call.tool_class.value,
        "arguments": loads(entry.arguments_json),
        "arguments_sha256": _hash_text(entry.arguments_json),
        "provenance": [
            source.model_dump(exclude={"v", "call_id"}) for source in list_argument_sources(entry.call, *approvals)
        ],
        "figures": _describe_figures(task.record, approvals),
        "approvals": [_describe_approval(approval) for approval in approvals],
        "allowed_by": _metadata_text(task.record, "approval"),
        "policy": _describe_policy(task.record, approvals),
        "plan_hash": entry.plan_hash,
        "status": entry.status.value,
        "proof": _describe_proof(entry),
        "sent_at": _iso_time(entry.sending_at),
        "attempt": entry.attempt,
        "earlier": [
            {
                "number": attempt.number,
                "status": attempt.status.value,
                "sent_at": _iso_time(attempt.sending_at),
                "note": attempt.note,
            }
            for attempt in entry.earlier
        ],
        "compensates": entry.compensates,
        "operators": [
            {
                "resolution": resolution.resolution.value,
                "by": resolution.by.id,
                "at": resolution.at.isoformat(),
                "comment": resolution.comment,
            }
            for resolution in entry.resolutions
        ],
        "kept_in": kept_in,
    }


def _describe_task(record: TaskRecord) -> JsonObject:
    return {
        "task_id": record.task_id,
        "session_id": record.session_id,
        "task_state": record.state.value,
        "task_updated_at": record.updated_at.isoformat(),
        "process_type": _metadata_text(record, "process_type"),
        "asked_by": {"id": record.requester.id, "verified": record.requester.verified},
        "asked_at": record.accepted_at.isoformat(),
    }


def _short_row(record: TaskRecord, write: JsonObject) -> JsonObject:
    copied_fields = ("call_id", "connection", "tool", "arguments", "status", "attempt", "compensates")
    return {
        **_describe_task(record),
        **{name: write.get(name) for name in copied_fields},
        "allowed_by": _metadata_text(record, "approval"),
        "policy": _describe_policy(record, []),
        "plan_hash": _metadata_text(record, "plan_hash"),
        "proof": {"note": write.get("note")},
        "kept_in": "record",
    }


def _describe_figures(record: TaskRecord, approvals: Sequence[Approval]) -> list[Json]:
    """The computed figures, with operation and operands if an approval recorded them, else only names and values."""
    figures = next((approval.grounds.figures for approval in reversed(approvals) if approval.grounds.figures), ())
    if figures:
        return [figure.model_dump(mode="json", exclude={"v"}) for figure in figures]
    values = as_object(record.metadata.get("values"))
    return [{"name": name, "value": str(value)} for name, value in values.items()]


def _describe_approval(approval: Approval) -> Json:
    return {
        "approval_id": approval.approval_id,
        "status": approval.status.value,
        "level": approval.level,
        "needed": approval.needed,
        "asked_at": approval.asked_at.isoformat(),
        "deadline": approval.deadline.isoformat(),
        "escalated_from": [escalation.level for escalation in approval.escalations],
        "confirmation": approval.confirmation.about if approval.confirmation else None,
        "decisions": cast(Json, build_decisions_view(approval)),
    }


def _describe_policy(record: TaskRecord, approvals: Sequence[Approval]) -> Json:
    """The policy verdict on the plan, with rules from the granted approval, else from the task's record."""
    granted = next((approval for approval in reversed(approvals) if approval.status is ApprovalStatus.APPROVED), None)
    verdict = as_object(record.metadata.get("verdict"))
    passed = {"passed": verdict.get("passed"), "requires_approval": verdict.get("requiresApproval")}
    if granted is not None and granted.grounds.policy_hash:
        grounds = granted.grounds
        rules: list[Json] = [
            {"rule": rule.rule_id, "policy": rule.policy_id, "reason": rule.reason} for rule in grounds.rules
        ]
        versions: list[Json] = [*grounds.policy_versions]
        return {**passed, "rules": rules, "policy_hash": grounds.policy_hash, "versions": versions}
    triggered_rules: list[Json] = [
        {"rule": rule.get("ruleId"), "policy": rule.get("policyId"), "reason": rule.get("reason")}
        for rule in objects_in(verdict.get("triggeredRules"))
    ]
    return {**passed, "rules": triggered_rules, "policy_hash": verdict.get("policyHash"), "versions": []}


def _describe_proof(entry: LedgerEntry) -> JsonObject:
    """Why the write has its status, and what the read-back showed."""
    read_back = entry.call.read_back
    return {
        "note": entry.note,
        "refusal": entry.refusal,
        "read_back": read_back.tool if read_back else None,
        "shows": loads(entry.proof_json) if entry.proof_json else None,
        "shows_sha256": _hash_text(entry.proof_json) if entry.proof_json else None,
        "answer_sha256": _hash_text(entry.result_json) if entry.result_json else None,
    }


def _metadata_text(record: TaskRecord, name: str) -> Json:
    text = record.metadata.get(name)
    return text if isinstance(text, str) else None


def _iso_time(moment: datetime | None) -> Json:
    return moment.isoformat() if moment else None


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_UNMASKED_FIELDS = frozenset(
    {"task_id", "session_id", "plan_hash", "policy_hash", "approval_id", "sent_at", "at", "asked_at"}
)


def _mask_row(row: JsonObject, known_values: Mapping[str, ProtectedKind]) -> JsonObject:
    """The row with its values masked, but for ids, times and digests: a digest may look like a card number."""
    return {
        name: value if name in _UNMASKED_FIELDS or name.endswith("_sha256") else _mask_value(name, value, known_values)
        for name, value in row.items()
    }


def _mask_value(name: str, value: Json, known_values: Mapping[str, ProtectedKind]) -> Json:
    """A value with personal data masked; in ``arguments`` and ``shows``, field names also say what is personal."""
    if name in ("arguments", "shows") or not isinstance(value, dict | list):
        return redact_json(value, known_values)
    if isinstance(value, dict):
        return _mask_row(value, known_values)
    return [_mask_value("", item, known_values) for item in value]


def _sending_order_key(entry: LedgerEntry) -> tuple[bool, str]:
    return (entry.sending_at is None, entry.sending_at.isoformat(timespec="microseconds") if entry.sending_at else "")
