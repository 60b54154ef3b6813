"""When a plan needs a person's decision, and how many different people it takes."""

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.execute.escalation import ends_escalated
from services.executor.core.execute.process_rules import is_ruled
from services.executor.core.execute.two_persons import concern, unanswered
from shared.contracts.policy import Verdict


def needs_person(ctx: TurnContext, progress: Progress) -> bool:
    """Whether a rule or the process asks for a person, or the tenant does for every write that no rule speaks about."""
    verdict, template = progress.dossier.verdict, progress.template
    if verdict is None or template.confirmations:
        return True
    if concern(ctx.task, progress) or unanswered(ctx.task, progress):
        return True
    asked = verdict.requires_approval or not (verdict.passed or ends_escalated(template, verdict))
    return asked or (ctx.tenant.unruled_writes == "approve" and not is_ruled(verdict))


def asks_now(ctx: TurnContext, progress: Progress, verdict: Verdict) -> bool:
    """Whether a renewed verdict asks for a person where the one before asked for nobody, whatever its hashes say."""
    return needs_person(ctx, progress.learned(verdict=verdict)) and not needs_person(ctx, progress)


def persons_needed(ctx: TurnContext, progress: Progress) -> int:
    """How many different people have to approve the plan."""
    verdict = progress.dossier.verdict
    approvers = max(progress.template.approvers, verdict.approvers if verdict else 1)
    return max(approvers, 2) if concern(ctx.task, progress) else approvers


def why_process_asks(ctx: TurnContext, progress: Progress) -> tuple[str, ...]:
    """The process's own reasons to ask, beside those of the rules."""
    if found := concern(ctx.task, progress):
        return (f"the process asks for two different people, because of {found}",)
    return (left,) if (left := unanswered(ctx.task, progress)) else ()
