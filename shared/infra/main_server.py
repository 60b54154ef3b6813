"""Serves an application as a process's main work until SIGTERM or SIGINT, then finishes the requests in progress."""

import asyncio
import math
import signal
import socket
from types import FrameType
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from shared.infra.bounded_http import BoundedHttp
from shared.infra.process import freeze_startup_objects

GRACE_SECONDS = 10
# A balancer keeps its connections for a minute and may send a request just as we close one, which it then answers 502:
# so they are closed by the balancer, and not by us.
KEEP_ALIVE_SECONDS = 75
_MOST_WEBSOCKET_BYTES = 64 * 1024  # bytes of one message that comes in over a websocket
_MARGIN_SECONDS = 2.0  # before the grace is over: enough to send answers that are hurried


class ShutdownHooks(Protocol):
    """What an application does between the stop signal and its end.

    After the signal, requests are accepted for ``linger_seconds`` more; then those in progress have ``grace_seconds``.
    """

    linger_seconds: float
    grace_seconds: float

    def announce(self) -> None:
        """Called when the stop signal has come: tells load balancers, for example by readiness, to send no more
        requests.
        """

    def end_streams(self) -> None:
        """Ends requests that would not end by themselves, such as streams. No more requests are accepted by then."""

    def end_waits(self) -> None:
        """Answers waiting requests with what is there, since the grace time is nearly over."""


def serve_until_stopped(
    app: ASGIApp, host: str, port: int, hooks: ShutdownHooks | None = None, has_websockets: bool = False
) -> None:
    """Serves until SIGTERM or SIGINT; returns when the requests in progress are answered or the grace time is over.

    A second signal ends the lingering. WebSockets are off unless ``has_websockets`` is set.
    """
    grace = GRACE_SECONDS if hooks is None else math.ceil(hooks.grace_seconds)
    make_stoppable_server(make_uvicorn_config(app, host, port, grace, has_websockets), hooks).run()


def make_stoppable_server(config: uvicorn.Config, hooks: ShutdownHooks | None = None) -> uvicorn.Server:
    """A server that reacts to SIGTERM and SIGINT from now on, even before it runs.

    After it has stopped, uvicorn raises the signal again.
    """
    server = uvicorn.Server(config) if hooks is None else _LingeringServer(config, hooks)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    freeze_startup_objects()
    return server


def make_uvicorn_config(
    app: ASGIApp, host: str, port: int, grace_seconds: int, has_websockets: bool = False
) -> uvicorn.Config:
    """uvicorn's configuration for an application, with ``X-Forwarded-*`` left to whoever knows the trusted proxies."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedHttp,
        ws="websockets-sansio" if has_websockets else "none",
        ws_max_size=_MOST_WEBSOCKET_BYTES,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=grace_seconds,
    )


class _LingeringServer(uvicorn.Server):
    """A uvicorn server that accepts requests for a while after the stop signal, as ``ShutdownHooks`` says."""

    def __init__(self, config: uvicorn.Config, hooks: ShutdownHooks) -> None:
        super().__init__(config)
        self._hooks = hooks
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_announced = False

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is None or self._loop.is_closed() or self._is_announced:
            return super().handle_exit(sig, frame)
        self._is_announced = True
        self._loop.call_soon_threadsafe(self._linger_and_exit, self._loop, sig)
        return None

    def _linger_and_exit(self, loop: asyncio.AbstractEventLoop, sig: int) -> None:
        self._hooks.announce()
        loop.call_later(self._hooks.linger_seconds, super().handle_exit, sig, None)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hooks.end_streams()
        seconds_left = max(0.0, self._hooks.grace_seconds - _MARGIN_SECONDS)
        asyncio.get_running_loop().call_later(seconds_left, self._hooks.end_waits)
        await super().shutdown(sockets)
