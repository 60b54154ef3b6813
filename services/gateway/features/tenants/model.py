"""Tenants as their operators see them, and what their days have cost."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol


class DaySpent(NamedTuple):
    """What a tenant's model calls used on one day of its calendar, and what is set aside for calls under way."""

    date: str
    tokens: int = 0
    nanos: int = 0  # billionth parts of a dollar
    calls: int = 0
    reserved_tokens: int = 0
    reserved_nanos: int = 0


class TenantState(NamedTuple):
    """``stopped``: why, if it is. ``waiting`` and ``running`` count sessions.

    ``made_tools``: whether an operator switched the making of tools on or off; None is as the tenant's record says.
    """

    stopped: str | None = None
    waiting: int = 0
    running: int = 0
    spent: tuple[DaySpent, ...] = ()
    made_tools: bool | None = None


class TenantStates(Protocol):
    """All may raise ``StoreUnavailable`` and may be repeated."""

    async def stop(self, tenant: str, reason: str) -> None:
        """Take no messages, and stop what runs before its next call, until ``resume``."""
        ...

    async def resume(self, tenant: str) -> None: ...

    async def switch_made_tools(self, tenant: str, on: bool) -> None:
        """From the next turn on."""
        ...

    async def state(self, tenant: str, now: datetime) -> TenantState:
        """As it stands; its days are those around ``now``."""
        ...


class Spending(Protocol):
    async def spending_of(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        """One row for each of these days of the tenant's calendar, those without spending too.

        May raise ``StoreUnavailable``.
        """
        ...
