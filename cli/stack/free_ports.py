"""Ports that nobody listens on right now."""

import socket
from contextlib import ExitStack

from cli.stack.plan import HOST


def free_ports(count: int) -> tuple[int, ...]:
    """Different free ports; all are held until the last is found, so none comes twice."""
    with ExitStack() as held:
        return tuple(_bind(held.enter_context(socket.socket()), 0) for _ in range(count))


def is_free(port: int, host: str = HOST) -> bool:
    """Whether a server could listen there; a port that only waits out old connections counts as free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            _bind(probe, port, host)
        except OSError:
            return False
    return True


def _bind(probe: socket.socket, port: int, host: str = HOST) -> int:
    probe.bind((host, port))
    return int(probe.getsockname()[1])
