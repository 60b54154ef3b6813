"""Servers that answer MCP's handshake well and then misbehave on one method."""

import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

Sabotage: TypeAlias = Callable[[Request, JsonValue], Awaitable[Response]]


class Saboteur:
    """ASGI middleware: requests of one JSON-RPC method get a bad answer, and are counted; others pass."""

    def __init__(self, app: ASGIApp, method: str, sabotage: Sabotage) -> None:
        self._app = app
        self._method = method
        self._sabotage = sabotage
        self.seen = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        message = json.loads(body) if body else {}
        if message.get("method") != self._method:
            await self._app(scope, again(body, receive), send)
            return
        self.seen += 1
        await (await self._sabotage(request, message["id"]))(scope, receive, send)


class NoModernMcp:
    """ASGI middleware: a server of the generation before, which knows only the initialize handshake."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Request(scope).headers.get("mcp-protocol-version", "").startswith("2026"):
            await Response("unknown protocol version", status_code=400)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def result(answer: dict[str, JsonValue]) -> Sabotage:
    """A well-formed JSON-RPC answer with this result."""

    async def respond(_: Request, key: JsonValue) -> Response:
        return JSONResponse({"jsonrpc": "2.0", "id": key, "result": answer})

    return respond


def error(code: int) -> Sabotage:
    """A JSON-RPC error."""

    async def respond(_: Request, key: JsonValue) -> Response:
        return JSONResponse({"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": "it broke"}})

    return respond


def raw(body: str, status: int = 200, **headers: str) -> Sabotage:
    """Exactly this HTTP answer; underscores in header names stand for dashes."""

    async def respond(_: Request, __: JsonValue) -> Response:
        return Response(body, status, {name.replace("_", "-"): value for name, value in headers.items()})

    return respond


def again(body: bytes, receive: Receive) -> Receive:
    """A channel that gives the request's body once more, and then what ``receive`` gives."""
    replayed = False

    async def replay() -> dict[str, object]:
        nonlocal replayed
        if replayed:
            return dict(await receive())
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
