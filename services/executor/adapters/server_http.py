"""HTTP to a tool server, for any protocol. A credential is sent only to its connection's origin, answers are bounded,
and failures become the port's errors.
"""

from collections.abc import AsyncIterator
from typing import Generic, Self, TypeVar, cast
from urllib.parse import urlsplit

import httpx2

from services.executor.adapters.credentials import NoCredentials
from services.executor.ports.tools import (
    AnswerTooLarge,
    CredentialHeader,
    Credentials,
    CredentialUnavailable,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
)
from shared.contracts.tenant import Connection
from shared.domain.lru_cache import LruCache
from shared.infra.aiohttp_transport import AiohttpTransport, PoolLimits
from shared.infra.guard import AddressGuard
from shared.ports.tracing import NO_TRACER, Tracer

T = TypeVar("T")

MOST_SERVERS_CACHED = 128
MAX_ANSWER_BYTES = 1024 * 1024
CONNECT_SECONDS, DISCOVERY_SECONDS = 5.0, 15.0
# A server closes a quiet connection after some seconds: ours are closed before, so that no write meets a dead one.
_POOL_LIMITS = PoolLimits(most_connections=200, kept_seconds=2.0)
USER_AGENT = "purple-agent"
TRANSPORT_ERRORS = (CredentialUnavailable, httpx2.RequestError, httpx2.StreamError, OSError, TimeoutError)
_NEVER_CONNECTED_ERRORS = (
    CredentialUnavailable,
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
_UNAUTHORIZED_STATUS = 401
_DEFAULT_PORTS = {"http": 80, "https": 443}


class ServerHttp:
    """A pool of connections, opened with the first request and again after ``close``. Only a request that the server
    refused with 401 is sent again. A ``guard`` decides which addresses may be connected to.
    """

    def __init__(self, credentials: Credentials, guard: AddressGuard | None) -> None:
        self._credentials, self._transport = credentials, AiohttpTransport(_POOL_LIMITS, guard)

    async def close(self) -> None:
        await self._transport.aclose()

    async def send(self, connection: Connection, request: httpx2.Request) -> httpx2.Response:
        """Sends the request with the connection's credential and returns the response.

        Raises one of ``TRANSPORT_ERRORS``, among them ``CredentialUnavailable`` if the server refuses every credential.

        A 401 means that nothing was done, so the request is sent once more if a different credential is available.
        """
        header = await self._credentials.resolve_header(connection)
        if header is None:
            return await self._transport.handle_async_request(request)
        response = await self._send_with_header(header, connection, request)
        if response.status_code != _UNAUTHORIZED_STATUS:
            return response
        await response.aclose()
        new_header = await self._credentials.resolve_header(connection, refused_header=header)
        if new_header is not None and new_header != header:
            response = await self._send_with_header(new_header, connection, request)
            if response.status_code != _UNAUTHORIZED_STATUS:
                return response
            await response.aclose()
        raise CredentialUnavailable(
            f"the server does not take the credential {_describe_credential(connection)} (HTTP 401)"
        )

    async def _send_with_header(
        self, header: CredentialHeader, connection: Connection, request: httpx2.Request
    ) -> httpx2.Response:
        """Raises ``CredentialUnavailable`` for another origin than the connection's."""
        if parse_origin(str(request.url)) != parse_origin(connection.url):
            raise CredentialUnavailable(
                f"the credential {_describe_credential(connection)} goes to its connection's own origin alone"
            )
        request.headers[header.header] = header.value
        return await self._transport.handle_async_request(request)


def _describe_credential(connection: Connection) -> str:
    return str(connection.credential.reference) if connection.credential else "of no connection"


def parse_origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL; a missing port becomes the scheme's default."""
    split = urlsplit(url)
    return split.scheme.lower(), (split.hostname or "").lower(), split.port or _DEFAULT_PORTS.get(split.scheme.lower())


def convert_to_port_error(error: Exception, prefix: str = "") -> ToolUnreachable | ToolSilent:
    """The port's error for one of ``TRANSPORT_ERRORS``. ``prefix``: how the sentence of a ``ToolSilent`` begins."""
    words = str(error) or type(error).__name__
    if isinstance(error, _NEVER_CONNECTED_ERRORS):
        return ToolUnreachable(f"no connection: {words}")
    return ToolSilent(f"{prefix}the connection failed: {words}")


class HttpToolServers(ToolServers, Generic[T]):
    """Tool servers over one shared pool of connections; an async context manager. It repeats no call, follows no
    redirect and keeps no cookie. ``_discovered``: what each server was last found to offer, by ``server_key``.
    """

    def __init__(
        self, guard: AddressGuard | None = None, credentials: Credentials | None = None, tracer: Tracer = NO_TRACER
    ) -> None:
        """``guard`` decides which addresses may be connected to; None permits all."""
        self._tracer, self._http = tracer, ServerHttp(credentials or NoCredentials(), guard)
        self._discovered = LruCache[str, T](MOST_SERVERS_CACHED)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()


def refuse_compressed(response: httpx2.Response, prefix: str = "") -> None:
    """Raises ``ToolSilent`` for a compressed answer, whose real size the received bytes would not bound."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ToolSilent(f"{prefix}the server compressed its answer, unasked")


async def read_bounded_parts(response: httpx2.Response, prefix: str = "") -> AsyncIterator[bytes]:
    """Yields the parts of the response body; raises ``AnswerTooLarge`` once they exceed the size limit."""
    size = 0
    async for chunk in cast("httpx2.AsyncByteStream", response.stream):
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise AnswerTooLarge(f"{prefix}the answer is larger than {MAX_ANSWER_BYTES:,} bytes")
        yield chunk
