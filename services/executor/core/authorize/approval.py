"""APPROVAL_GATE: what an approver is asked about a plan, which decisions count, and how the request ends (I7)."""

from collections.abc import Container, Iterator, Sequence
from datetime import datetime, timedelta

from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import describe_unknown_inputs, describe_unknown_two_person_concern
from services.executor.core.reads.server_call import content_as_received
from services.executor.core.records.references import referenced_calls
from services.executor.core.session.dossier import Progress, hash_for_approval
from services.executor.core.session.values import Fact, NamedValue, Operand
from services.executor.core.tools.record_tree import RecordKeys
from services.executor.core.tools.shorten import shorten_to_first_rows
from services.executor.ports.turns import ApprovalNotice
from shared.contracts.approval import (
    Approval,
    ApprovalStatus,
    ConfirmationStep,
    Decision,
    Escalation,
    LadderRung,
    NoticeEvent,
    NoticeTarget,
    find_rung_of_level,
    list_rungs_above,
)
from shared.contracts.grounds import ArgumentSource, FigureGround, Grounds, ReadGround, RuleGround
from shared.contracts.plan import ArgumentOrigin, PlannedCall, WritePlan
from shared.contracts.policy import TriggeredRule, Verdict
from shared.contracts.task import Turn
from shared.domain.exact_json import Json, JsonObject, digest, dumps, to_exact
from shared.domain.words import describe_decider

_MOST_CHARACTERS_OF_BASIS = 2_000  # of a read that something rests on
_MOST_CHARACTERS_OF_OTHER_READ = 300
_MOST_READS = 40


def collect_approval_evidence(progress: Progress, verdict: Verdict, task: str, keys: RecordKeys) -> Grounds:
    """The evidence shown to an approver: the rules that apply, the policy versions, the reads and figures, the
    source of each argument (as code found it when the calls were proposed), and what is not known.
    """
    dossier = progress.dossier
    calls = dossier.plan.every_call if dossier.plan else ()
    sources = tuple(source for call in calls for source in _list_argument_sources(call))
    figures = compute_figures(progress.template, dossier.facts, task, keys)
    return Grounds(
        rules=tuple(map(_build_rule_ground, verdict.triggered_rules)),
        policy_hash=verdict.policy_hash,
        policy_versions=progress.policy_versions,
        arguments=sources,
        reads=_select_reads([_build_read_ground(fact, sources, dossier.values) for fact in dossier.facts]),
        figures=tuple(map(_build_figure_ground, dossier.values)),
        not_known=(
            *describe_unknown_inputs(progress.template, dossier, figures, keys),
            *filter(None, (describe_unknown_two_person_concern(progress, keys),)),
        ),
    )


def _build_rule_ground(rule: TriggeredRule) -> RuleGround:
    return RuleGround(
        rule_id=rule.rule_id,
        policy_id=rule.policy_id,
        action=rule.action.value,
        level=rule.level,
        approvers=rule.approvers,
        reason=rule.reason,
        call_id=rule.call_id,
        values_json=dumps(to_exact(rule.values)),
        indeterminate=rule.indeterminate,
    )


def _list_argument_sources(call: PlannedCall) -> Iterator[ArgumentSource]:
    for argument, value in call.arguments.items():
        prefixes = (f"{argument}.", f"{argument}[")
        origins = [origin for origin in call.origins if f"{origin.argument}.".startswith(prefixes)]
        source_fields = {"call_id": call.call_id, "argument": argument, **_describe_source(value, origins)}
        yield ArgumentSource.model_validate(source_fields)


def _describe_source(value: Json, origins: Sequence[ArgumentOrigin]) -> dict[str, str]:
    """An argument's source as fields of ``ArgumentSource``: calls it refers to, else its first origin, else words."""
    if calls := [*referenced_calls(value)]:
        return {"source": "call", "ref": ", ".join(dict.fromkeys(calls))}
    known_origin = next((origin for origin in origins if origin.source != "none"), None)
    return (
        {"source": known_origin.source, "ref": known_origin.ref.replace(" ", ".", 1)}
        if known_origin
        else {"source": "words"}
    )


def _build_read_ground(fact: Fact, sources: Sequence[ArgumentSource], values: Sequence[NamedValue]) -> ReadGround:
    result_sources = (source for source in sources if source.source == "result")
    prefixes = (f"{fact.ref}.", f"{fact.ref}[")
    arguments = [source for source in result_sources if f"{source.ref}.".startswith(prefixes)]
    supports = [f"{argument.call_id}.{argument.argument}" for argument in arguments]
    for value in values:
        if any((operand.source, operand.ref) == ("result", fact.ref) for operand in value.operands):
            supports.append(f"value {value.name}")
    most_characters = _MOST_CHARACTERS_OF_BASIS if supports else _MOST_CHARACTERS_OF_OTHER_READ
    shown_rows, rows_left_out = shorten_to_first_rows(content_as_received(fact), most_characters)
    shown_text = dumps(shown_rows)
    return ReadGround(
        ref=fact.ref,
        connection_id=fact.connection_id,
        tool=fact.tool,
        arguments_json=fact.arguments_json,
        shows=shown_text[:most_characters],
        cut=bool(rows_left_out) or len(shown_text) > most_characters,
        ok=fact.ok,
        note=" ".join(filter(None, (fact.note, rows_left_out))),
        supports=tuple(supports),
    )


def _select_reads(reads: Sequence[ReadGround]) -> tuple[ReadGround, ...]:
    """At most forty of the reads, in order; reads that support no argument or value are left out first."""
    chosen_places = sorted(range(len(reads)), key=lambda place: not reads[place].supports)[:_MOST_READS]
    return tuple(reads[place] for place in sorted(chosen_places))


def _build_figure_ground(value: NamedValue) -> FigureGround:
    operands = tuple(map(_describe_operand, value.operands))
    return FigureGround(name=value.name, value=value.value, operation=value.operation, operands=operands)


def _describe_operand(operand: Operand) -> str:
    if operand.source == "result":
        return f"{operand.ref}.{operand.path}".rstrip(".")
    return f"{operand.source} {operand.ref or operand.literal}".strip()


def calls_as_json(plan: WritePlan) -> list[Json]:
    """The plan's calls as JSON for people and prompts: tool, arguments and the source of each argument."""
    return [_call_as_json(call) for call in plan.calls]


def _call_as_json(call: PlannedCall) -> JsonObject:
    return {
        "call_id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "part": call.part,
        "arguments": call.arguments,
        "origins": [
            {"argument": origin.argument, "source": origin.source, "ref": origin.ref}
            for origin in call.origins
            if origin.argument
        ],
        **({"on_failure": call.on_failure} if call.on_failure != "stop" else {}),
        **({"compensation": _call_as_json(call.compensation)} if call.compensation else {}),
        **({"idempotency_field": call.idempotency_field} if call.idempotency_field else {}),
    }


class InvalidDecision(Exception):
    """A person's decision on an approval is not valid; the message says why, and the task keeps waiting."""


def build_approval_request(
    plan: WritePlan,
    verdict: Verdict,
    requester_id: str,
    now: datetime,
    hours: float,
    needed: int,
    reasons: tuple[str, ...] = (),
    confirmation: ConfirmationStep | None = None,
    ladder: tuple[LadderRung, ...] = (),
    grounds: Grounds | None = None,
    notices: tuple[NoticeTarget, ...] = (),
) -> Approval:
    """A new request to approve the plan, bound to the hashes of the plan and of its verdict.

    ``hours`` and ``needed`` are the deadline and the number of approvers where the verdict's level is not on the
    tenant's ``ladder``; a level on the ladder may ask for more people, never for fewer than ``needed``.
    """
    binding = hash_for_approval(verdict)
    step_numbers: list[Json] = [confirmation.number] if confirmation else []
    first_rung = find_rung_of_level(ladder, verdict.escalation_level)
    later_rungs = tuple(  # with nothing left to look up when its time comes
        rung.model_copy(update={"hours": rung.hours or hours, "approvers": max(needed, rung.approvers)})
        for rung in list_rungs_above(ladder, verdict.escalation_level)
    )
    return Approval(
        approval_id=digest([plan.task_id, plan.hash, binding, now.isoformat(), *step_numbers])[:16],
        task_id=plan.task_id,
        plan=plan,
        plan_hash=plan.hash,
        verdict_hash=binding,
        level=verdict.escalation_level,
        requester_id=requester_id,
        reasons=(*reasons, *verdict.reasons),
        needed=max(needed, first_rung.approvers) if first_rung else needed,
        asked_at=now,
        deadline=now + timedelta(hours=(first_rung.hours if first_rung else None) or hours),
        confirmation=confirmation,
        grounds=grounds or Grounds(),
        ladder=later_rungs,
        notices=notices,
    )


def escalate_approval(approval: Approval, now: datetime) -> Approval | None:
    """The approval moved to the next level of its ladder, with a new deadline; it then needs at least one decision
    more than it has so far. None if no level is left.
    """
    if not approval.ladder:
        return None
    rung, *later = approval.ladder
    escalation = Escalation(level=approval.level, deadline=approval.deadline, at=now)
    return approval.model_copy(
        update={
            "level": rung.level,
            "needed": max(rung.approvers, len(approval.decisions) + 1),
            "deadline": now + timedelta(hours=rung.hours or 0),
            "ladder": tuple(later),
            "escalations": (*approval.escalations, escalation),
        }
    )


def add_decision(approval: Approval, turn: Turn, now: datetime) -> Approval:
    """The approval with the turn's decision added. ``now``: when the decision was accepted, by the store's clock.

    Raises ``InvalidDecision`` if the turn's sender may not decide, or the turn holds no decision on this approval.
    """
    if now < approval.asked_at:
        raise InvalidDecision("it was sent before this was asked")
    if turn.data.get("approval_id") not in (None, approval.approval_id):
        raise InvalidDecision("it answers an earlier question, and what is asked has changed since")
    if objection := approval.find_objection_to_decider(turn.principal, now):
        raise InvalidDecision(objection)
    word = str(turn.data.get("decision", "")).strip().lower()
    if word not in ("approve", "reject"):
        raise InvalidDecision('a decision is "approve" or "reject"')
    comment = str(turn.data.get("comment") or "")
    decision = Decision(approve=word == "approve", by=turn.principal, at=now, comment=comment)
    decisions, status = (*approval.decisions, decision), ApprovalStatus.WAITING
    if not decision.approve:
        status = ApprovalStatus.REJECTED
    elif len(decisions) >= approval.needed:
        status = ApprovalStatus.APPROVED
    return approval.model_copy(update={"decisions": decisions, "status": status})


def is_expired(approval: Approval, now: datetime) -> bool:
    return approval.status is ApprovalStatus.WAITING and now >= approval.deadline


def write_approver_brief(approval: Approval) -> str:
    """The text for the approver: the exact calls, why a person is asked, who may answer, until when, and how."""
    calls = [line for call in approval.plan.calls for line in _write_call_lines(call)]
    reasons = [f"- {reason}" for reason in approval.reasons]
    unknown = [f"- {fact}" for fact in approval.grounds.not_known if fact not in approval.reasons]
    confirmations = approval.confirmation.given if approval.confirmation else ()  # each was given on the same calls
    confirmed = [f"Confirmed before: {step.about} by {', '.join(step.by)}" for step in confirmations]
    missed = (
        (describe_decider(escalation.level), _format_time(escalation.deadline)) for escalation in approval.escalations
    )
    escalated = [f"Not decided by {deciders} before {deadline}." for deciders, deadline in missed]
    ladder = approval.ladder
    silence = f"then it goes on to {describe_decider(ladder[0].level)}." if ladder else "no answer means no."
    return "\n".join(
        [
            f"{_write_title(approval)} needed from {_describe_approvers(approval)} before these calls are made.",
            *confirmed,
            *escalated,
            "Proposed calls:",
            *calls,
            f"The plan's hash: {approval.plan_hash}",
            *(["Because:", *reasons] if reasons else []),
            *(["Not known:", *unknown] if unknown else []),
            f"Answer with exactly 'approve' or 'reject' before {_format_time(approval.deadline)}; {silence}",
        ]
    )


def describe_approval(approval: Approval) -> JsonObject:
    """The approval as data for programs: what is asked, of whom, and the decisions so far."""
    step = approval.confirmation
    return {
        "approval_id": approval.approval_id,
        "status": approval.status.value,
        "plan_hash": approval.plan_hash,
        "calls": calls_as_json(approval.plan),
        "level": approval.level,
        "needed": approval.needed,
        "decisions": [
            {
                "approve": decision.approve,
                "by": decision.by.id,
                "verified": decision.by.verified,
                "at": decision.at.isoformat(),
                "comment": decision.comment,
            }
            for decision in approval.decisions
        ],
        "reasons": list(approval.reasons),
        "asked_at": approval.asked_at.isoformat(),
        "deadline": approval.deadline.isoformat(),
        "escalated_from": [escalation.level for escalation in approval.escalations],
        "goes_on_to": [rung.level for rung in approval.ladder],
        "confirmation": {"about": step.about, "number": step.number, "of": step.of} if step else None,
        "confirmed": [{"about": confirmation.about, "by": list(confirmation.by)} for confirmation in step.given]
        if step
        else [],
    }


def describe_refused_approval(approval: Approval) -> str:
    """A sentence on why an approval was refused: its deadline passed, or somebody rejected it."""
    title = f"{_write_title(approval)}: " if approval.confirmation else ""
    if approval.status is ApprovalStatus.EXPIRED:
        return f"{title}not approved: no decision before {_format_time(approval.deadline)}; nothing was written"
    rejection = next(decision for decision in approval.decisions if not decision.approve)
    comment = f": {rejection.comment}" if rejection.comment else ""
    return f"{title}rejected by {rejection.by.id}{comment}; nothing was written"


def _write_title(approval: Approval) -> str:
    step = approval.confirmation
    return f"Confirmation {step.number} of {step.of} ({step.about})" if step else "Approval"


def _describe_approvers(approval: Approval) -> str:
    deciders = describe_decider(approval.level)
    if approval.needed == 1:
        return deciders
    approvers = [decision.by.id for decision in approval.decisions if decision.approve]
    so_far = f"; {len(approvers)} of {approval.needed} given, by {', '.join(approvers)}" if approvers else ""
    return f"{deciders} ({approval.needed} different people{so_far})"


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _write_call_lines(call: PlannedCall) -> list[str]:
    """A call as the approver reads it: its arguments, what happens if it fails, and its compensation."""
    on_failure = "; if it fails, the calls before it are taken back" if call.on_failure == "compensate" else ""
    lines = [f"- {_format_call(call)}{on_failure}"]
    if call.compensation:
        lines.append(f"  taken back, if a later call asks for it, by {_format_call(call.compensation)}")
    return lines


def _format_call(call: PlannedCall) -> str:
    key = f" [sent with a key of ours in {call.idempotency_field}]" if call.idempotency_field else ""
    arguments = ", ".join(f"{name}={dumps(value)}" for name, value in call.arguments.items())
    return f"{call.tool}({arguments}){key}"


def finalize_approval(
    approval: Approval | None, decided: Approval | None, present: Approval | None, carried_out: Container[str] = ()
) -> Approval | None:
    """The approval that waited before a turn, with its final status; None if none waited, or if it is still the
    ``present`` one, which the task has after the turn. ``decided``: the approval with the turn's decision, or None.

    The status is APPROVED if it was decided so, and ``present`` is None or about the same plan and verdict, or its
    plan's hash is in ``carried_out``; else it is SUPERSEDED.
    """
    if approval is None or approval.status is not ApprovalStatus.WAITING:
        return None
    if present and present.approval_id == approval.approval_id:
        return None
    ended = decided if decided and decided.approval_id == approval.approval_id else approval
    question = (approval.plan_hash, approval.verdict_hash)
    is_same_question = present is None or (present.plan_hash, present.verdict_hash) == question
    if ended.status is ApprovalStatus.APPROVED and (is_same_question or ended.plan_hash in carried_out):
        return ended
    return ended.model_copy(update={"status": ApprovalStatus.SUPERSEDED})


def find_approval_notices(
    before: Approval | None, after: Approval | None, ended: Approval | None
) -> Iterator[ApprovalNotice]:
    """Yields the notices to send because a turn changed its approval from ``before`` to ``after``.

    ``ended`` is an approval that ended in the same turn and gave way to ``after``.
    """
    if ended is not None and ended.notices:
        yield _build_notice(NoticeEvent.DECIDED, ended)
    if after is None or not after.notices:
        return
    if before is None or before.approval_id != after.approval_id:
        if after.status is ApprovalStatus.WAITING:
            yield _build_notice(NoticeEvent.WAITING, after)
    elif after.status is not before.status:
        has_expired = after.status is ApprovalStatus.EXPIRED
        yield _build_notice(NoticeEvent.EXPIRED if has_expired else NoticeEvent.DECIDED, after)
    elif len(after.escalations) > len(before.escalations):
        yield _build_notice(NoticeEvent.ESCALATED, after)


def _build_notice(event: NoticeEvent, approval: Approval) -> ApprovalNotice:
    return ApprovalNotice(event, approval.approval_id, len(approval.escalations))
