"""When a strategy that was chosen cannot be applied: fsm carries the task instead, and no arm is charged for it."""

from collections.abc import Mapping

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.spend.budget import Ceilings, Purse
from services.executor.core.spend.tariff import Amount, Size, estimated
from services.executor.ports.models import Tier
from shared.domain.words import Strategy

# The answers of the thinking that a strategy adds, in tokens: a budget that cannot hold these has no room for it.
_ADDED: Mapping[Strategy, Mapping[Tier, int]] = {
    Strategy.FSM: {},
    Strategy.FIVE_PHASE: {Tier.HAIKU: 2_048, Tier.SONNET: 2_048},
    Strategy.MOA: {Tier.HAIKU: 2 * 2_048, Tier.SONNET: 2_048},
}


async def where_applicable(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress as it is, or one that fsm carries on. Decided once, whoever goes on with the run."""

    async def decide() -> str:
        return _obstacle(progress, ctx.limits.ceilings)

    why = await ctx.journal.once(f"{progress.step}:applicable", "note", decide)
    return fallen_back(ctx, progress, why) if why else progress


def fallen_back(ctx: TurnContext, progress: Progress, why: str) -> Progress:
    ctx.journal.tell("note", strategy=progress.strategy.value, not_applied=why)
    return progress.model_copy(update={"fell_back": why})


def _obstacle(progress: Progress, ceilings: Ceilings) -> str:
    if progress.read_only:
        return "the short way of a task that only reads has nothing to deliberate"
    if not _has_room(_ADDED[progress.strategy], ceilings):
        return "the task's budget has no room for it"
    return ""


def _has_room(added: Mapping[Tier, int], ceilings: Ceilings) -> bool:
    nothing = Size(0, 0)
    costs = (estimated(nothing, output, ceilings.tariff.of_tier(tier)) for tier, output in added.items())
    total = sum(costs, Amount())
    has_tokens = ceilings.tokens is None or total.tokens <= Purse.READING.share(ceilings.tokens)
    return has_tokens and (ceilings.nanos is None or total.nanos <= Purse.READING.share(ceilings.nanos))
