"""Tool servers by who named them: the more it is somebody outside, the narrower the guard (``ToolServers``)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from services.executor.adapters.a2a_agents import A2aAgents
from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.discreet_servers import DiscreetServers
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.tool_servers import DetectingToolServers
from services.executor.ports.credentials import Credentials
from services.executor.ports.tools import Send, ServerQuestion, T, ToolForbidden, ToolServers, WrappedServers
from shared.contracts.tenant import Connection
from shared.domain.outgoing import Reach, Refused, check_url, operators_reach
from shared.infra.guard import Guard
from shared.ports.tracing import NO_TRACER, Tracer


@asynccontextmanager
async def open_servers(
    reach: Reach,
    credentials: Credentials | None = None,
    tracer: Tracer = NO_TRACER,
    list_seconds: float = 0.0,
) -> AsyncIterator[ToolServers]:
    """All kinds of servers, in any protocol; ``reach`` is where those may be that requests name.

    ``credentials`` are shown to those alone that operators set up, and kept out of what these answer.
    ``list_seconds``: for how long a list of tools holds.
    ``tracer``: whose trace those are told of that ask for it; who is named by a request is never told.
    """
    guard, shown = Guard(reach), credentials or NoCredentials()
    tenants_guard = Guard(operators_reach(reach.listed))
    async with (
        McpTools(credentials=shown, tracer=tracer, list_seconds=list_seconds) as mcp,
        RestBridge(credentials=shown, tracer=tracer) as rest,
        McpTools(credentials=shown, guard=tenants_guard, tracer=tracer, list_seconds=list_seconds) as tenants_mcp,
        RestBridge(tenants_guard, shown, tracer) as tenants_rest,
        A2aAgents(credentials=shown, tracer=tracer) as agents,
        A2aAgents(tenants_guard, shown, tracer) as tenants_agents,
        McpTools(guard=guard, list_seconds=list_seconds) as far_mcp,
        RestBridge(guard) as far_rest,
    ):
        trusted = DiscreetServers(DetectingToolServers(mcp, rest, agents=agents), shown)
        tenants = DiscreetServers(DetectingToolServers(tenants_mcp, tenants_rest, agents=tenants_agents), shown)
        yield ByOrigin(trusted, tenants, DetectingToolServers(far_mcp, far_rest), reach)


class ByOrigin(WrappedServers):
    """``trusted``: what the operator of the installation set up; ``tenants``: what those of a tenant did.

    ``guarded`` is asked about connections that a request named and ``reach`` permits.
    """

    def __init__(self, trusted: ToolServers, tenants: ToolServers, guarded: ToolServers, reach: Reach) -> None:
        super().__init__(trusted)
        self._tenants, self._guarded = tenants, guarded
        self._reach, self._operators = reach, operators_reach(reach.listed)

    @override
    async def _ask(self, question: ServerQuestion, send: Send[T]) -> T:
        return await send(self._checked_servers(question.connection), question.timeout or 0.0)

    def _checked_servers(self, connection: Connection) -> ToolServers:
        """Whom to ask; raises ``ToolForbidden`` of an address that nobody is asked at, as far as its text tells."""
        if connection.from_request or connection.owner:
            try:
                check_url(connection.url, self._reach if connection.from_request else self._operators)
            except Refused as error:
                raise ToolForbidden(f"the URL {error.message}") from error
        return self._servers_of(connection)

    @override
    def _servers_of(self, connection: Connection) -> ToolServers:
        if connection.from_request:
            return self._guarded
        return self._tenants if connection.owner else self._servers
