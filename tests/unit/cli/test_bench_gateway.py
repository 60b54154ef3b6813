"""What `purple bench gateway` makes of what it measured."""

import asyncio
from itertools import repeat
from typing import cast

import pytest
from typing_extensions import override

from tests.each_row import each_row
from tools.bench.gateway.client import encode_request, open_connections, pace_requests
from tools.bench.gateway.load import Beside, GatewayFigures, OpenStreams, Plan, RequestRates, Streaming, measure_gateway

_SDK = RequestRates(a_second=1000, limit_p99_ms=9, cpu_ms=1, p50_ms=1, p99_ms=8, client_percent=1)


def _figures(ours: RequestRates) -> GatewayFigures:
    even = Beside(_SDK._replace(a_second=5000, p99_ms=1), _SDK, 800)
    held = OpenStreams(1, 1, 1)
    return GatewayFigures(Beside(ours, _SDK, 800), even, Streaming(1, 1), Streaming(1, 1), held, load=0)


@pytest.mark.promise("bench.gateway")
@each_row(
    ("ours", "missed"),
    [
        (_SDK._replace(a_second=2000, p99_ms=2), []),
        (_SDK._replace(a_second=1900, p99_ms=2), ["GetTask: 1.90 times"]),
        (_SDK._replace(a_second=2000, p99_ms=3), ["GetTask: p99 at 800/s is 0.38"]),
    ],
)
def test_a_target_that_is_missed_is_named(ours: RequestRates, missed: list[str]) -> None:
    found = _figures(ours).missed
    assert len(found) == len(missed)
    assert all(sentence.startswith(start) for sentence, start in zip(found, missed, strict=True))


@pytest.mark.long
@pytest.mark.promise("bench.gateway")
async def test_both_servers_answer_all_that_is_measured() -> None:
    figures = await measure_gateway(Plan(rounds=1, seconds=0.2, open_streams=3))
    rates = (*figures.get_task[:2], *figures.accept[:2])
    assert all(rate.a_second > 0 and rate.p99_ms > 0 for rate in rates)
    assert figures.ours_streaming.a_second > 0
    assert figures.held.streams == 3


class _StandsStill(asyncio.Protocol):
    """A server that answers nobody before so many have asked."""

    def __init__(self, waiting: list[asyncio.Transport], awaited: int) -> None:
        self._waiting, self._awaited = waiting, awaited

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._waiting.append(self._transport)
        if len(self._waiting) == self._awaited:
            for transport in self._waiting:
                transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


@pytest.mark.promise("bench.gateway")
async def test_a_request_that_is_due_leaves_while_earlier_ones_are_unanswered() -> None:
    """A server that stands still is asked all the same, so that all who would have waited are counted."""
    waiting, due = list[asyncio.Transport](), [0.0, 0.0, 0.0]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _StandsStill(waiting, len(due)), "127.0.0.1", 0)
    async with server, asyncio.timeout(10):
        port = server.sockets[0].getsockname()[1]
        async with open_connections(port, len(due)) as connections:
            took = await pace_requests(connections, repeat(encode_request(b"{}")), due)
    assert len(took) == len(due)
