"""The example company's tools behind the port, in this process, listed and classified as over MCP."""

from functools import lru_cache

from mcp.types import Tool as ListedTool, ToolAnnotations
from typing_extensions import override

from examples.company.books import CompanyBooks
from examples.company.calls import ToolCaller, ToolOutcome
from examples.company.catalogue import TOOLS
from examples.company.faults import ToolFault, ToolFaults
from examples.company.over_mcp import KEY, published_schema
from examples.company.toolbox import AnyTool
from services.executor.adapters.mcp_content import build_tools
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolSilent
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject, dumps, loads, to_builtins


class CompanyTools(ToolServers):
    """``faults``: how the company misbehaves; a reply that it loses is a silence here.

    ``others``: how many tools its server lists besides that have nothing to do with it, and that nothing should call.
    """

    def __init__(self, books: CompanyBooks, others: int = 0) -> None:
        self._others = others
        self.faults = _LosingFaults({})
        self.called: list[tuple[str, JsonObject]] = []
        self._calls = ToolCaller(books, self.faults)
        self._listed: tuple[Tool, ...] = ()

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        self._listed = self._listed or build_tools(connection, _listing(self._others))
        return self._listed

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        self.called.append((tool, arguments))
        given = to_builtins(arguments)
        assert isinstance(given, dict)
        key = given.pop(KEY, None) if tool in TOOLS and TOOLS[tool].keyed else None
        self.faults.lost = False
        reply = await self._calls.run(tool, given, str(key) if key else None)
        if self.faults.lost:
            raise ToolSilent(f"{tool}: the answer was cut off")
        if reply.outcome is ToolOutcome.DONE:
            return ToolAnswer(loads(dumps(reply.content)))
        return ToolAnswer(str(reply.content), is_error=True)


class _LosingFaults(ToolFaults):
    """Notes whether the last call's reply is lost: in a process there is no line to cut."""

    lost = False

    @override
    def take_fault(self, tool: str) -> ToolFault:
        fault = super().take_fault(tool)
        self.lost = fault.lose_reply
        return fault


@lru_cache(maxsize=4)
def _listing(others: int) -> tuple[ListedTool, ...]:
    return (*map(_published, TOOLS.values()), *map(_stranger, range(others)))


def _stranger(number: int) -> ListedTool:
    """A tool of a long description that speaks of the weather."""
    said = "Shows the wind, the rain and the temperature of a weather station, hour by hour, as they were measured. "
    return ListedTool(
        name=f"get_weather_{number}",
        description=said * 20,
        input_schema={"type": "object", "properties": {"station": {"type": "string"}}, "required": ["station"]},
        annotations=ToolAnnotations(read_only_hint=True),
    )


def _published(tool: AnyTool) -> ListedTool:
    hints = tool.hints
    annotations = ToolAnnotations(read_only_hint=hints.read_only, destructive_hint=hints.destructive)
    return ListedTool(
        name=tool.name, description=tool.description, input_schema=published_schema(tool), annotations=annotations
    )
