"""``/tools/made``: operators list, show and remove the calculators that were made at run time for their tenant."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from pydantic import JsonValue

from services.gateway.edge.errors import NotFound
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from shared.contracts.made_tool import MadeTool
from shared.infra import keys
from shared.infra.lua import ScriptedStore, parse_readable_rows

_FIELDS_NOT_SHOWN = frozenset({"v", "code", "cases"})


class MadeToolRepository(ScriptedStore):
    """The calculators of tenants, in Redis. Both methods may raise ``StoreUnavailable`` and may be repeated."""

    async def list_all_versions(self, tenant: str) -> Sequence[MadeTool]:
        """All versions of the tenant's made tools, sorted by name and version; the code of a removed one is empty."""
        rows = cast("list[str]", await self._scripts.execute("HVALS", keys.learned_keys(tenant).made))
        tools = parse_readable_rows(MadeTool.model_validate_json, rows)
        return sorted(tools, key=lambda tool: (tool.name, tool.version))

    async def store_removed_version(self, tenant: str, tool: MadeTool) -> None:
        """Overwrite a version with its removed form. This cannot collide: executors never write an existing version."""
        field = keys.made_tool_field(tool.name, tool.version)
        await self._scripts.execute("HSET", keys.learned_keys(tenant).made, field, tool.model_dump_json())


class MadeToolEndpoints(ApiEndpoints[MadeToolRepository]):
    requires_operator = True

    @api_path("POST", "/tools/made/list")
    async def list_all(self, call: ApiCall) -> JsonValue:
        """List all versions of the calculators that were made at run time, without code."""
        tools = await self._service.list_all_versions(call.caller.tenant)
        return {"tools": [tool.model_dump(mode="json", exclude={*_FIELDS_NOT_SHOWN}) for tool in tools]}

    @api_path("POST", "/tools/made/{name}/show")
    async def show(self, call: ApiCall) -> JsonValue:
        """Show all versions of one calculator, with code and test cases. 404 if none of that name was made."""
        versions = await self._find_versions(call)
        views = [tool.model_dump(mode="json", exclude={"v": True, "cases": {"__all__": {"v"}}}) for tool in versions]
        return {"versions": [*views]}

    @api_path("POST", "/tools/made/{name}/remove")
    async def remove(self, call: ApiCall) -> JsonValue:
        """Remove all versions of a calculator from use. May be repeated; 404 if none of that name was made.

        The answer shows the versions.
        """
        # Its versions and hashes stay known, and the same code is not accepted again. A repeat changes nothing.
        tenant, remover = call.caller.tenant, call.caller.principal.id
        for tool in await self._find_versions(call):
            if tool.removed_at is None:
                await self._service.store_removed_version(tenant, tool.copy_as_removed(datetime.now(UTC), remover))
        return await self.show(call)

    async def _find_versions(self, call: ApiCall) -> Sequence[MadeTool]:
        """All versions of the calculator that the path names; raises ``NotFound``."""
        name = call.path_value("name")
        versions = [tool for tool in await self._service.list_all_versions(call.caller.tenant) if tool.name == name]
        if not versions:
            raise NotFound(f"made tool {name!r}")
        return versions
