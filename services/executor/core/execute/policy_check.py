"""POLICY_CHECK: the binding verdict on a plan, from rules and collected values, without a model (I2)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import cast

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Dossier, NamedValue, Progress
from services.executor.core.endings import Failed, Rejected
from services.executor.core.execute.records import fields_about
from services.executor.ports import PolicyUnavailable
from shared.contracts.plan import WritePlan
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Verdict
from shared.domain.exact_json import Json, digest


async def check_policy(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its verdict; ends the run as ``Rejected`` if a rule blocks it, ``Failed`` without a verdict."""
    verdict = await verdict_on(ctx, progress.process_type, progress.dossier)
    ctx.journal.tell("verdict", passed=verdict.passed, rules=[rule.rule_id for rule in verdict.triggered_rules])
    refuse_if_blocked(verdict)
    return progress.learned(verdict=verdict)


async def verdict_on(ctx: TurnContext, process_type: str, dossier: Dossier) -> Verdict:
    """A fresh verdict; fails closed: a service that is down, slow or talks about something else means no writes."""
    request = request_for(ctx, process_type, dossier)
    try:
        verdict = await ctx.ports.policy.evaluate(request)
    except PolicyUnavailable as error:
        raise Failed(f"no policy verdict, so nothing was written: {error}", "policy_service") from error
    if verdict.plan_hash != request.plan_hash or verdict.binding is not request.binding:
        raise Failed(
            "no policy verdict, so nothing was written: the service answered about another plan", "policy_service"
        )
    return verdict


def request_for(ctx: TurnContext, process_type: str, dossier: Dossier) -> EvaluateRequest:
    """The rules' view of a plan. Without calls the verdict is provisional: a missing field then harms nothing."""
    plan = dossier.plan or WritePlan(task_id=ctx.record.task_id)
    common = {"process_type": process_type, **_values(dossier.values)}
    return EvaluateRequest(
        policies=ctx.policies,
        context=_context({**fields_about({}, dossier.facts), **common}),
        calls=tuple(
            CallContext(
                call_id=call.call_id,
                tool=call.tool,
                fields=_context({**fields_about(call.arguments, dossier.facts), **common, **call.arguments}),
            )
            for call in plan.calls
        ),
        plan_hash=plan.hash,
        binding=bool(plan.calls),
    )


def binding_hash(verdict: Verdict) -> str:
    """What an approval is bound to: the policy, the context and the plan that the verdict was made on."""
    return digest([verdict.policy_hash, verdict.context_hash, verdict.plan_hash])


def refuse_if_blocked(verdict: Verdict) -> None:
    """Raises ``Rejected`` naming the rules, if the verdict says no outright or the policy itself is broken."""
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        raise Rejected(f"policy invalid, so nothing was written: {problems}")
    if verdict.blocked:
        raise Rejected("blocked by policy: " + "; ".join(reasons(verdict, blocking=True)))


def reasons(verdict: Verdict, blocking: bool = False) -> tuple[str, ...]:
    """One sentence for each triggered rule, once."""
    rules = [rule for rule in verdict.triggered_rules if not blocking or rule.action == "block"]
    return tuple(dict.fromkeys(f"{rule.rule_id}: {rule.reason}" for rule in rules))


def _values(values: Sequence[NamedValue]) -> dict[str, Json]:
    return {value.name: Decimal(value.value) for value in values}


def _context(fields: Mapping[str, Json]) -> dict[str, ContextValue]:
    """The fields a rule can speak about: scalars and lists of scalars."""
    return {key: cast(ContextValue, value) for key, value in fields.items() if _is_sayable(value)}


def _is_sayable(value: Json) -> bool:
    if isinstance(value, list):
        return all(not isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)
