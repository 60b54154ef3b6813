"""POLICY_CHECK: the binding verdict on a plan, from rules and collected values, without a model (I2)."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import cast

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Dossier, NamedValue, Progress
from services.executor.core.endings import Failed, Rejected
from services.executor.core.execute.process_figures import figured, figures_about
from services.executor.core.execute.process_rules import process_policy
from services.executor.core.execute.process_shares import Left, figures_left, left_together
from services.executor.core.execute.provenance import unproven
from services.executor.core.execute.records import fields_about, named_by
from services.executor.core.execute.refs import literal_parts
from services.executor.core.execute.sameness import same
from services.executor.core.fsm.template import Template
from services.executor.core.past_calls import has_tool_rules, of_facts, of_session, of_writes, sayable
from services.executor.core.tooling.classes import verb_of
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
from shared.domain.exact_json import Json, JsonObject, digest, dumps

_NAMED = 3  # calls that a refusal names


async def check_policy(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its verdict; ends the run as ``Rejected`` if a rule blocks it, ``Failed`` without a verdict."""
    verdict = await verdict_on(ctx, progress.template, progress.dossier)
    rules = verdict.triggered_rules
    ctx.journal.tell(
        "verdict",
        passed=verdict.passed,
        blocked=verdict.blocked,
        escalates=verdict.escalate,
        rules=list(dict.fromkeys(rule.rule_id for rule in rules)),
        why=list(dict.fromkeys(rule.reason for rule in rules)),
    )
    judged = progress.learned(verdict=verdict)
    if verdict.problems or verdict.blocked:
        await ctx.checkpoints.save(judged, "refused")  # whoever asks why is shown the verdict itself
    refuse_if_blocked(verdict, progress.dossier.plan)
    return judged


async def verdict_on(ctx: TurnContext, template: Template, dossier: Dossier) -> Verdict:
    """A fresh verdict; fails closed: a service that is down, slow or talks about something else means no writes."""
    request = request_for(ctx, template, dossier, await _history(ctx, dossier))
    try:
        verdict = await ctx.ports.policy.evaluate(request)
    except PolicyUnavailable as error:
        raise Failed(f"no policy verdict, so nothing was written: {error}", "policy_service") from error
    if verdict.plan_hash != request.plan_hash or verdict.binding is not request.binding:
        raise Failed(
            "no policy verdict, so nothing was written: the service answered about another plan", "policy_service"
        )
    ctx.last_verdict.plan_hash, ctx.last_verdict.at = request.plan_hash or "", ctx.journal.now
    return verdict


def request_for(
    ctx: TurnContext, template: Template, dossier: Dossier, history: tuple[PastCall, ...] = ()
) -> EvaluateRequest:
    """The rules' view of a plan: the tenant's, the request's and the process's own, which only add to them.

    Without calls the verdict is provisional: a missing field then harms nothing.
    """
    plan = dossier.plan or WritePlan(task_id=ctx.record.task_id)
    kind = template.process_type
    left = left_together(template, plan.every_call, figured(template, dossier.facts, ctx.task), dossier.facts)
    return EvaluateRequest(
        policies=(*ctx.policies, *process_policy(template, dossier, ctx.task)),
        context=sayable({**fields_about({}, dossier.facts), **_values(dossier.values), "process_type": kind}),
        calls=tuple(_context_of(call, dossier, kind, ctx.limits.trusts_requests, left) for call in plan.every_call),
        plan_hash=plan.hash,
        binding=bool(plan.calls),
        history=history,
        text=ctx.task if plan.calls else None,
        confirmations=_confirmations(dossier),
    )


def binding_hash(verdict: Verdict) -> str:
    """What an approval is bound to: the policy, the context and the plan that the verdict was made on."""
    return digest([verdict.policy_hash, verdict.context_hash, verdict.plan_hash])


def refuse_if_blocked(verdict: Verdict, plan: WritePlan | None = None) -> None:
    """Raises ``Rejected`` naming the rules, if the verdict says no outright or the policy itself is broken.

    ``plan``: what it was made on; where that has several calls, those that the rules block are named too.
    """
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        raise Rejected(f"policy invalid, so nothing was written: {problems}")
    if verdict.blocked:
        raise Rejected("blocked by policy: " + "; ".join(reasons(verdict, blocking=True)) + _blocked(verdict, plan))


def _blocked(verdict: Verdict, plan: WritePlan | None) -> str:
    """In words, some of several calls that may not be made; empty where that goes without saying."""
    ids = {rule.call_id for rule in verdict.triggered_rules if rule.action == "block"}
    calls = [call for call in plan.every_call if call.call_id in ids] if plan else []
    if plan is None or not calls or len(calls) == len(tuple(plan.every_call)):
        return ""
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return f" ({', '.join(f'{call.tool} {dumps(call.arguments)}' for call in calls[:_NAMED])}{more})"


def refuse_if_refused(verdict: Verdict) -> None:
    """Raises ``Rejected`` naming the rules about tools that a call breaks."""
    if verdict.refusals:
        raise Rejected("refused by policy, so nothing was written: " + "; ".join(map(told, verdict.refusals)))


def told(refusal: CallRefusal) -> str:
    return f"{refusal.call_id} {refusal.tool}: {refusal.rule_id}: {refusal.reason}"


def reasons(verdict: Verdict, blocking: bool = False) -> tuple[str, ...]:
    """One sentence for each triggered rule, once."""
    rules = [rule for rule in verdict.triggered_rules if not blocking or rule.action == "block"]
    return tuple(dict.fromkeys(f"{rule.rule_id}: {rule.reason}" for rule in rules))


async def _history(ctx: TurnContext, dossier: Dossier) -> tuple[PastCall, ...]:
    """The session's calls before the plan: its own do not count against it, however often its verdict is renewed."""
    if not has_tool_rules(ctx.policies):
        return ()
    plan_hash = dossier.plan.hash if dossier.plan else None
    written = [entry for entry in (await ctx.store.ledger()).values() if entry.plan_hash != plan_hash]
    return (*of_session(ctx.session.calls, ctx.record.task_id), *of_facts(dossier.facts), *of_writes(written))


def _confirmations(dossier: Dossier) -> tuple[Confirmation, ...]:
    """A person's yes to the plan as it stands covers each of its calls."""
    plan = dossier.plan
    if plan is None or dossier.approved_hash != plan.hash or not dossier.by_person:
        return ()
    return tuple(
        Confirmation(tool=call.tool, level=dossier.approved_level, call_id=call.call_id) for call in plan.every_call
    )


def _context_of(
    call: PlannedCall, dossier: Dossier, process_type: str, trusts_request: bool, left: Left
) -> CallContext:
    """A call as the rules see it: its arguments over the values over the records, and apart what the records say."""
    shown = fields_about(call.arguments, dossier.facts)
    values = _values(dossier.values)
    ours = {**_of_ours(call, dossier.values, left), "process_type": process_type}
    said = {**sayable({**shown, **values, **call.arguments}), **ours}
    return CallContext(
        call_id=call.call_id,
        tool=call.tool,
        tool_class=call.tool_class,
        fields=said,
        unproven=() if trusts_request else unproven(call.arguments, dossier),
        recorded=_recorded(said, ours, ({**values, **shown}, *named_by(tuple(_texts(call.arguments)), dossier.facts))),
    )


def _recorded(
    said: Mapping[str, ContextValue], ours: Container[str], records: Iterable[Mapping[str, Json]]
) -> tuple[dict[str, ContextValue], ...]:
    """What the call's records say otherwise, together as far as they agree, and each by itself."""
    found: list[dict[str, ContextValue]] = []
    for record in records:
        shown = sayable(record).items()
        other = {name: value for name, value in shown if name not in ours and _denied(value, said.get(name))}
        if other and other not in found:
            found.append(other)
    return tuple(found)


def _denied(recorded: ContextValue, said: ContextValue) -> bool:
    return recorded is not None and not same(cast(Json, recorded), cast(Json, said))


def _of_ours(call: PlannedCall, values: Sequence[NamedValue], left: Left) -> dict[str, ContextValue]:
    """What the executor itself knows of a call; no argument of that name takes its place."""
    figures = figures_left(call.arguments, figures_about(values, tuple(_texts(call.arguments))), left)
    known: dict[str, ContextValue] = {"figures": {**figures}} if figures else {}
    return {**known, "verb": verb_of(call.tool), "tool_class": call.tool_class.value}


def _texts(arguments: JsonObject) -> Iterator[str]:
    """The values of a call that may be the id of a record."""
    for part in literal_parts(arguments):
        if isinstance(part, str | int) and not isinstance(part, bool):
            yield str(part)


def _values(values: Sequence[NamedValue]) -> dict[str, Json]:
    return {value.name: Decimal(value.value) for value in values}
