"""An HTTP server beside other work: for health and readiness of a process whose work is something else."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp


class QuietServer(uvicorn.Server):
    """Whoever started it handles the signals; ``should_exit`` ends it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def side_server(app: ASGIApp, host: str, port: int) -> QuietServer:
    return QuietServer(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, lifespan="off"))
