"""The company's server: MCP over streamable HTTP at ``/mcp`` (stateless, JSON answers), ``/health`` and ``/faults``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool
from mcp.types import ToolAnnotations as Annotations
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.company.books import Books
from examples.company.calls import Calls
from examples.company.catalogue import TOOLS
from examples.company.faults import Faults
from examples.company.lost_reply import LostReplies
from examples.company.toolbox import AnyTool

_SCHEMAS = {tool.name: tool.input_schema() for tool in TOOLS.values()}


def build_app(books: Books, faults: Faults, faults_may_change: bool) -> Starlette:
    """The ASGI application over open books; it closes them when it ends."""
    sessions = StreamableHTTPSessionManager(
        mcp_server(Calls(books, faults), faults), stateless=True, json_response=True
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield
        books.close()

    routes = [
        Route("/mcp", LostReplies(StreamableHTTPASGIApp(sessions))),
        Route("/health", _health),
    ]
    if faults_may_change:
        routes.append(_faults_route(faults))
    return Starlette(routes=routes, lifespan=lifespan)


def mcp_server(calls: Calls, faults: Faults) -> Server[object]:
    """The MCP side: the tools in the order of their names, and their calls."""

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_published(tool, faults) for tool in TOOLS.values()])

    async def call_tool(_: object, params: CallToolRequestParams) -> CallToolResult:
        return await calls.run(params.name, params.arguments or {})

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


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "tools": len(TOOLS)})


def _faults_route(faults: Faults) -> Route:
    async def show_or_replace(request: Request) -> JSONResponse:
        if request.method == "GET":
            return JSONResponse(faults.as_json())
        try:
            wanted = Faults.parse((await request.body()).decode())
        except (ValidationError, UnicodeDecodeError) as error:
            return JSONResponse({"error": f"not a table of faults: {error}"}, status_code=422)
        faults.replace(wanted)
        return JSONResponse(faults.as_json())

    return Route("/faults", show_or_replace, methods=["GET", "POST"])
