"""Sets up the tracing of a process: on if the operator names a collector, else the SDK is not even loaded."""

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from typing_extensions import override

from shared.domain.version import VERSION
from shared.infra.service_settings import TracingSettings
from shared.ports.tracing import NO_TRACER, Tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

FLUSH_SECONDS = 2.0  # at the end of a process, for what was not handed over yet
_SHUTDOWN_SECONDS = 0.2
_REPEAT_AFTER_SECONDS = 600.0
_EXPORT_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.sdk._shared_internal",
)


@contextmanager
def open_tracer(settings: TracingSettings, service: str, flush_seconds: float = FLUSH_SECONDS) -> Iterator[Tracer]:
    """Yields the process's tracer. A thread sends spans to the collector in batches.

    While the collector is unavailable, the oldest spans of a bounded queue are dropped and one line is logged. At the
    end the remaining spans are sent, for at most ``flush_seconds``.
    """
    if not settings.traces_endpoint:
        yield NO_TRACER
        return
    from shared.infra.otel_tracer import OtelTracer, OtlpExporter  # only a process that traces loads the SDK

    exporter = OtlpExporter(settings.traces_endpoint)
    provider = _build_tracer_provider(settings, service, exporter)
    try:
        yield OtelTracer(provider)
    finally:
        _flush_spans(provider, exporter, flush_seconds)


def _build_tracer_provider(settings: TracingSettings, service: str, exporter: "SpanExporter") -> "TracerProvider":
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    once_per_period = _RepeatedMessageFilter()
    for name in _EXPORT_LOGGERS:
        logging.getLogger(name).addFilter(once_per_period)
    of_process = {
        "service.name": settings.otel_service_name or f"purple-{service}",
        "service.namespace": "purple-agent",
        "service.version": VERSION,
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
    }
    provider = TracerProvider(resource=Resource.create(of_process), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=settings.otel_bsp_schedule_delay))
    return provider


def _flush_spans(provider: "TracerProvider", exporter: "SpanExporter", seconds: float) -> None:
    """Sends the spans that are left, for at most ``seconds``: the SDK itself would take half a minute."""
    leaving = threading.Thread(target=provider.shutdown, daemon=True)
    leaving.start()
    leaving.join(seconds)
    if leaving.is_alive():
        exporter.shutdown()  # it tries no further
        leaving.join(_SHUTDOWN_SECONDS)


class _RepeatedMessageFilter(logging.Filter):
    """A log filter that passes a message once in ten minutes, since each batch fails while the collector is away."""

    def __init__(self) -> None:
        super().__init__()
        self._said_at: dict[str, float] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        last_said = self._said_at.get(str(record.msg))
        if last_said is not None and record.created - last_said < _REPEAT_AFTER_SECONDS:
            return False
        self._said_at[str(record.msg)] = record.created
        return True
