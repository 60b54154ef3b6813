"""Health of a learner: ``/health`` says that it lives and what it has done, ``/ready`` that it learns."""

import asyncio
from typing import Protocol

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import JsonValue

from services.learner.core.learner import Learner
from services.learner.entrypoints.seeding_loop import SeedingStatus
from shared.infra.metrics_page import MetricsPage, metrics_route
from shared.ports.store import StoreUnavailable

_STORE_SECONDS = 2.0


class LearnerReadiness(Protocol):
    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless the store answers and takes writes."""
        ...


class Remembering(Protocol):
    def status(self) -> dict[str, JsonValue]:
        """What this process has remembered, found and forgotten since it started."""
        ...


def health_app(
    store: LearnerReadiness,
    learner: Learner,
    seeding: SeedingStatus,
    memory: Remembering,
    metrics: MetricsPage | None = None,
) -> FastAPI:
    app = FastAPI(title="Purple Agent learner", docs_url=None, redoc_url=None)

    @app.get("/health")
    async def health() -> dict[str, JsonValue]:
        counts = learner.counts
        done: dict[str, JsonValue] = {"learned": counts.learned, "known": counts.known, "dead": counts.dead}
        own: dict[str, JsonValue] = {"partitions": len(learner.held), **done, "training": seeding.as_json()}
        own["memory"] = memory.status()
        return {"status": "ok", "service": "learner", **own}

    @app.get("/ready")
    async def ready() -> JSONResponse:
        problem = await _problem(store, learner)
        if problem:
            return JSONResponse({"status": "not ready", "reason": problem}, 503)
        return JSONResponse({"status": "ready"})

    if metrics:
        app.router.routes.append(metrics_route(metrics))
    return app


async def _problem(store: LearnerReadiness, learner: Learner) -> str | None:
    if not learner.shared.is_set():
        return "it does not know yet which outcomes to read"
    try:
        async with asyncio.timeout(_STORE_SECONDS):
            await store.ping()
    except (StoreUnavailable, TimeoutError) as error:
        return f"Redis does not answer: {error}"
    return None
