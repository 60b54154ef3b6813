"""The HTTP line of the MCP SDK under guard; ``shared.infra.guarded_http`` does the same for ``httpx``."""

import socket
import ssl

import httpx2
from aiohttp.abc import AbstractResolver, ResolveResult
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
        """Nothing is held."""
