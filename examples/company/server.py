"""The company's server: its tools over MCP, over the REST bridge or over both, ``/health`` and ``/faults``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, request_response
from starlette.types import ASGIApp

from examples.company import over_rest
from examples.company.books import CompanyBooks
from examples.company.calls import ToolCaller
from examples.company.catalogue import TOOLS
from examples.company.faults import ToolFaults
from examples.company.hang_up import HangUpMiddleware
from examples.company.lost_reply import LostReplyMiddleware
from examples.company.over_mcp import mcp_server
from examples.company.protocols import ProtocolDispatcher, ToolProtocol

__all__ = ["build_app", "mcp_server"]


def build_app(
    books: CompanyBooks, faults: ToolFaults, faults_may_change: bool, protocol: ToolProtocol = ToolProtocol.MCP
) -> Starlette:
    """The ASGI application over open books; it closes them when it ends."""
    calls = ToolCaller(books, faults)
    sessions = StreamableHTTPSessionManager(mcp_server(calls, faults), stateless=True, json_response=True)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield
        books.close()

    routes = [*_tool_routes(StreamableHTTPASGIApp(sessions), calls, protocol), Route("/health", _health)]
    if faults_may_change:
        routes.append(_faults_route(faults))
    return Starlette(routes=routes, lifespan=lifespan)


def _tool_routes(mcp: ASGIApp, calls: ToolCaller, protocol: ToolProtocol) -> list[BaseRoute]:
    rest = request_response(over_rest.make_call_endpoint(calls))
    discovery = Route("/mcp/tools", over_rest.list_tools)
    match protocol:
        case ToolProtocol.MCP:
            return [Route("/mcp", LostReplyMiddleware(HangUpMiddleware(mcp)))]
        case ToolProtocol.REST:
            return [Route("/mcp", LostReplyMiddleware(HangUpMiddleware(rest)), methods=["POST"]), discovery]
        case ToolProtocol.BOTH:
            return [Route("/mcp", LostReplyMiddleware(HangUpMiddleware(ProtocolDispatcher(mcp, rest)))), discovery]


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "tools": len(TOOLS)})


def _faults_route(faults: ToolFaults) -> Route:
    async def show_or_replace(request: Request) -> JSONResponse:
        if request.method == "GET":
            return JSONResponse(faults.as_json())
        try:
            wanted = ToolFaults.parse((await request.body()).decode())
        except (ValidationError, UnicodeDecodeError) as error:
            return JSONResponse({"error": f"not a table of faults: {error}"}, status_code=422)
        faults.replace(wanted.tools, wanted.rename)
        return JSONResponse(faults.as_json())

    return Route("/faults", show_or_replace, methods=["GET", "POST"])
