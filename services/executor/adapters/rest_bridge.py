"""Tool servers that speak the REST bridge: a bare JSON list of tools, and one POST for each call (``ToolServers``)."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import httpx2
import structlog
from mcp.types import Tool as ListedTool
from pydantic import ValidationError
from typing_extensions import override

from services.executor.adapters import server_http as http
from services.executor.adapters.mcp_content import ClassifiedToolList, summarize_error
from services.executor.ports import tools as ports
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, dumps, loads, to_builtins

_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": http.USER_AGENT,
}


class _BridgeReply(NamedTuple):
    """Status and body of a bridge's HTTP response."""

    status: int
    body: bytes


class RestBridge(http.HttpToolServers[tuple[_BridgeReply, ClassifiedToolList]]):
    """Tool servers that list their tools as plain JSON and take each call as a POST."""

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[ports.Tool, ...]:
        request = _build_request(connection, "GET", "/mcp/tools", query={"session_id": session_id})
        reply = await self._ask(connection, f"{connection.id}: the tool list", request, http.DISCOVERY_SECONDS)
        last_reply, listing = self._discovered.look_up(connection.server_key) or (None, ClassifiedToolList(()))
        if last_reply != reply:  # an equal list gives the same objects
            listing = ClassifiedToolList(_parse_listing(connection, reply.status, reply.body))
            self._discovered.put(connection.server_key, (reply, listing))
        return listing.list_tools(connection)

    @override
    def may_have_unlisted_tools(self, connection: Connection) -> bool:
        return True

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ports.ToolAnswer:
        body = dumps({"tool": tool, "params": arguments, "session_id": session_id}).encode()
        request = _build_request(connection, "POST", "/mcp", body=body)
        if connection.traceparent and (traceparent := self._tracer.traceparent()):
            request.headers["traceparent"] = traceparent
        reply = await self._ask(connection, tool, request, timeout)
        return _parse_call_answer(tool, reply.status, reply.body)

    async def _ask(
        self, connection: Connection, question: str, request: httpx2.Request, seconds: float
    ) -> _BridgeReply:
        limits = {"connect": min(http.CONNECT_SECONDS, seconds), "pool": http.CONNECT_SECONDS}
        request.extensions["timeout"] = limits
        try:
            async with asyncio.timeout(seconds):
                return await self._fetch_reply(connection, f"{question}: ", request)
        except ports.CredentialUnavailable as error:
            raise ports.ToolUnreachable(f"{question} was not sent: {error}") from None
        except TimeoutError:
            raise ports.ToolSilent(f"{question}: no answer within {seconds:g} seconds") from None
        except http.TRANSPORT_ERRORS as error:
            raise http.convert_to_port_error(error, f"{question}: ") from error

    async def _fetch_reply(self, connection: Connection, prefix: str, request: httpx2.Request) -> _BridgeReply:
        response = await self._http.send(connection, request)
        try:
            http.refuse_compressed(response, prefix)
            body = b"".join([chunk async for chunk in http.read_bounded_parts(response, prefix)])
        finally:
            await response.aclose()
        return _BridgeReply(response.status_code, body)


def _build_request(
    connection: Connection, method: str, path: str, query: dict[str, str] | None = None, body: bytes | None = None
) -> httpx2.Request:
    try:
        url = connection.url.rstrip("/") + path
        return httpx2.Request(method, url, params=query, headers=_HEADERS, content=body)
    except httpx2.InvalidURL as error:
        raise ports.ToolUnreachable(f"{connection.id}: {connection.url!r} is no usable URL: {error}") from error


log = structlog.get_logger()

_TIMEOUT_STATUS = 408
_UNCERTAIN_STATUSES = (409, 429)  # a conflict may be with an earlier sending; nobody promises what a limit stopped


def _parse_listing(connection: Connection, status: int, body: bytes) -> list[ListedTool]:
    """The usable tools, possibly none. Raises ``ToolSilent`` for HTTP 5xx, else ``ProtocolMismatch`` without a list."""
    if status >= 500:
        raise ports.ToolSilent(f"{connection.id}: the server answered the tool list's request with HTTP {status}")
    tools = _parse_json(body) if status == 200 else None
    if not isinstance(tools, list):
        raise ports.ProtocolMismatch(f"HTTP {status} without a JSON array of tools at /mcp/tools")
    return _parse_listed_tools(connection, tools)


def _parse_call_answer(tool: str, status: int, body: bytes) -> ports.ToolAnswer:
    """The answer to a call.

    A status 4xx but 408, and a 2xx whose content is an error, are error answers; of these only a 4xx that is neither
    409 nor 429 says that nothing was done (``not_begun``). Any other status, and a 2xx whose body is not JSON, raise
    ``ToolSilent``.
    """
    if 400 <= status < 500 and status != _TIMEOUT_STATUS:
        not_begun = status not in _UNCERTAIN_STATUSES
        return ports.ToolAnswer(_parse_error_content(status, body), is_error=True, not_begun=not_begun)
    if not 200 <= status < 300:
        raise ports.ToolSilent(f"{tool}: the server answered HTTP {status}")
    try:
        content = loads(body)
    except ValueError as error:
        raise ports.ToolSilent(f"{tool}: the answer is not JSON: {error}") from error
    return ports.ToolAnswer(content, is_error=_is_error_content(content))


def _is_error_content(content: Json) -> bool:
    """Whether the content has an ``error`` field, and is neither a record nor the statement that nothing was found."""
    if not isinstance(content, dict) or not content.get("error"):
        return False
    return content.get("found") is not False and "id" not in content


def _parse_error_content(status: int, body: bytes) -> Json:
    content = _parse_json(body)
    if content in (None, "", [], {}):
        content = body.decode(errors="replace") or f"HTTP {status}"
    if status not in _UNCERTAIN_STATUSES:
        return content
    return f"HTTP {status}: {content if isinstance(content, str) else dumps(content)}"


def _parse_json(body: bytes) -> Json:
    try:
        return loads(body)
    except ValueError:
        return None


def _parse_listed_tools(connection: Connection, listing: Sequence[Json]) -> list[ListedTool]:
    entries = []
    for index, entry in enumerate(listing):
        try:
            entries.append(_parse_listed_tool(entry))
        except ValidationError as error:
            log.warning("tool_dropped", connection=connection.id, place=index, reason=summarize_error(error))
    return entries


def _parse_listed_tool(entry: Json) -> ListedTool:
    """One listed tool. A tool without a schema takes any object."""
    fields = entry if isinstance(entry, dict) else {}
    schema = fields.get("input_schema") or {}
    open_schema: JsonObject = {"type": "object", **schema} if isinstance(schema, dict) else {}
    return ListedTool.model_validate(
        {
            "name": fields.get("name"),
            "description": fields.get("description"),
            "input_schema": to_builtins(open_schema),
        }
    )
