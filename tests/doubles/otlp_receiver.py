"""A collector of traces: OTLP over HTTP on loopback, whose spans a test can read."""

import gzip
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from typing_extensions import override


class ReceivedSpan(NamedTuple):
    """One span as it came; ids in hex, ``parent_id`` empty for the first of a trace."""

    service: str
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: Mapping[str, str]
    events: Sequence[str]
    links: Sequence[str]
    failed: bool
    seconds: float


class OtlpReceiver:
    """``url`` is what ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set to; ``raw`` all that came, for searching in it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.raw = b""
        self.spans: tuple[ReceivedSpan, ...] = ()

    def take(self, body: bytes) -> None:
        self.raw += body
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        self.spans += tuple(_spans(request))

    def named(self, name: str) -> tuple[ReceivedSpan, ...]:
        return tuple(span for span in self.spans if span.name == name)

    def trace(self, trace_id: str) -> tuple[ReceivedSpan, ...]:
        return tuple(span for span in self.spans if span.trace_id == trace_id)


@contextmanager
def receiving() -> Iterator[OtlpReceiver]:
    """A receiver on a free port of loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    receiver = OtlpReceiver(f"http://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = _handler(receiver)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(receiver: OtlpReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.take(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        @override
        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler


def _spans(request: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    for group in request.resource_spans:
        service = _plain(group.resource.attributes)["service.name"]
        for scope in group.scope_spans:
            for span in scope.spans:
                yield _span(service, span)


def _span(service: str, span: WireSpan) -> ReceivedSpan:
    return ReceivedSpan(
        service,
        span.name,
        WireSpan.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        _plain(span.attributes),
        tuple(event.name for event in span.events),
        tuple(link.trace_id.hex() for link in span.links),
        span.status.code == 2,
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )


def _plain(attributes: Sequence[KeyValue]) -> dict[str, str]:
    return {attribute.key: _text(attribute.value) for attribute in attributes}


def _text(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return ",".join(_text(one) for one in value.array_value.values)
    return str(getattr(value, kind or "string_value"))
