"""The state of tenants in Redis: stopped or not, and what their days cost."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from redis.asyncio import Redis

from services.gateway.features.tenants.service import DaySpent, TenantState
from shared.infra import keys
from shared.infra.lua import ScriptedStore
from shared.infra.tenant_records import TenantStops

_FIELDS = ("tokens", "nanos", "calls", "reserved_tokens", "reserved_nanos")


class TenantStates(ScriptedStore):
    """The states of tenants. All methods may raise ``StoreUnavailable`` and may be repeated."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._stops = TenantStops(redis)

    async def stop(self, tenant: str, reason: str) -> None:
        """Refuse messages, and stop running turns before their next call, until ``resume``.

        A repeat changes the reason.
        """
        await self._stops.stop(tenant, reason)

    async def resume(self, tenant: str) -> None:
        """Accept messages again, and let stopped turns go on from where they were."""
        await self._stops.resume(tenant)

    async def switch_made_tools(self, tenant: str, on: bool) -> None:
        """Switch the making of tools on or off, from the next turn on."""
        key = keys.learned_keys(tenant).switches
        await self._scripts.command("HSET", key, keys.MADE_TOOLS_SWITCH, "on" if on else "off")

    async def state(self, tenant: str, now: datetime) -> TenantState:
        """The tenant's present state, with its days around ``now``."""
        members = keys.members_of(tenant)
        calls = [([one.waiting, one.leased], [members]) for one in keys.all_partitions()]
        counts = cast("list[list[int]]", await self._scripts.run_many("census", calls))
        waiting, running = (sum(column) for column in zip(*counts, strict=True))
        dates = [(now + timedelta(days=shift)).date().isoformat() for shift in (-1, 0, 1)]
        spent = tuple(day for day in await self.spending_of(tenant, dates) if any(day[1:]))
        said = await self._scripts.command("HGET", keys.learned_keys(tenant).switches, keys.MADE_TOOLS_SWITCH)
        made_tools = None if said is None else said == "on"
        return TenantState(await self._stops.reason(tenant), waiting, running, spent, made_tools)

    async def spending_of(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        """One row for each of these days of the tenant's calendar, also for those without spending."""
        asked = (("HMGET", keys.spend_key(tenant, day), *_FIELDS) for day in dates)
        rows = cast("list[list[str | None]]", await self._scripts.commands(*asked))
        return [DaySpent(day, *(int(number or 0) for number in row)) for day, row in zip(dates, rows, strict=True)]
