"""Serving an application as what a process is for: until it is told to stop, then finishing what it has begun."""

import signal

import uvicorn
from starlette.types import ASGIApp

from shared.infra.process import tune_gc

GRACE_SECONDS = 10


def serve_until_stopped(app: ASGIApp, host: str, port: int) -> None:
    """Returns after SIGTERM or SIGINT, when the requests in hand are answered or the grace is over."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # whom to believe about the client's address is for the application to say
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    # uvicorn raises the signal again once it has stopped: by then there is nothing left to end.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, lambda *_: None)
    tune_gc()
    uvicorn.Server(config).run()
