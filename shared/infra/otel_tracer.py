"""The ``Tracer`` port on OpenTelemetry's SDK, loaded only by a process that traces.

The current span is in our own context variable, so that no library adds spans to a task's trace.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache

from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from structlog.contextvars import bound_contextvars
from typing_extensions import override

from shared.domain.redaction import HIDDEN_VALUES, redact_text
from shared.domain.span_names import ERROR_TYPE
from shared.domain.version import VERSION
from shared.ports.tracing import Attribute, Span, SpanKind, Tracer

_OTEL_KINDS: Mapping[SpanKind, otel.SpanKind] = {kind: otel.SpanKind[kind.name] for kind in SpanKind}
_PROPAGATOR = TraceContextTextMapPropagator()
_NOT_ERRORS = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
_current_span: ContextVar[otel.Span] = ContextVar("current_span", default=otel.INVALID_SPAN)


class OtelSpan(Span):
    def __init__(self, span: otel.Span) -> None:
        self._span = span

    @property
    def is_recording(self) -> bool:
        return self._span.is_recording()

    def annotate(self, attributes: Mapping[str, Attribute]) -> None:
        self._span.set_attributes({name: _redact_value(value) for name, value in attributes.items()})

    def add_event(self, name: str) -> None:
        self._span.add_event(name)

    def rename(self, name: str) -> None:
        self._span.update_name(_redact_attribute(name))

    def record_failure(self, kind: str) -> None:
        self._span.set_attribute(ERROR_TYPE, kind)
        self._span.set_status(otel.StatusCode.ERROR)


class OtelTracer(Tracer):
    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("purple-agent", VERSION)

    @property
    def is_on(self) -> bool:
        return True

    def open_span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[OtelSpan]:
        return self._open_otel_span(name, kind, _current_span.get(), ())

    def continue_trace(
        self, name: str, kind: SpanKind, parent: str | None, link: str | None = None
    ) -> AbstractContextManager[OtelSpan]:
        link_context = _parse_parent_span(link).get_span_context()
        links = (otel.Link(link_context),) if link_context.is_valid else ()
        return self._open_otel_span(name, kind, _parse_parent_span(parent), links)

    def current_span(self) -> OtelSpan:
        return OtelSpan(_current_span.get())

    def traceparent(self) -> str | None:
        headers: dict[str, str] = {}
        _PROPAGATOR.inject(headers, otel.set_span_in_context(_current_span.get(), Context()))
        return headers.get("traceparent")

    @contextmanager
    def _open_otel_span(
        self, name: str, kind: SpanKind, parent: otel.Span, links: tuple[otel.Link, ...]
    ) -> Iterator[OtelSpan]:
        parent_context = otel.set_span_in_context(parent, Context())
        span = self._tracer.start_span(_redact_attribute(name), parent_context, _OTEL_KINDS[kind], links=links)
        span_context = span.get_span_context()
        own_span = OtelSpan(span)
        token = _current_span.set(span)
        ids = {
            "trace_id": otel.format_trace_id(span_context.trace_id),
            "span_id": otel.format_span_id(span_context.span_id),
        }
        try:
            with bound_contextvars(**ids):
                yield own_span
        except _NOT_ERRORS:
            raise
        except BaseException as error:
            own_span.record_failure(type(error).__name__)
            raise
        finally:
            _current_span.reset(token)
            span.end()


def _redact_value(value: Attribute) -> Attribute:
    """The value as it may appear in a trace, with protected values removed from texts (I12)."""
    if isinstance(value, str):
        return _redact_attribute(value)
    return value if isinstance(value, bool | int | float) else tuple(_redact_attribute(text) for text in value)


def _redact_attribute(text: str) -> str:
    return redact_text(text, hidden) if (hidden := HIDDEN_VALUES.get()) else _redact_cached(text)


_redact_cached = lru_cache(maxsize=4_096)(redact_text)  # the same few names, over and over


def _parse_parent_span(traceparent: str | None) -> otel.Span:
    """The span that a ``traceparent`` names; an invalid span if it is malformed (W3C Trace Context, section 3.2)."""
    return otel.get_current_span(_PROPAGATOR.extract({"traceparent": traceparent or ""}, Context()))


_TIMEOUT_SECONDS = 5.0  # for a batch, its repetitions among them


class OtlpExporter(OTLPSpanExporter):
    """The SDK's OTLP exporter, which is shut down once, although both the SDK and we ask for it."""

    _has_ended = False

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint=endpoint, timeout=_TIMEOUT_SECONDS)

    @override
    def shutdown(self) -> None:
        """Ends the exporter. Spans that it has not sent by now are lost."""
        if not self._has_ended:
            self._has_ended = True
            super().shutdown()  # type: ignore[no-untyped-call]  # it has no types
