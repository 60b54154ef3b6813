"""The executor's health pages: ``/health`` says that it runs, ``/ready`` that it can work."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from pydantic import JsonValue
from starlette.applications import Starlette

from services.executor.core.turn.fault_counts import FaultCounts
from services.executor.core.turn.runner import Runner
from shared.domain import metric_names as names
from shared.infra import side_server
from shared.infra.metrics import GaugeReader, Metrics, MetricsPage, make_metrics_route


class CircuitCountSource(Protocol):
    @property
    def circuit_counts(self) -> Mapping[str, int]: ...


def health_app(
    ping_store: Callable[[], Awaitable[None]],
    runner: Runner,
    fault_counts: FaultCounts,
    count_behind: Callable[[], int],
    servers: CircuitCountSource | None = None,
    metrics: MetricsPage | None = None,
) -> Starlette:
    """The app with the paths for health and metrics.

    ``fault_counts``: repaired faults by kind; ``count_behind``: outcomes not learned yet; ``servers``: tool servers by
    state of their circuit breakers.
    """

    def describe_health() -> dict[str, JsonValue]:
        work = {"sessions": runner.running_count, "free": runner.free_capacity, "outcomes_behind": count_behind()}
        circuits: dict[str, JsonValue] = {"tool_servers": {**servers.circuit_counts}} if servers else {}
        return {**work, "mended": {**fault_counts.counts}, **circuits}

    def why_not_ready() -> str:
        return "the process stops and takes no more sessions" if runner.is_stopping else ""

    return side_server.health_app(
        describe_health, why_not_ready, ping_store, [make_metrics_route(metrics)] if metrics else []
    )


class ExecutorGauges(GaugeReader):
    def __init__(self, runner: Runner, servers: CircuitCountSource | None) -> None:
        self._runner, self._servers = runner, servers

    async def set_gauges(self, metrics: Metrics) -> None:
        metrics.set_gauge(names.EXECUTOR_SESSIONS, self._runner.running_count)
        metrics.set_gauge(names.EXECUTOR_FREE, self._runner.free_capacity)
        for state, count in (self._servers.circuit_counts if self._servers else {}).items():
            metrics.set_gauge(names.TOOL_CIRCUITS, count, state=state)
