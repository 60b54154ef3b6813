"""Middleware that refuses request bodies which no answer could repeat: too large, NaN, lone surrogates, too deep."""

import json
import math
from collections.abc import Iterable
from typing import TypeAlias

from pydantic import JsonValue
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_DEPTH = 100
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"
_Container: TypeAlias = list[JsonValue] | dict[str, JsonValue]


class StrictBodies:
    """Reads a body as a whole before the application does; answers 413 or 400 if it cannot be used."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return await self._app(scope, receive, send)
        body = await _read_body(receive, self._limit)
        refusal = _refuse_body(body, self._limit)
        if refusal is not None or body is None:
            return await (refusal or _build_too_large_response(self._limit))(scope, receive, send)
        return await self._app(scope, _replay(body, receive), send)


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _build_too_large_response(limit: int) -> JSONResponse:
    return JSONResponse({"detail": f"the body is larger than {limit} bytes"}, 413)


def _refuse_body(body: bytes | None, limit: int) -> JSONResponse | None:
    if body is None:
        return _build_too_large_response(limit)
    try:
        check_body(body)
    except ValueError as error:
        return JSONResponse({"detail": f"the body cannot be used: {error}"}, 400)
    return None


def check_body(body: bytes) -> None:
    """Raises ``ValueError`` for JSON that no answer could repeat; text that is not JSON is left to the framework."""
    try:
        value: JsonValue = json.loads(body, parse_float=_parse_finite, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        return
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    if b"\\u" in body:
        json.dumps(value, ensure_ascii=False).encode()


def _is_too_deep(value: JsonValue) -> bool:
    level = _containers([value])
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers(_items(outer))]
    return bool(level)


def _items(value: _Container) -> Iterable[JsonValue]:
    return value.values() if isinstance(value, dict) else value


def _containers(values: Iterable[JsonValue]) -> list[_Container]:
    return [value for value in values if isinstance(value, dict | list)]


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no number that can be kept")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
