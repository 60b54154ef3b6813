"""HTTP/1.1 for the calls that a task makes many of: a transport for ``httpx2`` on the event loop and ``httptools``.

It does what such a call needs and no more: requests with a body that is held, answers that are streamed, connections
that are kept. It follows nothing, repeats nothing, stores no cookies and knows no proxy.
"""

import asyncio
import select
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import NamedTuple, TypeAlias, cast

import httptools
import httpx2
from typing_extensions import override

from shared.domain.outgoing import is_address

_PORTS = {"http": 80, "https": 443}
_MOST_HEAD_BYTES = 64 * 1024
_MOST_WAITING_BYTES = 256 * 1024  # of a body that nobody reads yet: then the server has to wait
_NOT_SPOKEN = frozenset({"HEAD", "CONNECT"})  # their answers have other ends
_FIRST_FINAL = 200  # of the numbers of answers
_NO_TIMES: dict[str, float | None] = {}


# A server that went away without a word is noticed within minutes, also while an answer takes long.
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}


class Keeping(NamedTuple):
    """How many connections there may be, and how many are kept for how long after their last answer."""

    most_connections: int = 1000
    most_kept: int = 100
    kept_seconds: float = 5.0


class HttpOrigin(NamedTuple):
    scheme: str
    host: str
    port: int


Open: TypeAlias = Callable[[str, float | None], Awaitable["HeldConnection"]]
Connect: TypeAlias = Callable[[HttpOrigin, float | None, Open], Awaitable["HeldConnection"]]


async def connect_by_name(origin: HttpOrigin, seconds: float | None, open_at: Open) -> "HeldConnection":
    """To the first address of the host that answers; each is given its share of the time."""
    if is_address(origin.host):
        return await open_at(origin.host, seconds)
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    async with asyncio.timeout_at(deadline):
        found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        addresses = sorted({str(entry[4][0]) for entry in found}, key=lambda address: (":" in address, address))
        for left, address in zip(range(len(addresses), 1, -1), addresses, strict=False):
            try:
                return await open_at(address, None if deadline is None else (deadline - loop.time()) / left)
            except (OSError, TimeoutError):
                continue  # another address of the same host may still answer
        return await open_at(addresses[-1], None if deadline is None else deadline - loop.time())


@cache  # reading the authorities takes tens of milliseconds, during which nothing else runs
def usual_tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


class Http11Transport(httpx2.AsyncBaseTransport):
    """``connect``: makes a connection to an origin with what it is handed, which takes an address and seconds.

    Raises ``httpx2``'s transport errors; ``ConnectError``, ``ConnectTimeout`` and ``PoolTimeout`` say that nothing of
    the request was sent. An answer that is not read to its end costs its connection.
    """

    def __init__(
        self, keeping: Keeping | None = None, connect: Connect = connect_by_name, tls: ssl.SSLContext | None = None
    ) -> None:
        self._keeping, self._connect, self._tls = keeping or Keeping(), connect, tls
        self._places = asyncio.Semaphore(self._keeping.most_connections)
        self._kept: dict[HeldConnection, tuple[HttpOrigin, float]] = {}  # the latest used stands last
        self._sweep: asyncio.TimerHandle | None = None

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        times = request.extensions.get("timeout", _NO_TIMES)
        origin = _origin(request)
        body = await request.aread()
        await self._take_place(times.get("pool"), request)
        try:
            connection = self._take_kept(origin) or await self._open(origin, times.get("connect"), request)
        except BaseException:
            self._places.release()
            raise
        exchange = _HttpExchange(connection, request, times.get("read"), lambda: self._give_back(connection, origin))
        return await exchange.answer(_head(request) + body, times.get("write"))

    @override
    async def aclose(self) -> None:
        for connection in self._kept:
            connection.close()
        self._kept.clear()
        if self._sweep is not None:
            self._sweep.cancel()

    async def _take_place(self, seconds: float | None, request: httpx2.Request) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise httpx2.PoolTimeout("all connections are in use", request=request) from error

    def _take_kept(self, origin: HttpOrigin) -> "HeldConnection | None":
        now = asyncio.get_running_loop().time()
        for connection, (leads_to, since) in reversed(self._kept.items()):
            if leads_to == origin and now - since < self._keeping.kept_seconds and connection.is_quiet:
                del self._kept[connection]
                return connection
        return None

    async def _open(self, origin: HttpOrigin, seconds: float | None, request: httpx2.Request) -> "HeldConnection":
        loop = asyncio.get_running_loop()
        tls = (self._tls or usual_tls()) if origin.scheme == "https" else None
        name = str(request.extensions.get("sni_hostname", origin.host)) if tls else None

        async def open_at(address: str, limit: float | None) -> HeldConnection:
            async with asyncio.timeout(limit):
                _, made = await loop.create_connection(
                    HeldConnection, address, origin.port, ssl=tls, server_hostname=name
                )
            return made

        try:
            return await self._connect(origin, seconds, open_at)
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("no connection in time", request=request) from error
        except (OSError, UnicodeError) as error:  # the latter of names that cannot be asked for
            raise httpx2.ConnectError(str(error) or type(error).__name__, request=request) from error

    def _give_back(self, connection: "HeldConnection", origin: HttpOrigin) -> None:
        self._places.release()
        if not connection.is_reusable:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        self._kept[connection] = (origin, loop.time())
        if len(self._kept) > self._keeping.most_kept:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            oldest.close()
        if self._sweep is None:
            self._sweep = loop.call_later(self._keeping.kept_seconds, self._close_old)

    def _close_old(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection, (_, since) in list(self._kept.items()):
            if now - since >= self._keeping.kept_seconds:
                del self._kept[connection]
                connection.close()
        self._sweep = loop.call_later(self._keeping.kept_seconds, self._close_old) if self._kept else None


class _HttpExchange:
    """One request and its answer on a connection that belongs to it until ``give_back``."""

    def __init__(
        self,
        connection: "HeldConnection",
        request: httpx2.Request,
        seconds: float | None,
        give_back: Callable[[], None],
    ) -> None:
        self._connection, self._request, self._seconds, self._give_back = connection, request, seconds, give_back
        self._is_over = False

    async def answer(self, sent: bytes, write_seconds: float | None) -> httpx2.Response:
        """The answer as soon as its head is there."""
        try:
            await self._connection.send(sent, write_seconds)
            while not self._connection.has_head:
                await self._connection.wait(self._seconds)
        except TimeoutError as error:
            self.end()
            kind = httpx2.ReadTimeout if self._connection.is_sent else httpx2.WriteTimeout
            raise kind("no answer in time", request=self._request) from error
        except BaseException:
            self.end()
            raise
        status, headers = self._connection.status, self._connection.headers
        body: httpx2.AsyncByteStream = _AnswerStream(self)
        if self._connection.is_complete:
            body = httpx2.ByteStream(b"".join(self._connection.take_parts()))
            self.end()
        return httpx2.Response(status, headers=headers, stream=body, extensions={"http_version": b"HTTP/1.1"})

    async def parts(self) -> AsyncIterator[bytes]:
        try:
            while True:
                while not self._connection.has_news:
                    await self._connection.wait(self._seconds)
                is_complete = self._connection.is_complete
                for part in self._connection.take_parts():
                    yield part
                if is_complete:
                    break
        except TimeoutError as error:
            raise httpx2.ReadTimeout("the answer stopped", request=self._request) from error
        finally:
            self.end()

    def end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._give_back()


class _AnswerStream(httpx2.AsyncByteStream):
    def __init__(self, exchange: _HttpExchange) -> None:
        self._exchange = exchange

    @override
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._exchange.parts()

    @override
    async def aclose(self) -> None:
        self._exchange.end()


class HeldConnection(asyncio.Protocol):
    """One connection: one request at a time. What came of its answer waits here until it is taken."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._news: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._failure: httpx2.TransportError | None = None
        self._parts: list[bytes] = []
        self._head_bytes = self._waiting_bytes = 0
        self._is_paused = self._is_asked = self._keeps_open = False
        self.headers: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.has_head = self.is_sent = self.is_complete = False

    @property
    def is_reusable(self) -> bool:
        return self.is_complete and self._keeps_open and self._is_open and not self._parts

    @property
    def has_news(self) -> bool:
        return bool(self._parts) or self.is_complete

    @property
    def is_quiet(self) -> bool:
        """Whether it is open and nothing waits to be read: a server that has ended it says so there first."""
        if self._transport is None or not self._is_open:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    @property
    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._failure is None

    async def send(self, sent: bytes, seconds: float | None) -> None:
        """Raises ``TimeoutError`` and ``WriteError``."""
        if self._transport is None or not self._is_open:
            raise httpx2.WriteError("the connection is closed")
        self.headers, self._parts = [], []
        self._head_bytes = self._waiting_bytes = 0
        self.has_head = self.is_sent = self.is_complete = False
        self._is_asked = True
        self._transport.write(sent)
        if self._writable is not None:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._writable)
        self.is_sent = True

    async def wait(self, seconds: float | None) -> None:
        """Until something came; raises ``TimeoutError`` and what ended the connection."""
        if self._failure is not None:
            raise self._failure
        self._news = asyncio.get_running_loop().create_future()
        self._resume_reading()
        try:
            async with asyncio.timeout(seconds):
                await self._news
        finally:
            self._news = None

    def take_parts(self) -> list[bytes]:
        taken, self._parts, self._waiting_bytes = self._parts, [], 0
        return taken

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- what the event loop says

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        line = transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE.items():
            if hasattr(socket, option):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    @override
    def data_received(self, data: bytes) -> None:
        if not self._is_asked:
            self._fail("the server sent what nobody asked for")
            return
        self._head_bytes += 0 if self.has_head else len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the answer is no HTTP: {error}")
            return
        if not self.has_head and self._head_bytes > _MOST_HEAD_BYTES:
            self._fail("the answer's head is too long")
        elif self.has_head:
            self._tell()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None and self._is_asked and self.has_head and self._ends_with_connection():
            self._is_asked, self.is_complete = False, True
        if self._failure is None:
            self._failure = httpx2.ReadError(str(exc) if exc else "the server closed the connection")
        self.resume_writing()
        self._tell()

    @override
    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    @override
    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # --- what the parser finds

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_complete:
            raise ValueError("a second answer to one request")
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status < _FIRST_FINAL:
            self.headers = []  # only says that an answer is to come
        else:
            self.has_head, self._keeps_open = True, self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        self._waiting_bytes += len(body)
        if self._waiting_bytes > _MOST_WAITING_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.has_head:
            self._is_asked, self.is_complete = False, True

    def _ends_with_connection(self) -> bool:
        return not {name.lower() for name, _ in self.headers} & {b"content-length", b"transfer-encoding"}

    def _resume_reading(self) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def _fail(self, sentence: str) -> None:
        self._failure = httpx2.RemoteProtocolError(sentence)
        self.close()
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


def _origin(request: httpx2.Request) -> HttpOrigin:
    url = request.url
    if url.scheme not in _PORTS or not url.host or request.method in _NOT_SPOKEN:
        raise httpx2.UnsupportedProtocol(f"{request.method} {url.scheme} is not spoken here", request=request)
    return HttpOrigin(url.scheme, url.host, url.port or _PORTS[url.scheme])


def _head(request: httpx2.Request) -> bytes:
    lines = [request.method.encode() + b" " + request.url.raw_path + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in request.headers.raw]
    return b"\r\n".join(lines) + b"\r\n\r\n"
