"""The real tracer, whose spans are kept for a test to look at instead of being sent."""

from typing import NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id

from shared.infra.otel_tracer import OtelTracer


class KeptSpan(NamedTuple):
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str  # empty for the first of a trace
    attributes: dict[str, object]
    events: tuple[str, ...]
    links: tuple[str, ...]  # span ids
    failed: bool


class KeptSpans:
    """``all`` are those that have ended, in the order in which they did."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = OtelTracer(provider)

    @property
    def all(self) -> tuple[KeptSpan, ...]:
        return tuple(_kept(span) for span in self._exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.all]

    def named(self, name: str) -> KeptSpan:
        """The one of that name."""
        (found,) = (span for span in self.all if span.name == name)
        return found

    def said(self) -> str:
        """All that was recorded, for searching in it."""
        return " ".join(span.to_json() for span in self._exporter.get_finished_spans())


def _kept(span: ReadableSpan) -> KeptSpan:
    return KeptSpan(
        span.name,
        span.kind.name.lower(),
        format_trace_id(span.context.trace_id),
        format_span_id(span.context.span_id),
        format_span_id(span.parent.span_id) if span.parent else "",
        dict(span.attributes or {}),
        tuple(event.name for event in span.events),
        tuple(format_span_id(link.context.span_id) for link in span.links),
        span.status.is_ok is False,
    )
