"""The state of a tenant as JSON: whether it is stopped, how many sessions wait and run, and what it has spent."""

from decimal import Decimal
from typing import NamedTuple

from pydantic import JsonValue


class DailySpending(NamedTuple):
    """What a tenant's model calls used on one day of its time zone, and what is reserved for calls under way."""

    date: str
    tokens: int = 0
    nanos: int = 0  # billionth parts of a dollar
    calls: int = 0
    reserved_tokens: int = 0
    reserved_nanos: int = 0


class TenantState(NamedTuple):
    """The state of a tenant. ``stopped``: the reason, if it is stopped. ``waiting``, ``running``: numbers of sessions.

    ``made_tools``: whether an operator has switched the making of tools on or off; None if the tenant's record decides.
    """

    stopped: str | None = None
    waiting: int = 0
    running: int = 0
    spent: tuple[DailySpending, ...] = ()
    made_tools: bool | None = None


_NANOS_PER_DOLLAR = 1_000_000_000


def build_state_view(tenant: str, state: TenantState) -> dict[str, JsonValue]:
    return {
        "tenant": tenant,
        "stopped": state.stopped is not None,
        "reason": state.stopped,
        "sessions": {"waiting": state.waiting, "running": state.running},
        "spend": [
            {
                "date": day.date,
                "tokens": day.tokens,
                "dollars": _format_dollars(day.nanos),
                "model_calls": day.calls,
                "set_aside_tokens": day.reserved_tokens,
                "set_aside_dollars": _format_dollars(day.reserved_nanos),
            }
            for day in state.spent
        ],
        "made_tools": state.made_tools,
    }


def _format_dollars(nanos: int) -> str:
    return format((Decimal(nanos) / _NANOS_PER_DOLLAR).normalize(), "f")
