"""An ``httpx2`` transport on one ``aiohttp.ClientSession``, which is certain whether a request was sent.

``httpx2.ConnectError`` and ``ConnectTimeout`` mean that no connection was made.
"""

import asyncio
import io
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import aiohttp
import httpx2
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.http import HttpProcessingError
from typing_extensions import override
from yarl import URL

from shared.domain.outgoing import AddressRefused, Target
from shared.infra.guard import ASSUMED_SCHEME, AddressGuard
from shared.infra.tls import load_client_tls_context

_MOST_HEAD_BYTES = 64 * 1024  # of each line of an answer's head
_MOST_BYTES_AT_ONCE = 1024 * 1024  # of a body: a longer one is written in parts
_SKIPPED_AUTO_HEADERS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_NO_TIMEOUTS: dict[str, float | None] = {}


class PoolLimits(NamedTuple):
    """Limits of a connection pool: how many connections, and for how many seconds an idle one is kept."""

    most_connections: int = 1000
    kept_seconds: float = 5.0


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """An ``httpx2`` transport that sends requests with ``aiohttp``.

    It follows no redirect, stores no cookie, decompresses nothing, and uses no proxy. A POST is sent once; idempotent
    methods are repeated by ``aiohttp`` if the server had closed a kept connection.

    With a ``guard``, only permitted addresses are connected to; a refusal is a ``ConnectError`` whose message may be
    shown to anybody. An address in a URL is checked as text, the addresses of a name when a connection is made.
    """

    def __init__(
        self,
        limits: PoolLimits | None = None,
        guard: AddressGuard | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = limits or PoolLimits()
        self._guard = guard
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        timeouts = request.extensions.get("timeout", _NO_TIMEOUTS)
        connect, pool, write, read = (timeouts.get(name) for name in ("connect", "pool", "write", "read"))
        timeout = aiohttp.ClientTimeout(connect=_sum_if_all_known(pool, connect), sock_connect=connect, sock_read=read)
        session, encoding = self._session or self._open_session(), request.headers.encoding
        self._session = session
        for _ in range(2):  # so that the loop hears of kept connections which their servers have ended
            await asyncio.sleep(0)
        with _raise_httpx2_errors(request):
            if self._guard is not None:
                self._guard.refuse_forbidden_url(str(request.url))
            async with asyncio.timeout(_sum_if_all_known(pool, connect, write, read)):
                response = await session.request(
                    request.method,
                    URL(str(request.url), encoded=True),
                    headers=[(name.decode(encoding), value.decode(encoding)) for name, value in request.headers.raw],
                    data=io.BytesIO(body) if len(body) > _MOST_BYTES_AT_ONCE else body or None,
                    allow_redirects=False,
                    timeout=timeout,
                    server_hostname=request.extensions.get("sni_hostname"),
                )
        stream = _AnswerStream(response, request)
        return httpx2.Response(response.status, headers=list(response.raw_headers), stream=stream)

    @override
    async def aclose(self) -> None:
        """Closes all connections; a further request opens new ones."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._limits.most_connections,
            keepalive_timeout=self._limits.kept_seconds,
            resolver=_GuardedResolver(self._guard) if self._guard else None,
            use_dns_cache=self._guard is None,
            ssl=self._tls or load_client_tls_context(),
        )
        return aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_field_size=_MOST_HEAD_BYTES,
            max_line_size=_MOST_HEAD_BYTES,
            skip_auto_headers=_SKIPPED_AUTO_HEADERS,
        )


class _AnswerStream(httpx2.AsyncByteStream):
    """The body of a response as a stream. Closing it early closes the connection, too."""

    def __init__(self, response: aiohttp.ClientResponse, request: httpx2.Request) -> None:
        self._response, self._request = response, request

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _raise_httpx2_errors(self._request):
            async for part in self._response.content.iter_any():
                yield part

    @override
    async def aclose(self) -> None:
        self._response.close()


class _GuardedResolver(AbstractResolver):
    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._guard.resolve_permitted_addresses(Target(ASSUMED_SCHEME, host, port))
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    @override
    async def close(self) -> None:
        """Does nothing, since it has no resources."""


@contextmanager
def _raise_httpx2_errors(request: httpx2.Request) -> Iterator[None]:
    try:
        yield
    except AddressRefused as refused:
        raise httpx2.ConnectError(f"the URL {refused.message}", request=request) from refused
    except (aiohttp.ClientError, HttpProcessingError, TimeoutError) as error:
        kind = next(kind for caught, kind in _ERROR_TYPES if isinstance(error, caught))
        words = str(error).replace(" ssl:default", "")  # aiohttp says so of plain http, too
        raise kind(words or type(error).__name__, request=request) from error


_ERROR_TYPES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (TimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    ((aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError), httpx2.UnsupportedProtocol),
    ((aiohttp.ClientResponseError, HttpProcessingError), httpx2.RemoteProtocolError),
    (Exception, httpx2.ReadError),
)


def _sum_if_all_known(*seconds: float | None) -> float | None:
    known_seconds = [value for value in seconds if value is not None]
    return sum(known_seconds) if len(known_seconds) == len(seconds) else None
