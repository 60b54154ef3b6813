"""The learner's health pages: ``/health`` says that it runs and what it has done, ``/ready`` that it can learn."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import JsonValue

from services.learner.core.learner import Learner
from services.learner.entrypoints.loops import SeedingStatus
from shared.domain import metric_names as names
from shared.infra.metrics import GaugeReading, Metrics, MetricsPage, metrics_route
from shared.ports.store import StoreUnavailable

_STORE_SECONDS = 2.0


MemoryStatus = Callable[[], dict[str, JsonValue]]  # what this process has remembered, found and forgotten


def health_app(
    ping: Callable[[], Awaitable[None]],
    learner: Learner,
    seeding: SeedingStatus,
    memory: MemoryStatus,
    metrics: MetricsPage | None = None,
) -> FastAPI:
    """``ping`` raises ``StoreUnavailable`` unless the store answers and takes writes."""
    app = FastAPI(title="Purple Agent learner", docs_url=None, redoc_url=None)

    @app.get("/health")
    async def health() -> dict[str, JsonValue]:
        counts = learner.counts
        done: dict[str, JsonValue] = {"learned": counts.learned, "known": counts.known, "dead": counts.dead}
        own: dict[str, JsonValue] = {"partitions": len(learner.partitions), **done, "training": seeding.as_json()}
        own["memory"] = memory()
        return {"status": "ok", "service": "learner", **own}

    @app.get("/ready")
    async def ready() -> JSONResponse:
        problem = await _readiness_problem(ping, learner)
        if problem:
            return JSONResponse({"status": "not ready", "reason": problem}, 503)
        return JSONResponse({"status": "ready"})

    if metrics:
        app.router.routes.append(metrics_route(metrics))
    return app


async def _readiness_problem(ping: Callable[[], Awaitable[None]], learner: Learner) -> str | None:
    if not learner.shared.is_set():
        return "it does not know yet which outcomes to read"
    try:
        async with asyncio.timeout(_STORE_SECONDS):
            await ping()
    except (StoreUnavailable, TimeoutError) as error:
        return f"Redis does not answer: {error}"
    return None


class LearnerGauges(GaugeReading):
    """Sets the learner's metrics at a scrape; counters grow by what its counts grew by since the last one."""

    def __init__(self, learner: Learner, memory: MemoryStatus) -> None:
        self._learner, self._memory = learner, memory
        self._told: dict[str, int] = {}

    async def set_gauges(self, metrics: Metrics) -> None:
        metrics.set_gauge(names.LEARNER_PARTITIONS, len(self._learner.partitions))
        counts = self._learner.counts
        for result in ("learned", "known", "dead"):
            metrics.add(names.OUTCOMES_APPLIED, self._growth_of(result, getattr(counts, result)), result=result)
        for what, count in _list_figures(self._memory()):
            metrics.add(names.FACTS_FOUND, self._growth_of(f"memory {what}", count), what=what)

    def _growth_of(self, name: str, count: int) -> int:
        before, self._told[name] = self._told.get(name, 0), count
        return max(0, count - before)


def _list_figures(told: Mapping[str, JsonValue], stem: str = "") -> Iterator[tuple[str, int]]:
    for name, value in told.items():
        if isinstance(value, dict):
            yield from _list_figures(value, f"{stem}{name}_")
        elif isinstance(value, int):
            yield f"{stem}{name}", value
