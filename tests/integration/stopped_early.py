"""A process that is sent a signal between its server's making and its serving: ``NUMBER plain|linger``."""

import signal
import sys

from starlette.applications import Starlette

from cli.stack.plan import find_free_ports
from services.gateway.edge.keep_alive import ShutdownState
from shared.infra.main_server import make_stoppable_server, make_uvicorn_config

if __name__ == "__main__":
    number, manner = sys.argv[1:]
    (port,) = find_free_ports(1)
    hooks = ShutdownState(linger_seconds=0, grace_seconds=1) if manner == "linger" else None
    server = make_stoppable_server(make_uvicorn_config(Starlette(), "127.0.0.1", port, 1), hooks)
    signal.raise_signal(int(number))
    server.run()
