"""``/tenants/{tenant}``: operators stop and resume their tenant, and read its state."""

from datetime import UTC, datetime

from pydantic import JsonValue

from services.gateway.edge.fields import check_type, short_text_at
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, PathRules, api_path
from services.gateway.features.tenants.service import build_state_view
from services.gateway.features.tenants.store import TenantStates

_LONGEST_REASON = 500


class TenantEndpoints(ApiEndpoints[TenantStates]):
    rules = PathRules(requires_operator=True)

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
        await self._service.switch_made_tools(call.caller.tenant, check_type(call.body.get("on"), bool, "on"))
        return await self.show_tenant(call)

    @api_path("POST", "/tenants/{tenant}/show")
    async def show_tenant(self, call: ApiCall) -> JsonValue:
        """Show whether the tenant is stopped, and what it has spent. A POST, since the body may name the caller."""
        tenant = call.caller.tenant
        return build_state_view(tenant, await self._service.read_state(tenant, datetime.now(UTC)))
