"""The tools of one run: what discovery found, under names that a model can call without ambiguity."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.ports.tools import Tool
from shared.contracts.tenant import Connection
from shared.domain.exact_json import wire
from shared.domain.identity_cache import IdentityCache, SameTuples
from shared.domain.words import ToolClass

MOST_COMPILED = 4_096  # tools of which is kept what was worked out once


class Toolbox(NamedTuple):
    """Tools by the name a model calls them by: their own, or ``connection__tool`` where two servers share one."""

    tools: Mapping[str, Tool]
    connections: Mapping[str, Connection]

    @property
    def names(self) -> frozenset[str]:
        """What rules may call the tools by; the empty name stands for any of them."""
        return _names_of(self.tools)

    def reads(self, name: str) -> bool:
        """Whether a call of this goes out at once: it is known, and changes nothing."""
        tool = self.tools.get(name)
        return tool is not None and tool.tool_class in (ToolClass.READ, ToolClass.COMPUTE)

    def find(self, connection_id: str, name: str) -> Tool | None:
        """The tool of that connection. An empty connection finds the only tool of that name."""
        found = [
            tool for tool in self.tools.values() if tool.name == name and connection_id in ("", tool.connection_id)
        ]
        return found[0] if len(found) == 1 else None

    def connection_of(self, tool: Tool) -> Connection:
        return self.connections[tool.connection_id]


def toolbox(discovered: Iterable[tuple[Connection, Iterable[Tool]]]) -> Toolbox:
    """A toolbox of all servers' tools, sorted by name, then connection."""
    connections: dict[str, Connection] = {}
    everything: list[Tool] = []
    for connection, tools in discovered:
        connections[connection.id] = connection
        everything += tools
    return Toolbox(_named(_same(tuple(everything))), connections)


def _name_tools(tools: tuple[Tool, ...]) -> Mapping[str, Tool]:
    ordered = sorted(tools, key=lambda tool: (tool.name, tool.connection_id))
    times = Counter(tool.name for tool in ordered)
    names = [f"{tool.connection_id}__{tool.name}" if times[tool.name] > 1 else tool.name for tool in ordered]
    return MappingProxyType(dict(zip(names, ordered, strict=True)))


_names_of = IdentityCache[Mapping[str, Tool], frozenset[str]](
    lambda tools: frozenset(tools).union(("",), (tool.name for tool in tools.values())), 64
)
_same = SameTuples[Tool](64)
_named = IdentityCache(_name_tools, 64)  # by tools that were listed together: the same mapping for many tasks


def schema_of(tool: Tool) -> Mapping[str, JsonValue]:
    """The schema as a library takes it; the same object for the same tool."""
    return _wire_schema(tool)


_wire_schema: IdentityCache[Tool, Mapping[str, JsonValue]] = IdentityCache(
    lambda tool: cast("Mapping[str, JsonValue]", wire(tool.input_schema)), MOST_COMPILED
)
