"""An ASGI application whose log lines carry the id of the request they belong to."""

import logging
import re
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from random import getrandbits
from time import perf_counter

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import STRUCTLOG_KEY_PREFIX

from shared.infra.counted_app import route_of

_HEADER = b"x-request-id"
_USABLE = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_PROBES = frozenset({"/health", "/ready"})

_REQUEST: ContextVar[str] = ContextVar(f"{STRUCTLOG_KEY_PREFIX}request")  # as ``bind_contextvars`` would name it

log = structlog.get_logger()


class LoggedApp:
    """Gives each request an id, its caller's ``X-Request-Id`` if usable, and logs its answer.

    The answer carries the id too. It is logged at DEBUG, or at WARNING where the fault is ours, without path, query or
    address.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._tells_all = app, log.is_enabled_for(logging.DEBUG)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _PROBES:
            return await self._app(scope, receive, send)
        request_id, began, status = _request_id(scope), perf_counter(), [500]
        bound = _REQUEST.set(request_id)
        try:
            await self._app(scope, receive, _marking(send, request_id, status))
        finally:
            if status[0] >= 500 or self._tells_all:
                say = log.warning if status[0] >= 500 else log.debug
                took = round((perf_counter() - began) * 1000, 1)
                say("request", method=scope["method"], route=route_of(scope), status=status[0], ms=took)
            _REQUEST.reset(bound)
        return None


def _marking(send: Send, request_id: str, status: list[int]) -> Callable[[Message], Awaitable[None]]:
    async def marking(message: Message) -> None:
        if message["type"] == "http.response.start":
            status[0] = int(message["status"])
            message["headers"] = [*message.get("headers", ()), (_HEADER, request_id.encode())]
        await send(message)

    return marking


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == _HEADER and _USABLE.fullmatch(value):
            return bytes(value).decode()
    return f"{getrandbits(128):032x}"
