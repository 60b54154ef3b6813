"""When a strategy that was chosen cannot be applied: fsm carries the task instead, and no arm is charged for it."""

from collections.abc import Mapping, Sequence

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.spend.affordable import affords_all
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import ModelRequest, Tier
from shared.domain.words import Strategy

# The answers of the thinking that a strategy adds, in tokens: a budget that cannot hold these has no room for it.
_ADDED: Mapping[Strategy, Mapping[Tier, int]] = {
    Strategy.FSM: {},
    Strategy.FIVE_PHASE: {Tier.SONNET: 2_048},
    Strategy.MOA: {Tier.HAIKU: 2 * 2_048, Tier.SONNET: 2_048},
}


async def where_applicable(ctx: TurnContext, progress: Progress, *needed: ModelRequest) -> Progress:
    """The progress as it is, or one that fsm carries on. Decided once, whoever goes on with the run.

    ``needed``: requests for which the budget must have room besides.
    """

    async def decide() -> str:
        return _obstacle(ctx, progress, needed)

    why = await ctx.journal.once(f"{progress.step}:applicable", "note", decide)
    return fallen_back(ctx, progress, why) if why else progress


def fallen_back(ctx: TurnContext, progress: Progress, why: str) -> Progress:
    ctx.journal.tell("note", strategy=progress.strategy.value, not_applied=why)
    return progress.model_copy(update={"fell_back": why})


def _obstacle(ctx: TurnContext, progress: Progress, needed: Sequence[ModelRequest]) -> str:
    if progress.read_only:
        return "the short way of a task that only reads has nothing to deliberate"
    added = (ModelRequest(tier, (), (), max_tokens=output) for tier, output in _ADDED[progress.strategy].items())
    return "" if affords_all(ctx, (*added, *needed), Purse.READING) else "the task's budget has no room for it"
