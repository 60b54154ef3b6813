"""Without a collector: nothing is loaded, nothing is made, and what cannot be used is refused by name."""

import subprocess
import sys

import pytest
from starlette.applications import Starlette

from shared.infra.service_settings import TracingSettings
from shared.infra.starting import CannotStart, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import tracing
from shared.ports.tracing import NO_TRACER, SpanKind

_AT = "http://collector:4318"
_LOADED = """
import sys
import services.executor.__main__, services.policy.__main__
from shared.infra.tracing import tracing
from shared.infra.service_settings import TracingSettings
with tracing(TracingSettings(), "gateway") as tracer:
    assert not tracer.is_on
of_the_sdk = ("opentelemetry.sdk", "opentelemetry.exporter")
sys.stdout.write(" ".join(name for name in sys.modules if name.startswith(of_the_sdk)))
"""


@pytest.mark.promise("trace.off_costs_nothing")
def test_without_a_collector_nothing_of_the_sdk_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""


@pytest.mark.promise("trace.off_costs_nothing")
def test_without_a_collector_there_is_one_span_and_the_application_is_itself() -> None:
    app = Starlette()
    spans = [NO_TRACER.span("a"), NO_TRACER.continue_trace("b", SpanKind.SERVER, None), NO_TRACER.current_span()]
    assert all(span is spans[0] for span in spans)
    assert trace_requests(app, NO_TRACER) is app
    assert NO_TRACER.traceparent() is None


@pytest.mark.promise("trace.standard_variables")
@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ({}, ""),
        ({"otel_exporter_otlp_endpoint": _AT}, f"{_AT}/v1/traces"),
        ({"otel_exporter_otlp_endpoint": f"{_AT}/"}, f"{_AT}/v1/traces"),
        ({"otel_exporter_otlp_endpoint": _AT, "otel_exporter_otlp_traces_endpoint": "http://t/x"}, "http://t/x"),
        ({"otel_exporter_otlp_endpoint": _AT, "otel_sdk_disabled": True}, ""),
        ({"otel_exporter_otlp_endpoint": _AT, "otel_traces_exporter": "none"}, ""),
        ({"otel_exporter_otlp_endpoint": "", "otel_traces_sampler": "", "otel_sdk_disabled": ""}, ""),
    ],
)
def test_where_spans_go_is_said_as_everywhere(given: dict[str, object], endpoint: str) -> None:
    assert TracingSettings.model_validate(given).traces_endpoint == endpoint


@pytest.mark.promise("trace.standard_variables")
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("otel_exporter_otlp_endpoint", "collector:4318"),
        ("otel_exporter_otlp_endpoint", "http://user:word@collector"),
        ("otel_traces_sampler", "sometimes"),
    ],
)
def test_a_variable_that_cannot_be_used_stops_the_start_by_its_name(variable: str, value: str) -> None:
    with pytest.raises(CannotStart, match=variable.upper()) as refused:
        read_settings(TracingSettings, **{variable: value})
    assert "word" not in str(refused.value)


def test_an_error_of_the_process_passes_through() -> None:
    with pytest.raises(RuntimeError, match="ours"), tracing(TracingSettings(), "gateway"):
        raise RuntimeError("ours")
