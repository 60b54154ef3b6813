"""What an executor knows of itself, told when somebody asks for its metrics."""

from collections.abc import Mapping

from typing_extensions import override

from services.executor.entrypoints.http import Busy, Circuits, Faults
from shared.domain import metric_names as names
from shared.infra.metrics import Metrics
from shared.infra.metrics_page import Reading


class ExecutorGauges(Reading):
    def __init__(self, runner: Busy, mended: Faults, servers: Circuits | None = None) -> None:
        self._runner, self._mended, self._servers = runner, mended, servers
        self._told: Mapping[str, int] = {}

    @override
    async def read(self, metrics: Metrics) -> None:
        metrics.put(names.EXECUTOR_SESSIONS, self._runner.running)
        metrics.put(names.EXECUTOR_FREE, self._runner.free)
        for fault, count in self._mended.counts.items():
            metrics.add(names.FAULTS_MENDED, count - self._told.get(fault, 0), fault=fault)
        self._told = dict(self._mended.counts)
        for state, count in (self._servers.circuits if self._servers else {}).items():
            metrics.put(names.TOOL_CIRCUITS, count, state=state)
