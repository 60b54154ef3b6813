"""``/tenants/{tenant}``: operators stop and resume their tenant, and read its state."""

from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from services.gateway.features.tenants.service import read_reason, read_switch, state_view
from services.gateway.features.tenants.store import TenantStates


class TenantEndpoints:
    def __init__(self, tenants: TenantStates) -> None:
        self._tenants = tenants

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("POST", "/tenants/{tenant}/stop", self.stop),
            ApiPath("POST", "/tenants/{tenant}/resume", self.resume),
            ApiPath("POST", "/tenants/{tenant}/show", self.show),
            ApiPath("POST", "/tenants/{tenant}/made-tools", self.made_tools),
            rules=PathRules(operators=True),
        )

    async def stop(self, call: ApiCall) -> JsonValue:
        """Stop the tenant: ``{"reason"}``; 200 with the tenant's state."""
        await self._tenants.stop(call.caller.tenant, read_reason(call.body))
        return await self.show(call)

    async def resume(self, call: ApiCall) -> JsonValue:
        """Resume a stopped tenant; 200 with the tenant's state."""
        await self._tenants.resume(call.caller.tenant)
        return await self.show(call)

    async def made_tools(self, call: ApiCall) -> JsonValue:
        """Switch the making of calculators at run time on or off: ``{"on"}``; 200 with the tenant's state."""
        await self._tenants.switch_made_tools(call.caller.tenant, read_switch(call.body))
        return await self.show(call)

    async def show(self, call: ApiCall) -> JsonValue:
        """Show whether the tenant is stopped, and what it has spent. A POST, since the body may name the caller."""
        tenant = call.caller.tenant
        return state_view(tenant, await self._tenants.read_state(tenant, datetime.now(UTC)))
