"""Tool servers that speak MCP over streamable HTTP, through the official SDK (``ToolServers``)."""

import asyncio
from collections.abc import Sequence
from typing import Self, cast

from mcp import ClientSession, types
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue
from typing_extensions import override

from services.executor.adapters import mcp_content
from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.mcp_link import McpLink, McpTransport, SessionExpired
from services.executor.adapters.server_http import DISCOVERY_SECONDS
from services.executor.ports.tools import Credentials, Tool, ToolAnswer, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject, to_builtins, to_exact
from shared.domain.lru_cache import LruCache
from shared.infra.guard import AddressGuard
from shared.ports.tracing import NO_TRACER, Tracer

MAX_LINKS = 128

# With these the server says that it did not begin the call; any other JSON-RPC error leaves that open.
_REFUSAL_CODES = frozenset({types.INVALID_REQUEST, types.METHOD_NOT_FOUND, types.INVALID_PARAMS, types.HEADER_MISMATCH})


class _CachedToolList(mcp_content.ClassifiedToolList):
    """The newest tool list of a server, the session that it came from, and until when it may be used."""

    def __init__(self, link: McpLink, tools: Sequence[types.Tool], until: float) -> None:
        super().__init__(tools)
        self.link, self.until = link, until


class McpTools(ToolServers):
    """Tool servers that speak MCP. Inside this async context manager each server has one open session, which all
    callers share.

    A tool list is reused for ``list_seconds``, or for less if its server says so. It is fetched again after a new
    session began or a call failed.
    """

    def __init__(
        self,
        max_links: int = MAX_LINKS,
        guard: AddressGuard | None = None,
        credentials: Credentials | None = None,
        tracer: Tracer = NO_TRACER,
        list_seconds: float = 0.0,
    ) -> None:
        """``guard`` decides which addresses may be connected to. ``credentials`` are sent to the servers."""
        self._tracer = tracer
        self._max_links, self._guard, self._credentials = max_links, guard, credentials or NoCredentials()
        self._list_seconds = list_seconds
        self._listings = LruCache[str, _CachedToolList](max_links)
        self._links: dict[str, McpLink] = {}
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for link in self._links.values():
            link.close()
        await self._group.__aexit__(None, None, None)  # the caller's own error is not the group's to wrap

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        try:
            async with asyncio.timeout(DISCOVERY_SECONDS):
                listing = await self._get_or_fetch_listing(connection)
        except TimeoutError:
            raise ToolSilent(f"{connection.id}: no tool list within {DISCOVERY_SECONDS:g} seconds") from None
        except mcp_content.BadListing as error:
            raise ToolSilent(f"{connection.id}: {error}") from error
        except MCPError as error:
            raise ToolSilent(f"{connection.id}: the server did not list its tools: {error}") from error
        return listing.list_tools(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        plain_arguments = to_builtins(arguments)
        if to_exact(plain_arguments) != arguments:
            refusal = f"{tool} was not called: JSON carries fewer digits than a number in its arguments"
            return ToolAnswer(refusal, is_error=True, not_begun=True)
        params = types.CallToolRequestParams(name=tool, arguments=cast("dict[str, JsonValue]", plain_arguments))
        if connection.traceparent and (traceparent := self._tracer.traceparent()):
            params = params.model_copy(update={"meta": {"traceparent": traceparent}})  # SEP-414
        try:
            answer = await self._send(connection, types.CallToolRequest(params=params), tool, timeout)
        except (ToolSilent, ToolUnreachable):
            self._expire_listing(connection)
            raise
        if answer.is_error:
            self._expire_listing(connection)
        return answer

    async def _send(
        self, connection: Connection, request: types.CallToolRequest, tool: str, timeout: float
    ) -> ToolAnswer:
        session: ClientSession | None = None  # before there is one, the call was certainly not sent
        link = self._get_or_open_link(connection)
        with link.mark_in_use():
            try:
                async with asyncio.timeout(timeout):
                    session = await link.await_session()
                    result = await link.translate_errors(session.send_request(request, types.CallToolResult))
            except (TimeoutError, ToolSilent) as error:
                if session is None:
                    cause = str(error) or "no MCP session in time"
                    raise ToolUnreachable(f"{tool} was not sent: {cause}") from error
                if isinstance(error, SessionExpired):
                    return ToolAnswer(str(error), is_error=True, not_begun=True)
                if isinstance(error, ToolSilent):
                    raise
                raise ToolSilent(f"{tool}: no answer within {timeout:g} seconds") from None
            except MCPError as error:
                return _answer_refusal_or_raise(tool, error)
        return mcp_content.to_tool_answer(tool, result)

    def _get_or_open_link(self, connection: Connection) -> McpLink:
        link = self._links.pop(connection.server_key, None)
        if link is None or not link.is_usable:
            self._close_longest_idle()
            link = McpLink(connection.url, McpTransport(connection, self._credentials, self._guard))
            self._group.create_task(link.run())
        self._links[connection.server_key] = link  # the latest used stands last
        return link

    def _close_longest_idle(self) -> None:
        """Closes the session that was idle longest if there are too many: its server may never be asked again."""
        idle = [key for key, link in self._links.items() if link.is_idle]
        if len(self._links) >= self._max_links and idle:
            self._links.pop(idle[0]).close()

    async def _get_or_fetch_listing(self, connection: Connection) -> _CachedToolList:
        link, listing = self._get_or_open_link(connection), self._listings.get(connection.server_key)
        clock = asyncio.get_running_loop().time
        if listing is not None and listing.link is link and clock() < listing.until:
            return listing
        try:
            tool_list = await _list_tools(link)
        except SessionExpired:  # a list may be asked for again, unlike a call
            link = self._get_or_open_link(connection)
            tool_list = await _list_tools(link)
        listing = self._listings.get(connection.server_key)  # others may have asked meanwhile, and compiled the same
        until = clock() + min(self._list_seconds, tool_list.seconds)
        if listing is not None and listing.listed == tool_list.tools:
            listing.link, listing.until = link, until
        else:
            listing = _CachedToolList(link, tool_list.tools, until)
        return self._listings.put(connection.server_key, listing)

    def _expire_listing(self, connection: Connection) -> None:
        """Marks the server's tool list as outdated, so that the next task fetches it again."""
        if listing := self._listings.get(connection.server_key):
            listing.until = 0.0


async def _list_tools(link: McpLink) -> mcp_content.ListedTools:
    with link.mark_in_use():
        return await link.translate_errors(mcp_content.list_tools(await link.await_session()))


def _answer_refusal_or_raise(tool: str, error: MCPError) -> ToolAnswer:
    """An error answer for a refusal; raises ``ToolSilent`` for any other error."""
    if error.code in _REFUSAL_CODES:
        return ToolAnswer(error.message, is_error=True, not_begun=True)
    raise ToolSilent(f"{tool}: the server broke off: {error.message}") from error
