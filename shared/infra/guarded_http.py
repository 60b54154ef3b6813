"""An ``httpx`` client for addresses from outside, which connects only where the guard permits."""

import ssl
from collections.abc import Iterable

import httpcore
import httpx
from httpcore import SOCKET_OPTION
from typing_extensions import override

from shared.domain.outgoing import AddressRefused, OutgoingRule, Target
from shared.infra.guard import ASSUMED_SCHEME, AddressGuard
from shared.infra.tls import load_client_tls_context

_LIMITS = httpx.Limits(max_connections=100, keepalive_expiry=2.0)


class RefusedConnection(httpx.ConnectError):
    """The guard refused the connection. ``rule``: the broken rule; ``str()`` may be shown to anybody."""

    def __init__(self, refused: AddressRefused, request: httpx.Request) -> None:
        super().__init__(f"the URL {refused.message}", request=request)
        self.rule: OutgoingRule = refused.rule


def make_guarded_client(
    guard: AddressGuard, timeout: httpx.Timeout, limits: httpx.Limits = _LIMITS, tls: ssl.SSLContext | None = None
) -> httpx.AsyncClient:
    """An HTTP client that connects only where the guard permits.

    It uses no proxy, follows no redirects, and never retries.

    If a single request asks for redirects, each address is checked like the first.
    """
    transport = GuardedTransport(guard, limits, tls)
    return httpx.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False)


class GuardedTransport(httpx.AsyncHTTPTransport):
    def __init__(self, guard: AddressGuard, limits: httpx.Limits, tls: ssl.SSLContext | None = None) -> None:
        tls = tls or load_client_tls_context()
        super().__init__(verify=tls, limits=limits, retries=0)
        self._guard = guard
        if not isinstance(self._pool, httpcore.AsyncConnectionPool):
            raise TypeError("httpx keeps its connections elsewhere than this guard knows")
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_GuardedBackend(guard),
        )

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            self._guard.refuse_forbidden_url(str(request.url))
            return await super().handle_async_request(request)
        except AddressRefused as refused:
            raise RefusedConnection(refused, request) from refused


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects only where the guard permits. Unix sockets are refused, as in the base class."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard, self._plain = guard, httpcore.AnyIOBackend()

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        async def connect(address: str, seconds: float) -> httpcore.AsyncNetworkStream:
            return await self._plain.connect_tcp(address, port, seconds, local_address, socket_options)

        try:
            return await self._guard.connect_to(Target(ASSUMED_SCHEME, host, port), timeout, connect)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("no connection in time") from error

    @override
    async def sleep(self, seconds: float) -> None:
        await self._plain.sleep(seconds)
