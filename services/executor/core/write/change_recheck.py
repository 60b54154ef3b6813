"""Judges a change again, if earlier changes of its own plan may have changed what rules look at (I2)."""

from collections.abc import Mapping, Sequence

from services.executor.core.authorize.persons import count_persons_needed, reasons_to_ask_a_person
from services.executor.core.authorize.policy import request_verdict
from services.executor.core.figures.operands import select_cells
from services.executor.core.process.figures import compute_figures
from services.executor.core.reads.recovering import read_again
from services.executor.core.records.binding import refs_of_reads_around
from services.executor.core.session.context import TurnContext, run_in_parallel
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import has_begun
from services.executor.core.session.left_out import left_out_key
from services.executor.core.session.values import Fact, NamedValue, Operand, with_figures
from services.executor.core.states.machine import Failed
from services.executor.core.tools.record_tree import NoSuchPath, RecordKeys
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import TriggeredRule
from shared.domain.words import RuleAction

_PROPOSE_AGAIN = "Propose it again if it is still right"


async def why_barred_by_changes(
    ctx: TurnContext, progress: Progress, call: PlannedCall, entries: Mapping[str, LedgerEntry]
) -> str:
    """Why a change of the present plan may no longer be made: after the plan's earlier changes, rules demand more than
    they did of the plan. Empty if it may be made; every attempt gets the same. ``entries``: the plan's, by call id.
    """
    plan, facts = progress.dossier.present_plan, progress.dossier.facts
    rules, template = ctx.policies, progress.template
    if call not in plan.changes or not (rules or template.rules or template.figures or template.two_persons_about):
        return ""
    before = plan.changes[: plan.changes.index(call)]
    made = [one for one in before if one.call_id in entries and has_begun(entries[one.call_id])]
    refs = _find_refs_to_reread(ctx.toolbox.keys, progress, call, made) if made else frozenset[str]()
    touched, key = [fact for fact in facts if fact.ref in refs], f"{left_out_key(plan, call)}:again:verdict"
    if not touched:
        return ""

    async def decide() -> str:
        tools = ", ".join(dict.fromkeys(one.tool for one in made))
        try:
            fresh = await run_in_parallel(read_again(ctx, f"{key}:{one.ref}", one, progress) for one in touched)
            alone = _isolate_call(ctx, progress, call, fresh)
            verdict = await request_verdict(ctx, alone.template, alone.dossier, plan)
        except Failed as failed:
            return f"what {tools} left of it is not known: {failed.reason}. {_PROPOSE_AGAIN}"
        said = _find_new_demands(ctx, progress, alone.update_dossier(verdict=verdict))
        return f"since {tools} was made, rules say of it: {'; '.join(said)} {_PROPOSE_AGAIN}" if said else ""

    return await ctx.journal.run_local_step(key, decide)


def _find_refs_to_reread(
    keys: RecordKeys, progress: Progress, call: PlannedCall, made: Sequence[PlannedCall]
) -> frozenset[str]:
    """The references of the reads on which rules about the call may depend, also by way of a figure; empty unless one
    of the calls that were made concerns a record around it.
    """
    facts, values = progress.dossier.facts, progress.dossier.values
    under = {operand.ref for value in values if value.figure for operand in value.operands}
    near_made = frozenset(ref for one in made for ref in refs_of_reads_around(one, facts, keys))
    return refs_of_reads_around(call, facts, keys, made) | (near_made & under)


def _isolate_call(ctx: TurnContext, progress: Progress, call: PlannedCall, fresh: Sequence[Fact]) -> Progress:
    """The progress with the call as a plan of its own, after the other calls of its plan. Figures are computed from the
    ``fresh`` facts; calculated values that rest on what has changed since are dropped.
    """
    dossier = progress.dossier
    plan, anew = dossier.present_plan, {fact.ref: fact for fact in fresh}
    facts = tuple(anew.get(fact.ref, fact) for fact in dossier.facts)
    alone = plan.model_copy(update={"calls": (call,)})
    others = plan.model_copy(update={"calls": tuple(one for one in plan.calls if one != call)})
    by_name = {value.name: value for value in dossier.values}
    before = {fact.ref: fact for fact in dossier.facts}
    still = [one for one in dossier.values if all(_is_unchanged(each, by_name, before, anew) for each in one.operands)]
    return progress.update_dossier(
        facts=facts,
        values=with_figures(still, compute_figures(progress.template, facts, ctx.task, ctx.toolbox.keys)),
        plan=alone,
        plans=(*dossier.plans, others),
        approved_hash=alone.hash if dossier.approved_hash == plan.hash else None,
    )


def _is_unchanged(
    operand: Operand, values: Mapping[str, NamedValue], before: Mapping[str, Fact], anew: Mapping[str, Fact]
) -> bool:
    """Whether an operand has the same value in the fresh facts, also by way of other values."""
    if operand.source == "value" and operand.ref in values:
        return all(_is_unchanged(each, values, before, anew) for each in values[operand.ref].operands)
    if operand.source != "result" or operand.ref not in anew:
        return True
    try:
        was, now = (select_cells(facts[operand.ref].result, operand.path) for facts in (before, anew))
    except NoSuchPath:
        return False
    return [cell.value for cell in was.cells] == [cell.value for cell in now.cells]


def _find_new_demands(ctx: TurnContext, before: Progress, alone: Progress) -> list[str]:
    """What rules demand for the call alone (``alone``) that they did not when its plan was released (``before``)."""
    earlier, verdict = before.dossier.verdict, alone.dossier.verdict
    if earlier is None or verdict is None:
        raise Failed("there is no verdict on the plan; nothing was written")
    known = {_key_of_rule(rule) for rule in earlier.triggered_rules}
    said = [problem.message for problem in verdict.problems]
    said += [refusal.sentence for refusal in verdict.refusals]
    said += [rule.sentence for rule in verdict.triggered_rules if _key_of_rule(rule) not in known]
    said += () if before.dossier.by_person else reasons_to_ask_a_person(ctx, alone)
    if count_persons_needed(ctx, alone) > count_persons_needed(ctx, before):
        said.append("it takes more people")
    return list(dict.fromkeys(said))


def _key_of_rule(rule: TriggeredRule) -> tuple[object, ...]:
    """What tells a rule's demand from others. A block that lacked a field is another demand than a sure one."""
    is_undecided = rule.indeterminate and rule.action is RuleAction.BLOCK
    return (rule.policy_id, rule.rule_id, rule.call_id, rule.action, is_undecided)
