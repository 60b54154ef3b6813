"""``/tenants/{tenant}``: operators stop and resume their tenant, and read its state and what it has spent."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.gateway.edge.fields import require_type, short_text_at
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from shared.infra import keys
from shared.infra.tenant_records import TenantStops


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


def _build_state_view(tenant: str, state: TenantState) -> dict[str, JsonValue]:
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
        rows = cast("list[list[str | None]]", await self._scripts.execute_commands(*commands))
        return [DailySpending(day, *(int(number or 0) for number in row)) for day, row in zip(dates, rows, strict=True)]


_LONGEST_REASON = 500


class TenantEndpoints(ApiEndpoints[TenantStates]):
    requires_operator = True

    @api_path("POST", "/tenants/{tenant}/stop")
    async def stop_tenant(self, call: ApiCall) -> JsonValue:
        """Stop the tenant: ``{"reason"}``; 200 with the tenant's state."""
        await self._service.stop(call.caller.tenant, short_text_at(call.body, "reason", _LONGEST_REASON))
        return await self.show_tenant(call)

    @api_path("POST", "/tenants/{tenant}/resume")
    async def resume_tenant(self, call: ApiCall) -> JsonValue:
        """Resume a stopped tenant; 200 with the tenant's state."""
        await self._service.resume(call.caller.tenant)
        return await self.show_tenant(call)

    @api_path("POST", "/tenants/{tenant}/made-tools")
    async def switch_made_tools(self, call: ApiCall) -> JsonValue:
        """Switch the making of calculators at run time on or off: ``{"on"}``; 200 with the tenant's state."""
        await self._service.switch_made_tools(call.caller.tenant, require_type(call.body.get("on"), bool, "on"))
        return await self.show_tenant(call)

    @api_path("POST", "/tenants/{tenant}/show")
    async def show_tenant(self, call: ApiCall) -> JsonValue:
        """Show whether the tenant is stopped, and what it has spent. A POST, since the body may name the caller."""
        tenant = call.caller.tenant
        return _build_state_view(tenant, await self._service.read_state(tenant, datetime.now(UTC)))
