"""Health of an executor: ``/health`` says that it lives, ``/ready`` that it can work."""

import asyncio
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


def health_app(store: Store, runner: Busy) -> FastAPI:
    app = FastAPI(title="Purple Agent executor")

    @app.get("/health")
    async def health() -> dict[str, str | int]:
        return {"status": "ok", "sessions": runner.running, "free": runner.free}

    @app.get("/ready")
    async def ready() -> JSONResponse:
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await store.ping()
        except (StoreUnavailable, TimeoutError) as error:
            return JSONResponse({"status": "not ready", "reason": f"Redis does not answer: {error}"}, 503)
        return JSONResponse({"status": "ready"})

    return app
