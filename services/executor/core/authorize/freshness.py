"""No call of a plan goes out on an old verdict: it is renewed for each attempt, and when it has aged (I2)."""

from datetime import timedelta

from services.executor.core.authorize.asking import asks_now, needs_person
from services.executor.core.authorize.policy_check import binding_hash, refuse_if_blocked, refuse_if_refused, verdict_on
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Escalated, Failed, Rejected
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import entries, has_begun


async def renew_if_old(ctx: TurnContext, progress: Progress) -> None:
    """Ask for the verdict again before a call is sent, unless this attempt had it within ``verdict_seconds``.

    Ends the run where it does not let the plan pass any more; as ``Escalated`` if a part of the plan is done already.
    """
    plan = progress.dossier.plan
    if plan is None or _is_fresh(ctx, plan.hash):
        return
    try:
        await _renew(ctx, progress)
    except (Failed, Rejected) as error:
        if not any(has_begun(entry) for entry in (await entries(ctx, plan)).values()):
            raise
        why = error.reason.replace(", so nothing was written", "")
        raise Escalated(f"the plan is half done, and its remaining calls were not sent: {why}") from error


async def _renew(ctx: TurnContext, progress: Progress) -> None:
    before = progress.dossier.verdict
    verdict = await verdict_on(ctx, progress.template, progress.dossier)
    refuse_if_blocked(verdict, progress.dossier.plan)
    refuse_if_refused(verdict)
    same = before is not None and binding_hash(verdict) == binding_hash(before)
    if same and not asks_now(ctx, progress, verdict):
        return
    if progress.dossier.approved_hash is None or needs_person(ctx, progress.learned(verdict=verdict)):
        raise Failed("the rules changed since the plan was let through")


def _is_fresh(ctx: TurnContext, plan_hash: str) -> bool:
    last = ctx.last_verdict
    oldest = ctx.journal.now - timedelta(seconds=ctx.limits.verdict_seconds)
    return last.plan_hash == plan_hash and last.at is not None and last.at >= oldest
