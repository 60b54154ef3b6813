"""Operators' view of the tools made at run time for their tenant: list, show, remove."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import JsonValue

from services.gateway.edge.errors import UnknownTool
from shared.contracts.made_tool import MadeTool

_LONG = frozenset({"v", "code", "cases"})


class MadeToolRepository(Protocol):
    """The tools made at run time. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def tools_of(self, tenant: str) -> Sequence[MadeTool]:
        """Every version that ever was, by name and version; removed ones have no code."""

    async def remove(self, tenant: str, tool: MadeTool) -> None:
        """Replace a version by its removed form."""


def versions_of(tools: Sequence[MadeTool], name: str) -> Sequence[MadeTool]:
    """All versions of a tool; raises ``UnknownTool``."""
    found = [tool for tool in tools if tool.name == name]
    if not found:
        raise UnknownTool(name)
    return found


def short_view(tool: MadeTool) -> dict[str, JsonValue]:
    return tool.model_dump(mode="json", exclude={*_LONG})


def full_view(tool: MadeTool) -> dict[str, JsonValue]:
    """The tool as JSON, with its code and the cases it was accepted by."""
    return tool.model_dump(mode="json", exclude={"v": True, "cases": {"__all__": {"v"}}})
