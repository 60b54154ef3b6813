"""Whether several calls can be made beside each other without one of them using up what another one needs."""

from collections.abc import Iterable

from services.executor.core.budget.budget import BudgetShare
from services.executor.core.budget.tariff import CallCost, estimate_cost, size_of
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import ModelRequest


def affords_all(ctx: TurnContext, requests: Iterable[ModelRequest], purse: BudgetShare) -> bool:
    """Whether the task's ceilings have room for all of them, each with the whole of its answer."""
    ceilings = ctx.limits.ceilings
    costs = (estimate_cost(size_of(one), one.max_tokens, ceilings.tariff.of_tier(one.tier)) for one in requests)
    total = sum(costs, ctx.journal.spending.counted)
    return _fits(total, ceilings.tokens, ceilings.nanos, purse)


def _fits(total: CallCost, tokens: int | None, nanos: int | None, purse: BudgetShare) -> bool:
    has_tokens = tokens is None or total.tokens <= purse.share(tokens)
    return has_tokens and (nanos is None or total.nanos <= purse.share(nanos))
