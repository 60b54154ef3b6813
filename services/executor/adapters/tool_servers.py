"""Chooses which tool server is asked, and how (``ToolServers``): by the protocol that it speaks, guarded by who named
it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from typing_extensions import override

from services.executor.adapters.a2a_agents import A2aAgents
from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.adapters.wrapped_servers import DiscreetServers
from services.executor.ports import tools as ports
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject
from shared.domain.lru_cache import LruCache
from shared.domain.outgoing import Reach, Refused, check_url, operators_reach
from shared.infra.guard import Guard
from shared.ports.tracing import NO_TRACER, Tracer

log = structlog.get_logger()

MAX_REMEMBERED = 1024


class DetectingToolServers(ports.WrappedServers):
    """Servers of every protocol. A connection may name its protocol; else the server's answers decide, and the decision
    holds while it works.
    """

    def __init__(
        self,
        mcp: ports.ToolServers,
        rest: ports.ToolServers,
        agents: ports.ToolServers | None = None,
    ) -> None:
        """``agents``: used only for connections that name that protocol; it is never detected."""
        super().__init__(mcp)
        self._mcp = mcp
        self._rest = rest
        self._agents = agents
        self._spoken = LruCache[str, ports.ToolServers](MAX_REMEMBERED)

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[ports.Tool, ...]:
        stated = self._servers_by_protocol(connection)
        if stated is not None:
            return await stated.discover(connection, session_id)
        remembered = self._spoken.get(connection.url)
        try:
            if remembered is not None:
                return await remembered.discover(connection, session_id)
        except ports.OtherProtocol:
            log.info("tool_protocol_changed", connection=connection.id)
        except ports.ToolSilent:
            self._spoken.pop(connection.url, None)  # the next discovery asks anew
            raise
        return (await self._detect(connection, session_id))[1]

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        spoken = self._known_servers(connection)
        return spoken is not None and spoken.may_have_unlisted(connection)

    @override
    async def _ask(self, question: ports.ServerQuestion, send: ports.Send[ports.T]) -> ports.T:
        """Makes a call or a read by the connection's protocol, which is detected first if it is not known."""
        deadline = asyncio.get_running_loop().time() + (question.timeout or 0.0)
        spoken = self._known_servers(question.connection) or await self._detect_before_call(question, deadline)
        return await send(spoken, max(0.001, deadline - asyncio.get_running_loop().time()))

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ports.ToolAnswer | None:
        if self._known_servers(connection) is None:
            return None
        return await super().ask_outcome(connection, arguments, timeout, session_id, stop_agent=stop_agent)

    @override
    def protocol_of(self, connection: Connection) -> str:
        spoken = self._known_servers(connection)
        if spoken is None:
            return ""
        return {id(self._mcp): "mcp", id(self._rest): "rest"}.get(id(spoken), "a2a")

    def _servers_by_protocol(self, connection: Connection) -> ports.ToolServers | None:
        stated = {"mcp": self._mcp, "rest": self._rest, "a2a": self._agents}
        return stated.get(connection.protocol)

    def _known_servers(self, connection: Connection) -> ports.ToolServers | None:
        return self._servers_by_protocol(connection) or self._spoken.get(connection.url)

    async def _detect_before_call(self, question: ports.ServerQuestion, deadline: float) -> ports.ToolServers:
        """The servers of the detected protocol. Whatever error is raised here, the call itself was not sent."""
        try:
            async with asyncio.timeout_at(deadline):
                return (await self._detect(question.connection, question.session_id))[0]
        except (TimeoutError, ports.ToolSilent) as error:
            what = f"{question.tool} was not sent: {error or 'no protocol was found in time'}"
            raise ports.ToolUnreachable(what) from error

    async def _detect(
        self, connection: Connection, session_id: str
    ) -> tuple[ports.ToolServers, tuple[ports.Tool, ...]]:
        """The protocol that lists tools, and these. A server that fails while it speaks MCP is not asked further."""
        spoken = self._mcp
        try:
            tools = await self._mcp.discover(connection, session_id)
        except ports.OtherProtocol as not_mcp:
            spoken = self._rest
            tools = await self._discover_by_rest(connection, session_id, not_mcp)
        self._spoken.keep(connection.url, spoken)
        log.info("tool_protocol", connection=connection.id, protocol="mcp" if spoken is self._mcp else "rest")
        return spoken, tools

    async def _discover_by_rest(
        self, connection: Connection, session_id: str, not_mcp: ports.OtherProtocol
    ) -> tuple[ports.Tool, ...]:
        try:
            return await self._rest.discover(connection, session_id)
        except ports.OtherProtocol as not_rest:
            raise ports.ToolSilent(f"it speaks neither MCP ({not_mcp}) nor the REST bridge ({not_rest})") from not_rest


@asynccontextmanager
async def open_servers(
    reach: Reach,
    credentials: ports.Credentials | None = None,
    tracer: Tracer = NO_TRACER,
    list_seconds: float = 0.0,
) -> AsyncIterator[ports.ToolServers]:
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


class ByOrigin(ports.WrappedServers):
    """Chooses servers by who named the connection. ``trusted``: for those of the installation's operator; ``tenants``:
    for those of a tenant's operators.

    ``guarded`` is asked about connections that a request named and ``reach`` permits.
    """

    def __init__(
        self, trusted: ports.ToolServers, tenants: ports.ToolServers, guarded: ports.ToolServers, reach: Reach
    ) -> None:
        super().__init__(trusted)
        self._tenants, self._guarded = tenants, guarded
        self._reach, self._operators = reach, operators_reach(reach.listed)

    @override
    async def _ask(self, question: ports.ServerQuestion, send: ports.Send[ports.T]) -> ports.T:
        return await send(self._checked_servers(question.connection), question.timeout or 0.0)

    def _checked_servers(self, connection: Connection) -> ports.ToolServers:
        """The servers to ask about the connection; raises ``ToolForbidden`` if its address may not be called, as far as
        its text tells.
        """
        if connection.from_request or connection.owner:
            try:
                check_url(connection.url, self._reach if connection.from_request else self._operators)
            except Refused as error:
                raise ports.ToolForbidden(f"the URL {error.message}") from error
        return self._servers_of(connection)

    @override
    def _servers_of(self, connection: Connection) -> ports.ToolServers:
        if connection.from_request:
            return self._guarded
        return self._tenants if connection.owner else self._servers
