"""Tool servers that speak the REST bridge: a bare JSON list of tools, and one POST for each call (``ToolServers``)."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

import httpx
import structlog
from mcp.types import Tool as ListedTool
from pydantic import ValidationError
from typing_extensions import override

from services.executor.adapters.credentials import NoCredentials, send_with_credential
from services.executor.adapters.mcp_content import brief, tools_of
from services.executor.ports import tools as ports
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject, dumps, loads, wire
from shared.infra.guard import Guard
from shared.infra.guarded_http import GuardedTransport
from shared.infra.tls import trusted_certificates
from shared.ports.tracing import NO_TRACER, Tracer

DISCOVERY_SECONDS = 15.0
CONNECT_SECONDS = 5.0
MAX_ANSWER_BYTES = 1024 * 1024
# A server closes a quiet connection after some seconds: ours are closed before, so that no write meets a dead one.
_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "content-type": "application/json"}
_NEVER_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class _BridgeReply(NamedTuple):
    status: int
    body: bytes


class RestBridge(ports.ToolServers):
    """An async context manager around one shared HTTP client. It repeats nothing and follows no redirect."""

    def __init__(
        self, guard: Guard | None = None, credentials: ports.Credentials | None = None, tracer: Tracer = NO_TRACER
    ) -> None:
        """``guard``: where it may connect; without one, to any address. ``credentials``: those that servers are
        shown.
        """
        self._tracer = tracer
        self._credentials = credentials or NoCredentials()
        plain = httpx.AsyncHTTPTransport(limits=_LIMITS, retries=0, verify=trusted_certificates())
        transport = GuardedTransport(guard, _LIMITS) if guard else plain
        self._client = httpx.AsyncClient(transport=transport, headers=_HEADERS, follow_redirects=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def discover(self, connection: Connection, session_id: str = "") -> tuple[ports.Tool, ...]:
        query = {"session_id": session_id}
        request = self._request("GET", connection, "/mcp/tools", DISCOVERY_SECONDS, query=query)
        reply = await self._ask(connection, f"{connection.id}: the tool list", request, DISCOVERY_SECONDS)
        return parse_tools(connection, reply.status, reply.body)

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return True

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ports.ToolAnswer:
        body = dumps({"tool": tool, "params": arguments, "session_id": session_id}).encode()
        request = self._request("POST", connection, "/mcp", timeout, body=body)
        if connection.traceparent and (here := self._tracer.traceparent()):
            request.headers["traceparent"] = here
        reply = await self._ask(connection, tool, request, timeout)
        return parse_answer(tool, reply.status, reply.body)

    def _request(
        self,
        method: str,
        connection: Connection,
        path: str,
        seconds: float,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> httpx.Request:
        limit = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        url = connection.url.rstrip("/") + path
        try:
            return self._client.build_request(method, url, params=query, content=body, timeout=limit)
        except httpx.InvalidURL as error:
            raise ports.ToolUnreachable(f"{connection.id}: {connection.url!r} is no usable URL: {error}") from error

    async def _ask(self, connection: Connection, what: str, request: httpx.Request, seconds: float) -> _BridgeReply:
        try:
            async with asyncio.timeout(seconds):
                return await self._fetch_reply(connection, what, request)
        except ports.CredentialUnavailable as error:
            raise ports.ToolUnreachable(f"{what} was not sent: {error}") from None
        except _NEVER_CONNECTED as error:
            raise ports.ToolUnreachable(f"no connection: {_words(error)}") from error
        except (TimeoutError, httpx.TimeoutException):
            raise ports.ToolSilent(f"{what}: no answer within {seconds:g} seconds") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise ports.ToolSilent(f"{what}: the connection failed: {_words(error)}") from error

    async def _fetch_reply(self, connection: Connection, what: str, request: httpx.Request) -> _BridgeReply:
        async def send(request: httpx.Request) -> httpx.Response:
            return await self._client.send(request, stream=True)

        response = await send_with_credential(self._credentials, connection, request, send)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise ports.ToolSilent(f"{what}: the server compressed its answer, unasked")
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise ports.ToolSilent(f"{what}: the answer is larger than {MAX_ANSWER_BYTES} bytes")
        finally:
            await response.aclose()
        return _BridgeReply(response.status_code, bytes(body))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


log = structlog.get_logger()

_TIMED_OUT = 408
_LEFT_OPEN = (409, 429)  # a conflict may be with an earlier sending; nobody promises what a limit stopped


def parse_tools(connection: Connection, status: int, body: bytes) -> tuple[ports.Tool, ...]:
    """The usable tools of a listing, which may be empty; ``OtherProtocol`` unless it is a bare JSON array."""
    if status >= 500:
        raise ports.ToolSilent(f"{connection.id}: the server answered the tool list's request with HTTP {status}")
    tools = _json(body) if status == 200 else None
    if not isinstance(tools, list):
        raise ports.OtherProtocol(f"HTTP {status} without a JSON array of tools at /mcp/tools")
    return tools_of(connection, _entries(connection, tools))


def parse_answer(tool: str, status: int, body: bytes) -> ports.ToolAnswer:
    """The answer to a call: a result as it came, or a refusal if the server says that nothing was done.

    Raises ``ToolSilent`` if the answer leaves open what happened.
    """
    if 400 <= status < 500 and status != _TIMED_OUT:
        return ports.ToolAnswer(_body_content(status, body), is_error=True, not_begun=status not in _LEFT_OPEN)
    if not 200 <= status < 300:
        raise ports.ToolSilent(f"{tool}: the server answered HTTP {status}")
    try:
        content = loads(body)
    except ValueError as error:
        raise ports.ToolSilent(f"{tool}: the answer is not JSON: {error}") from error
    return ports.ToolAnswer(content, is_error=_refuses(content))


def _refuses(content: Json) -> bool:
    """Whether the content is a refusal: it has an ``error``, and neither says that nothing was found nor is a record
    with such a field.
    """
    if not isinstance(content, dict) or not content.get("error"):
        return False
    return content.get("found") is not False and "id" not in content


def _body_content(status: int, body: bytes) -> Json:
    said = _json(body)
    if said in (None, "", [], {}):
        said = body.decode(errors="replace") or f"HTTP {status}"
    return f"HTTP {status}: {said if isinstance(said, str) else dumps(said)}" if status in _LEFT_OPEN else said


def _json(body: bytes) -> Json:
    try:
        return loads(body)
    except ValueError:
        return None


def _entries(connection: Connection, listing: Sequence[Json]) -> list[ListedTool]:
    entries = []
    for place, entry in enumerate(listing):
        try:
            entries.append(_entry(entry))
        except ValidationError as error:
            log.warning("tool_dropped", connection=connection.id, place=place, reason=brief(error))
    return entries


def _entry(entry: Json) -> ListedTool:
    """One entry of the list as a tool; one without a schema takes any object."""
    given = entry if isinstance(entry, dict) else {}
    schema = given.get("input_schema") or {}
    open_schema: JsonObject = {"type": "object", **schema} if isinstance(schema, dict) else {}
    return ListedTool.model_validate(
        {
            "name": given.get("name"),
            "description": given.get("description"),
            "input_schema": wire(open_schema),
        }
    )
