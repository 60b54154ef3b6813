"""Each tool server in the protocol that it speaks (``ToolServers``): MCP first, else the REST bridge, or as stated."""

import asyncio

import structlog
from typing_extensions import override

from services.executor.ports.tools import (
    OtherProtocol,
    Send,
    ServerQuestion,
    T,
    Tool,
    ToolAnswer,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
    WrappedServers,
)
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject

log = structlog.get_logger()

MAX_REMEMBERED = 1024


class DetectingToolServers(WrappedServers):
    """A connection may name its protocol; else the server's answers decide, and the decision holds while it works."""

    def __init__(
        self,
        mcp: ToolServers,
        rest: ToolServers,
        agents: ToolServers | None = None,
    ) -> None:
        """``agents``: never found by asking: a connection says that it is one."""
        super().__init__(mcp)
        self._mcp = mcp
        self._rest = rest
        self._agents = agents
        self._spoken: dict[str, ToolServers] = {}

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        stated = self._servers_by_protocol(connection)
        if stated is not None:
            return await stated.discover(connection, session_id)
        remembered = self._spoken.get(connection.url)
        if remembered is None:
            return await self._detect(connection, session_id)
        try:
            return await remembered.discover(connection, session_id)
        except OtherProtocol:
            return await self._detect(connection, session_id)
        except ToolSilent:
            self._spoken.pop(connection.url, None)  # the next discovery asks anew
            raise

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        spoken = self._known_servers(connection)
        return spoken is not None and spoken.may_have_unlisted(connection)

    @override
    async def _ask(self, question: ServerQuestion, send: Send[T]) -> T:
        """A call, or a read."""
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
    ) -> ToolAnswer | None:
        if self._known_servers(connection) is None:
            return None
        return await super().ask_outcome(connection, arguments, timeout, session_id, stop_agent=stop_agent)

    @override
    def protocol_of(self, connection: Connection) -> str:
        spoken = self._known_servers(connection)
        if spoken is None:
            return ""
        return {id(self._mcp): "mcp", id(self._rest): "rest"}.get(id(spoken), "a2a")

    def _servers_by_protocol(self, connection: Connection) -> ToolServers | None:
        stated = {"mcp": self._mcp, "rest": self._rest, "a2a": self._agents}
        return stated.get(connection.protocol)

    def _known_servers(self, connection: Connection) -> ToolServers | None:
        return self._servers_by_protocol(connection) or self._spoken.get(connection.url)

    async def _detect_before_call(self, question: ServerQuestion, deadline: float) -> ToolServers:
        """What the server speaks; whatever fails here, the call itself was not sent."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._detect(question.connection, question.session_id)
        except (TimeoutError, ToolSilent) as error:
            what = f"{question.tool} was not sent: {error or 'no protocol was found in time'}"
            raise ToolUnreachable(what) from error
        return self._spoken[question.connection.url]

    async def _detect(self, connection: Connection, session_id: str) -> tuple[Tool, ...]:
        """The tools by whichever protocol lists them. A server that fails while it speaks MCP is not asked further."""
        spoken = self._mcp
        try:
            tools = await self._mcp.discover(connection, session_id)
        except OtherProtocol as not_mcp:
            spoken = self._rest
            tools = await self._discover_by_rest(connection, session_id, not_mcp)
        self._remember(connection.url, spoken)
        log.info("tool_protocol", connection=connection.id, protocol="mcp" if spoken is self._mcp else "rest")
        return tools

    async def _discover_by_rest(
        self, connection: Connection, session_id: str, not_mcp: OtherProtocol
    ) -> tuple[Tool, ...]:
        try:
            return await self._rest.discover(connection, session_id)
        except OtherProtocol as not_rest:
            raise ToolSilent(f"it speaks neither MCP ({not_mcp}) nor the REST bridge ({not_rest})") from not_rest

    def _remember(self, url: str, spoken: ToolServers) -> None:
        """The latest used stands last; the first is forgotten where there are too many."""
        self._spoken.pop(url, None)
        self._spoken[url] = spoken
        if len(self._spoken) > MAX_REMEMBERED:
            self._spoken.pop(next(iter(self._spoken)))
