"""``/tools/made``: an operator lists, reads and removes the tools that were made at run time."""

from collections.abc import Callable
from datetime import datetime

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.features.identity.own_paths import OwnCall, OwnPath, OwnPaths, PathRules
from services.gateway.features.made_tools.service import MadeToolRepository, full_view, short_view, versions_of


class MadeToolEndpoints:
    def __init__(self, made_tools: MadeToolRepository, clock: Callable[[], datetime]) -> None:
        self._made_tools, self._clock = made_tools, clock

    def routes(self, own: OwnPaths) -> APIRouter:
        return own.router(
            OwnPath("POST", "/tools/made/list", self.list_all),
            OwnPath("POST", "/tools/made/{name}/show", self.show),
            OwnPath("POST", "/tools/made/{name}/remove", self.remove),
            rules=PathRules(operators=True),
        )

    async def list_all(self, call: OwnCall) -> JsonValue:
        """List the calculators that were made at run time, every version, without code."""
        return {"tools": [short_view(tool) for tool in await self._made_tools.tools_of(call.caller.tenant)]}

    async def show(self, call: OwnCall) -> JsonValue:
        """Show all versions of one made calculator, with code and cases."""
        tools = await self._made_tools.tools_of(call.caller.tenant)
        return {"versions": [full_view(tool) for tool in versions_of(tools, call.path_word("name"))]}

    async def remove(self, call: OwnCall) -> JsonValue:
        """Take a made calculator from use, in all its versions."""
        # Its versions and hashes stay known, and the same code is not accepted again. A repeat changes nothing.
        tenant, who = call.caller.tenant, call.caller.principal.id
        for tool in versions_of(await self._made_tools.tools_of(tenant), call.path_word("name")):
            if tool.removed_at is None:
                await self._made_tools.remove(tenant, tool.copy_as_removed(self._clock(), who))
        return await self.show(call)
