"""No call of a plan goes out on an old verdict: it is renewed for each attempt, and when it has aged (I2)."""

from datetime import timedelta

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Escalated
from services.executor.core.execute.asking import needs_person
from services.executor.core.execute.policy_check import binding_hash, refuse_if_blocked, refuse_if_refused, verdict_on


async def renew_if_old(ctx: TurnContext, progress: Progress) -> None:
    """Ask for the verdict again before a call is sent, unless this attempt had it within ``verdict_seconds``.

    Ends the run as ``Rejected`` if a rule blocks the plan now, as ``Escalated`` if a person would have to decide now.
    """
    plan, before = progress.dossier.plan, progress.dossier.verdict
    if plan is None or before is None or _is_fresh(ctx, plan.hash):
        return
    verdict = await verdict_on(ctx, progress.process_type, progress.dossier)
    refuse_if_blocked(verdict)
    refuse_if_refused(verdict)
    if binding_hash(verdict) == binding_hash(before):
        return
    by_person = progress.dossier.approved_hash is None or needs_person(verdict, ctx.tenant, progress.process_type)
    if by_person:
        raise Escalated("the rules changed while the plan was carried out: its remaining calls were not sent")


def _is_fresh(ctx: TurnContext, plan_hash: str) -> bool:
    last = ctx.last_verdict
    oldest = ctx.journal.now - timedelta(seconds=ctx.limits.verdict_seconds)
    return last.plan_hash == plan_hash and last.at is not None and last.at >= oldest
