"""APPROVAL_GATE: what an approver is asked about a plan, which decisions count, and how the request ends (I7)."""

from collections.abc import Container, Iterator, Sequence
from datetime import datetime, timedelta

from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import describe_unanswered_concern, describe_unknown_inputs
from services.executor.core.reads.server_call import content_as_received
from services.executor.core.records.references import referenced_calls
from services.executor.core.session.dossier import Progress, binding_hash
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.tools.record_tree import RecordKeys
from services.executor.core.tools.shorten import shorten_to_first_rows
from services.executor.ports.turns import Notice
from shared.contracts.approval import (
    Approval,
    ApprovalStatus,
    ConfirmationStep,
    Decision,
    Escalation,
    LadderRung,
    NoticeEvent,
    NoticeTarget,
    find_rung,
    rungs_above,
)
from shared.contracts.grounds import ArgumentSource, FigureGround, Grounds, ReadGround, RuleGround
from shared.contracts.plan import Origin, PlannedCall, WritePlan
from shared.contracts.policy import TriggeredRule, Verdict
from shared.contracts.task import Turn
from shared.domain.exact_json import Json, JsonObject, digest, dumps, to_exact
from shared.domain.words import who_decides

_SHOWN, _MENTIONED = 2_000, 300  # characters of a read that something rests on, and of any other
_MOST_READS = 40


def collect_approval_evidence(progress: Progress, verdict: Verdict, task: str, keys: RecordKeys) -> Grounds:
    """The evidence shown to an approver: the rules that apply, the policy versions, the reads and figures, the
    source of each argument, which code found when the calls were proposed, and what is not known.
    """
    dossier = progress.dossier
    calls = dossier.plan.every_call if dossier.plan else ()
    sources = tuple(source for call in calls for source in _list_argument_sources(call))
    found = compute_figures(progress.template, dossier.facts, task, keys)
    return Grounds(
        rules=tuple(map(_build_rule_ground, verdict.triggered_rules)),
        policy_hash=verdict.policy_hash,
        policy_versions=progress.policy_versions,
        arguments=sources,
        reads=tuple(_build_read_ground(fact, sources, dossier.values) for fact in dossier.facts[:_MOST_READS]),
        figures=tuple(map(_build_figure_ground, dossier.values)),
        not_known=(
            *describe_unknown_inputs(progress.template, dossier, found, keys),
            *filter(None, (describe_unanswered_concern(progress, keys),)),
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
        inside = (f"{argument}.", f"{argument}[")
        origins = [one for one in call.origins if one.argument == argument or one.argument.startswith(inside)]
        found = {"call_id": call.call_id, "argument": argument, **_describe_source(value, origins)}
        yield ArgumentSource.model_validate(found)


def _describe_source(value: Json, origins: Sequence[Origin]) -> dict[str, str]:
    """The source of an argument's value as fields of ``ArgumentSource``. Of a value with several scalars inside, the
    first that has a source counts.
    """
    if calls := [*referenced_calls(value)]:
        return {"source": "call", "ref": ", ".join(dict.fromkeys(calls))}
    named = next((one for one in origins if one.source != "none"), None)
    return {"source": named.source, "ref": named.ref.replace(" ", ".", 1)} if named else {"source": "words"}


def _build_read_ground(fact: Fact, sources: Sequence[ArgumentSource], values: Sequence[NamedValue]) -> ReadGround:
    from_results = (one for one in sources if one.source == "result")
    within = (f"{fact.ref}.", f"{fact.ref}[")
    arguments = [one for one in from_results if one.ref == fact.ref or one.ref.startswith(within)]
    figures = [one for one in values if any((of.source, of.ref) == ("result", fact.ref) for of in one.operands)]
    supports = (*(f"{one.call_id}.{one.argument}" for one in arguments), *(f"value {one.name}" for one in figures))
    most = _SHOWN if supports else _MENTIONED
    seen, left_out = shorten_to_first_rows(content_as_received(fact), most)
    shows = dumps(seen)
    return ReadGround(
        ref=fact.ref,
        connection_id=fact.connection_id,
        tool=fact.tool,
        arguments_json=fact.arguments_json,
        shows=shows[:most],
        cut=bool(left_out) or len(shows) > most,
        ok=fact.ok,
        note=" ".join(filter(None, (fact.note, left_out))),
        supports=supports,
    )


def _build_figure_ground(value: NamedValue) -> FigureGround:
    operands = tuple(
        f"{one.ref}.{one.path}".rstrip(".")
        if one.source == "result"
        else f"{one.source} {one.ref or one.literal}".strip()
        for one in value.operands
    )
    return FigureGround(name=value.name, value=value.value, operation=value.operation, operands=operands)


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
        "origins": [{"argument": o.argument, "source": o.source, "ref": o.ref} for o in call.origins],
        **({"on_failure": call.on_failure} if call.on_failure != "stop" else {}),
        **({"compensation": _call_as_json(call.compensation)} if call.compensation else {}),
        **({"idempotency_field": call.idempotency_field} if call.idempotency_field else {}),
    }


class InvalidDecision(Exception):
    """A person's decision on an approval is not valid; the message says why, and the task keeps waiting."""


def ask_for_approval(
    plan: WritePlan,
    verdict: Verdict,
    requester_id: str,
    now: datetime,
    hours: float,
    needed: int,
    why: tuple[str, ...] = (),
    confirmation: ConfirmationStep | None = None,
    ladder: tuple[LadderRung, ...] = (),
    grounds: Grounds | None = None,
    notices: tuple[NoticeTarget, ...] = (),
) -> Approval:
    """A new request to approve the plan, bound to the plan's hash and its verdict's.

    ``hours`` and ``needed`` are the deadline and the number of approvers where the verdict's level is not on the
    tenant's ``ladder``; a level on it may ask for more people, never for fewer than ``needed``.
    """
    binding = binding_hash(verdict)
    number: list[Json] = [confirmation.number] if confirmation else []
    first = find_rung(ladder, verdict.escalation_level)
    later = tuple(  # with nothing left to look up when its time comes
        rung.model_copy(update={"hours": rung.hours or hours, "approvers": max(needed, rung.approvers)})
        for rung in rungs_above(ladder, verdict.escalation_level)
    )
    return Approval(
        approval_id=digest([plan.task_id, plan.hash, binding, now.isoformat(), *number])[:16],
        task_id=plan.task_id,
        plan=plan,
        plan_hash=plan.hash,
        verdict_hash=binding,
        level=verdict.escalation_level,
        requester_id=requester_id,
        reasons=(*why, *verdict.reasons),
        needed=max(needed, first.approvers) if first else needed,
        asked_at=now,
        deadline=now + timedelta(hours=(first.hours if first else None) or hours),
        confirmation=confirmation,
        grounds=grounds or Grounds(),
        ladder=later,
        notices=notices,
    )


def escalate_approval(approval: Approval, now: datetime) -> Approval | None:
    """The approval moved to the next level of its ladder: with a fresh deadline, and at least one decision more than
    were given. None if no level is left.
    """
    if not approval.ladder:
        return None
    rung, *later = approval.ladder
    passed = Escalation(level=approval.level, deadline=approval.deadline, at=now)
    return approval.model_copy(
        update={
            "level": rung.level,
            "needed": max(rung.approvers, len(approval.decisions) + 1),
            "deadline": now + timedelta(hours=rung.hours or 0),
            "ladder": tuple(later),
            "escalations": (*approval.escalations, passed),
        }
    )


def add_decision(approval: Approval, turn: Turn, now: datetime) -> Approval:
    """The approval with the turn's decision added. Raises ``InvalidDecision`` if the turn's sender may not decide,
    or the turn holds no decision on this approval.
    """
    if turn.data.get("approval_id") not in (None, approval.approval_id):
        raise InvalidDecision("it answers an earlier question, and what is asked has changed since")
    if objection := approval.find_objection(turn.principal, now):
        raise InvalidDecision(objection)
    word = str(turn.data.get("decision", "")).strip().lower()
    if word not in ("approve", "reject"):
        raise InvalidDecision('a decision is "approve" or "reject"')
    decision = Decision(
        approve=word == "approve", by=turn.principal, at=now, comment=str(turn.data.get("comment") or "")
    )
    decisions, status = (*approval.decisions, decision), ApprovalStatus.WAITING
    if any(not one.approve for one in decisions):
        status = ApprovalStatus.REJECTED
    elif len(decisions) >= approval.needed:
        status = ApprovalStatus.APPROVED
    return approval.model_copy(update={"decisions": decisions, "status": status})


def is_expired(approval: Approval, now: datetime) -> bool:
    return approval.status is ApprovalStatus.WAITING and now >= approval.deadline


def write_approver_brief(approval: Approval) -> str:
    """The text for the approver: the exact calls, why a person is asked, who may answer, until when, and how."""
    calls = [line for call in approval.plan.calls for line in _call_lines(call)]
    why = [f"- {reason}" for reason in approval.reasons]
    unknown = [f"- {one}" for one in approval.grounds.not_known if one not in approval.reasons]
    confirmed = approval.confirmation.given if approval.confirmation else ()  # each was given on the same calls
    ladder = approval.ladder
    silence = f"then it goes on to {who_decides(ladder[0].level)}." if ladder else "no answer means no."
    return "\n".join(
        [
            f"{_question_title(approval)} needed from {_describe_approvers(approval)} before these calls are made.",
            *(f"Confirmed before: {one.about} by {', '.join(one.by)}" for one in confirmed),
            *(
                f"Not decided by {who_decides(one.level)} before {_format_time(one.deadline)}."
                for one in approval.escalations
            ),
            "Proposed calls:",
            *calls,
            f"The plan's hash: {approval.plan_hash}",
            *(["Because:", *why] if why else []),
            *(["Not known:", *unknown] if unknown else []),
            f"Answer with exactly 'approve' or 'reject' before {_format_time(approval.deadline)}; {silence}",
        ]
    )


def describe_approval(approval: Approval) -> JsonObject:
    """The approval as data for programs: what is asked, of whom, and the decisions so far."""
    asked = approval.confirmation
    return {
        "approval_id": approval.approval_id,
        "status": approval.status.value,
        "plan_hash": approval.plan_hash,
        "calls": calls_as_json(approval.plan),
        "level": approval.level,
        "needed": approval.needed,
        "decisions": [
            {
                "approve": one.approve,
                "by": one.by.id,
                "verified": one.by.verified,
                "at": one.at.isoformat(),
                "comment": one.comment,
            }
            for one in approval.decisions
        ],
        "reasons": list(approval.reasons),
        "asked_at": approval.asked_at.isoformat(),
        "deadline": approval.deadline.isoformat(),
        "escalated_from": [one.level for one in approval.escalations],
        "goes_on_to": [rung.level for rung in approval.ladder],
        "confirmation": {"about": asked.about, "number": asked.number, "of": asked.of} if asked else None,
        "confirmed": [{"about": one.about, "by": list(one.by)} for one in asked.given] if asked else [],
    }


def describe_refused_approval(approval: Approval) -> str:
    """A sentence on why an approval was refused: its deadline passed, or somebody rejected it."""
    asked = approval.confirmation
    return f"{_question_title(approval)}: {_describe_refusal(approval)}" if asked else _describe_refusal(approval)


def _describe_refusal(approval: Approval) -> str:
    if approval.status is ApprovalStatus.EXPIRED:
        return f"not approved: no decision before {_format_time(approval.deadline)}; nothing was written"
    no = next(decision for decision in approval.decisions if not decision.approve)
    comment = f": {no.comment}" if no.comment else ""
    return f"rejected by {no.by.id}{comment}; nothing was written"


def _question_title(approval: Approval) -> str:
    asked = approval.confirmation
    return f"Confirmation {asked.number} of {asked.of} ({asked.about})" if asked else "Approval"


def _describe_approvers(approval: Approval) -> str:
    who = who_decides(approval.level)
    if approval.needed == 1:
        return who
    given = [decision.by.id for decision in approval.decisions if decision.approve]
    so_far = f"; {len(given)} of {approval.needed} given, by {', '.join(given)}" if given else ""
    return f"{who} ({approval.needed} different people{so_far})"


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


_ON_FAILURE = {
    "stop": "",
    "continue": "; if it fails, the rest goes on",
    "compensate": "; if it fails, the calls before it are taken back",
}


def _call_lines(call: PlannedCall) -> list[str]:
    """A call as the approver reads it: its arguments, what happens if it fails, and its compensation."""
    lines = [f"- {_format_call(call)}{_ON_FAILURE[call.on_failure]}"]
    if call.compensation:
        lines.append(f"  taken back, if a later call asks for it, by {_format_call(call.compensation)}")
    return lines


def _format_call(call: PlannedCall) -> str:
    key = f" [sent with a key of ours in {call.idempotency_field}]" if call.idempotency_field else ""
    arguments = ", ".join(f"{name}={dumps(value)}" for name, value in call.arguments.items())
    return f"{call.tool}({arguments}){key}"


def finalize_approval(
    approval: Approval | None, decided: Approval | None, now: Approval | None, carried_out: Container[str] = ()
) -> Approval | None:
    """The approval with its final status; None if it was not waiting, or still is the present one (``now``).

    It stays APPROVED if ``now`` is None or about the same plan and verdict, or if its plan's hash is in
    ``carried_out``; else it ends SUPERSEDED.
    """
    if (
        approval is None
        or approval.status is not ApprovalStatus.WAITING
        or (now and now.approval_id == approval.approval_id)
    ):
        return None
    ended = decided if decided and decided.approval_id == approval.approval_id else approval
    same = now is None or (now.plan_hash, now.verdict_hash) == (approval.plan_hash, approval.verdict_hash)
    if ended.status is ApprovalStatus.APPROVED and (same or ended.plan_hash in carried_out):
        return ended
    return ended.model_copy(update={"status": ApprovalStatus.SUPERSEDED})


def find_approval_notices(
    before: Approval | None, after: Approval | None, settled: Approval | None
) -> Iterator[Notice]:
    """Yields the notices to send because a turn changed its approval from ``before`` to ``after``. ``settled`` is an
    approval that ended in the same turn and was replaced.
    """
    if settled is not None and settled.notices:
        yield _build_notice(NoticeEvent.DECIDED, settled)
    if after is None or not after.notices:
        return
    if before is None or before.approval_id != after.approval_id:
        if after.status is ApprovalStatus.WAITING:
            yield _build_notice(NoticeEvent.WAITING, after)
    elif after.status is not before.status:
        expired = after.status is ApprovalStatus.EXPIRED
        yield _build_notice(NoticeEvent.EXPIRED if expired else NoticeEvent.DECIDED, after)
    elif len(after.escalations) > len(before.escalations):
        yield _build_notice(NoticeEvent.ESCALATED, after)


def _build_notice(event: NoticeEvent, approval: Approval) -> Notice:
    return Notice(event, approval.approval_id, len(approval.escalations))
