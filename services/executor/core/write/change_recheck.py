"""Judges a change again, if earlier changes of its own plan may have changed what rules look at (I2)."""

from collections.abc import Mapping, Sequence

from services.executor.core.authorize.persons import count_persons_needed, reasons_to_ask_a_person
from services.executor.core.authorize.policy import request_verdict
from services.executor.core.figures.operands import select_cells
from services.executor.core.process.figures import compute_figures
from services.executor.core.reads.recovering import read_again
from services.executor.core.records.binding import refs_of_reads_around
from services.executor.core.session.context import TurnContext, build_left_out_key, run_in_parallel
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import has_begun
from services.executor.core.session.values import Fact, Operand, trace_operands, with_figures
from services.executor.core.states.machine import Failed
from services.executor.core.tools.record_tree import NoSuchPath, RecordKeys
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import TriggeredRule
from shared.domain.words import RuleAction

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
    old_facts, key = [fact for fact in facts if fact.ref in refs], f"{build_left_out_key(plan, call)}:again:verdict"
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
    concerns one of these; and reads around those calls of which a process's figure has an operand.
    """
    facts, values = progress.dossier.facts, progress.dossier.values
    figure_operands = {operand.ref for value in values if value.figure for operand in value.operands}
    near_begun = frozenset(ref for earlier in begun_calls for ref in refs_of_reads_around(earlier, facts, keys))
    return refs_of_reads_around(call, facts, keys, begun_calls) | (near_begun & figure_operands)


def _isolate_call(ctx: TurnContext, progress: Progress, call: PlannedCall, new_facts: Sequence[Fact]) -> Progress:
    """The progress as if the call alone were the present plan, and the other calls of its plan an earlier one. Figures
    are computed from ``new_facts``; calculated values with an operand that is another there are dropped.
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
    """Whether an operand has the same value in the new facts; true for one that is in none of these."""
    if operand.source != "result" or operand.ref not in new_by_ref:
        return True
    try:
        old, new = (select_cells(facts[operand.ref].result, operand.path) for facts in (old_by_ref, new_by_ref))
    except NoSuchPath:
        return False
    return [cell.value for cell in old.cells] == [cell.value for cell in new.cells]


def _find_new_demands(ctx: TurnContext, before: Progress, alone: Progress) -> list[str]:
    """Sentences on what rules demand of the call as a plan of its own, and did not of its old plan (``before``)."""
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
