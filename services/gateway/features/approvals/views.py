"""Approvals as JSON for approvers: the calls, their grounds, and the decisions."""

from datetime import datetime
from typing import NamedTuple, cast

from pydantic import JsonValue

from shared.contracts.approval import Approval
from shared.contracts.grounds import ArgumentSource, ReadGround
from shared.contracts.plan import PlannedCall
from shared.contracts.task import Principal, TaskRecord
from shared.domain.exact_json import Json, loads, to_i_json


class ApprovalRequest(NamedTuple):
    """An approval, with the record of its task."""

    approval: Approval
    record: TaskRecord


def build_approval_view(
    request: ApprovalRequest, reader: Principal | None = None, now: datetime | None = None
) -> dict[str, JsonValue]:
    """An approval as JSON. With ``reader`` and ``now`` it also says whether that principal's answer would count."""
    approval, record = request
    rights: dict[str, JsonValue] = {}
    if reader and now:
        objection = approval.find_objection_to_decider(reader, now)
        rights = {"may_decide": objection is None, "why_not": objection}
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
        "decisions": build_decisions_view(approval),
        "reasons": list(approval.reasons),
        "calls": [_build_call_view(call, approval) for call in approval.plan.calls],
        "plan_hash": approval.plan_hash,
        "confirmation": _describe_confirmation(approval),
        "values": record.metadata.get("values") or {},
        "policy": _describe_policy(approval),
        "evidence": [_build_read_view(ground) for ground in approval.grounds.reads],
        "figures": [_to_i_json(figure.model_dump(exclude={"v"}, mode="json")) for figure in approval.grounds.figures],
        "asked_at": approval.asked_at.isoformat(),
        "deadline": approval.deadline.isoformat(),
        "escalations": [  # the levels that did not decide in time
            {"level": escalation.level, "deadline": escalation.deadline.isoformat(), "at": escalation.at.isoformat()}
            for escalation in approval.escalations
        ],
        "goes_on_to": [rung.level for rung in approval.ladder],
        **rights,
    }


def build_decisions_view(approval: Approval) -> list[JsonValue]:
    """The decisions on an approval, as JSON."""
    return [
        {
            "decision": "approve" if decision.approve else "reject",
            "by": decision.by.id,
            "verified": decision.by.verified,
            "at": decision.at.isoformat(),
            "comment": decision.comment,
        }
        for decision in approval.decisions
    ]


def _build_call_view(call: PlannedCall, approval: Approval) -> JsonValue:
    """A call as JSON. ``origins``: the source of each argument as text; ``provenance``: the same as objects."""
    sources = list_argument_sources(call, approval)
    return {
        "call_id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "class": call.tool_class.value,
        "arguments": _to_i_json(call.arguments),
        "origins": {source.argument: f"{source.source} {source.ref}".strip() for source in sources},
        "provenance": [source.model_dump(exclude={"v", "call_id"}) for source in sources],
        "read_back": {"tool": call.read_back.tool, "arguments": _parse_json(call.read_back.arguments_json)}
        if call.read_back
        else None,
        "on_failure": call.on_failure,
        "compensation": _build_call_view(call.compensation, approval) if call.compensation else None,
    }


def list_argument_sources(call: PlannedCall, *approvals: Approval) -> list[ArgumentSource]:
    """The source of each of a call's arguments: as the latest approval recorded it, else as the plan says."""
    recorded = (source for approval in approvals for source in approval.grounds.arguments)
    sources = [source for source in recorded if source.call_id == call.call_id]
    sources = sources or [
        ArgumentSource(
            call_id=call.call_id,
            argument=origin.argument,
            source="words" if origin.source == "none" else origin.source,
            ref=origin.ref,
        )
        for origin in call.origins
        if origin.argument
    ]
    return [*{source.argument: source for source in sources}.values()]


def _describe_confirmation(approval: Approval) -> JsonValue:
    step = approval.confirmation
    if step is None:
        return None
    earlier: list[JsonValue] = [{"about": answer.about, "by": list(answer.by)} for answer in step.given]
    return {"about": step.about, "number": step.number, "of": step.of, "given": earlier}


def _describe_policy(approval: Approval) -> JsonValue:
    """The rules that require the approval, each with the values that triggered it."""
    grounds = approval.grounds
    rules: list[JsonValue] = [
        {
            **rule.model_dump(exclude={"v", "rule_id", "policy_id", "values_json"}),
            "rule": rule.rule_id,
            "policy": rule.policy_id,
            "values": _parse_json(rule.values_json),
        }
        for rule in grounds.rules
    ]
    return {"rules": rules, "policy_hash": grounds.policy_hash, "versions": list(grounds.policy_versions)}


def _build_read_view(ground: ReadGround) -> JsonValue:
    return {
        **ground.model_dump(mode="json", exclude={"v", "connection_id", "arguments_json"}),
        "connection": ground.connection_id,
        "arguments": _parse_json(ground.arguments_json),
        "shows": _parse_json(ground.shows),
    }


def _parse_json(text: str) -> JsonValue:
    """Parse a JSON text; a text that is not JSON, since it was shortened, is returned as it is."""
    try:
        return _to_i_json(loads(text))
    except ValueError:
        return text


def _to_i_json(value: object) -> JsonValue:
    return cast(JsonValue, to_i_json(cast(Json, value)))
