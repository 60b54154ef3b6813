"""Spans to a collector, by OTLP over HTTP. Only a process that traces loads this module."""

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from typing_extensions import override

_SECONDS = 5.0  # for a batch, its repetitions among them


class OtlpSpans(SpanExporter):
    """The SDK's exporter, which may be told to end while it tries a batch again, and then once more by the SDK."""

    def __init__(self, endpoint: str) -> None:
        self._exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_SECONDS)
        self._has_ended = False

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export(spans)

    @override
    def shutdown(self) -> None:
        """What is not handed over by now is lost."""
        if not self._has_ended:
            self._has_ended = True
            self._exporter.shutdown()  # type: ignore[no-untyped-call]  # it has no types
