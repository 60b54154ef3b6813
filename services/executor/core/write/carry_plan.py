"""Carries out a closed plan: it is released or waits for a person, then its calls are made in order (I1, I2)."""

from collections.abc import Mapping, Sequence

from services.executor.core.authorize.persons import (
    count_persons_needed,
    is_plan_released,
    needs_person,
    reasons_to_ask_a_person,
    release_plan,
    release_still_holds,
)
from services.executor.core.authorize.policy import has_fresh_verdict, renew_verdict, request_verdict
from services.executor.core.figures.calculator import CannotCalculate, MadeToolResults
from services.executor.core.figures.evaluate import recompute_values
from services.executor.core.figures.operands import select_cells
from services.executor.core.model.made_tools import compute_with_made_tools
from services.executor.core.plan.notices import find_wait_for_quiet_hours, why_notice_waits
from services.executor.core.plan.outcomes import list_answers_as_facts
from services.executor.core.plan.sources import SourceFinder, build_known_sources, build_operand_sources
from services.executor.core.process.figures import compute_figures
from services.executor.core.reads.recovering import read_again
from services.executor.core.records.binding import refs_of_reads_around
from services.executor.core.records.references import referenced_calls
from services.executor.core.session.context import (
    TurnContext,
    build_left_out_key,
    enter_state,
    is_left_out,
    open_state_span,
    record_left_out,
    run_in_parallel,
)
from services.executor.core.session.dossier import Progress, StaleInputs, WaitsForDecision, WaitsForTime
from services.executor.core.session.ledger import has_begun, index_plan_entries, is_verified_or_declared_done
from services.executor.core.session.values import Fact, NamedValue, Operand, trace_operands, with_figures
from services.executor.core.states import machine
from services.executor.core.states.machine import EarlyEnd, Escalated, Failed, Rejected
from services.executor.core.tools.record_tree import NoSuchPath, RecordKeys
from services.executor.core.write.one_write import AgentAtWork, NotSent, PlannedWrite, make_and_settle
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import TriggeredRule
from shared.domain import span_names as names
from shared.domain.words import (
    DONE_STATUSES,
    SENDABLE_STATUSES,
    STATUSES_WITHOUT_EFFECT,
    FsmState,
    RuleAction,
    ToolClass,
)


async def carry_out_plan(
    ctx: TurnContext, progress: Progress
) -> Progress | WaitsForDecision | WaitsForTime | StaleInputs:
    """Carries out the plan from its state until it is done, a person or a time is awaited, or its inputs changed.

    Returns the progress at the plan's end, or what stopped it. Raises ``Failed`` if the plan may not be carried out.
    """
    if progress.state not in machine.PLAN_STATES:
        progress = await enter_state(ctx, progress, machine.first_plan_state(progress.path))
    while progress.state not in machine.END_STATES:
        if progress.state in (FsmState.APPROVAL_GATE, FsmState.MUTATE):
            released = await _release_plan_if_current(ctx, progress)
            if not isinstance(released, Progress):
                return released
            progress = released
        if pause := await find_wait_for_quiet_hours(ctx, progress):
            return WaitsForTime(progress, pause)
        try:
            with open_state_span(ctx, progress):
                progress = await _make_calls_of_state(ctx, progress)
        except AgentAtWork as busy:
            return WaitsForTime(progress, busy.wait)
        following = machine.state_after(progress.path, progress.state)
        if following in machine.END_STATES:
            return progress
        progress = await enter_state(ctx, progress, following)
    return progress


async def _release_plan_if_current(ctx: TurnContext, progress: Progress) -> Progress | WaitsForDecision | StaleInputs:
    """The progress, with the plan released, if its calls may go out; else why not.

    Raises ``Failed`` if there is no verdict.
    """
    if progress.dossier.verdict is None:
        raise Failed("there is no policy verdict on the plan; nothing was written")
    if not is_plan_released(progress):
        if needs_person(ctx, progress):  # for a further confirmation only if what was confirmed still holds
            outdated = await _check_inputs_still_hold(ctx, progress) if progress.confirmed else None
            return outdated or WaitsForDecision(progress)
        progress = release_plan(progress, "automatic: no rule and no setting of the tenant asks for an approval")
    if progress.state is not FsmState.MUTATE:
        return progress
    return await _check_inputs_still_hold(ctx, progress) or progress


async def _check_inputs_still_hold(ctx: TurnContext, progress: Progress) -> StaleInputs | None:
    """None if the plan may still be carried out, else why not; raises ``Rejected`` if rules block it now.

    Only inputs that a person has approved are read again.

    Once a write of the plan has begun, its inputs change by the plan itself: then only the verdict is renewed, before
    each call that is sent (``one_write``).
    """
    plan = progress.dossier.present_plan
    if any(has_begun(entry) for entry in (await index_plan_entries(ctx.store, plan)).values()):
        return None
    seen_by_person = progress.dossier.by_person or progress.confirmed
    if not seen_by_person and has_fresh_verdict(ctx, plan.hash):
        return None
    renewed = await _read_facts_again(ctx, progress) if seen_by_person else progress
    verdict = await renew_verdict(ctx, renewed)
    if unsourced := _find_refusals_of_plan(ctx, renewed, await list_answers_as_facts(ctx, progress.dossier.plans)):
        return StaleInputs(renewed, "what the plan rests on changed since it was approved: " + "; ".join(unsourced))
    if count_persons_needed(ctx, renewed) > count_persons_needed(ctx, progress):
        return StaleInputs(renewed, "what was read since then asks for more people than have approved")
    if not release_still_holds(ctx, progress, renewed, verdict):
        return StaleInputs(renewed, "the inputs or the rules changed since the plan was approved")
    return None


async def _read_facts_again(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its facts read again, anew in each attempt, and its values computed from the new facts."""
    key = _build_reread_step_prefix(ctx, progress)
    old_facts, keys = progress.dossier.facts, ctx.toolbox.keys
    facts = await run_in_parallel(read_again(ctx, f"{key}:{fact.ref}", fact, progress) for fact in old_facts)
    values = with_figures(progress.dossier.values, compute_figures(progress.template, facts, ctx.task, keys))
    if values:
        values = await _recompute_values_or_fail(ctx, progress, values, facts)
    return progress.update_dossier(facts=tuple(facts), values=values)


async def _recompute_values_or_fail(
    ctx: TurnContext, progress: Progress, values: Sequence[NamedValue], facts: Sequence[Fact]
) -> tuple[NamedValue, ...]:
    """The values computed again from the facts; raises ``Failed`` if that is not possible any more."""
    tool_results = MadeToolResults(progress.dossier.made)
    figures = build_operand_sources(ctx, facts)
    prefix = _build_reread_step_prefix(ctx, progress)
    try:
        return await compute_with_made_tools(
            ctx, prefix, tool_results, lambda: recompute_values(values, figures, tool_results)
        )
    except (CannotCalculate, NoSuchPath) as error:
        raise Failed(f"the inputs changed so that the plan's figures cannot be computed again: {error}") from error


def _build_reread_step_prefix(ctx: TurnContext, progress: Progress) -> str:
    """The prefix of the names of the journal steps in which this attempt at the turn reads and computes again."""
    return f"{progress.visit_key}:again:{ctx.journal.began:%Y%m%dT%H%M%S.%f}"


def _find_refusals_of_plan(ctx: TurnContext, renewed: Progress, answers: tuple[Fact, ...]) -> tuple[str, ...]:
    """A sentence on each reason why a call of the plan would now be refused, such as an argument that has no source any
    more. ``answers``: of earlier plans' writes."""
    dossier = renewed.dossier
    finder = SourceFinder(build_known_sources(ctx, (*dossier.facts, *answers), dossier.values))
    calls = dossier.plan.every_call if dossier.plan else ()
    tools = [(call, ctx.toolbox.find_tool(call.connection_id, call.tool)) for call in calls]
    return tuple(problem for call, tool in tools if tool for problem in finder.find_sources(call, tool).problems)


async def _make_calls_of_state(ctx: TurnContext, progress: Progress) -> Progress:
    """Makes the plan's calls of this state; returns the progress with their number added to its tool calls.

    MUTATE makes the notices, too, if the path has no state for them, and raises ``Failed`` if another plan was let
    through.
    """
    if progress.state is FsmState.MUTATE and not is_plan_released(progress):
        raise Failed("the plan is not the one that was let through; nothing was written")
    changes, notices = (ToolClass.CHANGE,), (ToolClass.NOTIFY,)
    classes = {
        FsmState.MUTATE: changes if FsmState.SCHEDULE_NOTIFY in progress.path else (*changes, *notices),
        FsmState.SCHEDULE_NOTIFY: notices,
    }.get(progress.state, ())
    for tool_class in classes:
        await _send_plan_calls(ctx, progress, tool_class)
    call_count = sum(call.tool_class in classes for call in progress.dossier.present_plan.calls)
    return progress.model_copy(update={"tool_calls": progress.tool_calls + call_count})


async def _send_plan_calls(ctx: TurnContext, progress: Progress, tool_class: ToolClass) -> None:
    """Carries out the plan's calls of a class in order, each at most once over all attempts.

    A call that fails for good stops the calls that need its answer and the later calls of its part. If its
    ``on_failure`` is "compensate", the part's earlier changes are taken back, and the run ends.
    Raises ``WritesInDoubt`` for a write in doubt.
    """
    plan = progress.dossier.present_plan
    for call in plan.calls:
        if call.tool_class is not tool_class or is_left_out(ctx, plan, call):
            continue
        if reason := await _why_left_out(ctx, progress, plan, call):
            await record_left_out(ctx, plan, call, reason)
            continue
        write = PlannedWrite(ctx, progress, plan, call, progress.state)
        failure = await _carry_out_call(write)
        if failure is not None and call.on_failure == "compensate":
            raise await _compensate_part(write, failure)


async def _why_left_out(ctx: TurnContext, progress: Progress, plan: WritePlan, call: PlannedCall) -> str:
    """Why an unsent call is left out: it is a notice of an unproved change, an earlier call failed that belongs to its
    part or whose answer it needs, or rules now forbid it. Empty if it may be made, or was sent before.
    """
    entries = await index_plan_entries(ctx.store, plan)
    statuses = {call_id: entry.status for call_id, entry in entries.items()}
    if statuses.get(call.call_id) not in (None, *SENDABLE_STATUSES):
        return ""
    if call.tool_class is ToolClass.NOTIFY and (reason := why_notice_waits(ctx, call, plan, entries)):
        return reason
    needed = frozenset(referenced_calls(call.arguments))
    for earlier in plan.calls[: plan.calls.index(call)]:
        failed = is_left_out(ctx, plan, earlier) or statuses.get(earlier.call_id) in STATUSES_WITHOUT_EFFECT
        if failed and (earlier.call_id in needed or earlier.part == call.part):
            return f"{earlier.tool} before it was not carried out"
    return await why_barred_by_changes(ctx, progress, call, entries)


async def _carry_out_call(write: PlannedWrite) -> Failed | None:
    """Makes and settles the call, unless that was done before.

    Returns the failure of a call that had no effect, else None. A call that may not be sent is left out, and counts as
    failed only if its ``on_failure`` is "compensate".
    """
    ctx, call = write.ctx, write.call
    try:
        with ctx.ports.tracer.open_span(names.WRITE.format(tool=call.tool)) as span:
            entry = await make_and_settle(write)
            span.annotate({names.WRITE_STATUS: entry.status.value})
    except NotSent as unprepared:
        if call.on_failure == "compensate":
            return Failed(str(unprepared))
        await record_left_out(ctx, write.plan, call, str(unprepared))
        return None
    return Failed(f"{call.call_id} {call.tool}: {entry.note}") if entry.status in STATUSES_WITHOUT_EFFECT else None


async def _compensate_part(write: PlannedWrite, failure: Failed) -> EarlyEnd:
    """Takes back what the earlier calls of the failed call's part did, the latest first, and returns how the run ends:
    ``Escalated`` if something still stands, else ``Failed``.

    Only what a read proved, or an operator confirmed, is taken back. Stops at the first compensation that fails.
    """
    ctx = write.ctx
    plan = write.plan
    failed = write.call
    earlier_calls = [call for call in plan.calls[: plan.calls.index(failed)] if call.part == failed.part]
    entries = await index_plan_entries(ctx.store, plan)
    compensated = list[str]()
    problem = ""
    for call in reversed(earlier_calls):
        if call.compensation is None or not is_verified_or_declared_done(entries.get(call.call_id)):
            continue
        if problem := await _make_compensation(write, call.compensation):
            break
        compensated.append(f"{call.call_id} {call.tool}")
    entries = await index_plan_entries(ctx.store, plan)
    compensated_ids = {
        entry.compensates for entry in entries.values() if entry.compensates and is_verified_or_declared_done(entry)
    }
    still_done = [
        f"{call.call_id} {call.tool} ({entries[call.call_id].status.value})"
        for call in earlier_calls
        if call.call_id in entries
        and entries[call.call_id].status in DONE_STATUSES
        and call.call_id not in compensated_ids
    ]
    compensated_text = f"taken back: {', '.join(compensated)}" if compensated else "nothing was taken back"
    standing = f"; still standing: {', '.join(still_done)}" if still_done else ""
    reason = f"{failure.reason}; {compensated_text}{standing}{problem}"
    return Escalated(reason) if still_done or problem else Failed(reason)


async def _make_compensation(write: PlannedWrite, call: PlannedCall) -> str:
    """Makes a compensation once, like any write. Returns why it had no effect; empty if it had."""
    try:
        entry = await make_and_settle(write._replace(call=call, state=FsmState.MUTATE))
    except (NotSent, Failed, Escalated, Rejected) as error:
        return f" ({error})"
    return "" if is_verified_or_declared_done(entry) else f" ({entry.call.call_id} {entry.call.tool}: {entry.note})"


_PROPOSE_AGAIN_TEXT = "Propose it again if it is still right"


async def why_barred_by_changes(
    ctx: TurnContext, progress: Progress, call: PlannedCall, entries: Mapping[str, LedgerEntry]
) -> str:
    """Why a change of the present plan may no longer be made: after the plan's earlier changes, rules demand more of it
    than they did. Empty if it may be made; every attempt gets the same text. ``entries``: the plan's, by call id.
    """
    plan, facts = progress.dossier.present_plan, progress.dossier.facts
    rules, template = ctx.policies, progress.template
    if call not in plan.changes or not (rules or template.rules or template.figures or template.two_persons_about):
        return ""
    begun_ids = {call_id for call_id, entry in entries.items() if has_begun(entry)}
    begun_calls = [earlier for earlier in plan.changes[: plan.changes.index(call)] if earlier.call_id in begun_ids]
    refs = _find_refs_to_reread(ctx.toolbox.keys, progress, call, begun_calls) if begun_calls else frozenset[str]()
    old_facts = [fact for fact in facts if fact.ref in refs]
    key = f"{build_left_out_key(plan, call)}:again:verdict"
    if not old_facts:
        return ""

    async def decide() -> str:
        tools = ", ".join(dict.fromkeys(earlier.tool for earlier in begun_calls))
        try:
            reads = (read_again(ctx, f"{key}:{fact.ref}", fact, progress) for fact in old_facts)
            new_facts = await run_in_parallel(reads)
            alone = _isolate_call(ctx, progress, call, new_facts)
            verdict = await request_verdict(ctx, alone.template, alone.dossier, plan)
        except Failed as failed:
            return f"what {tools} left of it is not known: {failed.reason}. {_PROPOSE_AGAIN_TEXT}"
        demands = _find_new_demands(ctx, progress, alone.update_dossier(verdict=verdict))
        return f"since {tools} was made, rules say of it: {'; '.join(demands)} {_PROPOSE_AGAIN_TEXT}" if demands else ""

    return await ctx.journal.run_local_step(key, decide)


def _find_refs_to_reread(
    keys: RecordKeys, progress: Progress, call: PlannedCall, begun_calls: Sequence[PlannedCall]
) -> frozenset[str]:
    """The references of the facts to read again: reads of records around the call, if a call in ``begun_calls``
    concerns one of these records; and reads around those calls that give a process's figure an operand.
    """
    facts, values = progress.dossier.facts, progress.dossier.values
    figure_operands = {operand.ref for value in values if value.figure for operand in value.operands}
    near_begun = frozenset(ref for earlier in begun_calls for ref in refs_of_reads_around(earlier, facts, keys))
    return refs_of_reads_around(call, facts, keys, begun_calls) | (near_begun & figure_operands)


def _isolate_call(ctx: TurnContext, progress: Progress, call: PlannedCall, new_facts: Sequence[Fact]) -> Progress:
    """The progress as if the call alone were the present plan, and the other calls of its plan an earlier one.

    Figures are computed from ``new_facts``; calculated values with an operand that differs in ``new_facts`` are
    dropped.
    """
    dossier = progress.dossier
    plan, new_by_ref = dossier.present_plan, {fact.ref: fact for fact in new_facts}
    facts = tuple(new_by_ref.get(fact.ref, fact) for fact in dossier.facts)
    plan_alone = plan.model_copy(update={"calls": (call,)})
    plan_of_others = plan.model_copy(update={"calls": tuple(other for other in plan.calls if other != call)})
    by_name = {value.name: value for value in dossier.values}
    old_by_ref = {fact.ref: fact for fact in dossier.facts}
    unchanged = [
        value
        for value in dossier.values
        if all(_is_unchanged(operand, old_by_ref, new_by_ref) for _, operand in trace_operands(value, by_name))
    ]
    return progress.update_dossier(
        facts=facts,
        values=with_figures(unchanged, compute_figures(progress.template, facts, ctx.task, ctx.toolbox.keys)),
        plan=plan_alone,
        plans=(*dossier.plans, plan_of_others),
        approved_hash=plan_alone.hash,  # the plan was let through, or none of it were made
    )


def _is_unchanged(operand: Operand, old_by_ref: Mapping[str, Fact], new_by_ref: Mapping[str, Fact]) -> bool:
    """Whether an operand has the same value in the new facts; true if its fact is not among them."""
    if operand.source != "result" or operand.ref not in new_by_ref:
        return True
    try:
        old, new = (select_cells(facts[operand.ref].result, operand.path) for facts in (old_by_ref, new_by_ref))
    except NoSuchPath:
        return False
    return [cell.value for cell in old.cells] == [cell.value for cell in new.cells]


def _find_new_demands(ctx: TurnContext, before: Progress, alone: Progress) -> list[str]:
    """Sentences on what rules demand of the call as a plan of its own, and did not of its old plan (``before``).

    Raises ``Failed`` if there is no verdict on one of the two.
    """
    verdict_before, verdict = before.dossier.verdict, alone.dossier.verdict
    if verdict_before is None or verdict is None:
        raise Failed("there is no verdict on the plan; nothing was written")
    known_rules = {_key_of_rule(rule) for rule in verdict_before.triggered_rules}
    demands = [problem.message for problem in verdict.problems]
    demands += [refusal.sentence for refusal in verdict.refusals]
    demands += [rule.sentence for rule in verdict.triggered_rules if _key_of_rule(rule) not in known_rules]
    demands += () if before.dossier.by_person else reasons_to_ask_a_person(ctx, alone)
    if count_persons_needed(ctx, alone) > count_persons_needed(ctx, before):
        demands.append("it takes more people")
    return list(dict.fromkeys(demands))


def _key_of_rule(rule: TriggeredRule) -> tuple[object, ...]:
    """Equal for equal demands of a rule. A block for lack of a field is another demand than a certain block."""
    is_undecided = rule.indeterminate and rule.action is RuleAction.BLOCK
    return (rule.policy_id, rule.rule_id, rule.call_id, rule.action, rule.level, rule.approvers, is_undecided)
