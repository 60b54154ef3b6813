"""``/tenants/{tenant}``: an operator stops a tenant, lets it go on, and sees how it stands."""

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.features.identity.own_paths import OwnCall, OwnPath, OwnPaths
from services.gateway.features.tenants.service import TenantService, read_reason, read_switch, state_view


class TenantEndpoints:
    def __init__(self, service: TenantService) -> None:
        self._service = service

    def routes(self, own: OwnPaths) -> APIRouter:
        return own.router(
            OwnPath("POST", "/tenants/{tenant}/stop", self.stop),
            OwnPath("POST", "/tenants/{tenant}/resume", self.resume),
            OwnPath("POST", "/tenants/{tenant}/show", self.show),
            OwnPath("POST", "/tenants/{tenant}/made-tools", self.made_tools),
        )

    async def stop(self, call: OwnCall) -> JsonValue:
        """Stop the tenant, for the ``reason`` in the body; 200 with the tenant as it stands then."""
        tenant = call.path_word("tenant")
        return state_view(tenant, await self._service.stop(tenant, read_reason(call.body), call.caller))

    async def resume(self, call: OwnCall) -> JsonValue:
        """Let a stopped tenant go on; 200 with the tenant as it stands then."""
        tenant = call.path_word("tenant")
        return state_view(tenant, await self._service.resume(tenant, call.caller))

    async def made_tools(self, call: OwnCall) -> JsonValue:
        """Switch the making of calculators on or off: ``{"on"}``; 200 with the tenant as it stands then."""
        tenant = call.path_word("tenant")
        return state_view(tenant, await self._service.switch_made_tools(tenant, read_switch(call.body), call.caller))

    async def show(self, call: OwnCall) -> JsonValue:
        """Show whether the tenant works, and what it used. A POST, since the body says who asks."""
        tenant = call.path_word("tenant")
        return state_view(tenant, await self._service.show(tenant, call.caller))
