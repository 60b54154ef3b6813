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


Ending = Callable[[bytes | Exception], None]
"""Takes an answer's body, or ``RequestFailed`` or ``ConnectionError``."""


class BenchConnection(asyncio.Protocol):
    """One request at a time. ``on_body`` is handed each piece of a body as it comes, beside the whole at its end."""

    def __init__(self) -> None:
        self.on_body: Callable[[bytes], None] = lambda _: None
        self._transport: asyncio.Transport | None = None
        self._end: Ending | None = None
        self._pieces: list[bytes] = []
        self._parser = httptools.HttpResponseParser(_ParserCallbacks(self))

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # TCP has no other

    @override
    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(exc or ConnectionError("the server closed the connection"))

    def end_message(self) -> None:
        body, status = b"".join(self._pieces), self._parser.get_status_code()
        if status != 200 or b'"error":' in body:
            self._finish(RequestFailed(f"{status}: {body[:300].decode(errors='replace')}"))
        else:
            self._finish(body)

    def _finish(self, outcome: bytes | Exception) -> None:
        end, self._end = self._end, None
        if end is not None:
            end(outcome)

    def begin(self, request: bytes, end: Ending) -> None:
        """Send a request, whose answer ``end`` is handed; it may begin the next one."""
        assert self._transport  # noqa: S101  made by ``connections``
        self._end, self._pieces = end, []
        self._transport.write(request)

    async def ask(self, request: bytes) -> bytes:
        """The answer's body; raises ``RequestFailed`` and ``ConnectionError``."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.begin(request, partial(_resolve_future, answer))
        return await answer

    def take_piece(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.on_body(piece)

    def close(self) -> None:
        if self._transport:
            self._transport.close()


def _resolve_future(answer: "asyncio.Future[bytes]", outcome: bytes | Exception) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)


class _ParserCallbacks:
    """What the parser calls back."""

    def __init__(self, connection: BenchConnection) -> None:
        self.on_body, self.on_message_complete = connection.take_piece, connection.end_message


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
    began = perf_counter()
    asking = _PacedRequests(connections, requests, began + seconds)
    for _ in connections:
        asking.ask_for(began)
    return await asking.await_answers()


async def pace_requests(
    connections: list[BenchConnection], requests: Iterator[bytes], due: Sequence[float]
) -> list[float]:
    """Ask at these moments (seconds from now, in order), whatever is unanswered by then; the milliseconds from when
    each was due to its answer, in the order of the answers.

    A request that finds no connection free waits for one, and that counts.
    """
    asking, began = _PacedRequests(connections, requests), perf_counter()
    for moment in due:
        if (left := began + moment - perf_counter()) > 0:
            await asyncio.sleep(left)
        asking.ask_for(began + moment)
    return await asking.await_answers()


class _PacedRequests:
    """Requests without a task for each: the client must cost little beside the servers.

    Until a moment of ``perf_counter`` each connection that has its answer asks again at once.
    """

    def __init__(self, connections: list[BenchConnection], requests: Iterator[bytes], until: float = 0.0) -> None:
        self._free = list(connections)
        self._count = len(connections)
        self._requests = requests
        self._until = until
        self._late: deque[float] = deque()
        self._took: list[float] = []
        self._failed: Exception | None = None
        self._news = asyncio.Event()

    def ask_for(self, at: float) -> None:
        if self._free:
            self._begin(self._free.pop(), at)
        else:
            self._late.append(at)

    async def await_answers(self) -> list[float]:
        """The milliseconds of each, once none is waited for; raises what a request failed with."""
        while len(self._free) < self._count:
            if self._failed is not None:
                raise self._failed
            self._news.clear()
            await self._news.wait()
        return self._took

    def _begin(self, connection: BenchConnection, at: float) -> None:
        connection.begin(next(self._requests), partial(self._end, connection, at))

    def _end(self, connection: BenchConnection, at: float, outcome: bytes | Exception) -> None:
        now = perf_counter()
        if isinstance(outcome, Exception):
            self._failed = self._failed or outcome
            self._news.set()
            return
        self._took.append((now - at) * 1000)
        if self._late or now < self._until:
            self._begin(connection, self._late.popleft() if self._late else now)
            return
        self._free.append(connection)
        self._news.set()


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
