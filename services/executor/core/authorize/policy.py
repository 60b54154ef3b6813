"""POLICY_CHECK: the binding verdict on a plan, by rules and collected values, without a model (I2)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import NamedTuple, cast

from services.executor.core.authorize.sums import CallSums
from services.executor.core.figures.columns import same
from services.executor.core.figures.numbers import normal
from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import Left, figures_seen, joint_remainders, lower_remainders, process_policy
from services.executor.core.records import binding, calculated
from services.executor.core.records.asked_fields import asked_fields, fields_asked_of, tools_named_together
from services.executor.core.records.call_rows import rows_of_call
from services.executor.core.records.said_fields import Unknown, arguments_of
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.ledger import (
    is_sayable,
    past_calls_of_facts,
    past_calls_of_session,
    past_calls_of_writes,
)
from services.executor.core.session.left_out import was_not_made
from services.executor.core.session.ruled_tools import has_tool_rules
from services.executor.core.session.values import Fact, NamedValue, ProcessFigures
from services.executor.core.states.machine import Failed, ProcessTemplate, Rejected
from services.executor.core.tools.classes import verb_of
from services.executor.core.tools.record_tree import RecordKeys
from services.executor.ports.policy import PolicyUnavailable
from shared.contracts import policy as contracts
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import RuleAction

_NAMED = 3  # calls that a refusal names
_MOST_ROWS = 50  # of a call that are judged one by one
_MOST_OF_PLAN = 400  # of all its calls


async def verdict_on(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, part_of: WritePlan | None = None
) -> contracts.Verdict:
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


def has_fresh_verdict(ctx: TurnContext, plan_hash: str) -> bool:
    """Whether this attempt at the turn had a verdict on that plan so recently that a call may be sent on it (I2)."""
    oldest = ctx.journal.now - timedelta(seconds=ctx.limits.verdict_seconds)
    return ctx.journal.judged_plan == plan_hash and ctx.journal.judged_at >= oldest


async def renew_verdict(ctx: TurnContext, fresh: Progress) -> contracts.Verdict:
    """A fresh verdict on the plan by its present inputs. Also raises ``Rejected``, naming the rules, if it says no."""
    verdict = await verdict_on(ctx, fresh.template, fresh.dossier)
    refuse_if_blocked(verdict, fresh.dossier.plan)
    if verdict.refusals:
        raise Rejected("refused by policy, so nothing was written: " + "; ".join(map(format_refusal, verdict.refusals)))
    return verdict


def refuse_if_blocked(verdict: contracts.Verdict, plan: WritePlan | None = None) -> None:
    """Raises ``Rejected`` naming the rules, and the blocked calls of several, if the verdict or the policy is broken or
    says no.
    """
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        raise Rejected(f"policy invalid, so nothing was written: {problems}")
    if verdict.blocked:
        blocking = dict.fromkeys(rule.sentence for rule in verdict.triggered_rules if rule.action == RuleAction.BLOCK)
        raise Rejected(f"blocked by policy: {'; '.join(blocking)}{_describe_blocked_calls(verdict, plan)}")


def _describe_blocked_calls(verdict: contracts.Verdict, plan: WritePlan | None) -> str:
    """The calls that the rules block, in words, if these are some of several; else empty."""
    ids = {rule.call_id for rule in verdict.triggered_rules if rule.action == "block"}
    calls = [call for call in plan.every_call if call.call_id in ids] if plan else []
    if plan is None or not calls or len(calls) == len(tuple(plan.every_call)):
        return ""
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return f" ({', '.join(f'{call.tool} {dumps(call.arguments)}' for call in calls[:_NAMED])}{more})"


def format_refusal(refusal: contracts.CallRefusal) -> str:
    return f"{refusal.call_id} {refusal.tool}: {refusal.sentence}"


def request_for(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, history: tuple[contracts.PastCall, ...] = ()
) -> contracts.EvaluateRequest:
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
        policies=policies,
        most_rows=min(_MOST_ROWS, _MOST_OF_PLAN // max(1, len(plan.calls))),
        asked=asked_fields(policies),
        constants=frozenset(name for policy in policies for name in policy.context),
        left=joint_remainders(template, plan.every_call, found, dossier.facts),
        trusts_requests=ctx.limits.trusts_requests,
        sums=CallSums(
            [*(call for one in dossier.plans for call in one.calls if not was_not_made(ctx, one, call)), *plan.calls],
            dossier.facts,
            ctx.toolbox,
            tools_named_together(policies),
        ),
        keys=ctx.toolbox.keys,
    )
    values = {} if plan.calls else {value.name: calculated.field_of(value) for value in dossier.values}
    return contracts.EvaluateRequest(
        policies=policies,
        context={**values, "process_type": kind},
        calls=tuple(_context_of(call, around) for call in plan.every_call),
        plan_hash=plan.hash,
        binding=bool(plan.calls),
        history=history,
        text=ctx.task if plan.calls else None,
        confirmations=_list_confirmations(dossier),
    )


async def _read_history(ctx: TurnContext, dossier: Dossier) -> tuple[contracts.PastCall, ...]:
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


def _list_confirmations(dossier: Dossier) -> tuple[contracts.Confirmation, ...]:
    """A confirmation for each call, if a person approved the plan as it stands; else empty."""
    plan = dossier.plan
    if plan is None or dossier.approved_hash != plan.hash or not dossier.by_person:
        return ()
    level = dossier.approved_level
    return tuple(contracts.Confirmation(tool=one.tool, level=level, call_id=one.call_id) for one in plan.every_call)


class _CallSurroundings(NamedTuple):
    """What a plan's calls are judged with. ``asked``: the fields that rules need; ``constants``: those that policies
    bring themselves; ``sums``: over the task's calls.
    """

    facts: tuple[Fact, ...]
    values: tuple[NamedValue, ...]
    figures: ProcessFigures
    process_type: str
    policies: tuple[contracts.Policy, ...]
    most_rows: int
    asked: tuple[str, ...]
    constants: frozenset[str]
    left: Left
    trusts_requests: bool
    sums: CallSums
    keys: RecordKeys


class _CallFacts(NamedTuple):
    """What is known of one call, by the names that rules use. ``own``: by the executor itself; ``bound``: by the call's
    arguments and the records around it; ``calculated``: values about it.
    """

    own: JsonObject
    bound: Mapping[str, Json]
    calculated: Mapping[str, Json]

    def merge(self) -> JsonObject:
        """What the executor knows goes before what call and records say, and that before what was calculated."""
        return {**self.calculated, **self.bound, **self.own}

    def find_contradictions(self, records: Iterable[Mapping[str, Json]]) -> list[JsonObject]:
        """For each record, the fields in which it contradicts what is known of the call, each set once. What the
        executor knows no record contradicts.
        """
        known, found = self.merge(), list[JsonObject]()
        for record in records:
            shown: JsonObject = {
                name: value
                for name, value in record.items()
                if name not in self.own and value is not None and is_sayable(value)
            }
            other = {name: value for name, value in shown.items() if not same(value, known.get(name))}
            if other and other not in found:
                found.append(other)
        return found


def _context_of(call: PlannedCall, around: _CallSurroundings) -> contracts.CallContext:
    """A call as the rules see it."""
    view = binding.view_of(call.tool, call.arguments, around.facts, around.keys)
    bound = binding.bind(view, around.asked)
    values = calculated.as_fields(around.values, view, around.constants)
    known = _CallFacts(_own_fields(call, around, view), bound.fields, values)
    asked = fields_asked_of(call.tool, around.policies)
    scenes = _list_scenes(call, around) if asked else []
    differing = [name for name in _find_differing(call, scenes, bound.recorded) if name in asked]
    fields = {
        name: value
        for name, value in known.merge().items()
        if name not in differing and (name not in around.constants or name in call.arguments or name in bound.recorded)
    }
    unknown = (*(name for name in bound.unknown if name not in fields), *differing)
    records = (bound.recorded, *bound.named, *bound.beyond)
    return contracts.CallContext(
        call_id=call.call_id,
        tool=call.tool,
        tool_class=call.tool_class,
        fields=_as_context(fields),
        unproven=() if around.trusts_requests else unproven(call.arguments, view, bound, around.values),
        recorded=tuple(map(_as_context, known.find_contradictions(records))),
        summed=_as_context(around.sums.sum_figures(call, view, bound.fields, around.asked)),
        unknown_fields=unknown,
        rows=_rows_of(call, around, view, unknown, scenes),
    )


class _RowScene(NamedTuple):
    """One row of a call as rules would see it by itself, with what the records say that this row names."""

    fields: Mapping[str, Json]
    unknown: tuple[str, ...]


def _list_scenes(call: PlannedCall, around: _CallSurroundings) -> list[_RowScene]:
    """Each row of a call that takes several things; none for a call without rows, or with more than are judged one by
    one.
    """
    given = rows_of_call(call.arguments)
    rows = [*islice(given.each(), around.most_rows + 1)] if given.groups else []
    scenes: list[_RowScene] = []
    for row in rows if len(rows) <= around.most_rows else []:
        bound = binding.bind(binding.view_of(call.tool, row.naming, around.facts, around.keys), around.asked)
        own = {name: value for name, value in row.fields if not isinstance(value, Unknown)}
        scenes.append(_RowScene({**bound.fields, **own}, tuple(name for name in bound.unknown if name not in own)))
    return scenes


def _find_differing(call: PlannedCall, scenes: Sequence[_RowScene], recorded: Mapping[str, Json]) -> list[str]:
    """The fields that records say of the call as a whole, and of one of its rows not, or otherwise: of two invoices
    that are named in two ways, one is not the other.
    """
    given = {name for name, _ in arguments_of(call.arguments)} if scenes else set()
    return [
        name
        for name, value in recorded.items()
        if name not in given
        and any(name in one.unknown or (name in one.fields and not same(one.fields[name], value)) for one in scenes)
    ]


def _rows_of(
    call: PlannedCall,
    around: _CallSurroundings,
    view: binding.CallView,
    unknown: Sequence[str],
    scenes: Sequence[_RowScene],
) -> tuple[dict[str, contracts.ContextValue], ...]:
    """What is known of each row of a call by the fields that are unknown of the whole; of a field that it edits as it
    is and as it will be; and without and with what was calculated from words alone. Empty without any of these.
    """
    if not around.trusts_requests:  # what a row says, or an edit, is the request's word alone
        return ()
    asked = fields_asked_of(call.tool, around.policies)
    unknown = [name for name in unknown if name in asked]
    rows: list[JsonObject] = [
        {name: one.fields[name] for name in unknown if name in one.fields} for one in scenes if unknown
    ]
    if words := calculated.values_of_words(around.values, view, around.constants):
        rows = [both for row in rows or [{}] for both in (row, {**row, **words})]
    for name in unknown:
        known = [value for value in view.alternatives(name) if not isinstance(value, Unknown)]
        if known and len(known) == len(view.alternatives(name)):
            rows = [{**row, name: value} for row in rows or [{}] for value in known]
    rows = [*{dumps(row): row for row in rows}.values()]
    return tuple(map(_as_context, rows)) if any(rows) and len(rows) <= around.most_rows else ()


def _own_fields(call: PlannedCall, around: _CallSurroundings, view: binding.CallView) -> JsonObject:
    """The fields that the executor itself knows of a call, which no argument of that name replaces."""
    of_call = calculated.figures_of_call(around.figures, around.values, view)
    figures = lower_remainders(call.arguments, of_call, around.left)
    known: JsonObject = {"figures": {**figures}} if figures else {}
    return {
        **known,
        "verb": verb_of(call.tool),
        "tool_class": call.tool_class.value,
        "process_type": around.process_type,
    }


def unproven(
    arguments: JsonObject, view: binding.CallView, bound: binding.BoundFields, values: Sequence[NamedValue] = ()
) -> tuple[str, ...]:
    """The arguments that are the request's word alone: no record around the call gives them, and no calculation about
    it.
    """
    shown = {name: _spell(value) for name, value in bound.recorded.items()}
    computed = {_spell(value.value) for value in values if calculated.speaks_about(value, values, view)}
    given = {**arguments, **{name: value for name, value in arguments_of(arguments) if not isinstance(value, Unknown)}}
    return tuple(
        name
        for name, value in given.items()
        if shown.get(name) != _spell(value) and _spell(value) not in computed and not view.has_read(name, value)
    )


def _spell(value: Json) -> str:
    """A figure in one spelling, however it is written; anything else as text."""
    return normal(value if isinstance(value, str) else dumps(value))


def _as_context(fields: JsonObject) -> dict[str, contracts.ContextValue]:
    """The fields for the policy service, which takes no value that is nested deeper than theirs."""
    return cast(dict[str, contracts.ContextValue], fields)
