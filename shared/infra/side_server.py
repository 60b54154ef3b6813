"""An HTTP server for health and readiness, next to a process's main work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from shared.ports.store import StoreUnavailable

_STORE_TIMEOUT_SECONDS = 2.0


class ServerWithoutSignals(uvicorn.Server):
    """A uvicorn server that handles no signals: set ``should_exit`` to end it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_side_server(app: ASGIApp, host: str, port: int) -> ServerWithoutSignals:
    return ServerWithoutSignals(
        uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="off")
    )


@asynccontextmanager
async def run_side_server(app: ASGIApp, host: str, port: int) -> AsyncIterator[None]:
    """Serves ``app`` on its own port while the context lasts; does nothing if ``port`` is 0."""
    if not port:
        yield
        return
    server = make_side_server(app, host, port)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        try:
            yield
        finally:
            server.should_exit = True


def build_health_app(
    describe: Callable[[], Mapping[str, JsonValue]],
    why_not_ready: Callable[[], str],
    ping_store: Callable[[], Awaitable[None]],
    extra_routes: Sequence[Route] = (),
) -> Starlette:
    """``/health`` says that the process runs, and what ``describe`` returns; ``/ready`` that it can work.

    ``why_not_ready``: empty if the process itself is ready. ``ping_store`` raises ``StoreUnavailable`` unless the store
    answers and takes writes.
    """

    async def answer_health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", **describe()})

    async def answer_ready(_: Request) -> JSONResponse:
        if reason := why_not_ready() or await _why_store_unusable(ping_store):
            return JSONResponse({"status": "not ready", "reason": reason}, 503)
        return JSONResponse({"status": "ready"})

    # nobody reads a description of these: FastAPI alone would take a twentieth of a start
    return Starlette(routes=[Route("/health", answer_health), Route("/ready", answer_ready), *extra_routes])


async def _why_store_unusable(ping_store: Callable[[], Awaitable[None]]) -> str:
    try:
        async with asyncio.timeout(_STORE_TIMEOUT_SECONDS):
            await ping_store()
    except (StoreUnavailable, TimeoutError) as error:
        return f"the state store cannot be used: {str(error) or 'no answer in time'}"
    return ""
