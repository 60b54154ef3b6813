"""The tools of one run: what discovery found, under names that a model can call without ambiguity."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.ports.models import ToolDefinition
from services.executor.ports.tools import Tool
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, wire
from shared.domain.words import ToolClass


class Toolbox(NamedTuple):
    """Tools by the name a model calls them by: their own, or ``connection__tool`` where two servers share one."""

    tools: Mapping[str, Tool]
    connections: Mapping[str, Connection]

    def of_classes(self, classes: Iterable[ToolClass]) -> tuple[ToolDefinition, ...]:
        """The definitions of all tools of some classes, in a fixed order, so that prompt caching holds."""
        wanted = frozenset(classes)
        return tuple(_definition(name, tool) for name, tool in self.tools.items() if tool.tool_class in wanted)

    def listing(self, classes: Iterable[ToolClass]) -> list[Json]:
        """The same tools as data, for a prompt that plans calls without making them."""
        wanted = frozenset(classes)
        return [_listed(tool) for tool in self.tools.values() if tool.tool_class in wanted]

    def blocked(self, permitted: Iterable[ToolClass]) -> list[Json]:
        """The names of the tools of all other classes: what there is, and may not be called now."""
        offered = frozenset(permitted)
        return [name for name, tool in self.tools.items() if tool.tool_class not in offered]

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
    everything.sort(key=lambda tool: (tool.name, tool.connection_id))
    shared = {tool.name for tool in everything if sum(other.name == tool.name for other in everything) > 1}
    return Toolbox({_called(tool, tool.name in shared): tool for tool in everything}, connections)


def _called(tool: Tool, ambiguous: bool) -> str:
    return f"{tool.connection_id}__{tool.name}" if ambiguous else tool.name


def _definition(name: str, tool: Tool) -> ToolDefinition:
    return ToolDefinition(name, tool.description, schema_of(tool))


def schema_of(tool: Tool) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", wire(tool.input_schema))


def _listed(tool: Tool) -> JsonObject:
    return {
        "name": tool.name,
        "connection": tool.connection_id,
        "description": tool.description,
        "input_schema": _to_be_filled(tool),
        "class": tool.tool_class.value,
        **({"read_back": tool.catalogue.read_back} if tool.catalogue.read_back else {}),
    }


def _to_be_filled(tool: Tool) -> JsonObject:
    """The schema without the argument that is ours to fill: the idempotency key."""
    properties = tool.input_schema.get("properties")
    if tool.catalogue.idempotency_field is None or not isinstance(properties, dict):
        return tool.input_schema
    kept = {name: schema for name, schema in properties.items() if name != tool.catalogue.idempotency_field}
    return {**tool.input_schema, "properties": cast(Json, kept)}
