"""An HTTP server for health and readiness, next to a process's main work."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp


class QuietServer(uvicorn.Server):
    """A uvicorn server that handles no signals: set ``should_exit`` to end it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_side_server(app: ASGIApp, host: str, port: int) -> QuietServer:
    return QuietServer(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="off"))


@asynccontextmanager
async def serve_beside(app: ASGIApp, host: str, port: int) -> AsyncIterator[None]:
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
