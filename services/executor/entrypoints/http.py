"""Health of an executor: ``/health`` says that it lives, ``/ready`` that it can work."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from shared.ports.store import StoreUnavailable

_STORE_SECONDS = 2.0


class Store(Protocol):
    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless the store answers."""
        ...


class Busy(Protocol):
    @property
    def running(self) -> int: ...

    @property
    def free(self) -> int: ...

    @property
    def stopping(self) -> bool: ...


class Faults(Protocol):
    @property
    def counts(self) -> Mapping[str, int]: ...


class Behind(Protocol):
    outcomes_behind: int


def health_app(store: Store, runner: Busy, mended: Faults, upkeep: Behind) -> FastAPI:
    app = FastAPI(title="Purple Agent executor")

    @app.get("/health")
    async def health() -> dict[str, str | int | Mapping[str, int]]:
        """``mended``: faults that this process found, by kind; ``outcomes_behind``: ended tasks not learned from."""
        work: dict[str, str | int | Mapping[str, int]] = {"sessions": runner.running, "free": runner.free}
        return {"status": "ok", **work, "mended": mended.counts, "outcomes_behind": upkeep.outcomes_behind}

    @app.get("/ready")
    async def ready() -> JSONResponse:
        if runner.stopping:
            return JSONResponse({"status": "not ready", "reason": "the process stops and takes no more sessions"}, 503)
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await store.ping()
        except (StoreUnavailable, TimeoutError) as error:
            return JSONResponse({"status": "not ready", "reason": f"Redis does not answer: {error}"}, 503)
        return JSONResponse({"status": "ready"})

    return app
