"""The HTTP transport of an MCP session: it never raises, so that one broken call cannot end a session that many share.

Whatever goes wrong becomes the JSON-RPC error of that one request, and says whether a connection had been made. Such an
error carries a secret mark: a server cannot forge the statement that it was never reached.
"""

import asyncio
import json
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

import httpx2
from aiohttp.abc import AbstractResolver, ResolveResult
from mcp.shared.exceptions import MCPError
from mcp.types import JSONRPCRequest, JSONRPCResponse, RequestId
from pydantic import JsonValue, ValidationError
from typing_extensions import override

from shared.domain.outgoing import Refused, Target
from shared.infra.aiohttp_transport import AiohttpTransport, Keeping
from shared.infra.guard import Guard

_SCHEME = "https"  # a connection knows no scheme, and none of the rules at this place asks for it


class GuardedTransport2(AiohttpTransport):
    """Connects where the guard permits; a refusal is a ``ConnectError`` that may be shown to anybody.

    An address in a URL is checked with its text; a name's addresses when a connection is made, and no others are used.
    """

    def __init__(self, guard: Guard, keeping: Keeping | None = None, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(keeping, _GuardedResolver(guard), tls)
        self._guard = guard

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            self._guard.check(str(request.url))
            return await super().handle_async_request(request)
        except Refused as refused:
            raise httpx2.ConnectError(f"the URL {refused.message}", request=request) from refused


class _GuardedResolver(AbstractResolver):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._guard.addresses(Target(_SCHEME, host, port))
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in found
        ]

    @override
    async def close(self) -> None:
        """Does nothing: it holds nothing."""


MAX_ANSWER_BYTES = 1024 * 1024
COURTESY_SECONDS = 1.0  # for messages that nobody waits for: they must not hold up the session's calls
_TIMEOUT = httpx2.Timeout(120.0, connect=5.0, pool=5.0)  # each call has its own, shorter limit above this one
_TIMES = _TIMEOUT.as_dict()
_HEADERS = {
    "accept": "application/json, text/event-stream",
    "accept-encoding": "identity",  # so that what is received is what is bounded
    "content-type": "application/json",
    "user-agent": "purple-agent",
}
_KEEPING = Keeping(most_connections=200, kept_seconds=2.0)
_LINE_ERROR = -32099
_encode_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_read_url = lru_cache(maxsize=512)(httpx2.URL)  # of servers that are called again and again


@lru_cache(maxsize=512)
def _headers_of_call(session: str, stamped: tuple[tuple[str, str], ...]) -> httpx2.Headers:
    """The headers for all calls of one tool in one session."""
    of_session = {"mcp-session-id": session} if session else {}
    return httpx2.Headers({**_HEADERS, **of_session, **dict(stamped)})


_FAILING = frozenset({502, 503, 504})  # said of a server that is down or busy, whatever it speaks

_NEVER_CONNECTED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


Showing: TypeAlias = "Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport]"


class Trouble(StrEnum):
    UNREACHABLE = "unreachable"  # no connection was made for this request
    SILENT = "silent"  # the server may have received it
    FOREIGN = "foreign"  # the server answered, and the answer is not MCP
    EXPIRED = "expired"  # the server no longer knows our session and, by MCP's rules, did nothing


class TransportTrouble(NamedTuple):
    kind: Trouble
    sentence: str


class _Unusable(Exception):
    """An answer cannot be passed on; the message says why."""

    trouble = Trouble.SILENT


class _Foreign(_Unusable):
    """The answer is one that no MCP server would give."""

    trouble = Trouble.FOREIGN


class McpTransport(httpx2.AsyncBaseTransport):
    """One server's HTTP transport."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self._mark = secrets.token_hex(16)
        self._session = ""
        self._handed_over: dict[RequestId, httpx2.Response] = {}

    def client(self) -> httpx2.AsyncClient:
        """An HTTP client over this transport; answers come uncompressed, so that their size is what is received."""
        return httpx2.AsyncClient(transport=self, timeout=_TIMEOUT, headers={"accept-encoding": "identity"})

    def trouble(self, error: MCPError) -> TransportTrouble | None:
        """What happened to the transport, if it made the error; None for the server's own errors."""
        data = error.data
        if error.code != _LINE_ERROR or not isinstance(data, dict) or data.get("mark") != self._mark:
            return None
        return TransportTrouble(Trouble(data["kind"]), error.message)

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and "last-event-id" not in request.headers:
            return httpx2.Response(405)  # a stream for the server's own messages, which nobody here reads
        message = _message(request)
        known = self._handed_over.pop(cast("RequestId", message.get("id")), None)
        return known or (await self._send(request, message)).response()

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()

    async def call(self, url: str, call: JSONRPCRequest, stamped: Mapping[str, str]) -> JSONRPCResponse | None:
        """The result of a tool call; None if anything but one JSON result came.

        That then waits here for the SDK's transport, which is to be told of the same call: ``handing_over``.
        """
        message = call.model_dump(by_alias=True, mode="json", exclude_unset=True)
        headers = _headers_of_call(self._session, tuple(stamped.items()))
        request = httpx2.Request("POST", _read_url(url), headers=headers, content=_encode(message))
        request.extensions["timeout"] = _TIMES
        answer = await self._send(request, message)
        if answer.result is None:
            self._handed_over[call.id] = answer.response()
        return answer.result

    @contextmanager
    def handing_over(self, call: JSONRPCRequest) -> Iterator[None]:
        """A context in which the SDK's transport is told of a call that is made already. If it is not told, the call is
        given up.
        """
        try:
            yield
        except BaseException:
            self._handed_over.pop(call.id, None)
            raise

    async def _send(self, request: httpx2.Request, message: Mapping[str, JsonValue]) -> "_WireAnswer":
        try:
            if "id" in message and request.method != "DELETE":
                return await self._answer(request, message)
            async with asyncio.timeout(COURTESY_SECONDS):
                return await self._answer(request, message)
        except _Unusable as error:
            return self._failure(message, error.trouble, str(error))
        except _NEVER_CONNECTED as error:
            return self._failure(message, Trouble.UNREACHABLE, f"no connection: {_words(error)}")
        except (httpx2.RequestError, httpx2.StreamError, OSError, TimeoutError) as error:
            return self._failure(message, Trouble.SILENT, f"the connection failed: {_words(error)}")

    async def _answer(self, request: httpx2.Request, message: Mapping[str, JsonValue]) -> "_WireAnswer":
        response = await self._inner.handle_async_request(request)
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            await response.aclose()
            return self._failure(message, Trouble.EXPIRED, "the server has ended our session")
        if "id" not in message:
            await response.aclose()
            return _WireAnswer(response.status_code)
        if message.get("method") == "initialize":
            self._session = response.headers.get("mcp-session-id", "")
        return await _read_usable_answer(response, message)

    def _failure(self, message: Mapping[str, JsonValue], kind: Trouble, sentence: str) -> "_WireAnswer":
        error = {"code": _LINE_ERROR, "message": sentence, "data": {"mark": self._mark, "kind": kind.value}}
        said = _encode({"jsonrpc": "2.0", "id": message.get("id"), "error": error})
        return _WireAnswer(502, {"content-type": "application/json"}, said)


class _WireAnswer(NamedTuple):
    """The answer to a request. ``result``: its body, if it is a JSON result of that request."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    stream: httpx2.AsyncByteStream | None = None
    result: JSONRPCResponse | None = None

    def response(self) -> httpx2.Response:
        headers = {name: self.headers[name] for name in ("content-type", "mcp-session-id") if name in self.headers}
        if self.stream is not None:
            return httpx2.Response(self.status, headers=headers, stream=self.stream)
        return httpx2.Response(self.status, headers=headers, content=self.body)


async def _read_usable_answer(response: httpx2.Response, message: Mapping[str, JsonValue]) -> _WireAnswer:
    """The answer, if it is one that MCP can read; a JSON body is read here, within bounds. Raises if it is not."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        _refuse_early(response, kind)
        if kind == "text/event-stream":
            stream = _Bounded(_stream(response), response)
            return _WireAnswer(response.status_code, response.headers, stream=stream)
        body = b"".join([part async for part in _limit_size(_stream(response))])
    except BaseException:
        await response.aclose()
        raise
    await response.aclose()
    result = _result(body, message) if response.status_code == 200 else None
    if result is None:
        _refuse_garbage(body, response.status_code, message)
    return _WireAnswer(response.status_code, response.headers, body, result=result)


def _result(body: bytes, message: Mapping[str, JsonValue]) -> JSONRPCResponse | None:
    """The body as a result of the request; None if it is none. It is parsed once, as the SDK parses it."""
    try:
        result = JSONRPCResponse.model_validate_json(body, by_name=False)
    except ValidationError:
        return None
    return result if result.id == message["id"] else None


def _refuse_early(response: httpx2.Response, kind: str) -> None:
    status = response.status_code
    if 300 <= status < 400:
        raise _Unusable(f"the server redirects (HTTP {status}), which is not followed")
    if status in _FAILING:
        raise _Unusable(f"the server answered HTTP {status}")
    if status >= 500 or (status != 200 and kind != "application/json"):
        raise _Foreign(f"the server answered HTTP {status}")
    if kind not in ("application/json", "text/event-stream"):
        raise _Foreign(f"the server answered with {kind or 'no content type'}, not with JSON")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _Unusable("the server compressed its answer, unasked")


def _refuse_garbage(body: bytes, status: int, message: Mapping[str, JsonValue]) -> None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise _Foreign(f"the server answered HTTP {status} with something that is not JSON") from None
    if not isinstance(answer, dict) or not (isinstance(answer.get("error"), dict) or "result" in answer):
        raise _Foreign(f"the server answered HTTP {status} with something that is not JSON-RPC")
    if "result" in answer and answer.get("id") != message["id"]:
        raise _Unusable("the server answered another request than ours")


class _Bounded(httpx2.AsyncByteStream):
    """An event stream that ends with an error once it is too long."""

    def __init__(self, parts: httpx2.AsyncByteStream, response: httpx2.Response) -> None:
        self._parts = parts
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in _limit_size(self._parts):
                yield part
        except _Unusable as error:
            raise httpx2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        await self._response.aclose()


async def _limit_size(parts: httpx2.AsyncByteStream) -> AsyncIterator[bytes]:
    received = 0
    async for part in parts:
        received += len(part)
        if received > MAX_ANSWER_BYTES:
            raise _Unusable(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        yield part


def _nothing(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncBaseTransport:
    return transport


def open_transport(guard: Guard | None = None, showing: Showing = _nothing) -> McpTransport:
    """A transport with its own pool of connections. It makes no retries, and connects where a guard permits.

    ``showing``: wraps it in what shows a credential.
    """
    if guard is not None:
        return McpTransport(showing(GuardedTransport2(guard, _KEEPING)))
    return McpTransport(showing(AiohttpTransport(_KEEPING)))


def _stream(response: httpx2.Response) -> httpx2.AsyncByteStream:
    return cast("httpx2.AsyncByteStream", response.stream)


def _message(request: httpx2.Request) -> Mapping[str, JsonValue]:
    if not request.content:
        return {}
    message: Mapping[str, JsonValue] = json.loads(request.content)
    return message


def _encode(message: Mapping[str, object]) -> bytes:
    return _encode_text(message).encode()


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
