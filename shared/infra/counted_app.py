"""ASGI middleware that counts requests, and that logs them with a request id."""

import logging
import re
from contextvars import ContextVar
from random import getrandbits
from time import perf_counter

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import STRUCTLOG_KEY_PREFIX

from shared.domain import metric_names as names
from shared.infra.metrics import METRICS_PATH, Metrics, MetricsPage
from shared.ports.meter import Meter

PROBE_PATHS = frozenset({"/health", "/ready", METRICS_PATH})
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_NO_ROUTE = "none"  # what was refused before a route was found, and what there is not


class CountedApp:
    """Counts the requests of the ASGI application inside it, except probes and scrapes.

    It must be the outermost layer. With a ``page`` it answers ``/metrics`` itself.
    """

    def __init__(self, app: ASGIApp, meter: Meter, page: MetricsPage | None = None) -> None:
        self._app = app
        self._meter = meter
        self._answer_counts = RequestCounts(meter)
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if scope["path"] == METRICS_PATH and self._page is not None:
            return await (await self._page.answer(Request(scope)))(scope, receive, send)
        if scope["path"] in PROBE_PATHS:
            return await self._app(scope, receive, send)
        return await self._count_request(scope, receive, send)

    async def _count_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Times the request until its response ends; a stream until its first byte, since its client ends it."""
        began = perf_counter()
        status = 500
        stream_began = 0.0

        async def send_and_time(message: Message) -> None:
            nonlocal status, stream_began
            if message["type"] == "http.response.start":
                status = int(message["status"])
                if _is_stream_start(message):
                    stream_began = perf_counter()
                    self._meter.add(names.HTTP_OPEN_STREAMS, 1)
            await send(message)

        self._answer_counts.change_open_count(1)
        try:
            await self._app(scope, receive, send_and_time)
        finally:
            self._answer_counts.change_open_count(-1)
            if stream_began:
                self._meter.add(names.HTTP_OPEN_STREAMS, -1)
            took = (stream_began or perf_counter()) - began
            self._answer_counts.count_answer(str(scope["method"]), _find_route(scope), status, took)


def count_requests(app: ASGIApp, service: str) -> CountedApp:
    """The application with counted requests, for a service without other metrics."""
    metrics = Metrics(service)
    return CountedApp(app, metrics, MetricsPage(metrics))


class RequestCounts:
    """Counts an application's requests and responses; responses by method, route and status."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def change_open_count(self, difference: int) -> None:
        self._meter.add(names.HTTP_OPEN_REQUESTS, difference)

    def count_answer(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts one response. ``seconds``: the time to its end, or to a stream's first byte."""
        known_method = method if method in KNOWN_METHODS else "OTHER"
        self._meter.add(names.HTTP_REQUESTS, route=route, method=known_method, code=str(status))
        self._meter.observe(names.HTTP_SECONDS, seconds, route=route)


def _find_route(scope: Scope) -> str:
    """The route's pattern, as a label. Never the path, which contains ids and whatever a caller writes there."""
    pattern = getattr(scope.get("route"), "path", None)
    return f"{scope.get('root_path', '')}{pattern}" if isinstance(pattern, str) else _NO_ROUTE


def _is_stream_start(start: Message) -> bool:
    content_types = (value for name, value in start.get("headers", ()) if bytes(name).lower() == b"content-type")
    return bytes(next(content_types, b"")).startswith(b"text/event-stream")


_REQUEST_ID_HEADER = b"x-request-id"
_REQUEST_ID_PATTERN = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_UNLOGGED_PATHS = frozenset({"/health", "/ready"})

_REQUEST_ID: ContextVar[str] = ContextVar(f"{STRUCTLOG_KEY_PREFIX}request")  # as ``bind_contextvars`` would name it

log = structlog.get_logger()


class LoggedApp:
    """Gives each request an id (the caller's ``X-Request-Id`` if usable), which the response carries, too.

    The response is logged at DEBUG, or at WARNING for a server error; without path, query or address.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._logs_all = app, log.is_enabled_for(logging.DEBUG)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _UNLOGGED_PATHS:
            return await self._app(scope, receive, send)
        request_id = _choose_request_id(scope)
        began = perf_counter()
        status = 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                message["headers"] = [*message.get("headers", ()), (_REQUEST_ID_HEADER, request_id.encode())]
            await send(message)

        bound = _REQUEST_ID.set(request_id)
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            if status >= 500 or self._logs_all:
                _log_response(scope, status, round((perf_counter() - began) * 1000, 1))
            _REQUEST_ID.reset(bound)
        return None


def _log_response(scope: Scope, status: int, ms: float) -> None:
    method, route = scope["method"], _find_route(scope)
    if status >= 500:
        log.warning("error_response_sent", method=method, route=route, status=status, ms=ms)
    else:
        log.debug("response_sent", method=method, route=route, status=status, ms=ms)


def _choose_request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == _REQUEST_ID_HEADER and _REQUEST_ID_PATTERN.fullmatch(value):
            return bytes(value).decode()
    return f"{getrandbits(128):032x}"
