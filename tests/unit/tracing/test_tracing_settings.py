"""Where spans go: nowhere without a collector, by the standard variables in every service, under documented names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette

import services
from cli.stack.plan import StackOptions, StackPorts, plan_stack
from shared.domain import span_names
from shared.infra.service_settings import TracingSettings
from shared.infra.starting import CannotStart, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import open_tracer
from shared.ports.tracing import NO_TRACER, SpanKind
from tests.deployment.dockerfile import settings_of
from tests.each_row import each_row

_AT = "http://collector:4318"
_LOADED = """
import sys
import services.executor.__main__, services.policy.__main__
from shared.infra.tracing import open_tracer
from shared.infra.service_settings import TracingSettings
with open_tracer(TracingSettings(), "gateway") as tracer:
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
    with NO_TRACER.open_span("a") as span, NO_TRACER.continue_trace("b", SpanKind.SERVER, None) as other:
        assert span is other is NO_TRACER.current_span()
    assert trace_requests(app, NO_TRACER) is app
    assert NO_TRACER.traceparent() is None


@pytest.mark.promise("trace.standard_variables")
@each_row(
    ("given", "endpoint"),
    ({}, ""),
    ({"otel_exporter_otlp_endpoint": _AT}, f"{_AT}/v1/traces"),
    ({"otel_exporter_otlp_endpoint": _AT, "otel_exporter_otlp_traces_endpoint": "http://t/x"}, "http://t/x"),
    ({"otel_exporter_otlp_endpoint": _AT, "otel_sdk_disabled": True}, ""),
    ({"otel_exporter_otlp_endpoint": _AT, "otel_traces_exporter": "none"}, ""),
    ({"otel_exporter_otlp_endpoint": "", "otel_traces_sampler": "", "otel_sdk_disabled": ""}, ""),
)
def test_where_spans_go_is_said_as_everywhere(given: dict[str, object], endpoint: str) -> None:
    assert TracingSettings.model_validate(given).traces_endpoint == endpoint


@pytest.mark.promise("trace.standard_variables")
@each_row(
    ("sampler", "argument"),
    [("parentbased_traceidratio", "1e-3"), ("traceidratio", "0."), ("traceidratio", " +0.5"), ("always_on", "7")],
)
def test_a_samplers_argument_is_read_as_opentelemetry_reads_it(sampler: str, argument: str) -> None:
    """As a number, and by a ratio sampler alone."""
    given = {"otel_traces_sampler": sampler, "otel_traces_sampler_arg": argument}
    assert TracingSettings.model_validate(given).otel_traces_sampler_arg == argument


@pytest.mark.promise("trace.standard_variables")
@each_row(
    ("variable", "value"),
    ("otel_exporter_otlp_endpoint", "collector:4318"),
    ("otel_exporter_otlp_endpoint", "http://user:word@collector"),
    ("otel_traces_sampler", "sometimes"),
)
def test_a_variable_that_cannot_be_used_stops_the_start_by_its_name(variable: str, value: str) -> None:
    with pytest.raises(CannotStart, match=variable.upper()) as refused:
        read_settings(TracingSettings, **{variable: value})
    assert "word" not in str(refused.value)


def test_an_error_of_the_process_passes_through() -> None:
    with pytest.raises(RuntimeError, match="ours"), open_tracer(TracingSettings(), "gateway"):
        raise RuntimeError("ours")


_SERVICES = sorted(path.parent.name for path in Path(services.__path__[0]).glob("*/settings.py"))


@pytest.mark.promise("trace.standard_variables")
@each_row("name", _SERVICES)
def test_a_service_reads_opentelemetrys_variables(name: str) -> None:
    assert issubclass(settings_of(f"services.{name}"), TracingSettings)


@pytest.mark.promise("trace.told_to_whom_asks")
@pytest.mark.parametrize(("environ", "told"), [({}, "true"), ({"ANTHROPIC_API_KEY": "a-key"}, None)])
def test_the_launcher_lets_its_own_planner_take_part_and_no_other_model(
    environ: dict[str, str], told: str | None, tmp_path: Path
) -> None:
    options = StackOptions(tmp_path, environ)
    specs = plan_stack(options, StackPorts.assign(tuple(range(1, 1 + StackPorts.count_needed(1)))), "redis://x")
    (executor,) = (spec for spec in specs if spec.name == "executor-1")
    assert executor.environ.get("TRACEPARENT_TO_MODEL") == told


_PAGE = (Path(__file__).parents[3] / "docs" / "tracing.md").read_text()
_NOT_SHOWN = {"CHAT_OPERATION", "TOOL_OPERATION"}  # the names of spans before it is known of what


def _names() -> dict[str, str]:
    said = vars(span_names).items()
    return {name: value for name, value in said if name.isupper() and isinstance(value, str) and name not in _NOT_SHOWN}


def _documented() -> set[str]:
    """What stands in backticks in the tables and in the line on events."""
    rows = [line for line in _PAGE.splitlines() if line.startswith(("| `", "Events"))]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.promise("trace.names")
def test_every_name_is_documented_nothing_else_is_and_no_two_are_the_same() -> None:
    assert set(_names().values()) - _documented() == set()
    prefixes = ("purple.", "gen_ai.", "http.", "url.", "error.")
    assert {name for name in _documented() if name.startswith(prefixes)} - set(_names().values()) == set()
    assert len(set(_names().values())) == len(_names())
