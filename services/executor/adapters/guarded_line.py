"""The HTTP line of the MCP SDK under guard; ``shared.infra.guarded_http`` does the same for ``httpx``."""

import ssl

import httpx2
from typing_extensions import override

from shared.domain.outgoing import Refused, Target
from shared.infra.guard import Guard
from shared.infra.http11_transport import HeldConnection, Http11Transport, HttpOrigin, Keeping, Open

_SCHEME = "https"  # a connection knows no scheme, and none of the rules at this place asks for it


class GuardedTransport2(Http11Transport):
    """Connects where the guard permits; a refusal is a ``ConnectError`` that may be shown to anybody."""

    def __init__(self, guard: Guard, keeping: Keeping | None = None, tls: ssl.SSLContext | None = None) -> None:
        async def connect(origin: HttpOrigin, seconds: float | None, open_at: Open) -> HeldConnection:
            return await guard.connect_to(Target(_SCHEME, origin.host, origin.port), seconds, open_at)

        super().__init__(keeping, connect, tls)
        self._guard = guard

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            self._guard.check(str(request.url))
            return await super().handle_async_request(request)
        except Refused as refused:
            raise httpx2.ConnectError(f"the URL {refused.message}", request=request) from refused
