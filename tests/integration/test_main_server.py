"""A server that is told to stop before it serves."""

import signal
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette

from cli.stack.free_ports import free_ports
from services.gateway.edge.leaving import Leaving
from shared.infra.main_server import Farewell, config_of, stoppable_server


@pytest.fixture
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("farewell", [None, Leaving(linger_seconds=0, grace_seconds=1)])
def test_a_signal_that_comes_before_it_serves_is_heeded(number: signal.Signals, farewell: Farewell | None) -> None:
    """Else a process that is started while its launcher dies would stay for ever."""
    (port,) = free_ports(1)
    server = stoppable_server(config_of(Starlette(), "127.0.0.1", port, 1), farewell)
    signal.raise_signal(number)
    server.run()
    assert server.should_exit
