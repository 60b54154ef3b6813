"""An HTTP server beside other work: for health and readiness of a process whose work is something else."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp


class QuietServer(uvicorn.Server):
    """Whoever started it handles the signals; ``should_exit`` ends it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def side_server(app: ASGIApp, host: str, port: int) -> QuietServer:
    return QuietServer(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="off"))


@asynccontextmanager
async def serve_beside(app: ASGIApp, host: str, port: int) -> AsyncIterator[None]:
    """Serve it on a port of its own meanwhile; 0: not at all."""
    if not port:
        yield
        return
    server = side_server(app, host, port)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        try:
            yield
        finally:
            server.should_exit = True
