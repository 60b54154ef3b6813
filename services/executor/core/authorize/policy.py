"""POLICY_CHECK: asks the policy service for the binding verdict on a plan, by rules and read values, without a model
(I2).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from typing import NamedTuple, cast

from services.executor.core.authorize.sums import CallSums
from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import normalize_token, read_figure
from services.executor.core.process.figures import compute_figures
from services.executor.core.process.rules import (
    RemaindersByFigure,
    apply_joint_remainders,
    build_process_policy,
    figures_for_rules,
    joint_remainders,
)
from services.executor.core.records import binding, calculated
from services.executor.core.records.asked_fields import asked_fields, fields_asked_of, tools_named_together
from services.executor.core.records.call_rows import rows_of_call
from services.executor.core.records.field_values import FieldValue, UnknownValue, fields_of_arguments
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.ledger import (
    is_rule_value,
    past_calls_of_facts,
    past_calls_of_session,
    past_calls_of_writes,
)
from services.executor.core.session.left_out import was_not_made
from services.executor.core.session.ruled_tools import has_tool_rules
from services.executor.core.session.values import Fact, NamedValue, ProcessFigures
from services.executor.core.states.machine import Failed, ProcessTemplate, Rejected
from services.executor.core.tools.classes import verb_of_tool
from services.executor.core.tools.record_tree import RecordKeys
from services.executor.ports.policy import PolicyUnavailable
from shared.contracts import policy as contracts
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import RuleAction

_MOST_NAMED = 3  # calls that a refusal names
_MOST_ROWS = 50  # of a call that are judged one by one
_MOST_OF_PLAN = 400  # of all its calls


async def request_verdict(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, part_of: WritePlan | None = None
) -> contracts.Verdict:
    """Asks the policy service for a fresh verdict on the dossier's plan. With ``part_of``, that plan is one call of a
    larger one, whose hash the verdict then carries.

    Raises ``Failed`` if the service cannot be reached or answers about another plan.
    """
    request = build_verdict_request(ctx, template, dossier, await _read_history(ctx, dossier))
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
    """Whether this attempt got a verdict on that plan within ``verdict_seconds``, so that a call may be sent (I2)."""
    oldest = ctx.journal.now - timedelta(seconds=ctx.limits.verdict_seconds)
    return ctx.journal.judged_plan == plan_hash and ctx.journal.judged_at >= oldest


async def renew_verdict(ctx: TurnContext, fresh: Progress) -> contracts.Verdict:
    """Asks for a fresh verdict on the plan by its present inputs. Raises ``Failed`` like ``request_verdict``, and
    ``Rejected``, naming the rules, if rules now block the plan.
    """
    verdict = await request_verdict(ctx, fresh.template, fresh.dossier)
    refuse_if_blocked(verdict, fresh.dossier.plan)
    if verdict.refusals:
        raise Rejected("refused by policy, so nothing was written: " + "; ".join(map(format_refusal, verdict.refusals)))
    return verdict


def refuse_if_blocked(verdict: contracts.Verdict, plan: WritePlan | None = None) -> None:
    """Raises ``Rejected`` if a policy is invalid, or if rules block the plan; the message names the rules, and the
    calls if only some of the plan's are blocked.
    """
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        raise Rejected(f"policy invalid, so nothing was written: {problems}")
    if verdict.blocked:
        blocking = dict.fromkeys(rule.sentence for rule in verdict.triggered_rules if rule.action == RuleAction.BLOCK)
        raise Rejected(f"blocked by policy: {'; '.join(blocking)}{_list_blocked_calls(verdict, plan)}")


def _list_blocked_calls(verdict: contracts.Verdict, plan: WritePlan | None) -> str:
    """The blocked calls as text, if they are only some of the plan's; else empty."""
    ids = {rule.call_id for rule in verdict.triggered_rules if rule.action == "block"}
    calls = [call for call in plan.every_call if call.call_id in ids] if plan else []
    if plan is None or not calls or len(calls) == len(tuple(plan.every_call)):
        return ""
    more = f" and {len(calls) - _MOST_NAMED} more" if len(calls) > _MOST_NAMED else ""
    return f" ({', '.join(f'{call.tool} {dumps(call.arguments)}' for call in calls[:_MOST_NAMED])}{more})"


def format_refusal(refusal: contracts.CallRefusal) -> str:
    return f"{refusal.call_id} {refusal.tool}: {refusal.sentence}"


def build_verdict_request(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, history: tuple[contracts.PastCall, ...] = ()
) -> contracts.EvaluateRequest:
    """The request for a verdict on the plan by all policies. Without calls it is provisional: a field that rules lack
    then blocks nothing.
    """
    plan = dossier.plan or WritePlan(task_id=ctx.record.task_id)
    kind = template.process_type
    found = compute_figures(template, dossier.facts, ctx.task, ctx.toolbox.keys)
    policies = (
        *ctx.policies,
        *build_process_policy(template, dossier, found, ctx.toolbox.keys, ctx.tenant.strict_processes),
    )
    around = _VerdictInputs(
        facts=dossier.facts,
        values=dossier.values,
        figures=figures_for_rules(dossier.values, found),
        process_type=kind,
        policies=policies,
        most_rows=min(_MOST_ROWS, _MOST_OF_PLAN // max(1, len(plan.calls))),
        asked_names=asked_fields(policies),
        constants=frozenset(name for policy in policies for name in policy.context),
        remainders=joint_remainders(template, plan.every_call, found, dossier.facts, ctx.toolbox.keys),
        trusts_requests=ctx.limits.trusts_requests,
        sums=CallSums(
            [*(call for one in dossier.plans for call in one.calls if not was_not_made(ctx, one, call)), *plan.calls],
            dossier.facts,
            ctx.toolbox,
            tools_named_together(policies),
        ),
        keys=ctx.toolbox.keys,
    )
    values = {} if plan.calls else {value.name: calculated.rule_field_value(value) for value in dossier.values}
    return contracts.EvaluateRequest(
        policies=policies,
        context={**values, "process_type": kind},
        calls=tuple(_build_call_context(call, around) for call in plan.every_call),
        plan_hash=plan.hash,
        binding=bool(plan.calls),
        history=history,
        text=ctx.task if plan.calls else None,
        confirmations=_list_confirmations(dossier),
    )


async def _read_history(ctx: TurnContext, dossier: Dossier) -> tuple[contracts.PastCall, ...]:
    """The session's earlier calls, for rules that count calls. The plan's own calls are left out, so that a renewed
    verdict does not count them twice.
    """
    if not has_tool_rules(ctx.policies):
        return ()
    plan_hash = dossier.plan.hash if dossier.plan else None
    written = [entry for entry in (await ctx.store.read_ledger()).values() if entry.plan_hash != plan_hash]
    return (
        *past_calls_of_session(ctx.session.calls, ctx.record.task_id),
        *past_calls_of_facts(dossier.facts),
        *past_calls_of_writes(written),
    )


def _list_confirmations(dossier: Dossier) -> tuple[contracts.Confirmation, ...]:
    """One confirmation for each call, if a person approved this exact plan; else empty."""
    plan = dossier.plan
    if plan is None or dossier.approved_hash != plan.hash or not dossier.by_person:
        return ()
    level = dossier.approved_level
    return tuple(contracts.Confirmation(tool=one.tool, level=level, call_id=one.call_id) for one in plan.every_call)


class _VerdictInputs(NamedTuple):
    """What all calls of a plan are judged with.

    ``asked_names``: the fields that rules need; ``constants``: the names that policies define in their own context;
    ``remainders``: what is left of amounts that several records share; ``sums``: sums over the task's calls.
    """

    facts: tuple[Fact, ...]
    values: tuple[NamedValue, ...]
    figures: ProcessFigures
    process_type: str
    policies: tuple[contracts.Policy, ...]
    most_rows: int
    asked_names: tuple[str, ...]
    constants: frozenset[str]
    remainders: RemaindersByFigure
    trusts_requests: bool
    sums: CallSums
    keys: RecordKeys


class _KnownCallFields(NamedTuple):
    """The fields known of one call, by the names that rules use.

    ``own``: from the executor itself; ``bound``: from the call's arguments and the records around it; ``calculated``:
    from calculations about it.
    """

    own: JsonObject
    bound: Mapping[str, Json]
    calculated: Mapping[str, Json]

    def merge(self) -> JsonObject:
        """All fields; of the same name ``own`` goes before ``bound``, and ``bound`` before ``calculated``."""
        return {**self.calculated, **self.bound, **self.own}

    def find_contradictions(self, records: Iterable[Mapping[str, Json]]) -> list[JsonObject]:
        """For each record, its fields whose values differ from the call's; equal sets of fields are given once. A
        record cannot contradict a field in ``own``.
        """
        known, found = self.merge(), list[JsonObject]()
        for record in records:
            shown: JsonObject = {
                name: value
                for name, value in record.items()
                if name not in self.own and value is not None and is_rule_value(value)
            }
            other = {name: value for name, value in shown.items() if not shows_same_value(value, known.get(name))}
            if other and other not in found:
                found.append(other)
        return found


def _build_call_context(call: PlannedCall, surroundings: _VerdictInputs) -> contracts.CallContext:
    """The call as the policy service sees it: its fields, those that are unknown, and what records say otherwise."""
    view = binding.build_call_view(call.tool, call.arguments, surroundings.facts, surroundings.keys)
    bound = binding.bind_fields(view, surroundings.asked_names)
    values = calculated.values_as_fields(surroundings.values, view, surroundings.constants)
    known = _KnownCallFields(_executor_fields(call, surroundings, view), bound.fields, values)
    asked = fields_asked_of(call.tool, surroundings.policies)
    scenes = _list_row_fields(call, surroundings) if asked else []
    differing = [name for name in _find_fields_differing_by_row(call, scenes, bound.recorded) if name in asked]
    fields = {
        name: value
        for name, value in known.merge().items()
        if name not in differing
        and (name not in surroundings.constants or name in call.arguments or name in bound.recorded)
    }
    unknown = (*(name for name in bound.unknown if name not in fields), *differing)
    records = (bound.recorded, *bound.named, *bound.beyond)
    rows = _build_row_contexts(call, surroundings, view, unknown, scenes, fields)
    sums = surroundings.sums.sum_figures(call, view, bound.fields, surroundings.asked_names, _figures_in_rows(rows))
    return contracts.CallContext(
        call_id=call.call_id,
        tool=call.tool,
        tool_class=call.tool_class,
        fields=_to_context_fields(fields),
        unproven=()
        if surroundings.trusts_requests
        else unproven_arguments(call.arguments, view, bound, surroundings.values),
        recorded=tuple(map(_to_context_fields, known.find_contradictions(records))),
        summed=_to_context_fields({**_find_fields_in_other_shapes(view, asked, surroundings, fields), **sums}),
        unknown_fields=unknown,
        rows=rows,
    )


def _find_fields_in_other_shapes(
    view: binding.CallView, names: Iterable[str], surroundings: _VerdictInputs, known: Mapping[str, Json]
) -> JsonObject:
    """What the call may say of the asked fields in other shapes, where that is not what is known: it may set a rule
    off, and clears none.
    """
    said = {name: view.value_in_other_shape(name) for name in names if "." not in name}
    return {
        name: value
        for name, value in said.items()
        if value is not None and name not in surroundings.constants and not shows_same_value(value, known.get(name))
    }


def _figures_in_rows(rows: Sequence[Mapping[str, contracts.ContextValue]]) -> dict[str, list[Decimal]]:
    """The figures of each field that every row has as a figure."""
    names = frozenset.intersection(*map(frozenset, rows)) if rows else frozenset[str]()
    read = {name: [read_figure(cast(Json, row[name])) for row in rows] for name in names}
    return {name: [one for one in some if one is not None] for name, some in read.items() if None not in some}


class _RowFields(NamedTuple):
    """The fields of one row of a call, as if the call had that row alone, also from the records that it names."""

    fields: Mapping[str, Json]
    unknown: tuple[str, ...]


def _list_row_fields(call: PlannedCall, surroundings: _VerdictInputs) -> list[_RowFields]:
    """The fields of each row of a call that takes several things. Empty for a call without rows, and for one with more
    rows than are judged one by one.
    """
    given = rows_of_call(call.arguments)
    rows = [*islice(given.innermost_rows(), surroundings.most_rows + 1)] if given.groups else []
    scenes: list[_RowFields] = []
    for row in rows if len(rows) <= surroundings.most_rows else []:
        bound = binding.bind_fields(
            binding.build_call_view(call.tool, row.arguments, surroundings.facts, surroundings.keys),
            surroundings.asked_names,
        )
        own = {name: value for name, value in row.fields if not isinstance(value, UnknownValue)}
        scenes.append(_RowFields({**bound.fields, **own}, tuple(name for name in bound.unknown if name not in own)))
    return scenes


def _find_fields_differing_by_row(
    call: PlannedCall, rows: Sequence[_RowFields], recorded: Mapping[str, Json]
) -> list[str]:
    """The fields that the records give for the call as a whole, while for one of its rows they are unknown or
    different: a call may name two different invoices.
    """
    given = {name for name, _ in fields_of_arguments(call.arguments)} if rows else set()
    return [
        name
        for name, value in recorded.items()
        if name not in given
        and any(
            name in one.unknown or (name in one.fields and not shows_same_value(one.fields[name], value))
            for one in rows
        )
    ]


def _build_row_contexts(
    call: PlannedCall,
    surroundings: _VerdictInputs,
    view: binding.CallView,
    unknown: Sequence[str],
    row_fields: Sequence[_RowFields],
    known_fields: Mapping[str, Json],
) -> tuple[dict[str, contracts.ContextValue], ...]:
    """Alternative sets of fields for the rules to judge, besides the call as a whole.

    There is one for each row where a field is unknown of the whole call; one for the old and one for the new value of a
    field that the call edits; each without and with the values calculated from the user's words alone; and each by the
    record that the call names and by the called record's own of that kind. Empty if none of these applies.
    """
    asked = fields_asked_of(call.tool, surroundings.policies)
    unknown = [name for name in unknown if name in asked]
    rows: list[JsonObject] = []
    if surroundings.trusts_requests:  # else what a row says, or an edit, is the request's word alone
        rows += [{name: one.fields[name] for name in unknown if name in one.fields} for one in row_fields if unknown]
        if words := calculated.values_not_of_call(surroundings.values, view, surroundings.constants):
            rows = [both for row in rows or [{}] for both in (row, {**row, **words})]
        for name in unknown:
            known = [value for value in view.present_and_edited_values(name) if not isinstance(value, UnknownValue)]
            if known and len(known) == len(view.present_and_edited_values(name)):
                rows = [{**row, name: value} for row in rows or [{}] for value in known]
            if len(rows) > surroundings.most_rows:
                return ()
    if by_record := view.fields_by_linked_record(unknown):
        rows = [_add_fields_to_row(row, fields, known_fields) for row in rows or [{}] for fields in by_record]
    rows = [*{dumps(row): row for row in rows}.values()]
    return tuple(map(_to_context_fields, rows)) if any(rows) and len(rows) <= surroundings.most_rows else ()


def _add_fields_to_row(row: JsonObject, fields: Mapping[str, FieldValue], known: Mapping[str, Json]) -> JsonObject:
    """The row with these fields; a ``kind.field`` is added to what is known of that kind."""
    heads = {name.partition(".")[0] for name in fields if "." in name}
    added: JsonObject = {**row, **{head: known[head] for head in heads - row.keys() if head in known}}
    for name, value in fields.items():
        if not isinstance(value, UnknownValue):
            binding.set_field(added, name, value)
    return added


def _executor_fields(call: PlannedCall, surroundings: _VerdictInputs, view: binding.CallView) -> JsonObject:
    """The fields that the executor itself knows of a call; no argument of the same name replaces them."""
    of_call = calculated.figures_of_call(surroundings.figures, surroundings.values, view)
    figures = apply_joint_remainders(call.arguments, of_call, surroundings.remainders)
    known: JsonObject = {"figures": {**figures}} if figures else {}
    return {
        **known,
        "verb": verb_of_tool(call.tool),
        "tool_class": call.tool_class.value,
        "process_type": surroundings.process_type,
    }


def unproven_arguments(
    arguments: JsonObject, view: binding.CallView, bound: binding.BoundFields, values: Sequence[NamedValue] = ()
) -> tuple[str, ...]:
    """The arguments that only the request states: no record around the call and no calculation gives them."""
    shown = {name: _normalize_figure(value) for name, value in bound.recorded.items()}
    computed = {
        _normalize_figure(value.value) for value in values if calculated.is_value_about_call(value, values, view)
    }
    given = {
        **arguments,
        **{name: value for name, value in fields_of_arguments(arguments) if not isinstance(value, UnknownValue)},
    }
    return tuple(
        name
        for name, value in given.items()
        if shown.get(name) != _normalize_figure(value)
        and _normalize_figure(value) not in computed
        and not view.names_read_record(name, value)
    )


def _normalize_figure(value: Json) -> str:
    """A figure in one spelling, so that equal figures are equal texts; anything else as text."""
    return normalize_token(value if isinstance(value, str) else dumps(value))


def _to_context_fields(fields: JsonObject) -> dict[str, contracts.ContextValue]:
    """The same fields under the type of the contract, whose values are nested only so far, unlike JSON in general."""
    return cast(dict[str, contracts.ContextValue], fields)
