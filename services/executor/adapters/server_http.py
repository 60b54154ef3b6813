"""HTTP with a tool server, whatever it speaks: a credential is shown only to its connection's origin, an answer is read
within bounds, and what goes wrong is the port's error.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Protocol, TypeVar, cast
from urllib.parse import urlsplit

import httpx2

from services.executor.ports.tools import (
    CredentialHeader,
    Credentials,
    CredentialUnavailable,
    ToolSilent,
    ToolUnreachable,
)
from shared.contracts.tenant import Connection
from shared.infra.aiohttp_transport import Keeping

MAX_ANSWER_BYTES = 1024 * 1024
CONNECT_SECONDS = 5.0
# A server closes a quiet connection after some seconds: ours are closed before, so that no write meets a dead one.
KEEPING = Keeping(most_connections=200, kept_seconds=2.0)
USER_AGENT = "purple-agent"
TRANSPORT_ERRORS = (CredentialUnavailable, httpx2.RequestError, httpx2.StreamError, OSError, TimeoutError)
_NEVER_CONNECTED = (
    CredentialUnavailable,
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
_REFUSED = 401
_PORTS = {"http": 80, "https": 443}


class _Request(Protocol):
    @property
    def headers(self) -> MutableMapping[str, str]: ...
    @property
    def url(self) -> object: ...


class _Response(Protocol):
    @property
    def status_code(self) -> int: ...

    async def aclose(self) -> None: ...


Q = TypeVar("Q", bound=_Request)
R = TypeVar("R", bound=_Response)


async def send_with_credential(
    credentials: Credentials, connection: Connection, request: Q, send: Callable[[Q], Awaitable[R]]
) -> R:
    """Sends a request with the connection's credential and returns the answer. Raises ``CredentialUnavailable``, also
    if the server refuses every one.

    A 401 says that nothing was done, so the request is sent once more if there is another credential by then.
    """
    header = await credentials.header_for(connection)
    if header is None:
        return await send(request)
    response = await _send_with_header(header, connection, request, send)
    if response.status_code != _REFUSED:
        return response
    await response.aclose()
    other = await credentials.header_for(connection, refused=header)
    if other is not None and other != header:
        response = await _send_with_header(other, connection, request, send)
        if response.status_code != _REFUSED:
            return response
        await response.aclose()
    raise CredentialUnavailable(f"the server does not take the credential {_name(connection)} (HTTP 401)")


async def _send_with_header(
    header: CredentialHeader, connection: Connection, request: Q, send: Callable[[Q], Awaitable[R]]
) -> R:
    if origin_of(str(request.url)) != origin_of(connection.url):
        raise CredentialUnavailable(f"the credential {_name(connection)} goes to its connection's own origin alone")
    request.headers[header.header] = header.value
    return await send(request)


def _name(connection: Connection) -> str:
    return str(connection.credential.reference) if connection.credential else "of no connection"


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL; the port is the scheme's if the URL has none."""
    parts = urlsplit(url)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower())


def port_error(error: Exception, what: str = "") -> ToolUnreachable | ToolSilent:
    """The port's error for one of ``TRANSPORT_ERRORS``. ``what`` was asked for, as the beginning of a sentence."""
    words = str(error) or type(error).__name__
    if isinstance(error, _NEVER_CONNECTED):
        return ToolUnreachable(f"no connection: {words}")
    return ToolSilent(f"{what}the connection failed: {words}")


def refuse_compressed(response: httpx2.Response, what: str = "") -> None:
    """Raises ``ToolSilent`` for an answer that is compressed: what is received is what is bounded."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ToolSilent(f"{what}the server compressed its answer, unasked")


async def limited_parts(response: httpx2.Response, what: str = "") -> AsyncIterator[bytes]:
    """The parts of an answer's body; raises ``ToolSilent`` once it is too long."""
    received = 0
    async for part in cast("httpx2.AsyncByteStream", response.stream):
        received += len(part)
        if received > MAX_ANSWER_BYTES:
            raise ToolSilent(f"{what}the answer is larger than {MAX_ANSWER_BYTES} bytes")
        yield part
