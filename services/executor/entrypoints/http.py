"""The executor's health pages: ``/health`` says that it runs, ``/ready`` that it can work."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from services.executor.core.turn.reaper import FaultCounts
from services.executor.core.turn.runner import Runner
from shared.domain import metric_names as names
from shared.infra.metrics import GaugeReading, Metrics, MetricsPage, metrics_route
from shared.ports.store import StoreUnavailable

_STORE_SECONDS = 2.0


class HasCircuitCounts(Protocol):
    @property
    def circuit_counts(self) -> Mapping[str, int]: ...


def health_app(
    ping_store: Callable[[], Awaitable[None]],
    runner: Runner,
    mended: FaultCounts,
    count_behind: Callable[[], int],
    servers: HasCircuitCounts | None = None,
    metrics: MetricsPage | None = None,
) -> Starlette:
    async def health(_: Request) -> JSONResponse:
        """``mended``: repaired faults by kind; ``outcomes_behind``: outcomes not learned yet; ``tool_servers``: servers
        by state of their circuit breakers.
        """
        work = {"sessions": runner.running_count, "free": runner.free_capacity, "outcomes_behind": count_behind()}
        standing = {"tool_servers": dict(servers.circuit_counts)} if servers else {}
        return JSONResponse({"status": "ok", **work, "mended": dict(mended.counts), **standing})

    async def ready(_: Request) -> JSONResponse:
        if runner.is_stopping:
            return JSONResponse({"status": "not ready", "reason": "the process stops and takes no more sessions"}, 503)
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await ping_store()
        except (StoreUnavailable, TimeoutError) as error:
            return JSONResponse(
                {"status": "not ready", "reason": f"the state store cannot be used: {error or 'no answer in time'}"},
                503,
            )
        return JSONResponse({"status": "ready"})

    # nobody reads a description of these: FastAPI alone would take a twentieth of the start
    counted = [metrics_route(metrics)] if metrics else []
    return Starlette(routes=[Route("/health", health), Route("/ready", ready), *counted])


class ExecutorGauges(GaugeReading):
    def __init__(self, runner: Runner, mended: FaultCounts, servers: HasCircuitCounts | None = None) -> None:
        self._runner, self._mended, self._servers = runner, mended, servers
        self._told: Mapping[str, int] = {}

    async def set_gauges(self, metrics: Metrics) -> None:
        metrics.set_gauge(names.EXECUTOR_SESSIONS, self._runner.running_count)
        metrics.set_gauge(names.EXECUTOR_FREE, self._runner.free_capacity)
        for fault, count in self._mended.counts.items():
            metrics.add(names.FAULTS_MENDED, count - self._told.get(fault, 0), fault=fault)
        self._told = dict(self._mended.counts)
        for state, count in (self._servers.circuit_counts if self._servers else {}).items():
            metrics.set_gauge(names.TOOL_CIRCUITS, count, state=state)
