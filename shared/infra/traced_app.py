"""ASGI middleware that opens a span for each request, as a child of its caller's."""

from collections.abc import MutableMapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.domain import span_names as names
from shared.infra.counted_app import KNOWN_METHODS, PROBE_PATHS
from shared.ports.tracing import Span, SpanKind, Tracer


def trace_requests(app: ASGIApp, tracer: Tracer) -> ASGIApp:
    """The application with a span for each request except probes; unchanged if tracing is off."""
    return TracedApp(app, tracer) if tracer.is_on else app


class TracedApp:
    """Opens a span for each request of the application inside it.

    The span ends with the response, that of a stream with the stream.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBE_PATHS:
            return await self._app(scope, receive, send)
        method = str(scope["method"]) if scope["method"] in KNOWN_METHODS else "HTTP"  # not one that a caller made up
        with self._tracer.continue_trace(method, SpanKind.SERVER, _read_traceparent(scope)) as span:
            span.annotate({names.HTTP_METHOD: method, names.URL_SCHEME: str(scope.get("scheme", "http"))})

            async def send_and_annotate(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = int(message["status"])
                    span.annotate({names.HTTP_STATUS: status})
                    if status >= 500:
                        span.record_failure(str(status))
                await send(message)

            try:
                await self._app(scope, receive, send_and_annotate)
            finally:
                _put_route_on_span(span, method, scope)


def _read_traceparent(scope: Scope) -> str | None:
    """The caller's ``traceparent`` header; None if there is none or more than one (W3C Trace Context, section 3.2)."""
    headers = [value for name, value in scope["headers"] if name == b"traceparent"]
    return headers[0].decode("latin-1").strip() if len(headers) == 1 else None


def _put_route_on_span(span: Span, method: str, scope: MutableMapping[str, object]) -> None:
    """Puts the route's pattern on the span. Never the path, which contains ids and whatever a caller writes there."""
    pattern = getattr(scope.get("route"), "path", None)
    if isinstance(pattern, str) and pattern:
        span.annotate({names.HTTP_ROUTE: pattern})
        span.rename(f"{method} {pattern}")
