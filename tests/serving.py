"""An application served inside a test's own event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from shared.infra.main_server import KEEP_ALIVE_SECONDS

_PATIENCE = 10.0
_GRACE = 1.0  # for what still runs when a server is stopped


class _Server(uvicorn.Server):
    """One of several servers in one process: signals are the test run's own."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serving = asyncio.Event()
        self._told_to_stop = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._told_to_stop.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told_to_stop.wait()  # the base class looks ten times a second instead

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As the base class, which looks ten times a second and first waits a tenth whatever there is to wait for."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in [*self.server_state.connections]:
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(0.002)  # between two looks
        for task in self.server_state.tasks:
            task.cancel()
        await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def listening(port: int = 0) -> Iterator[tuple[socket.socket, str]]:
    """A socket on loopback and its URL, for an application that must know its address before it is built."""
    # asyncio turns Nagle's delay off only for sockets that name their protocol; create_server's do not, and then
    # every answer takes 45 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        yield listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def serving_on(listener: socket.socket, app: ASGIApp) -> AsyncIterator[None]:
    """Answer on a socket from the first line of the context to its last; what still runs then gets a second."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, ws="none", timeout_keep_alive=KEEP_ALIVE_SECONDS
    )  # as the services: a proxy's idle connection that is closed under a request fails it
    server = _Server(config)
    task = asyncio.create_task(server.serve([listener]))  # a group would wrap the test's own errors
    try:
        async with asyncio.timeout(_PATIENCE):
            await server.serving.wait()
        yield
    finally:
        server.stop()
        await asyncio.wait_for(task, _PATIENCE)


@asynccontextmanager
async def serving(app: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """The URL of an application that is up."""
    with listening(port) as (listener, url):
        async with serving_on(listener, app):
            yield url
