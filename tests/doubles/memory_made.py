"""Made tools in memory."""

from collections import defaultdict

from typing_extensions import override

from services.executor.ports.services import MadeTools
from shared.contracts.made_tool import MadeTool
from shared.ports.store import StoreUnavailable


class MemoryMade(MadeTools):
    """``broken`` makes every call fail as a dead store would."""

    def __init__(self) -> None:
        self.tools: dict[str, list[MadeTool]] = defaultdict(list)
        self.broken: str | None = None

    @override
    async def list_versions(self, tenant: str) -> tuple[MadeTool, ...]:
        self._check()
        return tuple(self.tools[tenant])

    @override
    async def store_version(self, tenant: str, tool: MadeTool) -> MadeTool:
        self._check()
        versions = [one for one in self.tools[tenant] if one.name == tool.name]
        if versions and versions[-1].code_sha256 == tool.code_sha256 and versions[-1].removed_at is None:
            return versions[-1]
        kept = tool.model_copy(update={"version": len(versions) + 1})
        self.tools[tenant].append(kept)
        return kept

    def _check(self) -> None:
        if self.broken is not None:
            raise StoreUnavailable(self.broken)
