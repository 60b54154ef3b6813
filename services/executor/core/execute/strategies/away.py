"""A draft that could not be had: its model was down, or the budget did not allow it. The others count all the same."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from services.executor.core.context import TurnContext
from services.executor.core.endings import Failed
from services.executor.core.spend.budget import BudgetSpent
from shared.domain.exact_json import dumps, loads_object

T = TypeVar("T")


class Away(NamedTuple):
    """``spent``: it was the budget, and not the model."""

    why: str
    spent: bool


async def unless_away(ctx: TurnContext, step: str, draft: Callable[[], Awaitable[T]]) -> T | Away:
    """The draft, or why it could not be had: noted under ``step``, and the same for whoever goes on with the run."""
    key = f"{step}:away"
    noted = ctx.journal.get(key)
    if noted is not None:
        return _read(noted)
    try:
        return await draft()
    except (Failed, BudgetSpent) as error:
        if isinstance(error, Failed) and error.part != "model":
            raise
        away = Away(error.reason, isinstance(error, BudgetSpent))
    ctx.journal.goes_on()
    await ctx.journal.add(key, "note", dumps(away._asdict()))
    return away


def why_away(found: Sequence[object]) -> str:
    """Why some of the drafts could not be had; empty if all could. Raises the run's end where none could."""
    away = [one for one in found if isinstance(one, Away)]
    if len(away) < len(found):
        return "; ".join(one.why for one in away)
    first = next((one for one in away if not one.spent), None)
    raise Failed(first.why, "model") if first else BudgetSpent(away[0].why)


def _read(noted: str) -> Away:
    said = loads_object(noted)
    return Away(str(said["why"]), said["spent"] is True)
