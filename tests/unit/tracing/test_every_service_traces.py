"""Every service has OpenTelemetry's variables, and only a planner of our own is told of traces unasked."""

from pathlib import Path

import pytest

import services
from cli.stack.plan import StackOptions, StackPorts, plan_stack
from shared.infra.service_settings import TracingSettings
from tests.deployment.dockerfile import settings_of

_SERVICES = sorted(path.parent.name for path in Path(services.__path__[0]).glob("*/settings.py"))


@pytest.mark.promise("trace.standard_variables")
@pytest.mark.parametrize("name", _SERVICES)
def test_a_service_reads_opentelemetrys_variables(name: str) -> None:
    assert issubclass(settings_of(f"services.{name}"), TracingSettings)


@pytest.mark.promise("trace.told_to_whom_asks")
@pytest.mark.parametrize(("environ", "told"), [({}, "true"), ({"ANTHROPIC_API_KEY": "a-key"}, None)])
def test_the_launcher_lets_its_own_planner_take_part_and_no_other_model(
    environ: dict[str, str], told: str | None, tmp_path: Path
) -> None:
    options = StackOptions(tmp_path, environ)
    specs = plan_stack(options, StackPorts.from_free(tuple(range(1, 1 + StackPorts.count_needed(1)))), "redis://x")
    (executor,) = (spec for spec in specs if spec.name == "executor-1")
    assert executor.environ.get("TRACEPARENT_TO_MODEL") == told
