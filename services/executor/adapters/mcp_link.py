"""One MCP session with one server. All callers share it; it is opened once and ended when it is broken or no longer
needed.
"""

import asyncio
import json
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast

import anyio
import httpx2
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse, RequestId
from pydantic import JsonValue, ValidationError
from typing_extensions import override

from services.executor.adapters.mcp_content import summarize_error
from services.executor.adapters.server_http import (
    CONNECT_SECONDS,
    TRANSPORT_ERRORS,
    USER_AGENT,
    ServerHttp,
    read_bounded_parts,
    refuse_compressed,
    to_port_error,
)
from services.executor.ports.tools import Credentials, ProtocolMismatch, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.lru_cache import LruCache
from shared.infra.guard import AddressGuard

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
        self._handed_over: dict[RequestId, httpx2.Response] = {}
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
        answer = self._handed_over.pop(cast("RequestId", message.get("id")), None)
        if answer is not None:
            return answer
        try:
            return (await self._send(request, message)).to_response()
        except (ToolUnreachable, ToolSilent) as trouble:
            return self._build_failure(message, trouble).to_response()

    @override
    async def aclose(self) -> None:
        await self._http.close()

    async def call(self, url: str, call: JSONRPCRequest, tool_headers: Mapping[str, str]) -> JSONRPCResponse | None:
        """The JSON result of a tool call. Raises the port's errors.

        Returns None for any other answer, which is then kept for the SDK's transport, where the caller sends the same
        call. If the caller does not, it calls ``drop_answer``.
        """
        message = call.model_dump(by_alias=True, mode="json", exclude_unset=True)
        headers = _build_call_headers(self._session, tuple(tool_headers.items()))
        request = httpx2.Request("POST", _parse_url_cached(url), headers=headers, content=_encode_message(message))
        request.extensions["timeout"] = _TIMEOUT_EXTENSION
        answer = await self._send(request, message)
        if answer.result is None:
            self._handed_over[call.id] = answer.to_response()
        return answer.result

    def drop_answer(self, call: JSONRPCRequest) -> None:
        """Drops the answer that was kept for a call which the SDK's transport will not send."""
        self._handed_over.pop(call.id, None)

    async def _send(self, request: httpx2.Request, message: Mapping[str, JsonValue]) -> "_WireAnswer":
        is_waited_for = "id" in message and request.method != "DELETE"
        try:
            if is_waited_for:
                return await self._fetch_answer(request, message)
            async with asyncio.timeout(UNAWAITED_MESSAGE_SECONDS):
                return await self._fetch_answer(request, message)
        except TRANSPORT_ERRORS as error:
            raise to_port_error(error) from error

    async def _fetch_answer(self, request: httpx2.Request, message: Mapping[str, JsonValue]) -> "_WireAnswer":
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

    def _build_failure(self, message: Mapping[str, JsonValue], trouble: ToolUnreachable | ToolSilent) -> "_WireAnswer":
        mark = secrets.token_hex(16)
        self._troubles.put(mark, trouble)
        error = {"code": _TRANSPORT_ERROR, "message": str(trouble), "data": {_MARK_FIELD: mark}}
        body = _encode_message({"jsonrpc": "2.0", "id": message.get("id"), "error": error})
        return _WireAnswer(502, {"content-type": "application/json"}, body)


class _WireAnswer(NamedTuple):
    """The answer to a request. ``result``: its body, if it is a JSON result of that request."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    stream: httpx2.AsyncByteStream | None = None
    result: JSONRPCResponse | None = None

    def to_response(self) -> httpx2.Response:
        headers = {name: self.headers[name] for name in ("content-type", "mcp-session-id") if name in self.headers}
        if self.stream is not None:
            return httpx2.Response(self.status, headers=headers, stream=self.stream)
        return httpx2.Response(self.status, headers=headers, content=self.body)


async def _read_usable_answer(
    response: httpx2.Response, message: Mapping[str, JsonValue], encode_stream_failure: Callable[[ToolSilent], bytes]
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


def _parse_result(body: bytes, message: Mapping[str, JsonValue]) -> JSONRPCResponse | None:
    """The body parsed as the result of this request; None if it is something else."""
    try:
        result = JSONRPCResponse.model_validate_json(body, by_name=False)
    except ValidationError:
        return None
    return result if result.id == message["id"] else None


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


def _require_json_rpc(body: bytes, status: int, message: Mapping[str, JsonValue]) -> None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ProtocolMismatch(f"the server answered HTTP {status} with something that is not JSON") from None
    if not isinstance(answer, dict) or not (isinstance(answer.get("error"), dict) or "result" in answer):
        raise ProtocolMismatch(f"the server answered HTTP {status} with something that is not JSON-RPC")
    if "result" in answer and answer.get("id") != message["id"]:
        raise ToolSilent("the server answered another request than ours")


class _BoundedStream(httpx2.AsyncByteStream):
    """An event stream, by whole lines. Once it exceeds the size limit, a failure takes the place of what comes."""

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


def _read_message(request: httpx2.Request) -> Mapping[str, JsonValue]:
    if not request.content:
        return {}
    message: Mapping[str, JsonValue] = json.loads(request.content)
    return message


def _encode_message(message: Mapping[str, object]) -> bytes:
    return _encode_text(message).encode()


_CALL_METHOD = "tools/call"
_BROKEN_LINK_ERRORS = (ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError, ValueError)

T = TypeVar("T")
_Incoming: TypeAlias = SessionMessage | Exception


@asynccontextmanager
async def open_streams(
    url: str, transport: McpTransport
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[_Incoming], "_OutgoingStream"]]:
    """Yields the two streams of an MCP session over ``transport``: one to read from, one to write to."""
    incoming, received = anyio.create_memory_object_stream[_Incoming](math.inf)
    async with transport.open_client() as http, streamable_http_client(url, http_client=http) as (source, sink), sink:

        async def forward_messages() -> None:
            with incoming:
                async for message in source:
                    incoming.send_nowait(message)

        async with asyncio.TaskGroup() as group:
            forwarding = group.create_task(forward_messages())
            try:
                yield received, _OutgoingStream(url, transport, sink, incoming)
            finally:
                forwarding.cancel()


class _WriteStream(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class _OutgoingStream:
    """A writer for messages to the server: a tool call goes directly over our transport, all else through the SDK's."""

    def __init__(
        self, url: str, transport: McpTransport, sink: _WriteStream, incoming: MemoryObjectSendStream[_Incoming]
    ) -> None:
        self._url, self._transport, self._sink, self._incoming = url, transport, sink, incoming

    async def send(self, item: SessionMessage, /) -> None:
        call = item.message
        if not isinstance(call, JSONRPCRequest) or call.method != _CALL_METHOD:
            return await self._sink.send(item)
        headers = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
        result = await self._transport.call(self._url, call, headers or {})
        if result is not None:
            return self._incoming.send_nowait(SessionMessage(result))
        try:
            await self._sink.send(item)
        except BaseException:
            self._transport.drop_answer(call)
            raise

    async def aclose(self) -> None:
        """Does nothing: there is nothing of its own to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> bool | None: ...


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

    async def translate_errors(self, request: Awaitable[T]) -> T:
        """The result of ``request``. Transport errors become the port's; an expired session is closed."""
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
            raise ToolSilent(f"the answer cannot be used: {summarize_error(error)}") from error

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
                trouble = await self._run_session_at(url)
                if isinstance(trouble, ToolUnreachable):
                    break
        finally:
            self._closing.set()
            self._fail_waiting_callers(trouble)

    async def _run_session_at(self, url: str) -> Exception:
        """Opens the session at one URL and keeps it; returns the error that ended it or kept it from opening."""
        try:
            await self._keep_session_open(Client(open_streams(url, self._transport), cache=None))
        except Exception as error:  # noqa: BLE001 - the outer edge of a session: its callers are told, others live on
            return self._translate_error(_find_innermost_error(error))
        return ToolSilent("the session was closed")

    async def _keep_session_open(self, client: Client) -> None:
        async with asyncio.timeout(OPEN_SECONDS) as limit:
            self._opening = limit
            try:
                async with client:
                    limit.reschedule(None)
                    self._opening = None
                    self._opened.set_result(client.session)
                    await self._closing.wait()
            finally:
                self._opening = None

    def _translate_error(self, error: Exception) -> Exception:
        trouble = self._transport.pop_port_error(error) if isinstance(error, MCPError) else None
        if self._opened.done():
            log.warning("tool_session_lost", error=type(error).__name__)
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
