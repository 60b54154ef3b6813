"""Made tools, as operators see and remove them, in state Redis."""

from collections.abc import Sequence
from typing import cast

from shared.contracts.made_tool import MadeTool
from shared.infra import keys
from shared.infra.lua import ScriptedStore


class RedisMadeToolRepository(ScriptedStore):
    async def tools_of(self, tenant: str) -> Sequence[MadeTool]:
        rows = cast("list[str]", await self._scripts.command("HVALS", keys.learned_keys(tenant).made))
        tools = [MadeTool.model_validate_json(row) for row in rows]
        return sorted(tools, key=lambda tool: (tool.name, tool.version))

    async def remove(self, tenant: str, tool: MadeTool) -> None:
        """Overwrite the version's field; the executor never writes an existing one, so nothing is lost."""
        field = keys.made_field(tool.name, tool.version)
        await self._scripts.command("HSET", keys.learned_keys(tenant).made, field, tool.model_dump_json())
