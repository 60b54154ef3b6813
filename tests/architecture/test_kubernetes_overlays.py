"""What production adds: the load balancer's numbers fit the gateway's, and what scales has something to scale."""

import json
from pathlib import Path
from typing import cast

import pytest
from promql_parser import parse

from services.executor.settings import ExecutorSettings as ExecutorSettings
from services.gateway.edge.keep_alive import JSON_HEARTBEAT, SSE_HEARTBEAT
from services.gateway.settings import GatewaySettings as GatewaySettings
from shared.domain import metric_names
from shared.infra.main_server import KEEP_ALIVE_SECONDS
from tests.deployment import prometheus_rule
from tests.deployment.agreement import longest_stop
from tests.deployment.kustomize import BASE, LOCAL, PRODUCTION, Document, built
from tests.deployment.manifests import config_maps, environment, name_of, of_kind, pods, spec_of, workloads
from tests.each_row import each_row
from tests.observability.queries import sample_names

_ALB = "alb.ingress.kubernetes.io/"


def _ingress() -> Document:
    return of_kind(built(PRODUCTION), "Ingress")[0]


def _said() -> dict[str, str]:
    """What the load balancer is told, without the prefix."""
    told = cast(dict[str, dict[str, str]], _ingress()["metadata"])["annotations"]
    return {name.removeprefix(_ALB): value for name, value in told.items()}


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(","))


def _gateway() -> dict[str, str]:
    return environment(built(PRODUCTION), pods(built(PRODUCTION))["gateway"].container)


@pytest.mark.promise("deploy.balancer_fits")
def test_the_load_balancer_leads_to_the_gateway_over_https() -> None:
    said, spec = _said(), spec_of(_ingress())
    (rule,) = cast(list[dict[str, object]], spec["rules"])
    (path,) = cast(dict[str, list[dict[str, object]]], rule["http"])["paths"]

    assert path["backend"] == {"service": {"name": "gateway", "port": {"name": "http"}}}
    assert _gateway()["PURPLE_AGENT_CARD_URL"] == f"https://{rule['host']}/"
    assert (spec["ingressClassName"], said["target-type"], said["backend-protocol"]) == ("alb", "ip", "HTTP")
    assert (json.loads(said["listen-ports"]), said["ssl-redirect"]) == ([{"HTTP": 80}, {"HTTPS": 443}], "443")
    assert said["certificate-arn"].startswith("arn:aws:acm:")
    assert said["healthcheck-path"] == "/ready"


@pytest.mark.promise("deploy.balancer_fits")
def test_the_idle_time_lies_between_what_the_gateway_says_and_keeps() -> None:
    """Silent streams and blocking calls send something in time; connections between requests are closed by it."""
    idle = float(_pairs(_said()["load-balancer-attributes"])["idle_timeout.timeout_seconds"])

    assert 2 * max(SSE_HEARTBEAT[1], JSON_HEARTBEAT[1]) < idle < KEEP_ALIVE_SECONDS


@pytest.mark.promise("deploy.balancer_fits")
def test_any_replica_answers_so_none_is_stuck_to() -> None:
    assert _pairs(_said()["target-group-attributes"])["stickiness.enabled"] == "false"


@pytest.mark.promise("deploy.balancer_fits")
def test_a_gateway_serves_until_the_load_balancer_has_let_go_of_it() -> None:
    """The signal comes after ``preStop``: the balancer knows by then, and what was begun has its time."""
    said, pod = _said(), pods(built(PRODUCTION))["gateway"]
    noticed = int(said["healthcheck-interval-seconds"]) * (int(said["unhealthy-threshold-count"]) + 1)
    deregistered = int(_pairs(said["target-group-attributes"])["deregistration_delay.timeout_seconds"])
    serves = pod.container.lifecycle.pre_stop.sleep.seconds
    gone = serves + longest_stop(GatewaySettings, _gateway())

    assert noticed < serves
    assert deregistered < gone < pod.termination_grace_period_seconds
    assert int(said["healthcheck-timeout-seconds"]) < int(said["healthcheck-interval-seconds"])


@pytest.mark.promise("deploy.balancer_fits")
def test_new_gateways_count_only_once_the_load_balancer_sends_to_them() -> None:
    (namespace,) = of_kind(built(PRODUCTION), "Namespace")

    labels = cast(dict[str, dict[str, str]], namespace["metadata"])["labels"]
    assert labels["elbv2.k8s.aws/pod-readiness-gate-inject"] == "enabled"


@pytest.mark.promise("deploy.scales_on_work")
@each_row(("folder", "components"), [(PRODUCTION, ()), (BASE, ("hpa",)), (BASE, ("keda",)), (LOCAL, ("hpa",))])
def test_what_scales_and_what_guards_has_a_target(folder: str, components: tuple[str, ...]) -> None:
    documents = built(folder, *components)
    names = {name for name, workload in workloads(documents).items() if workload.kind == "Deployment"}
    scalers = [*of_kind(documents, "HorizontalPodAutoscaler"), *of_kind(documents, "ScaledObject")]
    scaled = [str(cast(Document, spec_of(found)["scaleTargetRef"])["name"]) for found in scalers]

    assert len(scaled) == len(set(scaled))
    assert set(scaled) <= names
    assert "executor" in scaled


@pytest.mark.promise("deploy.scales_on_work")
def test_executors_cannot_be_given_two_scalers() -> None:
    """Two would pull at the same number; kustomize refuses to build it."""
    with pytest.raises(AssertionError, match="replicas"):
        built(PRODUCTION, "hpa")


@pytest.mark.promise("deploy.manifests_valid")
@each_row("folder", [BASE, LOCAL, PRODUCTION])
def test_one_pod_of_each_kind_may_be_away_and_no_more(folder: str) -> None:
    """``maxUnavailable``: with a minimum instead, a node with the only pod of a kind could never be emptied."""
    documents = built(folder)
    budgets = {name_of(found): spec_of(found) for found in of_kind(documents, "PodDisruptionBudget")}

    assert budgets.keys() == pods(built(BASE)).keys()
    for name, spec in budgets.items():
        assert spec["maxUnavailable"] == 1, name
        assert cast(Document, spec["selector"])["matchLabels"] == workloads(documents)[name].selector


@pytest.mark.promise("deploy.manifests_valid")
def test_a_new_pod_is_there_before_an_old_one_leaves() -> None:
    for found in of_kind(built(PRODUCTION), "Deployment"):
        strategy = cast(Document, spec_of(found)["strategy"])
        assert strategy["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}, name_of(found)


@pytest.mark.promise("deploy.scales_on_work")
def test_executors_scale_on_metrics_that_exist_and_before_they_are_full() -> None:
    """With less room than the threshold, sessions would wait while nobody asks for another executor."""
    (scaler,) = of_kind(built(PRODUCTION), "ScaledObject")
    (trigger,) = [one for one in _triggers_of(scaler) if one["type"] == "prometheus"]
    told = cast(dict[str, str], trigger["metadata"])
    known = {series for metric in metric_names.METRICS for series in sample_names(metric)}
    named = {word for word in told["query"].replace("(", " ").replace(")", " ").split() if word.startswith("purple_")}

    parse(told["query"])
    assert named == {metric_names.SESSIONS_WAITING.name, metric_names.SESSIONS_HELD.name} <= known
    assert float(told["threshold"]) < ExecutorSettings.model_fields["executor_capacity"].default


@pytest.mark.promise("deploy.scales_on_work")
def test_a_figure_that_nobody_knows_scales_nothing() -> None:
    """While Redis is away the gauges are NaN, which scalers read as some number: a comparison leaves those out."""
    (scaler,) = of_kind(built(PRODUCTION), "ScaledObject")
    (trigger,) = [one for one in _triggers_of(scaler) if one["type"] == "prometheus"]
    told = cast(dict[str, str], trigger["metadata"])

    assert told["query"].count("purple_") == told["query"].count(" >= 0)")
    assert told["ignoreNullValues"] == "false"


@pytest.mark.promise("deploy.scales_on_work")
@each_row(("folder", "components"), [(PRODUCTION, ()), (BASE, ("hpa",))])
def test_cpu_scales_by_parts_of_the_one_core_that_a_process_can_use(folder: str, components: tuple[str, ...]) -> None:
    """Parts of what a pod requests would ask for another one at a few hundredths of a core."""
    documents = built(folder, *components)
    metrics = [one for found in of_kind(documents, "HorizontalPodAutoscaler") for one in _metrics_of(found)]
    targets = [cast(Document, one["resource"])["target"] for one in metrics if one["type"] == "Resource"]
    triggers = [one for found in of_kind(documents, "ScaledObject") for one in _triggers_of(found)]
    kinds = {str(cast(Document, target)["type"]) for target in targets}
    kinds |= {str(one["metricType"]) for one in triggers if one["type"] == "cpu"}

    assert kinds == {"AverageValue"}


def _metrics_of(scaler: Document) -> list[Document]:
    return cast(list[Document], spec_of(scaler)["metrics"])


def _triggers_of(scaler: Document) -> list[Document]:
    return cast(list[Document], spec_of(scaler)["triggers"])


@pytest.mark.promise("deploy.same_names")
def test_the_operators_rules_are_those_of_the_rule_files() -> None:
    """Else: ``python -m tests.deployment.prometheus_rule``."""
    assert prometheus_rule.main(["--check"]) == 0


@pytest.mark.promise("deploy.same_names")
def test_rules_that_say_something_else_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "rules.yaml"
    other.write_text(prometheus_rule.manifest().replace("critical", "warning"))

    assert prometheus_rule.main(["--check"], other) == 1
    assert "prometheus_rule" in capsys.readouterr().err
    assert prometheus_rule.main([], other) == prometheus_rule.main(["--check"], other) == 0


@pytest.mark.promise("deploy.same_names")
def test_the_pod_monitor_looks_where_metrics_are_shown() -> None:
    """Every service of an installation, on a port that its pod has."""
    documents = built(PRODUCTION, "monitoring")
    (monitor,) = of_kind(documents, "PodMonitor")
    (chosen,) = cast(dict[str, list[dict[str, list[str]]]], spec_of(monitor)["selector"])["matchExpressions"]
    named = {str(one["port"]) for one in cast(list[Document], spec_of(monitor)["podMetricsEndpoints"])}

    assert set(chosen["values"]) == pods(built(BASE)).keys()
    for name, pod in pods(documents).items():
        assert {port.name for port in pod.container.ports} <= named, name


@pytest.mark.promise("deploy.same_names")
def test_who_scrapes_by_notes_finds_the_same_ports() -> None:
    for name, workload in workloads(built(BASE)).items():
        ports = {port.name: str(port.container_port) for port in workload.pod.container.ports}
        assert workload.notes["prometheus.io/port"] == ports.get("metrics", ports["http"]), name


@pytest.mark.promise("deploy.same_names")
def test_production_says_everything_of_its_site_in_one_file() -> None:
    """No value is left that says only where the right one stands; the sheet itself is not sent."""
    documents = built(PRODUCTION)

    assert "site.env" not in json.dumps(documents)
    assert not any(name.startswith("site") for name in config_maps(documents))
    assert config_maps(documents)[_installation(documents)]["ARCHIVE_URL"].startswith("s3://")


def _installation(documents: tuple[Document, ...]) -> str:
    return next(name for name in config_maps(documents) if name.startswith("installation"))


@pytest.mark.promise("deploy.same_names")
def test_roles_of_the_cloud_belong_to_those_who_use_the_bucket() -> None:
    accounts = of_kind(built(PRODUCTION), "ServiceAccount")
    noted = {name_of(found): json.dumps(found["metadata"]) for found in accounts}

    with_role = {name for name, notes in noted.items() if '"eks.amazonaws.com/role-arn"' in notes}

    assert with_role == {"gateway", "executor", "learner"}
