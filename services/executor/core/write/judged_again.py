"""A change is judged again where changes of its own plan before it may have changed what rules look at (I2)."""

from collections.abc import Mapping, Sequence

from services.executor.core.authorize.policy import persons_needed, verdict_on
from services.executor.core.reads.recovering import read_again
from services.executor.core.records.binding import facts_around
from services.executor.core.session.context import TurnContext, side_by_side
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import has_begun
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed
from services.executor.core.write.notices import left_out_key
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict

_PROPOSE_AGAIN = "Propose it again if it is still right"


async def why_barred_since(
    ctx: TurnContext, progress: Progress, call: PlannedCall, entries: Mapping[str, LedgerEntry]
) -> str:
    """Why a change of the plan in hand may not be made any more: by what its changes before it left, rules say more of
    it than they said of the plan. Empty if it may; decided once for all attempts. ``entries``: the plan's, by call id.
    """
    plan = progress.dossier.present_plan
    if call not in plan.changes or not (ctx.policies or progress.template.figures):
        return ""
    before = plan.changes[: plan.changes.index(call)]
    made = [one for one in before if one.call_id in entries and has_begun(entries[one.call_id])]
    touched, key = _find_touched(progress.dossier.facts, call, made), f"{left_out_key(plan, call)}:again:verdict"
    if not touched:
        return ""

    async def decide() -> str:
        tools = ", ".join(dict.fromkeys(one.tool for one in made))
        try:
            fresh = await side_by_side(read_again(ctx, f"{key}:{one.ref}", one, progress) for one in touched)
            verdict = await _judge_alone(ctx, progress, plan, call, fresh)
        except Failed as failed:
            return f"what {tools} left of it is not known: {failed.reason}. {_PROPOSE_AGAIN}"
        said = _new_demands(verdict, progress, call)
        return f"since {tools} was made, rules say of it: {'; '.join(said)} {_PROPOSE_AGAIN}" if said else ""

    return await ctx.journal.note_step(key, decide)


def _find_touched(facts: Sequence[Fact], call: PlannedCall, made: Sequence[PlannedCall]) -> list[Fact]:
    """The reads of records that are around the call and around one that was made."""
    if not made:
        return []
    near = facts_around([call], facts)
    changed = facts_around(made, facts)
    return [fact for fact in facts if fact.ref in near & changed]


async def _judge_alone(
    ctx: TurnContext, progress: Progress, plan: WritePlan, call: PlannedCall, fresh: Sequence[Fact]
) -> Verdict:
    """The verdict on the call as a plan of its own, after the others of its plan."""
    alone = plan.model_copy(update={"calls": (call,)})
    others = plan.model_copy(update={"calls": tuple(one for one in plan.calls if one != call)})
    is_approved = progress.dossier.approved_hash == plan.hash
    update = {
        "facts": (*progress.dossier.facts, *fresh),
        "plan": alone,
        "plans": (*progress.dossier.plans, others),
        "approved_hash": alone.hash if is_approved else None,
    }
    return await verdict_on(ctx, progress.template, progress.update_dossier(**update).dossier, plan)


def _new_demands(verdict: Verdict, progress: Progress, call: PlannedCall) -> list[str]:
    """What rules say of the call that they did not say when its plan was let through."""
    rules = progress.dossier.verdict.triggered_rules if progress.dossier.verdict else ()
    known = {(rule.policy_id, rule.rule_id) for rule in rules if rule.call_id in (None, call.call_id)}
    said = [problem.message for problem in verdict.problems]
    said += [refusal.sentence for refusal in verdict.refusals]
    said += [rule.sentence for rule in verdict.triggered_rules if (rule.policy_id, rule.rule_id) not in known]
    renewed = progress.update_dossier(verdict=verdict)
    if persons_needed(renewed) > persons_needed(progress):
        said.append("it takes more people")
    return list(dict.fromkeys(said))
