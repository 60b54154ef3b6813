"""The tools over MCP: streamable HTTP, stateless, with JSON answers."""

from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool
from mcp.types import ToolAnnotations as Annotations

from examples.company.calls import Calls, Outcome, Reply
from examples.company.catalogue import TOOLS
from examples.company.faults import Faults
from examples.company.toolbox import AnyTool
from shared.domain.exact_json import dumps

_SCHEMAS = {tool.name: tool.input_schema() for tool in TOOLS.values()}


def mcp_server(calls: Calls, faults: Faults) -> Server[object]:
    """The MCP side: the tools in the order of their names, and their calls."""

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_published(tool, faults) for tool in TOOLS.values()])

    async def call_tool(_: object, params: CallToolRequestParams) -> CallToolResult:
        return _result(await calls.run(params.name, params.arguments or {}))

    return Server(
        "example-company",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=_SCHEMAS.get,
    )


def _published(tool: AnyTool, faults: Faults) -> Tool:
    hints = tool.hints
    read_only = hints.read_only or faults.claims_read_only(tool.name)
    annotations = Annotations(
        read_only_hint=read_only,
        destructive_hint=hints.destructive and not read_only,
        idempotent_hint=hints.idempotent,
        open_world_hint=False,
    )
    return Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema(), annotations=annotations)


def _result(reply: Reply) -> CallToolResult:
    """The answer as JSON text; what went wrong as an error with its sentence."""
    if reply.outcome is Outcome.DONE:
        return CallToolResult(content=[TextContent(text=dumps(reply.content))])
    return CallToolResult(content=[TextContent(text=str(reply.content))], is_error=True)
