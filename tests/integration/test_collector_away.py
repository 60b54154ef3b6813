"""A collector that is down, hangs or refuses: nobody who works notices."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic

import pytest

from shared.infra.service_settings import TracingSettings
from shared.infra.tracing import tracing
from shared.ports.tracing import Tracer
from tests.doubles.otlp_receiver import receiving

Collector = Callable[[], AbstractContextManager[str]]
_SPANS = 2_500  # more than the queue holds
_FLUSH_SECONDS = 0.2
_SPARE_SECONDS = 10.0  # on a busy machine; the SDK by itself would wait for 30


def _settings(url: str) -> TracingSettings:
    return TracingSettings(otel_exporter_otlp_endpoint=url)


def _work(tracer: Tracer) -> None:
    for number in range(_SPANS):
        with tracer.span("work") as span:
            span.note({"purple.number": number})


@contextmanager
def _nobody() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def _silent() -> Iterator[str]:
    """Connections are taken by the system; nobody ever answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.promise("trace.collector_away")
@pytest.mark.parametrize("collector", [_nobody, _silent])
def test_work_goes_on_and_ends_in_time(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    """The queue is bounded, each kind of trouble is told once, and the end waits for a bounded time."""
    before = set(threading.enumerate())
    with collector() as url, caplog.at_level(logging.WARNING):
        with tracing(_settings(url), "gateway", _FLUSH_SECONDS) as tracer:
            _work(tracer)
            began = monotonic()
        ended = monotonic()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)  # nobody is to be at work in other tests
    said = [record.msg for record in caplog.records]
    assert ended - began < _FLUSH_SECONDS + _SPARE_SECONDS
    assert len(said) == len(set(said))


@pytest.mark.promise("trace.one_tree")
def test_what_was_recorded_last_is_handed_over_at_the_end() -> None:
    with receiving() as receiver:
        with tracing(_settings(receiver.url), "gateway") as tracer, tracer.span("last"):
            pass
        (span,) = receiver.spans
    assert (span.service, span.name) == ("purple-gateway", "last")
