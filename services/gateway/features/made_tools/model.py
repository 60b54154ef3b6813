"""The tools that were made at run time, as their operators see them."""

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.made_tool import MadeTool


class MadeToolRepository(Protocol):
    """The tools that were made at run time. All may raise ``StoreUnavailable`` and may be repeated."""

    async def tools_of(self, tenant: str) -> Sequence[MadeTool]:
        """Every version there ever was, by name and version; the removed ones have no code."""
        ...

    async def remove(self, tenant: str, tool: MadeTool) -> None:
        """Put the removed tool in the place of that version."""
        ...
