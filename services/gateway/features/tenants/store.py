"""The state of tenants in Redis: stopped or not, and what their days cost."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from services.gateway.features.tenants.service import DaySpent, TenantState
from shared.infra import keys
from shared.infra.tenant_records import TenantStops

_FIELDS = ("tokens", "nanos", "calls", "reserved_tokens", "reserved_nanos")


class TenantStates(TenantStops):
    """The states of tenants. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def switch_made_tools(self, tenant: str, on: bool) -> None:
        """Switch the making of tools on or off, from the next turn on."""
        key = keys.learned_keys(tenant).switches
        await self._scripts.command("HSET", key, keys.MADE_TOOLS_SWITCH, "on" if on else "off")

    async def state(self, tenant: str, now: datetime) -> TenantState:
        """The tenant's present state, with its days around ``now``."""
        members = keys.member_prefix(tenant)
        calls = [([one.waiting, one.leased], [members]) for one in keys.all_partitions()]
        counts = cast("list[list[int]]", await self._scripts.run_many("census", calls))
        waiting, running = (sum(column) for column in zip(*counts, strict=True))
        dates = [(now + timedelta(days=shift)).date().isoformat() for shift in (-1, 0, 1)]
        spent = tuple(day for day in await self.spending_of(tenant, dates) if any(day[1:]))
        said = await self._scripts.command("HGET", keys.learned_keys(tenant).switches, keys.MADE_TOOLS_SWITCH)
        made_tools = None if said is None else said == "on"
        return TenantState(await self.reason(tenant), waiting, running, spent, made_tools)

    async def spending_of(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        """One row for each of these days of the tenant's calendar, also for those without spending."""
        asked = (("HMGET", keys.spend_key(tenant, day), *_FIELDS) for day in dates)
        rows = cast("list[list[str | None]]", await self._scripts.commands(*asked))
        return [DaySpent(day, *(int(number or 0) for number in row)) for day, row in zip(dates, rows, strict=True)]
