"""POLICY_CHECK: the binding verdict on a plan, by rules and collected values, without a model (I2).

It also says when a plan needs a person's decision, and how many different people it takes.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple, cast

from services.executor.core.authorize.sums import CallSums
from services.executor.core.figures.columns import same
from services.executor.core.figures.numbers import normal
from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import (
    Left,
    concern,
    figures_seen,
    joint_remainders,
    lower_remainders,
    process_policy,
    unanswered_concern,
)
from services.executor.core.records.asked_fields import asked_fields
from services.executor.core.records.binding import (
    BoundFields,
    CallView,
    ProcessFigures,
    bind,
    calculated_fields,
    field_of,
    figures_of_call,
    speaks_about,
    view_of,
)
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Dossier, Progress, binding_hash
from services.executor.core.session.ledger import (
    has_tool_rules,
    past_calls_of_facts,
    past_calls_of_session,
    past_calls_of_writes,
    sayable,
)
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.states import machine
from services.executor.core.states.machine import POLICY_MARK, Failed, ProcessTemplate, Rejected
from services.executor.core.tools.classes import verb_of
from services.executor.core.tools.record_tree import RecordKeys
from services.executor.ports.policy import PolicyUnavailable
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import (
    CallContext,
    CallRefusal,
    Confirmation,
    ContextValue,
    EvaluateRequest,
    PastCall,
    Verdict,
)
from shared.domain.answer import is_exact_match
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import FsmState, RuleAction, ToolClass, decider

_NAMED = 3  # calls that a refusal names


def refuse_if_blocked(verdict: Verdict, plan: WritePlan | None = None) -> None:
    """Raises ``Rejected`` naming the rules, and the blocked calls of several, if the verdict or the policy is broken or
    says no.
    """
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        raise Rejected(f"policy invalid, so nothing was written: {problems}")
    if verdict.blocked:
        blocking = dict.fromkeys(rule.sentence for rule in verdict.triggered_rules if rule.action == RuleAction.BLOCK)
        raise Rejected(f"blocked by policy: {'; '.join(blocking)}{_describe_blocked_calls(verdict, plan)}")


def _describe_blocked_calls(verdict: Verdict, plan: WritePlan | None) -> str:
    """The calls that the rules block, in words, if these are some of several; else empty."""
    ids = {rule.call_id for rule in verdict.triggered_rules if rule.action == "block"}
    calls = [call for call in plan.every_call if call.call_id in ids] if plan else []
    if plan is None or not calls or len(calls) == len(tuple(plan.every_call)):
        return ""
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return f" ({', '.join(f'{call.tool} {dumps(call.arguments)}' for call in calls[:_NAMED])}{more})"


def refuse_if_refused(verdict: Verdict) -> None:
    """Raises ``Rejected`` naming the rules about tools that a call breaks."""
    if verdict.refusals:
        raise Rejected("refused by policy, so nothing was written: " + "; ".join(map(format_refusal, verdict.refusals)))


def format_refusal(refusal: CallRefusal) -> str:
    return f"{refusal.call_id} {refusal.tool}: {refusal.sentence}"


def ends_escalated(template: ProcessTemplate, verdict: Verdict) -> bool:
    """Whether rules that escalate let the process go on to its end ESCALATE: only where its template says so, and never
    for a missing field (I2).
    """
    if not template.escalates or not verdict.escalate or verdict.blocked or verdict.problems:
        return False
    return not any(rule.indeterminate for rule in verdict.triggered_rules)


def answer_with_escalation(progress: Progress) -> str:
    """The answer; for an escalated case it says to whom and why, but a list stays a list to the byte (I9)."""
    answer, verdict = progress.dossier.answer or "", progress.dossier.verdict
    if progress.state is not FsmState.ESCALATE or verdict is None or is_exact_match(answer):
        return answer
    why = dict.fromkeys(rule.sentence for rule in verdict.triggered_rules if rule.action is RuleAction.ESCALATE)
    return f"{answer.rstrip()}\n\nEscalated to {verdict.escalation_level or 'a person'}: {'; '.join(why)}"


def find_unruled(verdict: Verdict, plan: WritePlan | None) -> tuple[str, ...]:
    """The tools of a plan's changes, else notices, to which no rule of tenant or request applies; the process's do not
    count.
    """
    calls = plan.every_call if plan else ()
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE] or calls
    acting = {rule.call_id for rule in verdict.triggered_rules if not rule.policy_id.startswith(POLICY_MARK)}
    if verdict.ruled_calls is None or None in acting:  # of an older policy service, or about the task's text
        return () if acting else tuple(call.tool for call in changes) or ("",)
    ruled = {
        call_id for call_id, ids in verdict.ruled_calls.items() if any(not one.startswith(POLICY_MARK) for one in ids)
    }
    return tuple(call.tool for call in changes if call.call_id not in ruled | acting)


def unproven(
    arguments: JsonObject, view: CallView, bound: BoundFields, values: Sequence[NamedValue] = ()
) -> tuple[str, ...]:
    """The arguments that are the request's word alone: no record around the call gives them, and no calculation about
    it.
    """
    shown = {name: _spell(value) for name, value in bound.recorded.items()}
    computed = {_spell(value.value) for value in values if speaks_about(value, values, view)}
    return tuple(
        name
        for name, value in arguments.items()
        if shown.get(name) != _spell(value) and _spell(value) not in computed and not view.has_read(name, value)
    )


def _spell(value: Json) -> str:
    """A figure in one spelling, however it is written; anything else as text."""
    return normal(value if isinstance(value, str) else dumps(value))


async def verdict_on(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, part_of: WritePlan | None = None
) -> Verdict:
    """A fresh verdict on the plan, or on a ``part_of`` one after the rest of it.

    Raises ``Failed`` if the service is away or answers about another plan.
    """
    request = request_for(ctx, template, dossier, await _read_history(ctx, dossier))
    request = request.model_copy(update={"plan_hash": part_of.hash}) if part_of else request
    try:
        verdict = await ctx.ports.policy.evaluate(request)
    except PolicyUnavailable as error:
        raise Failed(f"no policy verdict, so nothing was written: {error}", "policy_service") from error
    if verdict.plan_hash != request.plan_hash or verdict.binding is not request.binding:
        raise Failed(
            "no policy verdict, so nothing was written: the service answered about another plan", "policy_service"
        )
    if part_of is None:
        ctx.journal.judged_plan, ctx.journal.judged_at = request.plan_hash or "", ctx.journal.now
    return verdict


async def renew_verdict(ctx: TurnContext, fresh: Progress) -> Verdict:
    """A fresh verdict on the plan by its present inputs. Also raises ``Rejected``, if it says no."""
    verdict = await verdict_on(ctx, fresh.template, fresh.dossier)
    refuse_if_blocked(verdict, fresh.dossier.plan)
    refuse_if_refused(verdict)
    return verdict


def still_stands(ctx: TurnContext, progress: Progress, fresh: Progress, verdict: Verdict) -> bool:
    """Whether the plan, as it was let through, may go on by the renewed ``verdict`` on ``fresh`` inputs."""
    before, renewed = progress.dossier.verdict, fresh.update_dossier(verdict=verdict)
    asks_now = needs_person(ctx, progress.update_dossier(verdict=verdict)) and not needs_person(ctx, progress)
    if before is not None and binding_hash(verdict) == binding_hash(before) and not asks_now:
        return True
    return progress.dossier.approved_hash is not None and not needs_person(ctx, renewed)


def has_fresh_verdict(ctx: TurnContext, plan_hash: str) -> bool:
    """Whether this attempt at the turn had a verdict on that plan so recently that a call may be sent on it (I2)."""
    oldest = ctx.journal.now - timedelta(seconds=ctx.limits.verdict_seconds)
    return ctx.journal.judged_plan == plan_hash and ctx.journal.judged_at >= oldest


def request_for(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, history: tuple[PastCall, ...] = ()
) -> EvaluateRequest:
    """The request for a verdict on the plan by all policies; without calls it is provisional, and a missing field harms
    nothing.
    """
    plan = dossier.plan or WritePlan(task_id=ctx.record.task_id)
    kind = template.process_type
    found = compute_figures(template, dossier.facts, ctx.task)
    policies = (
        *ctx.policies,
        *process_policy(template, dossier, found, strict=ctx.tenant.strict_processes, keys=ctx.toolbox.keys),
    )
    around = _CallSurroundings(
        facts=dossier.facts,
        values=dossier.values,
        figures=figures_seen(template, dossier.values, found),
        process_type=kind,
        asked=asked_fields(policies),
        left=joint_remainders(template, plan.every_call, found, dossier.facts),
        trusts_requests=ctx.limits.trusts_requests,
        sums=CallSums([call for one in (*dossier.plans, plan) for call in one.calls], dossier.facts, ctx.toolbox),
        keys=ctx.toolbox.keys,
    )
    values = {} if plan.calls else {value.name: field_of(value) for value in dossier.values}
    return EvaluateRequest(
        policies=policies,
        context={**values, "process_type": kind},
        calls=tuple(_context_of(call, around) for call in plan.every_call),
        plan_hash=plan.hash,
        binding=bool(plan.calls),
        history=history,
        text=ctx.task if plan.calls else None,
        confirmations=_list_confirmations(dossier),
    )


async def _read_history(ctx: TurnContext, dossier: Dossier) -> tuple[PastCall, ...]:
    """The session's calls before the plan: its own do not count against it, however often its verdict is renewed."""
    if not has_tool_rules(ctx.policies):
        return ()
    plan_hash = dossier.plan.hash if dossier.plan else None
    written = [entry for entry in (await ctx.store.ledger()).values() if entry.plan_hash != plan_hash]
    return (
        *past_calls_of_session(ctx.session.calls, ctx.record.task_id),
        *past_calls_of_facts(dossier.facts),
        *past_calls_of_writes(written),
    )


def _list_confirmations(dossier: Dossier) -> tuple[Confirmation, ...]:
    """A confirmation for each call, if a person approved the plan as it stands; else empty."""
    plan = dossier.plan
    if plan is None or dossier.approved_hash != plan.hash or not dossier.by_person:
        return ()
    return tuple(
        Confirmation(tool=call.tool, level=dossier.approved_level, call_id=call.call_id) for call in plan.every_call
    )


class _CallSurroundings(NamedTuple):
    """What a plan's calls are judged with. ``asked``: the fields that rules need; ``sums``: over the task's calls."""

    facts: tuple[Fact, ...]
    values: tuple[NamedValue, ...]
    figures: ProcessFigures
    process_type: str
    asked: tuple[str, ...]
    left: Left
    trusts_requests: bool
    sums: CallSums
    keys: RecordKeys


def _context_of(call: PlannedCall, around: _CallSurroundings) -> CallContext:
    """A call as the rules see it: its bound fields, calculated values, and what the executor knows of it."""
    view = view_of(call.tool, call.arguments, around.facts, around.keys)
    bound = bind(view, around.asked)
    ours = {**_own_fields(call, around, view), "process_type": around.process_type}
    values = calculated_fields(around.values, view)
    said = {**values, **cast(dict[str, ContextValue], bound.fields), **ours}
    return CallContext(
        call_id=call.call_id,
        tool=call.tool,
        tool_class=call.tool_class,
        fields=said,
        unproven=() if around.trusts_requests else unproven(call.arguments, view, bound, around.values),
        recorded=_contradicting_values(said, ours, (bound.recorded, *bound.named, *bound.beyond)),
        summed=cast(dict[str, ContextValue], around.sums.sum_figures(call, view, bound.fields, around.asked)),
        unknown_fields=tuple(name for name in bound.unknown if name not in said),
    )


def _contradicting_values(
    said: Mapping[str, ContextValue], ours: Container[str], records: Iterable[Mapping[str, Json]]
) -> tuple[dict[str, ContextValue], ...]:
    """For each record, the fields in which it contradicts what is said of the call, each set once."""
    found: list[dict[str, ContextValue]] = []
    for record in records:
        shown = ((name, value) for name, value in sayable(record).items() if name not in ours and value is not None)
        other: dict[str, ContextValue] = {
            name: value for name, value in shown if not same(cast(Json, value), cast(Json, said.get(name)))
        }
        if other and other not in found:
            found.append(other)
    return tuple(found)


def _own_fields(call: PlannedCall, around: _CallSurroundings, view: CallView) -> dict[str, ContextValue]:
    """The fields that the executor itself knows of a call, which no argument of that name replaces."""
    figures = lower_remainders(call.arguments, figures_of_call(around.figures, around.values, view), around.left)
    known: dict[str, ContextValue] = {"figures": {**figures}} if figures else {}
    return {**known, "verb": verb_of(call.tool), "tool_class": call.tool_class.value}


def approval_needed(ctx: TurnContext, progress: Progress) -> str | None:
    """Who has to decide on the plan, and why; None if nobody."""
    verdict = progress.dossier.verdict
    if verdict is None:
        raise Failed("there is no policy verdict on the plan")
    if not needs_person(ctx, progress):
        return None
    level, count, steps = verdict.escalation_level, persons_needed(ctx, progress), progress.template.confirmations
    who = decider(level)
    asked = (*verdict.reasons, *reasons_to_ask_a_person(ctx, progress))
    asked = (*asked, *((f"{len(steps)} confirmations in sequence ({', '.join(steps)})",) if steps else ()))
    return f"{who}{f' ({count} different people)' if count > 1 else ''}: {'; '.join(asked)}"


def needs_person(ctx: TurnContext, progress: Progress) -> bool:
    """Whether a rule or the process asks for a person, or the tenant does for writes that no rule speaks about."""
    verdict, template = progress.dossier.verdict, progress.template
    if verdict is None or template.confirmations or reasons_to_ask_a_person(ctx, progress):
        return True
    return verdict.requires_approval or not (verdict.passed or ends_escalated(template, verdict))


def persons_needed(ctx: TurnContext, progress: Progress) -> int:
    """How many different people have to approve the plan."""
    verdict = progress.dossier.verdict
    approvers = max(progress.template.approvers, verdict.approvers if verdict else 1)
    return max(approvers, 2) if concern(progress, ctx.toolbox.keys) else approvers


def reasons_to_ask_a_person(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """The reasons to ask a person that no rule gives: the arguments' sources, the process's own, writes without a
    rule.
    """
    found = (*reasons_of_arguments(ctx, progress), *_reasons_of_process(ctx, progress))
    return (*found, *_reasons_of_tenant(ctx, progress))


def reasons_of_arguments(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """Sentences on arguments that a person has to look at: money, accounts and payees from free text that the tenant
    does not trust, records that the task does not mention, and what does not agree with the task's words.
    """
    plan = progress.dossier.plan
    found = [(call.tool, origin) for call in (plan.calls if plan else ()) for origin in call.origins]
    free = (
        f"{tool}: {origin.argument} stands only in free text ({origin.ref})"
        for tool, origin in found
        if origin.free_text and not any(fnmatchcase(origin.ref, field) for field in ctx.tenant.trusted_texts)
    )
    untold = (
        f"{tool}: no word of the task tells of the record in {origin.argument} ({origin.ref})"
        for tool, origin in found
        if origin.untold
    )
    against = (f"{tool}: {origin.against}" for tool, origin in found if origin.against)
    return (*free, *untold, *against)


def _reasons_of_process(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    if found := concern(progress, ctx.toolbox.keys):
        return (f"the process asks for two different people, because of {found}",)
    left = unanswered_concern(progress, ctx.toolbox.keys) if ctx.tenant.strict_processes else None
    return (left,) if left else ()


def _reasons_of_tenant(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    verdict = progress.dossier.verdict
    if verdict is None or ctx.tenant.unruled_writes != "approve":
        return ()
    tools = dict.fromkeys(find_unruled(verdict, progress.dossier.plan))
    if not tools:
        return ()
    return (f"no rule applies to {', '.join(filter(None, tools)) or 'the plan'}: unruled writes need a person here",)


def path_for(ctx: TurnContext, progress: Progress) -> tuple[FsmState, ...]:
    """The path of the plan in hand: with the gate if a person is asked, and to the end that its verdict leads to."""
    verdict = progress.dossier.verdict
    path = machine.with_gate(progress.path) if needs_person(ctx, progress) else progress.path
    return machine.with_end(path, verdict is not None and ends_escalated(progress.template, verdict))
