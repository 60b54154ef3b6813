"""A client that costs little beside the servers it asks: connections that stay open, requests encoded beforehand."""

import asyncio
import select
import selectors
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from time import perf_counter
from typing import cast

import httptools
from typing_extensions import override

_HEAD = "Host: bench\r\nContent-Type: application/json\r\n"


def encode_request(body: bytes, path: str = "/", header: str = "A2A-Version: 1.0") -> bytes:
    return f"POST {path} HTTP/1.1\r\n{_HEAD}{header}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class RequestFailed(Exception):
    """A server answered something else than 200, or an error of JSON-RPC; the message shows it."""


class BenchConnection(asyncio.Protocol):
    """One request at a time. ``on_body`` is handed each piece of a body as it comes, beside the whole at its end."""

    def __init__(self) -> None:
        self.on_body: Callable[[bytes], None] = lambda _: None
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._pieces: list[bytes] = []
        self._parser = httptools.HttpResponseParser(_Pieces(self))

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # TCP has no other

    @override
    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_exception(exc or ConnectionError("the server closed the connection"))

    def end_message(self) -> None:
        if self._answer is None or self._answer.done():
            return
        body, status = b"".join(self._pieces), self._parser.get_status_code()
        if status != 200 or b'"error":' in body:
            self._answer.set_exception(RequestFailed(f"{status}: {body[:300].decode(errors='replace')}"))
        else:
            self._answer.set_result(body)

    def begin(self, request: bytes) -> "asyncio.Future[bytes]":
        """Send a request; its answer's body, or ``RequestFailed`` or ``ConnectionError``."""
        assert self._transport  # noqa: S101  made by ``connections``
        self._answer, self._pieces = asyncio.get_running_loop().create_future(), []
        self._transport.write(request)
        return self._answer

    async def ask(self, request: bytes) -> bytes:
        """The answer's body; raises ``RequestFailed`` and ``ConnectionError``."""
        return await self.begin(request)

    def take(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.on_body(piece)

    def close(self) -> None:
        if self._transport:
            self._transport.close()


class _Pieces:
    """What the parser calls back."""

    def __init__(self, connection: BenchConnection) -> None:
        self.on_body, self.on_message_complete = connection.take, connection.end_message


@asynccontextmanager
async def open_connections(port: int, count: int) -> AsyncIterator[list[BenchConnection]]:
    async with AsyncExitStack() as stack:
        opened: list[BenchConnection] = []
        for _ in range(count):
            _, connection = await asyncio.get_running_loop().create_connection(BenchConnection, "127.0.0.1", port)
            stack.callback(connection.close)
            opened.append(connection)
        yield opened


async def time_requests(connections: list[BenchConnection], requests: Iterator[bytes], seconds: float) -> list[float]:
    """Ask on all connections at once for so long; the milliseconds of each answer."""
    until, took = perf_counter() + seconds, list[float]()

    async def ask_on(connection: BenchConnection) -> None:
        while (began := perf_counter()) < until:
            await connection.ask(next(requests))
            took.append((perf_counter() - began) * 1000)

    async with asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(ask_on(connection))
    return took


async def pace_requests(
    connections: list[BenchConnection], requests: Iterator[bytes], due: Sequence[float]
) -> list[float]:
    """Ask at these moments (seconds from now, in order), whatever is unanswered by then; the milliseconds from when
    each was due to its answer, in the order of the answers.

    A request that finds no connection free waits for one, and that counts.
    """
    pace, began = _Pace(connections, requests), perf_counter()
    for moment in due:
        if (left := began + moment - perf_counter()) > 0:
            await asyncio.sleep(left)
        pace.ask_for(began + moment)
    return await pace.await_answers(len(due))


class _Pace:
    """What was asked at its time, without a task for each: the client must cost little beside the servers."""

    def __init__(self, connections: list[BenchConnection], requests: Iterator[bytes]) -> None:
        self._free, self._requests = list(connections), requests
        self._late: deque[float] = deque()
        self._took: list[float] = []
        self._failed: BaseException | None = None
        self._news = asyncio.Event()

    def ask_for(self, at: float) -> None:
        if self._free:
            self._begin(self._free.pop(), at)
        else:
            self._late.append(at)

    async def await_answers(self, count: int) -> list[float]:
        """The milliseconds of so many answers; raises what a request failed with."""
        while len(self._took) < count:
            if self._failed is not None:
                raise self._failed
            self._news.clear()
            await self._news.wait()
        return self._took

    def _begin(self, connection: BenchConnection, at: float) -> None:
        connection.begin(next(self._requests)).add_done_callback(partial(self._end, connection, at))

    def _end(self, connection: BenchConnection, at: float, answer: "asyncio.Future[bytes]") -> None:
        self._news.set()
        if failure := answer.exception():
            self._failed = self._failed or failure
            return
        self._took.append((perf_counter() - at) * 1000)
        if self._late:
            self._begin(connection, self._late.popleft())
        else:
            self._free.append(connection)


class _ExactSelector(selectors.EpollSelector):
    """epoll waits for whole milliseconds, rounded up, which is as long as an answer takes; select for microseconds."""

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            select.select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


def exact_loop() -> asyncio.AbstractEventLoop:
    """A loop in which what is due at a moment happens then."""
    return asyncio.SelectorEventLoop(_ExactSelector())
