"""The application: A2A at the root, the card, health."""

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import TaskStore
from a2a.types.a2a_pb2 import AgentCard
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from services.assessor.entrypoints.executor import GreenAgentExecutor
from services.assessor.entrypoints.handler import CredentialRefusingHandler

Background = Callable[[], AbstractAsyncContextManager[None]]
_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


def build_application(
    card: AgentCard,
    executor: GreenAgentExecutor,
    tasks: TaskStore,
    background: Background,
    api_key: str = "",
    max_body_bytes: int = 1024 * 1024,
) -> ASGIApp:
    """The ASGI application. ``background``: entered while it runs; ``api_key``: callers must show it, unless empty."""
    handler = CredentialRefusingHandler(executor, tasks, card)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with background():
            yield
            await handler.aclose()

    routes = [
        *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
        *(route for path in _CARDS for route in create_agent_card_routes(card, card_url=path)),
        Route("/health", _health),
        Route("/ready", _health),
    ]
    return ApiKeyMiddleware(Starlette(routes=routes, lifespan=lifespan), api_key, max_body_bytes)


class ApiKeyMiddleware:
    """Lets in who shows the key, with a body that is not too large. Card and health are open."""

    def __init__(self, app: ASGIApp, api_key: str, max_body_bytes: int) -> None:
        self._app = app
        self._key = api_key
        self._most = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            request = Request(scope)
            if self._key and not self._shows_key(request):
                return await _error_response(401, "an API key is needed: X-API-Key")(scope, receive, send)
            length = request.headers.get("content-length", "")
            if not length.isdigit() or int(length) > self._most:
                message = f"a body needs its length, and at most {self._most} bytes"
                return await _error_response(413, message)(scope, receive, send)
        return await self._app(scope, receive, send)

    def _shows_key(self, request: Request) -> bool:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(key.encode(), self._key.encode())


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _error_response(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message}}, status)
