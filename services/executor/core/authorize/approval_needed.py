"""Who would have to decide on a plan, in words."""

from services.executor.core.authorize.asking import needs_person, persons_needed, why_process_asks
from services.executor.core.authorize.policy_check import reasons
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Failed
from services.executor.core.session.context import TurnContext
from shared.domain.words import decider


def approval_needed(ctx: TurnContext, progress: Progress) -> str | None:
    """Who would have to decide on the plan, and why; None if nobody."""
    verdict = progress.dossier.verdict
    if verdict is None:
        raise Failed("there is no policy verdict on the plan")
    if not needs_person(ctx, progress):
        return None
    level, count, steps = verdict.escalation_level, persons_needed(ctx, progress), progress.template.confirmations
    who = decider(level)
    asked = (*reasons(verdict), *why_process_asks(ctx, progress))
    asked = (*asked, *((f"{len(steps)} confirmations in sequence ({', '.join(steps)})",) if steps else ()))
    return f"{who}{f' ({count} different people)' if count > 1 else ''}: {'; '.join(asked)}"
