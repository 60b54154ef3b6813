"""``/tools/made``: an operator lists, reads and removes the tools that were made at run time."""

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.features.identity.own_paths import OwnCall, OwnPath, OwnPaths
from services.gateway.features.made_tools.service import MadeToolService, full_view, short_view


class MadeToolEndpoints:
    def __init__(self, service: MadeToolService) -> None:
        self._service = service

    def routes(self, own: OwnPaths) -> APIRouter:
        return own.router(
            OwnPath("POST", "/tools/made/list", self.list_all),
            OwnPath("POST", "/tools/made/{name}/show", self.show),
            OwnPath("POST", "/tools/made/{name}/remove", self.remove),
        )

    async def list_all(self, call: OwnCall) -> JsonValue:
        """List the calculators that were made at run time, every version, without code."""
        return {"tools": [short_view(tool) for tool in await self._service.list_tools(call.caller)]}

    async def show(self, call: OwnCall) -> JsonValue:
        """Show all versions of one made calculator, with code and cases."""
        return {"versions": [full_view(tool) for tool in await self._service.show(call.path_word("name"), call.caller)]}

    async def remove(self, call: OwnCall) -> JsonValue:
        """Take a made calculator from use, in all its versions."""
        return {
            "versions": [full_view(tool) for tool in await self._service.remove(call.path_word("name"), call.caller)]
        }
