"""Sends read commands of many requests over one connection, without redis-py's work for each.

All that are requested in one iteration of the event loop are sent together; replies are matched by their order.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, cast

import hiredis
from redis.asyncio import Redis
from redis.asyncio.connection import parse_url
from typing_extensions import override

from shared.infra.lua import ANSWER_SECONDS, Scripts, store_unavailable
from shared.infra.packed import DECODING_ERRORS
from shared.infra.redis_address import read_address
from shared.infra.redis_pools import REDIS_CONNECT_SECONDS

ReadReply = str | int | None | list["ReadReply"]
_CONNECTION_LIVES_SECONDS = 1.0  # a name that leads to another server by then is followed there
_RECONNECT_SECONDS = 0.5  # between two attempts to connect


class PackedReads(NamedTuple):
    """Read-only commands, as words and as the bytes to send."""

    commands: tuple[tuple[str, ...], ...]
    packed: bytes

    @classmethod
    def pack(cls, *commands: tuple[str, ...]) -> "PackedReads":
        return cls(commands, b"".join(map(_encode_command, commands)))


class ReadPipeline:
    """Sends reads over one shared connection.

    ``redis``: the client that is used instead with a cluster, sentinels or TLS, and while the connection is lost.
    """

    def __init__(self, redis: Redis, url: str) -> None:
        self._scripts, self._address = Scripts(redis), _single_server_options(url)
        self._connection: _ReadConnection | None = None
        self._is_connecting = False
        self._next_attempt = 0.0

    async def fetch(self, reads: PackedReads) -> Sequence[ReadReply]:
        """The reply to each command. Raises ``StoreUnavailable``."""
        connection = await self._open_connection() if self._address else None
        if connection is not None:
            try:
                replies = await connection.fetch(reads)
            except TimeoutError as error:
                raise store_unavailable(error) from error
            except OSError:  # a read is simply repeated, with the patience that other commands have
                pass
            else:
                if not any(isinstance(reply, Exception) for reply in replies):
                    return replies
        return cast("Sequence[ReadReply]", await self._scripts.execute_many(*reads.commands))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._next_attempt = float("inf")

    async def _open_connection(self) -> "_ReadConnection | None":
        """The shared connection; None while it is being opened, for which no caller waits."""
        now, current = asyncio.get_running_loop().time(), self._connection
        if current is not None and not current.is_closed and now < current.until:
            return current
        if self._is_connecting or now < self._next_attempt:
            return current if current is not None and not current.is_closed else None
        self._is_connecting, self._next_attempt = True, now + _RECONNECT_SECONDS
        try:
            new_connection = await _connect(cast("dict[str, object]", self._address))
        except OSError:
            return None
        finally:
            self._is_connecting = False
        if current is not None:
            current.close_when_answered()
        if self._next_attempt == float("inf"):
            new_connection.close()
            return None
        self._connection = new_connection
        return new_connection


class _PendingRead(NamedTuple):
    waiting: "asyncio.Future[list[ReadReply]]"
    commands: int
    until: float


class _ReadConnection(asyncio.Protocol):
    """One connection, whose replies come in the order of the commands. A late reply fails all waiting commands."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(encoding="utf-8", errors=DECODING_ERRORS)
        self._pending: deque[_PendingRead] = deque()
        self._replies: list[ReadReply] = []
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._is_retired = False
        self._reason: OSError = ConnectionError("the connection to Redis was lost")
        self.until = self._loop.time() + _CONNECTION_LIVES_SECONDS

    @property
    def is_closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._watch is not None:
            self._watch.cancel()
        while self._pending:
            waiting = self._pending.popleft().waiting
            if not waiting.done():
                waiting.set_exception(self._reason)

    @override
    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while self._pending and (reply := self._reader.gets()) is not False:
            self._replies.append(cast(ReadReply, reply))
            if len(self._replies) == self._pending[0].commands:
                waiting, replies = self._pending.popleft().waiting, self._replies
                self._replies = []
                if not waiting.done():
                    waiting.set_result(replies)
        if self._is_retired and not self._pending:
            self.close()

    async def fetch(self, reads: PackedReads) -> "list[ReadReply]":
        if self._transport is None:
            raise self._reason
        waiting: asyncio.Future[list[ReadReply]] = self._loop.create_future()
        self._pending.append(_PendingRead(waiting, len(reads.commands), self._loop.time() + ANSWER_SECONDS))
        if self._watch is None:
            self._watch = self._loop.call_later(ANSWER_SECONDS, self._abort_if_late)
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(reads.packed)
        return await waiting

    def _send(self) -> None:
        packed, self._unsent = b"".join(self._unsent), []
        if self._transport is not None:
            self._transport.write(packed)

    def close_when_answered(self) -> None:
        """Closes the connection as soon as everything asked has been answered."""
        self._is_retired = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _abort_if_late(self) -> None:
        self._watch = None
        if not self._pending or self._transport is None:
            return
        seconds_left = self._pending[0].until - self._loop.time()
        if seconds_left <= 0:
            self._reason = TimeoutError("Redis took too long")
            self._transport.abort()
        else:
            self._watch = self._loop.call_later(seconds_left, self._abort_if_late)


async def _connect(address: "dict[str, object]") -> _ReadConnection:
    """Opens a connection and authenticates; raises ``OSError``."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(REDIS_CONNECT_SECONDS):
        if "path" in address:
            _, connection = await loop.create_unix_connection(_ReadConnection, str(address["path"]))
        else:
            host, port = str(address.get("host", "localhost")), int(str(address.get("port", 6379)))
            _, connection = await loop.create_connection(_ReadConnection, host, port)
        try:
            await _sign_in(connection, address)
        except BaseException:
            connection.close()
            raise
    return connection


async def _sign_in(connection: _ReadConnection, address: "dict[str, object]") -> None:
    words = [str(address[name]) for name in ("username", "password") if address.get(name)]
    greeting = [("AUTH", *words)] if words else []
    if database := str(address.get("db") or ""):
        greeting.append(("SELECT", database))
    if greeting:
        for reply in await connection.fetch(PackedReads.pack(*greeting)):
            if isinstance(reply, Exception):
                raise ConnectionError(f"Redis refuses the connection: {type(reply).__name__}")


def _single_server_options(url: str) -> "dict[str, object] | None":
    """The connection options of a URL that names one server without TLS; None for all others."""
    address = read_address(url)
    if address.kind != "server" or address.url.startswith("rediss:"):
        return None
    return cast("dict[str, object]", parse_url(address.url))


def _encode_command(command: tuple[str, ...]) -> bytes:
    return bytes(hiredis.pack_command(cast("tuple[str | int | float | bytes | memoryview[int]]", command)))
