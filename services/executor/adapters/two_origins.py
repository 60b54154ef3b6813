"""Servers that the operator set up, and those that a request names, which are called under guard (``ToolServers``)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.tool_servers import DetectingToolServers
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject
from shared.domain.outgoing import Reach
from shared.infra.guard import Guard


@asynccontextmanager
async def open_servers(reach: Reach) -> AsyncIterator[ToolServers]:
    """Both kinds of servers, in any protocol; ``reach`` is where those may be that requests name."""
    guard = Guard(reach)
    async with McpTools() as mcp, RestBridge() as rest, McpTools(guard=guard) as far_mcp, RestBridge(guard) as far_rest:
        yield TwoOrigins(DetectingToolServers(mcp, rest), DetectingToolServers(far_mcp, far_rest))


class TwoOrigins(ToolServers):
    """``guarded`` is asked about each connection that a request named, ``trusted`` about all others."""

    def __init__(self, trusted: ToolServers, guarded: ToolServers) -> None:
        self._trusted, self._guarded = trusted, guarded

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return await self._for(connection).discover(connection, session_id)

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._for(connection).may_have_unlisted(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._for(connection).call(connection, tool, arguments, timeout, session_id)

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._for(connection).read(connection, tool, arguments, timeout, session_id)

    def _for(self, connection: Connection) -> ToolServers:
        return self._guarded if connection.from_request else self._trusted
