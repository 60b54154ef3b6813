"""Operators' view of the tools made at run time for their tenant: list, show, remove."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from services.gateway.edge.errors import UnknownTool
from services.gateway.features.identity.model import Caller, check_operator
from shared.contracts.made_tool import MadeTool

_LONG = frozenset({"v", "code", "cases"})


class MadeToolRepository(Protocol):
    """The tools made at run time. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def tools_of(self, tenant: str) -> Sequence[MadeTool]:
        """Every version that ever was, by name and version; removed ones have no code."""

    async def remove(self, tenant: str, tool: MadeTool) -> None:
        """Replace a version by its removed form."""


class MadeToolService:
    """Shows and removes the made tools of the caller's tenant. Every method raises ``NotAnOperator``."""

    def __init__(self, made_tools: MadeToolRepository, clock: Callable[[], datetime]) -> None:
        self._made_tools, self._clock = made_tools, clock

    async def list_tools(self, caller: Caller) -> Sequence[MadeTool]:
        check_operator(caller)
        return await self._made_tools.tools_of(caller.tenant)

    async def show(self, name: str, caller: Caller) -> Sequence[MadeTool]:
        """All versions of a tool; raises ``UnknownTool``."""
        check_operator(caller)
        found = [tool for tool in await self._made_tools.tools_of(caller.tenant) if tool.name == name]
        if not found:
            raise UnknownTool(name)
        return found

    async def remove(self, name: str, caller: Caller) -> Sequence[MadeTool]:
        """Remove all versions of a tool, from the next task on; a repeat changes nothing. Raises ``UnknownTool``.

        Its versions and hashes stay known, and the same code is not accepted again.
        """
        for tool in await self.show(name, caller):
            if tool.removed_at is None:
                await self._made_tools.remove(caller.tenant, tool.copy_as_removed(self._clock(), caller.principal.id))
        return await self.show(name, caller)


def short_view(tool: MadeTool) -> dict[str, JsonValue]:
    return tool.model_dump(mode="json", exclude={*_LONG})


def full_view(tool: MadeTool) -> dict[str, JsonValue]:
    """The tool as JSON, with its code and the cases it was accepted by."""
    return tool.model_dump(mode="json", exclude={"v": True, "cases": {"__all__": {"v"}}})
