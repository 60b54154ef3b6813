"""What operators do with a tenant: stop it, let it go on, look at it."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField, NoVisibleTenant
from services.gateway.edge.fields import text_at
from services.gateway.features.identity.model import Caller
from services.gateway.features.identity.roles import check_operator
from services.gateway.features.tenants.model import DaySpent, TenantState, TenantStates
from shared.domain.exact_json import JsonObject

_LONGEST_REASON = 500
_NANO = 1_000_000_000


class TenantService:
    """Every method raises ``NotAnOperator`` and ``NoVisibleTenant``: an operator has to do with one tenant alone."""

    def __init__(self, tenants: TenantStates, clock: Callable[[], datetime]) -> None:
        self._tenants, self._clock = tenants, clock

    async def stop(self, tenant: str, reason: str, caller: Caller) -> TenantState:
        """Refuse new messages, and let what runs stop before its next call. Repeated, it changes the reason."""
        _check(tenant, caller)
        await self._tenants.stop(tenant, reason)
        return await self._tenants.state(tenant, self._clock())

    async def resume(self, tenant: str, caller: Caller) -> TenantState:
        """Take messages again, and let what was stopped go on from where it stood."""
        _check(tenant, caller)
        await self._tenants.resume(tenant)
        return await self._tenants.state(tenant, self._clock())

    async def switch_made_tools(self, tenant: str, on: bool, caller: Caller) -> TenantState:
        """Whether calculators that are missing are made at run time, from the next turn on."""
        _check(tenant, caller)
        await self._tenants.switch_made_tools(tenant, on)
        return await self._tenants.state(tenant, self._clock())

    async def show(self, tenant: str, caller: Caller) -> TenantState:
        _check(tenant, caller)
        return await self._tenants.state(tenant, self._clock())


def read_reason(body: JsonObject) -> str:
    """``{"reason"}``; raises ``InvalidField``."""
    reason = text_at(body, "reason", "reason") or ""
    if len(reason) > _LONGEST_REASON:
        raise InvalidField("reason", f"must be at most {_LONGEST_REASON} characters")
    return reason


def read_switch(body: JsonObject) -> bool:
    """``{"on"}``; raises ``InvalidField``."""
    said = body.get("on")
    if not isinstance(said, bool):
        raise InvalidField("on", "must be true or false")
    return said


def state_view(tenant: str, state: TenantState) -> dict[str, JsonValue]:
    return {
        "tenant": tenant,
        "stopped": state.stopped is not None,
        "reason": state.stopped,
        "sessions": {"waiting": state.waiting, "running": state.running},
        "spend": [_day_view(day) for day in state.spent],
        "made_tools": state.made_tools,
    }


def _day_view(day: DaySpent) -> JsonValue:
    return {
        "date": day.date,
        "tokens": day.tokens,
        "dollars": _dollars(day.nanos),
        "model_calls": day.calls,
        "set_aside_tokens": day.reserved_tokens,
        "set_aside_dollars": _dollars(day.reserved_nanos),
    }


def _dollars(nanos: int) -> str:
    return format((Decimal(nanos) / _NANO).normalize(), "f")


def _check(tenant: str, caller: Caller) -> None:
    check_operator(caller)
    if tenant != caller.tenant:
        raise NoVisibleTenant(tenant)
