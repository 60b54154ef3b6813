"""The tools over MCP: streamable HTTP, stateless, with JSON answers."""

from collections.abc import Mapping

from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations as Annotations,
)
from pydantic import JsonValue

from examples.company.calls import CallReply, ToolCaller, ToolOutcome
from examples.company.catalogue import TOOLS
from examples.company.faults import ToolFaults
from examples.company.toolbox import AnyTool
from shared.domain.exact_json import dumps

KEY = "idempotency_key"
_KEY_SCHEMA: dict[str, JsonValue] = {
    "type": "string",
    "description": "A second call with the same key does nothing more",
}


def published_schema(tool: AnyTool) -> dict[str, JsonValue]:
    """The arguments, and with them the key of a tool that takes one; the bridge has no place for it."""
    schema = tool.input_schema()
    properties = schema["properties"]
    if not tool.keyed or not isinstance(properties, dict):
        return schema
    return {**schema, "properties": {**properties, KEY: _KEY_SCHEMA}}


_SCHEMAS = {tool.name: published_schema(tool) for tool in TOOLS.values()}


def mcp_server(calls: ToolCaller, faults: ToolFaults) -> Server[object]:
    """The MCP side: the tools in the order of their names, and their calls."""

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_as_mcp_tool(tool, faults) for tool in TOOLS.values()])

    async def call_tool(_: object, params: CallToolRequestParams) -> CallToolResult:
        arguments, key = _split_off_key(params.name, params.arguments or {})
        return _as_mcp_result(await calls.run(params.name, arguments, key))

    return Server(
        "example-company",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=_SCHEMAS.get,
    )


def _split_off_key(name: str, given: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], str | None]:
    """The tool's own arguments and the call's key; where it takes none, such a key is an unknown argument."""
    key, tool = given.get(KEY), TOOLS.get(name)
    if tool is None or not tool.keyed or not isinstance(key, str) or not key:
        return given, None
    return {argument: value for argument, value in given.items() if argument != KEY}, key


def _as_mcp_tool(tool: AnyTool, faults: ToolFaults) -> Tool:
    hints = tool.hints
    read_only = hints.read_only or faults.claims_read_only(tool.name)
    annotations = Annotations(
        read_only_hint=read_only,
        destructive_hint=hints.destructive and not read_only,
        idempotent_hint=hints.idempotent,
        open_world_hint=False,
    )
    return Tool(name=tool.name, description=tool.description, input_schema=_SCHEMAS[tool.name], annotations=annotations)


def _as_mcp_result(reply: CallReply) -> CallToolResult:
    """The answer as JSON text; what went wrong as an error with its sentence."""
    if reply.outcome is ToolOutcome.DONE:
        return CallToolResult(content=[TextContent(text=dumps(reply.content))])
    return CallToolResult(content=[TextContent(text=str(reply.content))], is_error=True)
