"""The MCP SDK's HTTP stack under guard; ``shared.infra.guarded_http`` is its twin for ``httpx``."""

import ssl
from collections.abc import Iterable

import httpcore2
import httpx2
from httpcore2 import SOCKET_OPTION
from typing_extensions import override

from shared.domain.outgoing import Refused, Target
from shared.infra.guard import Guard

_SCHEME = "https"  # a connection knows no scheme, and none of the rules at this place asks for it


class GuardedTransport2(httpx2.AsyncHTTPTransport):
    """Connects where the guard permits; a refusal is a ``ConnectError`` that may be shown to anybody."""

    def __init__(self, guard: Guard, limits: httpx2.Limits, tls: ssl.SSLContext) -> None:
        super().__init__(verify=tls, limits=limits, retries=0, trust_env=False)
        self._guard = guard
        if not isinstance(self._pool, httpcore2.AsyncConnectionPool):
            raise TypeError("httpx2 keeps its connections elsewhere than this guard knows")
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_GuardedBackend(guard),
        )

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            self._guard.check(str(request.url))
            return await super().handle_async_request(request)
        except Refused as refused:
            raise httpx2.ConnectError(f"the URL {refused.message}", request=request) from refused


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects where the guard permits; Unix sockets it refuses, as the base class does."""

    def __init__(self, guard: Guard) -> None:
        self._guard, self._plain = guard, httpcore2.AnyIOBackend()

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        async def connect(address: str, seconds: float) -> httpcore2.AsyncNetworkStream:
            return await self._plain.connect_tcp(address, port, seconds, local_address, socket_options)

        try:
            return await self._guard.connect_to(Target(_SCHEME, host, port), timeout, connect)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("no connection in time") from error

    @override
    async def sleep(self, seconds: float) -> None:
        await self._plain.sleep(seconds)
