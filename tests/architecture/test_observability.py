"""Rules and dashboards name only what the services show; every alert has its section; the page of metrics is true."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import cast

import pytest
import yaml

from cli.main import list_commands, load_command
from services.executor.adapters.resilience import CircuitState
from services.executor.ports.turns import RepairedFault
from shared.domain import words
from shared.domain.metric_names import BUILD, METRICS, Metric, MetricKind
from tests.deployment.dockerfile import ROOT, images
from tests.each_row import each_row
from tests.observability.metrics_page import PAGE, main
from tests.observability.queries import (
    grouped_by,
    is_of_the_process,
    labels_of,
    metric_of,
    parsed,
    sample_names,
    selected,
)
from tests.observability.rule_files import (
    DASHBOARDS,
    FOLDER,
    Document,
    alerts,
    dashboard,
    dashboard_queries,
    panels,
    recorded,
    rule_queries,
)

QUERIES = [*rule_queries(), *dashboard_queries()]
ALERTS = alerts()
RECORDED = recorded()
SERVICES = frozenset(images()) | {"planner"}
PROMTOOL = shutil.which("promtool")
_FIXED: tuple[type[StrEnum], ...] = (
    words.TaskState,
    words.TurnPhase,
    words.Strategy,
    words.WriteStatus,
    RepairedFault,
    CircuitState,
)
_WORDS = frozenset(word.value for kind in _FIXED for word in kind)
_NAMED = re.compile(r"`purple ([a-z][a-z -]*)")
_ALERTS_PAGE = (ROOT / "docs" / "alerts.md").read_text()


@pytest.mark.promise("alerts.real_metrics")
def test_every_query_parses_and_names_only_metrics_labels_and_words_that_there_are() -> None:
    assert [f"{query.place}: {problem}" for query in QUERIES for problem in _problems(query.expression)] == []


def _problems(expression: str) -> Iterator[str]:
    parsed(expression)
    known: set[str] = set()
    for one in selected(expression):
        labels, metric = labels_of(one.metric, RECORDED), metric_of(one.metric)
        if labels is None:
            yield f"{one.metric} is no metric"
        known |= labels or set()
        yield from (f"{one.metric} has no label {label}" for label in one.labels - (labels or set()))
        wrong = [pair for pair in one.values if metric and not _is_said(metric, *pair)]
        yield from (f"{one.metric} has no {label} {word}" for label, word in wrong)
    yield from (f"nothing in it has a label {label}" for label in grouped_by(expression) - known)


def _is_said(metric: Metric, label: str, word: str) -> bool:
    """Whether it is one of the values that the label can have: of a fixed set, or told in the metric's own words."""
    if label == "service":
        return word in SERVICES
    return word.isdigit() or word in _WORDS or re.search(rf"\b{re.escape(word)}\b", metric.help) is not None


@pytest.mark.promise("alerts.real_metrics")
@each_row(
    "wrong",
    "purple_sessions_waitng",
    'purple_writes_total{status="verified"}',
    'purple_writes_total{proof="verfied"}',
    "sum by (prof) (purple_writes_total)",
)
def test_a_metric_label_or_word_that_there_is_not_is_found(wrong: str) -> None:
    assert len([*_problems(wrong)]) == 1


@pytest.mark.promise("alerts.page")
def test_every_alert_says_how_bad_it_is_and_leads_to_its_section() -> None:
    for alert in ALERTS:
        assert alert.severity in ("critical", "warning"), alert.name
        assert re.fullmatch(r"\d+[mh]", alert.waits), alert.name
        assert alert.annotations["summary"].endswith("."), alert.name
        assert alert.annotations["runbook"] == f"docs/alerts.md#{alert.name.lower()}"


@pytest.mark.promise("alerts.page")
def test_every_section_is_about_an_alert_and_every_command_in_it_exists() -> None:
    commands = {name: load_command(name, entry) for name, entry in list_commands().items()}
    sections = re.findall(r"^### (\w+)$", _ALERTS_PAGE, re.MULTILINE)

    assert sections == [alert.name for alert in ALERTS]
    assert [said for said in _NAMED.findall(_ALERTS_PAGE) if not _is_command(commands, said.split())] == []


def _is_command(commands: Mapping[str, object], said: list[str]) -> bool:
    """Whether the words are a command; what follows one that has no further commands are its arguments."""
    if not said or not commands:
        return not commands or not said
    return said[0] in commands and _is_command(getattr(commands[said[0]], "commands", {}), said[1:])


@pytest.mark.promise("metrics.documented")
def test_the_page_of_metrics_is_what_the_module_says(tmp_path: Path) -> None:
    assert main(["--check"]) == 0
    assert main([], tmp_path / "metrics.md") == 0
    assert (tmp_path / "metrics.md").read_text() == PAGE.read_text()
    assert main(["--check"], tmp_path / "none.md") == 1


@pytest.mark.promise("metrics.documented")
def test_names_and_labels_follow_prometheus_and_name_nobody() -> None:
    """Counters end in ``_total``; no label is an id."""
    assert [metric.name for metric in METRICS if not re.fullmatch(r"purple_[a-z_]+", metric.name)] == []
    assert [one.name for one in METRICS if one.name.endswith("_total") is not (one.kind is MetricKind.COUNTER)] == []
    assert {label for metric in METRICS for label in metric.labels} & {
        "task",
        "session",
        "tenant",
        "principal",
    } == set()
    assert len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.mark.promise("metrics.documented")
def test_every_metric_is_used_by_a_rule_or_shown_on_a_dashboard() -> None:
    """What nobody looks at need not be counted."""
    used = {one.metric for query in QUERIES for one in selected(query.expression)}
    unused = [metric.name for metric in METRICS if not used.intersection(sample_names(metric))]

    assert unused == []


@pytest.mark.promise("dashboards.whole")
@each_row("path", DASHBOARDS)
def test_a_dashboard_can_be_provisioned_and_each_panel_explains_itself(path: Path) -> None:
    found, shown = dashboard(path), panels(path)
    source = yaml.safe_load((FOLDER / "grafana/provisioning/datasources/prometheus.yaml").read_text())
    uids = {one["uid"] for one in source["datasources"]}

    assert found["uid"] == path.stem
    assert [panel["title"] for panel in shown if not (panel["description"] and _unit(panel))] == []
    assert {cast(Document, panel["datasource"])["uid"] for panel in shown} <= uids
    assert not _overlapping(shown)
    assert {query.place.partition(": ")[2] for query in dashboard_queries()} >= {panel["title"] for panel in shown}


def _unit(panel: Document) -> object:
    return cast("dict[str, Document]", panel["fieldConfig"])["defaults"].get("unit")


def _overlapping(shown: list[Document]) -> bool:
    cells: list[tuple[int, int]] = []
    for panel in shown:
        grid = cast("dict[str, int]", panel["gridPos"])
        cells += [(grid["x"] + x, grid["y"] + y) for x in range(grid["w"]) for y in range(grid["h"])]
    return len(cells) != len(set(cells)) or max(x for x, _ in cells) >= 24


@pytest.mark.promise("alerts.real_metrics")
def test_prometheus_asks_every_service_on_the_port_where_it_shows_its_metrics() -> None:
    jobs = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    asked = {job["job_name"]: job["dns_sd_configs"][0] for job in jobs if "dns_sd_configs" in job}
    exposed = {name: images()[name].exposed for name in asked if name != "gateway"}

    assert {name: one["port"] for name, one in asked.items() if name != "gateway"} == exposed
    assert asked["gateway"]["port"] not in {image.exposed for image in images().values()}
    assert {name: one["names"] for name, one in asked.items()} == {name: [name] for name in asked}


@pytest.mark.promise("alerts.real_metrics")
def test_absent_services_are_told_by_the_metric_that_all_of_them_show() -> None:
    queries = [query.expression for query in rule_queries() if query.expression.startswith("absent(")]
    watched = {word for query in queries for one in selected(query) for _, word in one.values}

    assert watched == {"gateway", "executor", "policy", "learner"}
    assert BUILD.labels == ("version", "service")
    assert is_of_the_process("process_open_fds")


@pytest.mark.promise("alerts.evaluated")
@pytest.mark.skipif(
    PROMTOOL is None, reason="no promtool (Debian package: prometheus): rules are parsed, not evaluated"
)
@pytest.mark.parametrize(
    "command",
    [
        ("check", "config", "prometheus.yml"),
        ("test", "rules", "rule_tests.yml"),
        ("test", "rules", "rule_tests_slow.yml"),
    ],
    ids=" ".join,
)
def test_promtool_finds_the_rules_valid_and_alerts_fire_when_they_should(command: tuple[str, ...]) -> None:
    called = [str(PROMTOOL), *command]
    done = subprocess.run(called, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
