"""Tool servers that speak MCP over streamable HTTP, through the official SDK (``ToolServers``). All callers share one
session with a server; it is opened once and ended when it is broken or no longer needed.
"""

import asyncio
import itertools
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import lru_cache
from typing import NamedTuple, Self, TypeAlias, TypeVar, cast

import anyio
import httpx2
import structlog
from mcp import ClientSession, types
from mcp.client._probe import negotiate_auto  # what ``mcp.Client`` opens a session with; it takes no dispatcher of ours
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from pydantic import JsonValue, ValidationError
from typing_extensions import override

from services.executor.adapters import mcp_content
from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.server_http import (
    CONNECT_SECONDS,
    DISCOVERY_SECONDS,
    TRANSPORT_ERRORS,
    USER_AGENT,
    ServerHttp,
    convert_to_port_error,
    read_bounded_parts,
    refuse_compressed,
)
from services.executor.ports.tools import (
    Credentials,
    ProtocolMismatch,
    Tool,
    ToolAnswer,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
)
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject, to_builtins, to_exact
from shared.domain.lru_cache import LruCache
from shared.infra.guard import AddressGuard
from shared.ports.tracing import NO_TRACER, Tracer

UNAWAITED_MESSAGE_SECONDS = 1.0  # for messages that nobody waits for: they must not hold up the session's calls
# Each call has its own, shorter limit above this one.
_TIMEOUT = httpx2.Timeout(120.0, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
_TIMEOUT_EXTENSION = _TIMEOUT.as_dict()
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "accept-encoding": "identity",  # so that what is received is what is bounded
    "content-type": "application/json",
    "user-agent": USER_AGENT,
}
_TRANSPORT_ERROR, _MARK_FIELD = -32099, "mark"
_MOST_STORED_ERRORS = 1024  # of errors that nobody asked about
_encode_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_parse_url_cached = lru_cache(maxsize=512)(httpx2.URL)  # of servers that are called again and again


@lru_cache(maxsize=512)
def _build_call_headers(session: str, tool_headers: tuple[tuple[str, str], ...]) -> httpx2.Headers:
    """The HTTP headers of every call of one tool in one session."""
    of_session = {"mcp-session-id": session} if session else {}
    return httpx2.Headers({**_HEADERS, **of_session, **dict(tool_headers)})


_FAILING_STATUSES = frozenset({502, 503, 504})  # said of a server that is down or busy, whatever it speaks


class SessionExpired(ToolSilent):
    """The server has ended the session. By the rules of MCP it did not begin the request."""


class McpTransport(httpx2.AsyncBaseTransport):
    """The HTTP transport to one MCP server, shared by callers. It adds the connection's credential, obeys a guard, and
    never retries.

    It raises nothing to the SDK: each failure becomes the JSON-RPC error of its own request, with a random mark by
    which the port's error is found again; so a server cannot fake the statement that it was never reached.
    """

    def __init__(self, connection: Connection, credentials: Credentials, guard: AddressGuard | None) -> None:
        self._connection, self._http = connection, ServerHttp(credentials, guard)
        self._session = ""
        self._handed_over: dict[types.RequestId, httpx2.Response] = {}
        self._troubles = LruCache[str, ToolUnreachable | ToolSilent](_MOST_STORED_ERRORS)

    def open_client(self) -> httpx2.AsyncClient:
        """An HTTP client over this transport. It asks for uncompressed answers, whose size can be bounded."""
        self._session = ""
        return httpx2.AsyncClient(transport=self, timeout=_TIMEOUT, headers={"accept-encoding": "identity"})

    def pop_port_error(self, error: MCPError) -> ToolUnreachable | ToolSilent | None:
        """The port's error behind a JSON-RPC error that this transport made; None if the server itself sent it."""
        data = error.data if isinstance(error.data, dict) else {}
        return self._troubles.pop(str(data.get(_MARK_FIELD)), None)

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and "last-event-id" not in request.headers:
            return httpx2.Response(405)  # a stream for the server's own messages, which nobody here reads
        message = _read_message(request)
        answer = self._handed_over.pop(cast("types.RequestId", message.get("id")), None)
        if answer is not None:
            return answer
        try:
            return (await self._send_in_span(request, message)).to_response()
        except (ToolUnreachable, ToolSilent) as trouble:
            return self._build_failure(message, trouble).to_response()

    @override
    async def aclose(self) -> None:
        await self._http.close()

    async def call(
        self, url: str, call_id: str, params: Mapping[str, object], tool_headers: Mapping[str, str]
    ) -> dict[str, object] | None:
        """The JSON result of a tool call. Raises the port's errors.

        Returns None for any other answer, which is then kept for the SDK's transport, where the caller sends the same
        call under the same id. The caller calls ``drop_answer`` in the end.
        """
        message = {"jsonrpc": "2.0", "id": call_id, "method": _CALL_METHOD, "params": params}
        headers = _build_call_headers(self._session, tuple(tool_headers.items()))
        request = httpx2.Request("POST", _parse_url_cached(url), headers=headers, content=_encode_message(message))
        request.extensions["timeout"] = _TIMEOUT_EXTENSION
        answer = await self._send_in_span(request, message)
        if answer.result is None:
            self._handed_over[call_id] = answer.to_response()
        return answer.result

    def drop_answer(self, call_id: str) -> None:
        """Drops the answer that was kept for a call, if the SDK's transport did not ask for it."""
        self._handed_over.pop(call_id, None)

    async def _send_in_span(self, request: httpx2.Request, message: Mapping[str, object]) -> "_WireAnswer":
        is_waited_for = "id" in message and request.method != "DELETE"
        try:
            if is_waited_for:
                return await self._fetch_answer(request, message)
            async with asyncio.timeout(UNAWAITED_MESSAGE_SECONDS):
                return await self._fetch_answer(request, message)
        except TRANSPORT_ERRORS as error:
            raise convert_to_port_error(error) from error

    async def _fetch_answer(self, request: httpx2.Request, message: Mapping[str, object]) -> "_WireAnswer":
        response = await self._http.send(self._connection, request)
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            await response.aclose()
            raise SessionExpired("the server has ended our session; nothing was done")
        if "id" not in message:
            await response.aclose()
            return _WireAnswer(response.status_code)
        if message.get("method") == "initialize":
            self._session = response.headers.get("mcp-session-id", "")
        return await _read_usable_answer(response, message, lambda trouble: self._build_failure(message, trouble).body)

    def _build_failure(self, message: Mapping[str, object], trouble: ToolUnreachable | ToolSilent) -> "_WireAnswer":
        mark = secrets.token_hex(16)
        self._troubles.put(mark, trouble)
        error = {"code": _TRANSPORT_ERROR, "message": str(trouble), "data": {_MARK_FIELD: mark}}
        body = _encode_message({"jsonrpc": "2.0", "id": message.get("id"), "error": error})
        return _WireAnswer(502, {"content-type": "application/json"}, body)


class _WireAnswer(NamedTuple):
    """The HTTP answer to a request. ``result``: its body, if it is the JSON result of that request; else None."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    stream: httpx2.AsyncByteStream | None = None
    result: dict[str, object] | None = None

    def to_response(self) -> httpx2.Response:
        headers = {name: self.headers[name] for name in ("content-type", "mcp-session-id") if name in self.headers}
        if self.stream is not None:
            return httpx2.Response(self.status, headers=headers, stream=self.stream)
        return httpx2.Response(self.status, headers=headers, content=self.body)


async def _read_usable_answer(
    response: httpx2.Response, message: Mapping[str, object], encode_stream_failure: Callable[[ToolSilent], bytes]
) -> _WireAnswer:
    """The answer, if MCP can read it; raises the port's error if not. A JSON body is read here, within a size limit."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        _check_status_and_media_type(response, kind)
        if kind == "text/event-stream":
            stream = _BoundedStream(response, encode_stream_failure)
            return _WireAnswer(response.status_code, response.headers, stream=stream)
        body = b"".join([chunk async for chunk in read_bounded_parts(response)])
    except BaseException:
        await response.aclose()
        raise
    await response.aclose()
    result = _parse_result(body, message) if response.status_code == 200 else None
    if result is None:
        _require_json_rpc(body, response.status_code, message)
    return _WireAnswer(response.status_code, response.headers, body, result=result)


def _parse_result(body: bytes, message: Mapping[str, object]) -> dict[str, object] | None:
    """The result in the body, if it answers this request; None if the body is something else."""
    try:
        answer = types.JSONRPCResponse.model_validate_json(body, by_name=False)
    except ValidationError:
        return None
    return answer.result if answer.id == message["id"] else None


def _check_status_and_media_type(response: httpx2.Response, media_type: str) -> None:
    status = response.status_code
    if 300 <= status < 400:
        raise ToolSilent(f"the server redirects (HTTP {status}), which is not followed")
    if status in _FAILING_STATUSES:
        raise ToolSilent(f"the server answered HTTP {status}")
    if status >= 500 or (status != 200 and media_type != "application/json"):
        raise ProtocolMismatch(f"the server answered HTTP {status}")
    if media_type not in ("application/json", "text/event-stream"):
        raise ProtocolMismatch(f"the server answered with {media_type or 'no content type'}, not with JSON")
    refuse_compressed(response)


def _require_json_rpc(body: bytes, status: int, message: Mapping[str, object]) -> None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ProtocolMismatch(f"the server answered HTTP {status} with something that is not JSON") from None
    if not isinstance(answer, dict) or not (isinstance(answer.get("error"), dict) or "result" in answer):
        raise ProtocolMismatch(f"the server answered HTTP {status} with something that is not JSON-RPC")
    if "result" in answer and answer.get("id") != message["id"]:
        raise ToolSilent("the server answered another request than ours")


class _BoundedStream(httpx2.AsyncByteStream):
    """An event stream, in whole lines. Once it exceeds the size limit, an event with a failure replaces the rest."""

    def __init__(self, response: httpx2.Response, encode_stream_failure: Callable[[ToolSilent], bytes]) -> None:
        self._response, self._encode_stream_failure = response, encode_stream_failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        try:
            async for chunk in read_bounded_parts(self._response):
                lines, newline, rest = (rest + chunk).rpartition(b"\n")
                yield lines + newline
            yield rest
        except ToolSilent as error:
            yield b"\n\ndata: " + self._encode_stream_failure(error) + b"\n\n"

    async def aclose(self) -> None:
        await self._response.aclose()


def _read_message(request: httpx2.Request) -> Mapping[str, object]:
    if not request.content:
        return {}
    message: Mapping[str, object] = json.loads(request.content)
    return message


def _encode_message(message: Mapping[str, object]) -> bytes:
    return _encode_text(message).encode()


_CALL_METHOD = "tools/call"
_BROKEN_LINK_ERRORS = (ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError, ValueError)

T = TypeVar("T")
_Incoming: TypeAlias = SessionMessage | Exception


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """The SDK's dispatcher, but a tool call goes directly over our transport; all else goes over the SDK's streams."""

    def __init__(
        self, url: str, transport: McpTransport, source: ReadStream[_Incoming], sink: WriteStream[SessionMessage]
    ) -> None:
        super().__init__(source, sink)
        self._url, self._transport = url, transport
        self._call_ids = (f"call-{number}" for number in itertools.count(1))  # the SDK numbers its own requests

    @override
    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, object] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: types.RequestId | None = None,
    ) -> dict[str, object]:
        options = opts or {}
        if method != _CALL_METHOD:
            return await super().send_raw_request(method, params, options, _related_request_id=_related_request_id)
        call_id = next(self._call_ids)
        try:
            result = await self._transport.call(self._url, call_id, params or {}, options.get("headers", {}))
        except asyncio.CancelledError:
            await self._report_cancelled(call_id)
            raise
        if result is not None:
            return result
        try:
            return await super().send_raw_request(method, params, {**options, "request_id": call_id})
        finally:
            self._transport.drop_answer(call_id)

    async def _report_cancelled(self, call_id: str) -> None:
        """Tells the server that nobody waits for a call any more; a closed connection alone does not say so."""
        with anyio.move_on_after(UNAWAITED_MESSAGE_SECONDS, shield=True):
            await self.notify("notifications/cancelled", {"requestId": call_id, "reason": "caller cancelled"})


@asynccontextmanager
async def _open_session(url: str, transport: McpTransport) -> AsyncIterator[ClientSession]:
    """Yields an MCP session over ``transport``, once its server and we agree about a version of the protocol."""
    async with (
        transport.open_client() as http,
        streamable_http_client(url, http_client=http) as (source, sink),
        ClientSession(dispatcher=_Dispatcher(url, transport, source, sink)) as session,
    ):
        await negotiate_auto(session)
        yield session


log = structlog.get_logger()

OPEN_SECONDS = 10.0


class McpLink:
    """One session with a server. ``run`` keeps it open, in a task of its own, since the SDK's cancel scopes must be
    left by the task that entered them.
    """

    def __init__(self, url: str, transport: McpTransport) -> None:
        self._url, self._transport = url, transport
        self._opened: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._opening: asyncio.Timeout | None = None
        self._users = 0

    @property
    def is_usable(self) -> bool:
        """Whether the session can take a call: it is open or still opening, and not closed."""
        has_failed = self._opened.done() and (self._opened.cancelled() or self._opened.exception() is not None)
        return not has_failed and not self._closing.is_set()

    @property
    def is_idle(self) -> bool:
        return self._users == 0

    @contextmanager
    def mark_in_use(self) -> Iterator[None]:
        """A context in which the session does not count as idle."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    async def await_session(self) -> ClientSession:
        """The open session; raises ``ToolUnreachable`` or ``ToolSilent`` if it cannot be opened."""
        return self._opened.result() if self._opened.done() else await asyncio.shield(self._opened)

    async def await_answer(self, request: Awaitable[T]) -> T:
        """Awaits a request on this session and returns its answer.

        Errors of the transport are raised as the port's (``ToolSilent`` for a broken link or an answer that cannot be
        used). If the server has ended the session, it is closed and ``SessionExpired`` raised.
        """
        try:
            return await request
        except SessionExpired:
            self.close()
            raise
        except MCPError as error:
            trouble = self._transport.pop_port_error(error)
            if trouble is None:
                raise
            if isinstance(trouble, SessionExpired):
                self.close()
            raise trouble from error
        except _BROKEN_LINK_ERRORS as error:
            raise ToolSilent(f"the answer cannot be used: {mcp_content.summarize_error(error)}") from error

    def close(self) -> None:
        """Ends the session, even while it opens. Calls in flight fail with ``ToolSilent``."""
        self._closing.set()
        if self._opening is not None and not self._opening.expired():
            self._opening.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Opens the session and keeps it open until ``close``. Never raises."""
        trouble: Exception = ToolUnreachable("the session was closed before it opened")
        try:
            for url in _list_candidate_urls(self._url):
                if self._closing.is_set() or self._opened.done():
                    break
                trouble = await self._run_session_until_failure(url)
                if isinstance(trouble, ToolUnreachable):
                    break
        finally:
            self._closing.set()
            self._fail_waiting_callers(trouble)

    async def _run_session_until_failure(self, url: str) -> Exception:
        """Opens the session at one URL and keeps it; returns the error that ended it or kept it from opening."""
        try:
            await self._keep_session_open(_open_session(url, self._transport))
        except Exception as error:  # noqa: BLE001 - the outer edge of a session: its callers are told, others live on
            return self._translate_error(_find_innermost_error(error))
        return ToolSilent("the session was closed")

    async def _keep_session_open(self, opening: AbstractAsyncContextManager[ClientSession]) -> None:
        async with asyncio.timeout(OPEN_SECONDS) as limit:
            self._opening = limit
            try:
                async with opening as session:
                    limit.reschedule(None)
                    self._opening = None
                    self._opened.set_result(session)
                    await self._closing.wait()
            finally:
                self._opening = None

    def _translate_error(self, error: Exception) -> Exception:
        trouble = self._transport.pop_port_error(error) if isinstance(error, MCPError) else None
        if self._opened.done():
            log.warning("mcp_session_lost", host=_parse_url_cached(self._url).host, error=type(error).__name__)
        if isinstance(error, TimeoutError):
            return ToolSilent(f"no MCP session within {OPEN_SECONDS:g} seconds")
        return trouble or ToolSilent(f"no MCP session: {error}")

    def _fail_waiting_callers(self, trouble: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(trouble)
            self._opened.exception()  # marks it as seen: perhaps nobody waits any more


def _list_candidate_urls(url: str) -> Iterator[str]:
    yield url
    if not url.rstrip("/").endswith("/mcp"):
        yield f"{url.rstrip('/')}/mcp"


def _find_innermost_error(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


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
        self._max_links = max_links
        self._guard = guard
        self._credentials = credentials or NoCredentials()
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
        except mcp_content.UnusableToolList as error:
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
                    result = await link.await_answer(session.send_request(request, types.CallToolResult))
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
        return mcp_content.convert_to_tool_answer(tool, result)

    def _get_or_open_link(self, connection: Connection) -> McpLink:
        link = self._links.pop(connection.session_key, None)
        if link is None or not link.is_usable:
            self._close_longest_idle()
            link = McpLink(connection.url, McpTransport(connection, self._credentials, self._guard))
            self._group.create_task(link.run())
        self._links[connection.session_key] = link  # the latest used stands last
        return link

    def _close_longest_idle(self) -> None:
        """Closes the session that was idle longest if there are too many: its server may never be asked again."""
        idle = [key for key, link in self._links.items() if link.is_idle]
        if len(self._links) >= self._max_links and idle:
            self._links.pop(idle[0]).close()

    async def _get_or_fetch_listing(self, connection: Connection) -> _CachedToolList:
        link = self._get_or_open_link(connection)
        listing = self._listings.get(connection.session_key)
        clock = asyncio.get_running_loop().time
        if listing is not None and listing.link is link and clock() < listing.until:
            return listing
        try:
            tool_list = await _list_tools(link)
        except SessionExpired:  # a list may be asked for again, unlike a call
            link = self._get_or_open_link(connection)
            tool_list = await _list_tools(link)
        listing = self._listings.get(connection.session_key)  # others may have asked meanwhile, and compiled the same
        until = clock() + min(self._list_seconds, tool_list.seconds)
        if listing is not None and listing.listed == tool_list.tools:
            listing.link, listing.until = link, until
        else:
            listing = _CachedToolList(link, tool_list.tools, until)
        return self._listings.put(connection.session_key, listing)

    def _expire_listing(self, connection: Connection) -> None:
        """Marks the server's tool list as outdated, so that the next task fetches it again."""
        if listing := self._listings.get(connection.session_key):
            listing.until = 0.0


async def _list_tools(link: McpLink) -> mcp_content.ListedTools:
    with link.mark_in_use():
        return await link.await_answer(mcp_content.list_tools(await link.await_session()))


def _answer_refusal_or_raise(tool: str, error: MCPError) -> ToolAnswer:
    """An error answer for a refusal; raises ``ToolSilent`` for any other error."""
    if error.code in _REFUSAL_CODES:
        return ToolAnswer(error.message, is_error=True, not_begun=True)
    raise ToolSilent(f"{tool}: the server broke off: {error.message}") from error
