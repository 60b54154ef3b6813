"""Calls of a plan that may go out only after another one of it has succeeded (rules of the kind "only after")."""

from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.past_calls import outcome_of
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries
from services.executor.core.write.sending import NotSent
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import CallOutcome


async def refuse_too_early(ctx: TurnContext, progress: Progress, call: PlannedCall) -> None:
    """Raises ``NotSent`` naming the rule, if the call that has to come first did not succeed."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    needs = [need for need in verdict.needs if need.call_id == call.call_id] if verdict else []
    if plan is None or not needs:
        return
    known = await entries(ctx, plan)
    done = {call_id for call_id, entry in known.items() if outcome_of(entry) is CallOutcome.SUCCEEDED}
    for need in needs:
        if done.isdisjoint(need.any_of):
            raise NotSent(f"{call.call_id}: {call.tool} was not called: {need.rule_id}: {need.reason}")
