"""POLICY_CHECK: asks the policy service for the binding verdict on a plan, by rules and not by a model (I2)."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
from services.executor.core.records import binding
from services.executor.core.records.asked_fields import (
    list_rule_fields,
    list_rule_fields_of_tool,
    list_tools_named_together,
)
from services.executor.core.records.call_rows import split_into_rows
from services.executor.core.records.field_values import UNKNOWN, FieldValue, UnknownValue, fields_of_arguments
from services.executor.core.records.references import set_at_path
from services.executor.core.session.context import TurnContext, was_not_made
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.ledger import (
    is_rule_value,
    list_past_calls_of_facts,
    list_past_calls_of_session,
    list_past_calls_of_writes,
)
from services.executor.core.session.recorded_answers import request_recorded_verdict
from services.executor.core.session.values import NamedValue, Operand, ProcessFigures, trace_operands
from services.executor.core.states.machine import Failed, ProcessTemplate, Rejected
from services.executor.core.tools.classes import find_deciding_verb
from services.executor.core.tools.toolbox import has_tool_rules
from services.executor.ports.services import PolicyUnavailable
from shared.contracts import policy as contracts
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import RuleAction

_MOST_CALLS_NAMED = 3  # in a refusal
_MOST_ROWS = 50  # of a call that are judged one by one
_MOST_ROWS_OF_PLAN = 400  # of all its calls


async def request_verdict(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, larger_plan: WritePlan | None = None
) -> contracts.Verdict:
    """Asks the policy service for a fresh verdict on the dossier's plan.

    With ``larger_plan``, the dossier's plan is one call of that larger plan, and the verdict carries the larger plan's
    hash.

    Raises ``Failed`` if the service cannot be reached or answers about another plan.
    """
    request = build_verdict_request(ctx, template, dossier, await _read_history(ctx, dossier))
    request = request.model_copy(update={"plan_hash": larger_plan.hash}) if larger_plan else request
    try:
        verdict = await request_recorded_verdict(ctx.ports.policy, ctx.journal, request)
    except PolicyUnavailable as error:
        raise Failed(f"no policy verdict, so nothing was written: {error}", "policy_service") from error
    if verdict.plan_hash != request.plan_hash or verdict.binding is not request.binding:
        raise Failed(
            "no policy verdict, so nothing was written: the service answered about another plan", "policy_service"
        )
    if larger_plan is None:
        ctx.journal.judged_plan, ctx.journal.judged_at = request.plan_hash or "", ctx.journal.now
    return verdict


def has_fresh_verdict(ctx: TurnContext, plan_hash: str) -> bool:
    """Whether this attempt got a verdict on that plan within ``verdict_seconds``, so that a call may be sent (I2)."""
    oldest = ctx.journal.now - timedelta(seconds=ctx.limits.verdict_seconds)
    return ctx.journal.judged_plan == plan_hash and ctx.journal.judged_at >= oldest


async def renew_verdict(ctx: TurnContext, fresh: Progress) -> contracts.Verdict:
    """A fresh verdict on the plan by its present inputs.

    Raises ``Failed``, and ``Rejected`` if rules now block the plan.
    """
    verdict = await request_verdict(ctx, fresh.template, fresh.dossier)
    refuse_if_blocked(verdict, fresh.dossier.plan)
    if verdict.refusals:
        raise Rejected("refused by policy, so nothing was written: " + "; ".join(map(format_refusal, verdict.refusals)))
    return verdict


def refuse_if_blocked(verdict: contracts.Verdict, plan: WritePlan | None = None) -> None:
    """Raises ``Rejected`` with ``why_blocked(verdict, plan)``, unless that is empty."""
    if reason := why_blocked(verdict, plan):
        raise Rejected(reason)


def why_blocked(verdict: contracts.Verdict, plan: WritePlan | None = None) -> str:
    """A sentence if a policy is invalid, or if rules block the plan; else empty.

    It names the rules, and the calls if only some of the plan's are blocked.
    """
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        return f"policy invalid, so nothing was written: {problems}"
    if verdict.blocked:
        blocking = dict.fromkeys(rule.sentence for rule in verdict.triggered_rules if rule.action == RuleAction.BLOCK)
        return f"blocked by policy: {'; '.join(blocking)}{_list_blocked_calls(verdict, plan)}"
    return ""


def _list_blocked_calls(verdict: contracts.Verdict, plan: WritePlan | None) -> str:
    """The blocked calls as text, if they are only some of the plan's; else empty."""
    ids = {rule.call_id for rule in verdict.triggered_rules if rule.action == "block"}
    calls = [call for call in plan.every_call if call.call_id in ids] if plan else []
    if plan is None or not calls or len(calls) == len(tuple(plan.every_call)):
        return ""
    more = f" and {len(calls) - _MOST_CALLS_NAMED} more" if len(calls) > _MOST_CALLS_NAMED else ""
    return f" ({', '.join(f'{call.tool} {dumps(call.arguments)}' for call in calls[:_MOST_CALLS_NAMED])}{more})"


def format_refusal(refusal: contracts.CallRefusal) -> str:
    return f"{refusal.call_id} {refusal.tool}: {refusal.sentence}"


def build_verdict_request(
    ctx: TurnContext, template: ProcessTemplate, dossier: Dossier, history: tuple[contracts.PastCall, ...] = ()
) -> contracts.EvaluateRequest:
    """The request for a verdict on the plan by all policies; a plan without calls is not blocked by lacking fields."""
    plan = dossier.plan or WritePlan(task_id=ctx.record.task_id)
    is_strict, keys = ctx.tenant.strict_processes, ctx.toolbox.keys
    figures = compute_figures(template, dossier.facts, ctx.task, keys)
    policies = (*ctx.policies, *build_process_policy(template, dossier, figures, keys, is_strict))
    planned = ((made_plan, call) for made_plan in dossier.plans for call in made_plan.calls)
    calls = [*(call for made_plan, call in planned if not was_not_made(ctx, made_plan, call)), *plan.calls]
    inputs = _VerdictInputs(
        ctx=ctx,
        dossier=dossier,
        figures=figures_for_rules(dossier.values, figures),
        process_type=template.process_type,
        policies=policies,
        most_rows=min(_MOST_ROWS, _MOST_ROWS_OF_PLAN // max(1, len(plan.calls))),
        asked_names=list_rule_fields(policies),
        constants=frozenset(name for policy in policies for name in policy.context),
        remainders=joint_remainders(template, plan.every_call, figures, dossier.facts, keys),
        sums=CallSums(calls, dossier.facts, ctx.toolbox, list_tools_named_together(policies)),
    )
    values = {} if plan.calls else {value.name: _convert_to_rule_value(value) for value in dossier.values}
    return contracts.EvaluateRequest(
        policies=policies,
        context={**values, "process_type": template.process_type},
        calls=tuple(_build_call_context(call, inputs) for call in plan.every_call),
        plan_hash=plan.hash,
        binding=bool(plan.calls),
        history=history,
        text=ctx.task if plan.calls else None,
        confirmations=_list_confirmations(dossier),
    )


async def _read_history(ctx: TurnContext, dossier: Dossier) -> tuple[contracts.PastCall, ...]:
    """The earlier calls of the session and of this task, without the plan's own; empty if no rule is about tools."""
    if not has_tool_rules(ctx.policies):
        return ()
    plan_hash = dossier.plan.hash if dossier.plan else None
    written = [entry for entry in (await ctx.store.read_ledger()).values() if entry.plan_hash != plan_hash]
    earlier_calls = list_past_calls_of_session(ctx.session.calls, ctx.record.task_id)
    return (*earlier_calls, *list_past_calls_of_facts(dossier.facts), *list_past_calls_of_writes(written))


def _list_confirmations(dossier: Dossier) -> tuple[contracts.Confirmation, ...]:
    """One confirmation for each call, if a person approved this exact plan; else empty."""
    plan = dossier.plan
    if plan is None or dossier.approved_hash != plan.hash or not dossier.by_person:
        return ()
    level = dossier.approved_level
    return tuple(contracts.Confirmation(tool=call.tool, level=level, call_id=call.call_id) for call in plan.every_call)


class _VerdictInputs(NamedTuple):
    """What all calls of a plan are judged with. ``figures``: those of the process.

    ``most_rows``: how many rows of one call are judged one by one; ``asked_names``: the fields that rules need;
    ``constants``: the names that policies define in their own context; ``remainders``: ``{figure: {record's id: what
    the plan leaves}}`` of amounts that several records share; ``sums``: sums over the task's calls.
    """

    ctx: TurnContext
    dossier: Dossier
    figures: ProcessFigures
    process_type: str
    policies: tuple[contracts.Policy, ...]
    most_rows: int
    asked_names: tuple[str, ...]
    constants: frozenset[str]
    remainders: RemaindersByFigure
    sums: CallSums

    def view_call(self, tool: str, arguments: JsonObject) -> binding.CallView:
        return binding.build_call_view(tool, arguments, self.dossier.facts, self.ctx.toolbox.keys)


def _find_contradictions(
    records: Iterable[Mapping[str, Json]], known_fields: JsonObject, executor_names: Container[str]
) -> list[JsonObject]:
    """For each record, its fields whose values differ from those known of the call; equal sets of fields are given
    once. A record cannot contradict a field that the executor itself knows (``executor_names``).
    """
    contradictions = list[JsonObject]()
    for record in records:
        differing_fields: JsonObject = {
            name: value
            for name, value in record.items()
            if name not in executor_names and value is not None and is_rule_value(value)
            if not shows_same_value(value, known_fields.get(name))
        }
        if differing_fields and differing_fields not in contradictions:
            contradictions.append(differing_fields)
    return contradictions


def _build_call_context(call: PlannedCall, inputs: _VerdictInputs) -> contracts.CallContext:
    """The call as the policy service sees it: its fields, those that are unknown, and what records say otherwise."""
    view = inputs.view_call(call.tool, call.arguments)
    bound = binding.bind_fields(view, inputs.asked_names)
    own_fields, values = _executor_fields(call, inputs, view), inputs.dossier.values
    known_fields: JsonObject = {
        **_values_as_fields(values, view, inputs.constants),
        **bound.fields,
        **own_fields,
    }
    asked_names = list_rule_fields_of_tool(call.tool, inputs.policies)
    rows_fields = _list_row_fields(call, inputs) if asked_names else []
    recorded = {name: value for name, value in bound.recorded.items() if name in asked_names}
    differing = _find_differing_fields(call, rows_fields, recorded)
    left_out = {*differing, *(inputs.constants - call.arguments.keys() - bound.recorded.keys())}
    fields = {name: value for name, value in known_fields.items() if name not in left_out}
    unknown = (*(name for name in bound.unknown if name not in fields), *differing)
    records = (bound.recorded, *bound.mentioned_records, *bound.distant_records)
    rows = _build_row_contexts(call, inputs, view, unknown, rows_fields, fields)
    sums = inputs.sums.sum_figures(call, view, bound.fields, inputs.asked_names, _collect_figures_of_rows(rows))
    unproven = () if inputs.ctx.limits.trusts_requests else find_unproven_arguments(call.arguments, view, bound, values)
    return contracts.CallContext(
        call_id=call.call_id,
        tool=call.tool,
        tool_class=call.tool_class,
        fields=_to_context_fields(fields),
        unproven=unproven,
        recorded=tuple(map(_to_context_fields, _find_contradictions(records, known_fields, own_fields))),
        summed=_to_context_fields({**_find_fields_in_other_shapes(view, asked_names, inputs, fields), **sums}),
        unknown_fields=unknown,
        rows=rows,
    )


def _find_fields_in_other_shapes(
    view: binding.CallView, names: Iterable[str], inputs: _VerdictInputs, known_fields: Mapping[str, Json]
) -> JsonObject:
    """The asked fields that the call states in another shape (``{"amount": {"value": 9}}``) with another value than the
    known one, as ``{name: value}``. Such a value can only trigger a rule, never satisfy it.
    """
    asked_names = (name for name in names if "." not in name and name not in inputs.constants)
    stated_values = [(name, view.find_nested_value_of_field(name)) for name in asked_names]
    new_values = [(name, value) for name, value in stated_values if not shows_same_value(value, known_fields.get(name))]
    return {name: value for name, value in new_values if value is not None}


def _collect_figures_of_rows(rows: Sequence[Mapping[str, contracts.ContextValue]]) -> dict[str, list[Decimal]]:
    """``{field: its figure in each row}``, for the fields that every row has as a figure."""
    names = frozenset.intersection(*map(frozenset, rows)) if rows else frozenset[str]()
    figures_by_name = {name: [read_figure(cast(Json, row[name])) for row in rows] for name in names}
    known_figures = {name: [figure for figure in row if figure is not None] for name, row in figures_by_name.items()}
    return {name: figures for name, figures in known_figures.items() if len(figures) == len(rows)}


def _list_row_fields(call: PlannedCall, inputs: _VerdictInputs) -> list[Mapping[str, FieldValue]]:
    """The fields of each row of a call, and of the records that the row names, as if the call had that row alone.

    Empty if the call has no rows, or more than are judged one by one.
    """
    call_rows = split_into_rows(call.arguments)
    rows = [*islice(call_rows.list_innermost_rows(), inputs.most_rows + 1)] if call_rows.groups else []
    rows_fields: list[Mapping[str, FieldValue]] = []
    for row in rows if len(rows) <= inputs.most_rows else []:
        bound = binding.bind_fields(inputs.view_call(call.tool, row.arguments), inputs.asked_names)
        own_fields = {name: value for name, value in row.fields if not isinstance(value, UnknownValue)}
        rows_fields.append({**bound.fields, **dict.fromkeys(bound.unknown, UNKNOWN), **own_fields})
    return rows_fields


def _find_differing_fields(
    call: PlannedCall, rows: Sequence[Mapping[str, FieldValue]], recorded: Mapping[str, Json]
) -> list[str]:
    """The names of fields that the records give for the call as a whole, while for one of its rows they are unknown or
    different: a call may name two different invoices.
    """
    argument_names = {name for name, _ in fields_of_arguments(call.arguments)} if rows else set()
    values = [(name, row[name]) for name in recorded if name not in argument_names for row in rows if name in row]
    differing = (name for name, value in values if value is UNKNOWN or not shows_same_value(value, recorded[name]))
    return list(dict.fromkeys(differing))


def _build_row_contexts(
    call: PlannedCall,
    inputs: _VerdictInputs,
    view: binding.CallView,
    unknown: Sequence[str],
    row_fields: Sequence[Mapping[str, FieldValue]],
    known_fields: Mapping[str, Json],
) -> tuple[dict[str, contracts.ContextValue], ...]:
    """Alternative values of fields that are ``unknown`` of the call as a whole, for the rules to judge besides it.

    A call pays a rent and a repair invoice, and a rule asks the ``category``: ``({"category": "rent"}, {"category":
    "repair"})``. Each source multiplies the alternatives: one for each row of the call; one without and one with the
    values calculated from the task's words alone; one for the old and one for the new value of an edited field; one for
    each record of ``fields_by_linked_record``. Only the last is used unless requests are trusted. Empty if no source
    gives any, or if they are more than ``most_rows``.
    """
    asked_names = list_rule_fields_of_tool(call.tool, inputs.policies)
    unknown = [name for name in unknown if name in asked_names]
    rows: list[JsonObject] = []
    if inputs.ctx.limits.trusts_requests:  # else what a row says, or an edit, is the request's word alone
        known_row_fields = (
            [(name, value) for name, value in row.items() if value is not UNKNOWN] for row in row_fields
        )
        rows += [{name: value for name, value in fields if name in unknown} for fields in known_row_fields if unknown]
        if values_from_words := _list_values_unrelated_to_call(inputs.dossier.values, view, inputs.constants):
            rows = [variant for row in rows or [{}] for variant in (row, {**row, **values_from_words})]
        for name in unknown:
            values = view.present_and_edited_values(name)
            known_values = [value for value in values if not isinstance(value, UnknownValue)]
            if known_values and len(known_values) == len(values):
                rows = [{**row, name: value} for row in rows or [{}] for value in known_values]
            if len(rows) > inputs.most_rows:
                return ()
    if fields_by_record := view.fields_by_linked_record(unknown):
        rows = [_set_fields_in_row(row, fields, known_fields) for row in rows or [{}] for fields in fields_by_record]
    rows = [*{dumps(row): row for row in rows}.values()]
    return tuple(map(_to_context_fields, rows)) if any(rows) and len(rows) <= inputs.most_rows else ()


def _set_fields_in_row(
    row: JsonObject, fields: Mapping[str, FieldValue], known_fields: Mapping[str, Json]
) -> JsonObject:
    """The row with these fields; a ``kind.field`` is put into the object of that kind, beside its known fields."""
    heads = {name.partition(".")[0] for name in fields if "." in name}
    known_kinds = {head: known_fields[head] for head in heads - row.keys() if head in known_fields}
    extended_row: JsonObject = {**row, **known_kinds}
    for name, value in fields.items():
        if not isinstance(value, UnknownValue):
            extended_row = set_at_path(extended_row, name.split("."), value)
    return extended_row


def _executor_fields(call: PlannedCall, inputs: _VerdictInputs, view: binding.CallView) -> JsonObject:
    """The fields that the executor itself knows of a call; no argument of the same name replaces them."""
    call_figures = _figures_of_call(inputs.figures, inputs.dossier.values, view)
    figures = apply_joint_remainders(call.arguments, call_figures, inputs.remainders)
    return {
        **({"figures": {**figures}} if figures else {}),
        "verb": find_deciding_verb(call.tool),
        "tool_class": call.tool_class.value,
        "process_type": inputs.process_type,
    }


def find_unproven_arguments(
    arguments: JsonObject, view: binding.CallView, bound: binding.BoundFields, values: Sequence[NamedValue] = ()
) -> tuple[str, ...]:
    """The arguments that only the request states: no record around the call and no calculation gives them."""
    recorded_values = {name: _normalize_figure(value) for name, value in bound.recorded.items()}
    values_about_call = (value for value in values if _is_value_about_call(value, values, view))
    computed_values = {_normalize_figure(value.value) for value in values_about_call}
    inner_values = {
        name: value for name, value in fields_of_arguments(arguments) if not isinstance(value, UnknownValue)
    }
    return tuple(
        name
        for name, value in {**arguments, **inner_values}.items()
        if _normalize_figure(value) not in (recorded_values.get(name), *computed_values)
        and not view.refers_to_read_record(name, value)
    )


def _normalize_figure(value: Json) -> str:
    """A figure in one spelling, so that equal figures are equal texts; anything else as text."""
    return normalize_token(value if isinstance(value, str) else dumps(value))


def _to_context_fields(fields: JsonObject) -> dict[str, contracts.ContextValue]:
    """The same fields, unchanged, but typed as the contract's values."""
    return cast(dict[str, contracts.ContextValue], fields)


def _convert_to_rule_value(value: NamedValue) -> Decimal | str:
    """A value as rules see it: its number, or its text if it is a date, a truth value or a name."""
    return value.value if value.number is None else value.number


def _values_as_fields(
    values: Sequence[NamedValue], view: binding.CallView, constants: Container[str] = ()
) -> dict[str, Decimal | str]:
    """The calculated values that rules see as fields of the call, ``{name: number or text}``: those about the call
    whose name is no field of the call or of a record and not in ``constants``. Empty if the call's record is unread.
    """
    free_values = () if view.named.unread_subjects else _list_values_named_like_no_field(values, view, constants)
    return {
        value.name: _convert_to_rule_value(value) for value in free_values if _is_value_about_call(value, values, view)
    }


def _list_values_unrelated_to_call(
    values: Sequence[NamedValue], view: binding.CallView, constants: Container[str]
) -> dict[str, Decimal | str]:
    """The calculated values, as ``{name: number or text}``, that may trigger a rule though they are no fields of the
    call: those that were calculated from the task's words alone; all, if the call is about a record that nobody read.
    None of them is about another record, or has the name of a field or of ``constants``.
    """
    free_values = _list_values_named_like_no_field(values, view, constants)
    if not view.named.unread_subjects:
        free_values = (value for value in free_values if not _operands_from_reads(value, values))
    return {value.name: _convert_to_rule_value(value) for value in free_values}


def _list_values_named_like_no_field(
    values: Sequence[NamedValue], view: binding.CallView, constants: Container[str]
) -> Iterator[NamedValue]:
    """Yields the values that may be about the call and are named like no constant and no field of it or of a record."""
    for value in values:
        if (
            value.name not in constants
            and _may_be_about_call(value, view)
            and not view.is_field_of_call_or_records(value.name)
        ):
            yield value


def _may_be_about_call(value: NamedValue, view: binding.CallView) -> bool:
    """Whether a value is about no record in particular, or about one that the call names."""
    return not value.about or value.about.casefold() in view.ids


def _figures_of_call(
    figures: ProcessFigures, values: Sequence[NamedValue], view: binding.CallView
) -> dict[str, Decimal]:
    """``{name in the template: number}`` of the figures about a record that the call names.

    A name with several figures is left out.
    """
    of_call = [value for value in figures.computed if _is_figure_about_call(value, figures.subjects, values, view)]
    stand_ins = (value for value in figures.stand_ins if _may_be_about_call(value, view))
    of_call += [value for value in stand_ins if _is_value_about_call(value, values, view)]
    counts = Counter(value.figure for value in of_call)
    return {value.figure: value.number for value in of_call if value.number is not None and counts[value.figure] == 1}


def _is_figure_about_call(
    value: NamedValue, subjects: Mapping[str, frozenset[str]], values: Sequence[NamedValue], view: binding.CallView
) -> bool:
    if value.about:
        return value.about.casefold() in view.ids
    subject_ids = subjects.get(value.figure) or subjects.get(value.group)
    return not subject_ids.isdisjoint(view.ids) if subject_ids else _is_value_about_call(value, values, view)


def _is_value_about_call(value: NamedValue, values: Sequence[NamedValue], view: binding.CallView) -> bool:
    """Whether a value is about the call: it rests on records around the call; or on results of which no record contains
    its operands; or on any result, if the call names no record. One that rests on the task's words alone is about none.
    A value that rests on records of the called kind is only about calls that name one of these.
    """
    operands = _operands_from_reads(value, values)
    if not operands:
        return False
    nodes = [node for operand in operands for node in view.find_records_at(operand.ref, operand.path)]
    nodes_of_kind = [node for node in nodes if view.is_named_record(node) or view.is_other_of_called_kind(node)]
    if nodes_of_kind:
        return any(view.is_named_record(node) for node in nodes_of_kind)
    return not nodes or not view.ids or any(node in view.records_around for node in nodes)


def _operands_from_reads(value: NamedValue, values: Sequence[NamedValue]) -> list[Operand]:
    """The operands of the value, also by way of earlier values, that come from a result."""
    operands = (operand for _, operand in trace_operands(value, {other.name: other for other in values}))
    return [operand for operand in operands if operand.source == "result"]
