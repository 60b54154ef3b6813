"""The service as a process of its own: answer times on one connection, and requests a second over several."""

import asyncio
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from time import perf_counter
from typing import NamedTuple

from shared.infra.process import make_parent_death_hook
from tools.bench.policy.requests import make_bodies, make_bodies_by_hash

RULES = (1, 10, 100, 1_000)
CONNECTIONS = 8
_HOST = "127.0.0.1"
_WHOLE = "/v1/evaluate"  # the policies come with the request
_PATIENCE_SECONDS = 20.0
_SAMPLES = {1: 2_000, 10: 2_000, 100: 1_500, 1_000: 300}
_NEW = 200
_WARM = 50


class Answers(NamedTuple):
    """Milliseconds of one answer, one request at a time, whose policies are named by their hash.

    ``new``: each brings a policy that was never seen before.
    """

    rules: int
    p50_ms: float
    p99_ms: float
    new_p50_ms: float
    new_p99_ms: float
    requests_per_second: float  # over several connections


class HttpConnection(NamedTuple):
    """One kept open; the least that HTTP needs, so that the client is not what is measured."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, content: bytes, path: str = _WHOLE) -> float:
        """Milliseconds until the whole answer was there; ``ConnectionError`` for an answer that is no verdict."""
        head = f"POST {path} HTTP/1.1\r\nHost: policy\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        began = perf_counter()
        self.writer.write(head + content)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await self.reader.readexactly(int(length))
        if not answer.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(answer.partition(b"\r\n")[0].decode())
        return (perf_counter() - began) * 1000


async def measure() -> tuple[Answers, ...]:
    """The figures for each number of rules."""
    with _start_service() as port:
        await _wait_until_ready(port)
        return tuple([await _measure_answers(port, rules) for rules in RULES])


async def _measure_answers(port: int, rules: int) -> Answers:
    named, samples = make_bodies_by_hash(rules, _SAMPLES[rules])
    path = f"/v1/policies/{named}/evaluate"
    async with _open_connections(port, 1) as [connection]:
        await _time_requests(connection, make_bodies(rules, 1))
        await _time_requests(connection, samples[:_WARM], path)
        known_ms = await _time_requests(connection, samples, path)
        new_ms = await _time_requests(connection, make_bodies(rules, _NEW, new_policies=True))
        await _time_requests(connection, make_bodies(rules, 1))
    rate = await _measure_rate(port, samples, path)
    return Answers(rules, _pct(known_ms, 50), _pct(known_ms, 99), _pct(new_ms, 50), _pct(new_ms, 99), rate)


async def _time_requests(connection: HttpConnection, contents: Sequence[bytes], path: str = _WHOLE) -> list[float]:
    async with asyncio.timeout(_PATIENCE_SECONDS * 3):
        return [await connection.ask(content, path) for content in contents]


async def _measure_rate(port: int, contents: Sequence[bytes], path: str) -> float:
    async with _open_connections(port, CONNECTIONS) as connections, asyncio.timeout(_PATIENCE_SECONDS * 3):
        began = perf_counter()
        async with asyncio.TaskGroup() as group:
            for number, connection in enumerate(connections):
                group.create_task(_time_requests(connection, contents[number::CONNECTIONS], path))
        return round(len(contents) / (perf_counter() - began), 1)


@asynccontextmanager
async def _open_connections(port: int, count: int) -> AsyncIterator[list[HttpConnection]]:
    connections = [HttpConnection(*await asyncio.open_connection(_HOST, port, limit=1 << 22)) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.writer.close()


@contextmanager
def _start_service() -> Iterator[int]:
    with socket.socket() as found:
        found.bind((_HOST, 0))
        port = int(found.getsockname()[1])
    process = subprocess.Popen(  # this interpreter and a module of ours
        [sys.executable, "-m", "services.policy"],
        env={**os.environ, "HOST": _HOST, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  # no thread runs yet
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(_PATIENCE_SECONDS)


async def _wait_until_ready(port: int) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection(_HOST, port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def _pct(values: Sequence[float], percent: int) -> float:
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 3)
