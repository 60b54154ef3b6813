"""The state of tenants in Redis: whether they are stopped, and what they spent on each day."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from services.gateway.features.tenants.service import DailySpending, TenantState
from shared.infra import keys
from shared.infra.tenant_records import TenantStops

_SPENDING_FIELDS = ("tokens", "nanos", "calls", "reserved_tokens", "reserved_nanos")


class TenantStates(TenantStops):
    """Reads and switches the states of tenants. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def switch_made_tools(self, tenant: str, is_on: bool) -> None:
        """Switch the making of tools at run time on or off; it holds from the next turn on."""
        key = keys.learned_keys(tenant).switches
        await self._scripts.execute("HSET", key, keys.MADE_TOOLS_SWITCH, "on" if is_on else "off")

    async def read_state(self, tenant: str, now: datetime) -> TenantState:
        """The tenant's present state, with its days around ``now``."""
        members = keys.tenant_member_prefix(tenant)
        calls = [([partition.waiting, partition.leased], [members]) for partition in keys.all_partitions()]
        counts = cast("list[list[int]]", await self._scripts.run_many("count_sessions", calls))
        waiting, running = (sum(column) for column in zip(*counts, strict=True))
        dates = [(now + timedelta(days=shift)).date().isoformat() for shift in (-1, 0, 1)]
        spent = tuple(day for day in await self.read_spending(tenant, dates) if any(day[1:]))
        switch = await self._scripts.execute("HGET", keys.learned_keys(tenant).switches, keys.MADE_TOOLS_SWITCH)
        made_tools = None if switch is None else switch == "on"
        return TenantState(await self.get_reason(tenant), waiting, running, spent, made_tools)

    async def read_spending(self, tenant: str, dates: Sequence[str]) -> Sequence[DailySpending]:
        """The spending on each of these dates, in the tenant's time zone, also on those without any."""
        commands = (("HMGET", keys.spend_key(tenant, day), *_SPENDING_FIELDS) for day in dates)
        rows = cast("list[list[str | None]]", await self._scripts.execute_many(*commands))
        return [DailySpending(day, *(int(number or 0) for number in row)) for day, row in zip(dates, rows, strict=True)]
