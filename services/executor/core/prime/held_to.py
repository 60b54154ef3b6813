"""The context with the limits that its task is held to, as every prompt has them."""

from dataclasses import replace

from services.executor.core.prime.predictions import shown
from services.executor.core.prime.thresholds import thresholds
from services.executor.core.session.context import TurnContext
from shared.contracts.policy import Policy


def with_thresholds(ctx: TurnContext) -> TurnContext:
    """From the rules of the tenant, the request and the process, and from the words of policy and task."""
    template = ctx.process.template
    own = Policy(id=f"process:{template.process_type}", rules=template.rules)
    advice = ctx.sections.get("policy_advice")
    texts = {"policy": advice if isinstance(advice, str) else "", "task": ctx.task}
    found = thresholds((*ctx.policies, own), texts)
    return replace(
        ctx, thresholds=found, sections={**ctx.sections, "thresholds": shown(found, ctx.experience.accuracy)}
    )
