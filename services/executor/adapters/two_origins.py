"""Servers that the operator set up, and those that a request names, which are called under guard (``ToolServers``)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.discreet_servers import DiscreetServers
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.tool_servers import DetectingToolServers
from services.executor.ports.credentials import Credentials
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject
from shared.domain.outgoing import Reach, Refused, check_url
from shared.infra.guard import Guard


@asynccontextmanager
async def open_servers(reach: Reach, credentials: Credentials | None = None) -> AsyncIterator[ToolServers]:
    """Both kinds of servers, in any protocol; ``reach`` is where those may be that requests name.

    ``credentials`` are shown to those alone that the operator set up, and kept out of what these answer.
    """
    guard, shown = Guard(reach), credentials or NoCredentials()
    async with (
        McpTools(credentials=shown) as mcp,
        RestBridge(credentials=shown) as rest,
        McpTools(guard=guard) as far_mcp,
        RestBridge(guard) as far_rest,
    ):
        trusted = DiscreetServers(DetectingToolServers(mcp, rest), shown)
        yield TwoOrigins(trusted, DetectingToolServers(far_mcp, far_rest), reach)


class TwoOrigins(ToolServers):
    """``guarded`` is asked about connections that a request named and ``reach`` permits, ``trusted`` about others."""

    def __init__(self, trusted: ToolServers, guarded: ToolServers, reach: Reach) -> None:
        self._trusted, self._guarded, self._reach = trusted, guarded, reach

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return await self._for(connection).discover(connection, session_id)

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._of(connection).may_have_unlisted(connection)

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
        """Whom to ask; raises ``ToolUnreachable`` of an address that nobody is asked at."""
        if connection.from_request:
            try:
                check_url(connection.url, self._reach)
            except Refused as error:
                raise ToolUnreachable(f"the URL {error.message}") from error
        return self._of(connection)

    def _of(self, connection: Connection) -> ToolServers:
        return self._guarded if connection.from_request else self._trusted
