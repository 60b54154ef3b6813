"""A request that shows its credential, on either HTTP stack: to its connection's origin alone, anew after a 401."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

import httpx2
from typing_extensions import override

from services.executor.ports.credentials import CredentialHeader, Credentials, CredentialUnavailable
from shared.contracts.tenant import Connection

_REFUSED = 401
_PORTS = {"http": 80, "https": 443}


class _Request(Protocol):
    @property
    def headers(self) -> MutableMapping[str, str]: ...


class _Response(Protocol):
    @property
    def status_code(self) -> int: ...

    async def aclose(self) -> None: ...


R = TypeVar("R", bound=_Response)


async def send_with_credential(
    credentials: Credentials, connection: Connection, request: _Request, url: str, send: Callable[[], Awaitable[R]]
) -> R:
    """What the server answers; raises ``CredentialUnavailable``, also where it takes none of ours.

    A 401 says that nothing was done, so the request is sent once more if there is another credential by then.
    """
    badge = await credentials.badge(connection)
    if badge is None:
        return await send()
    response = await _send_with_badge(badge, connection, request, url, send)
    if response.status_code != _REFUSED:
        return response
    await response.aclose()
    other = await credentials.badge(connection, refused=badge)
    if other is not None and other != badge:
        response = await _send_with_badge(other, connection, request, url, send)
        if response.status_code != _REFUSED:
            return response
        await response.aclose()
    raise CredentialUnavailable(f"the server does not take the credential {_name(connection)} (HTTP 401)")


async def _send_with_badge(
    badge: CredentialHeader, connection: Connection, request: _Request, url: str, send: Callable[[], Awaitable[R]]
) -> R:
    if origin_of(url) != origin_of(connection.url):
        raise CredentialUnavailable(f"the credential {_name(connection)} goes to its connection's own origin alone")
    request.headers[badge.header] = badge.value
    return await send()


class NoBadge(httpx2.ConnectError):
    """As far as the server is concerned no connection was made."""


class ShowingLine(httpx2.AsyncBaseTransport):
    """The HTTP line to one MCP server, which is shown the connection's credential with each request."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, credentials: Credentials, connection: Connection) -> None:
        self._inner, self._credentials, self._connection = inner, credentials, connection

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        async def send() -> httpx2.Response:
            return await self._inner.handle_async_request(request)

        try:
            return await send_with_credential(self._credentials, self._connection, request, str(request.url), send)
        except CredentialUnavailable as error:
            raise NoBadge(str(error), request=request) from None

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


def _name(connection: Connection) -> str:
    return str(connection.credential.reference) if connection.credential else "of no connection"


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, the last also where the URL leaves it to the scheme."""
    parts = urlsplit(url)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower())
