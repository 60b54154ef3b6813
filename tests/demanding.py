"""Servers that want to know who calls: a tool server that demands a header, and an OAuth token endpoint."""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote_plus

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from examples.company.faults import ToolFaults
from examples.company.protocols import ToolProtocol
from examples.company.server import build_app
from services.executor.adapters.credentials import open_credentials
from services.executor.adapters.tool_servers import open_servers
from services.executor.ports.tools import ToolServers
from shared.contracts.tenant import Connection
from shared.domain.outgoing import AllowedAddresses, addresses_for_tools
from tests.company_stage import open_books
from tests.serving import serving

OPEN: AllowedAddresses = addresses_for_tools((), permits_loopback=True)


class Demanding:
    """Lets in who shows the header with the value that counts now, and notes what everybody showed."""

    def __init__(self, app: ASGIApp, header: str, value: str) -> None:
        self._app, self._header = app, header.lower()
        self.value = value
        self.shown: list[str | None] = []

    @property
    def accepted(self) -> int:
        return self.shown.count(self.value)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        self.shown.append(given := Headers(scope=scope).get(self._header))
        if given == self.value:
            return await self._app(scope, receive, send)
        said = {"error": "invalid_token", "you_sent": given}  # as careless servers do
        return await JSONResponse(said, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)


class Guarded(NamedTuple):
    url: str
    door: Demanding

    def connection(self, **credential: str) -> Connection:
        given = {"id": "erp", "url": self.url, "credential": credential or None}
        return Connection.model_validate(given)


@asynccontextmanager
async def guarded_company(
    folder: Path, protocol: ToolProtocol, value: str, header: str = "authorization"
) -> AsyncIterator[Guarded]:
    """The example company, which serves only who shows that."""
    door = Demanding(
        build_app(open_books(folder), ToolFaults({}), faults_may_change=False, protocol=protocol), header, value
    )
    async with serving(door) as url:
        yield Guarded(url, door)


class TokenServer:
    """A token endpoint; it notes its requests. ``grants`` makes each token, and ``life`` is what it says of it."""

    def __init__(self, client_id: str, secret: str, grants: Callable[[int], str], life: object = 3600) -> None:
        self.client_id, self.secret, self.life = client_id, secret, life
        self._grants = grants
        self.forms: list[dict[str, str]] = []
        self.failing: Response | None = None
        self.app = Starlette(routes=[Route("/token", self._token, methods=["POST"])])

    async def _token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self.forms.append(form)
        if self.failing is not None:
            return self.failing
        if (form.get("client_id"), form.get("client_secret")) != (self.client_id, self.secret) and _basic(
            request.headers.get("authorization", "")
        ) != (self.client_id, self.secret):
            return JSONResponse({"error": "invalid_client", "error_description": str(form)}, 401)
        token = self._grants(len(self.forms))
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": self.life})


def _basic(header: str) -> tuple[str, str] | None:
    kind, _, rest = header.partition(" ")
    if kind.lower() != "basic":
        return None
    name, _, secret = base64.b64decode(rest).decode().partition(":")
    return unquote_plus(name), unquote_plus(secret)


@asynccontextmanager
async def showing(folder: Path) -> AsyncIterator[ToolServers]:
    """Tool servers as the executor has them, with the secrets of that folder."""
    async with open_credentials(folder) as credentials, open_servers(OPEN, credentials) as servers:
        yield servers
