"""Connections that follow the primary: if a server turns out to be a replica, the primary is looked up again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias, cast

import hiredis
import structlog
from redis.asyncio import Redis
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
    parse_url,
)
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import ConnectionError, DataError, OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.typing import EncodableT

from shared.infra.compression import DECODING_ERRORS
from shared.infra.keys import SERVER_LINEAGE_KEY
from shared.infra.lineage import LineageProblem, RedisLineage
from shared.infra.lua import build_script
from shared.infra.redis_address import RedisAddress

REDIS_CONNECT_SECONDS = 2.0
MOST_CONNECTIONS = 64  # of one client; a command that needs another waits for a free one, within its own timeout
_SENTINEL_SECONDS = 1.0
_TRANSIENT_ERROR_PREFIXES = ("MISCONF", "NOREPLICAS", "BUSY ")  # words of a server that takes no writes just now
LocateServer: TypeAlias = Callable[[], Awaitable[tuple[str, int]]]

log = structlog.get_logger()


class _PrimaryConnection(AbstractConnection):
    """A connection that checks its server's role and lineage when it opens.

    ``locate`` finds the primary; ``lineage`` records failovers.
    """

    def __init__(
        self, *, lineage: RedisLineage | None = None, locate: LocateServer | None = None, **options: object
    ) -> None:
        self._lineage, self._locate = lineage, locate
        self._is_expired = False
        super().__init__(**options)  # type: ignore[arg-type]  # redis-py's own options

    async def connect(self) -> None:
        """Connects. A connection that fails half-way is closed: the next command would read the greeting's replies."""
        self._is_expired = False
        try:
            await super().connect()  # type: ignore[no-untyped-call]  # redis-py
        except BaseException:
            await self.disconnect(nowait=True)
            raise

    async def on_connect(self) -> None:
        await super().on_connect()
        if self._locate is not None:
            await self._check_role()
        await self.update_lineage()

    async def update_lineage(self) -> None:
        """Asks the server when it last failed over, was restored and crashed, and records that, or its error, in the
        lineage; an error is not raised.
        """
        if self._lineage is None:
            return
        await self.send_command("EVAL", build_script("lineage"), 1, SERVER_LINEAGE_KEY)
        try:
            answer = cast("str | bytes", await self.read_response())
            self._lineage.record_server_answer(*map(int, answer.split()))
        except ResponseError as error:
            if self._lineage.problem is None:  # said once: it is asked again with every command
                log.warning("redis_lineage_not_read", error=str(error))
            self._lineage.record_problem(LineageProblem(str(error), _is_transient(error)))

    async def read_response(
        self,
        disable_decoding: bool = False,
        timeout: float | None = None,
        *,
        disconnect_on_error: bool = True,
        push_request: bool | None = False,
    ) -> object:
        try:
            return cast(
                object,
                await super().read_response(
                    disable_decoding, timeout, disconnect_on_error=disconnect_on_error, push_request=push_request
                ),
            )
        except ReadOnlyError as error:
            await self.disconnect(nowait=True)
            raise ConnectionError(f"the primary has become a replica: {error}") from error

    async def send_commands(self, commands: Sequence[Sequence[EncodableT]], seconds: float) -> list[object]:
        """Sends commands in one round trip; returns for each, in order, its reply, or the server's error as an object.

        Raises ``TimeoutError`` if the last reply has not come after ``seconds``. This and any other failure closes the
        connection, because the next command would read these replies. redis-py's client takes twice as long.
        """
        packed = b"".join([part for command in commands for part in self.pack_command(*command)])
        watch = asyncio.get_running_loop().call_later(seconds, self._abort_as_late)
        try:
            await self.send_packed_command(packed)
            return [await self._read_reply() for _ in commands]
        except BaseException as error:
            await self.disconnect(nowait=True)
            if self._is_expired and isinstance(error, Exception):
                raise TimeoutError(f"Redis did not answer within {seconds:g} seconds") from error
            raise
        finally:
            watch.cancel()

    async def _read_reply(self) -> object:
        reply = await self._parser.read_response()  # type: ignore[attr-defined]  # every parser has it
        if isinstance(reply, ReadOnlyError):
            raise ConnectionError(f"the primary has become a replica: {reply}")
        return reply

    def _abort_as_late(self) -> None:
        """Aborts the connection when its replies are late, at a tenth of the cost of ``asyncio.timeout``."""
        self._is_expired = True
        if self._writer is not None:
            self._writer.transport.abort()

    def pack_command(self, *args: EncodableT) -> list[bytes]:
        """The command's bytes, packed by hiredis in C; raises ``DataError`` for a value that Redis does not take."""
        command_name = args[0].decode() if isinstance(args[0], bytes) else str(args[0])
        words = args if " " not in command_name else (*command_name.split(), *args[1:])
        try:
            return [hiredis.pack_command(words)]  # type: ignore[arg-type]  # of any length and kind: its stub says one
        except TypeError as error:
            raise DataError(f"a value that Redis does not take in {command_name}: {error}") from error

    @property
    def is_quiet(self) -> bool:
        """Whether the connection is open and has no unread bytes."""
        reader = self._open_reader
        return reader is not None and not reader._buffer  # type: ignore[attr-defined]  # nothing public tells it

    @property
    def _open_reader(self) -> asyncio.StreamReader | None:
        reader = self._reader
        return None if reader is None or reader.at_eof() or reader.exception() is not None else reader

    async def can_read_destructive(self) -> bool:
        """Whether an idle connection has something to read; raises ``ConnectionError`` if it was closed.

        redis-py asks before each command, and would wait an iteration of the event loop; the read buffer tells at once.
        """
        if self._open_reader is None:
            raise ConnectionError("the server has closed the connection")
        return not self.is_quiet

    async def _connect(self) -> None:
        if self._locate is not None:
            self.host, self.port = await self._locate()
        await super()._connect()  # type: ignore[safe-super, no-untyped-call]  # the class beside it connects

    async def _check_role(self) -> None:
        """Raises ``ConnectionError`` unless the server is the primary, since sentinels may be outdated."""
        await self.send_command("ROLE")
        role = cast("list[str | bytes]", await self.read_response())[0]
        if role not in ("master", b"master"):
            raise ConnectionError(f"the sentinels' primary is a {role!r}")


class _PrimaryTcpConnection(_PrimaryConnection, Connection):
    pass


class _PrimaryTlsConnection(_PrimaryConnection, SSLConnection):
    pass


class _PrimaryUnixConnection(_PrimaryConnection, UnixDomainSocketConnection):
    pass


_PRIMARY_TYPE_BY_TYPE: Mapping[type[AbstractConnection], type[_PrimaryConnection]] = {
    Connection: _PrimaryTcpConnection,
    SSLConnection: _PrimaryTlsConnection,
    UnixDomainSocketConnection: _PrimaryUnixConnection,
}


class PrimaryPool(ConnectionPool):
    """A connection pool of at most ``MOST_CONNECTIONS`` connections to one Redis primary (the server of a group that
    takes writes).

    While one connection is being opened, others can be taken.
    """

    def __init__(self, address: RedisAddress, lineage: RedisLineage | None = None, *, decodes: bool = True) -> None:
        options = cast("dict[str, object]", parse_url(address.url))
        kind = cast("type[AbstractConnection]", options.pop("connection_class", Connection))
        if kind is not UnixDomainSocketConnection:
            options |= {"socket_keepalive": True}
        options |= {"decode_responses": decodes, "encoding_errors": DECODING_ERRORS}
        options |= {"socket_connect_timeout": REDIS_CONNECT_SECONDS, "retry": _make_retry()}
        self.lineage = lineage
        self._slots = asyncio.Semaphore(MOST_CONNECTIONS)
        self._sentinels = _open_sentinels(address)
        self._service = address.service
        locate = self._find_primary if address.kind == "sentinel" else None
        options |= {"connection_class": _PRIMARY_TYPE_BY_TYPE[kind], "lineage": lineage, "locate": locate}
        super().__init__(**options)  # type: ignore[arg-type]  # redis-py

    async def send_commands(self, commands: Sequence[Sequence[EncodableT]], seconds: float) -> list[object]:
        """Sends commands in one round trip on one connection; returns for each, in order, its reply, or the server's
        error as an object. Raises ``TimeoutError`` after ``seconds``.
        """
        if self._has_free_connection:
            return await self._send_commands_on_connection(commands, seconds)
        async with asyncio.timeout(seconds):
            return await self._send_commands_on_connection(commands, seconds)

    @property
    def _has_free_connection(self) -> bool:
        """Whether ``get_connection`` would return at once."""
        if self._slots.locked() or (self.lineage is not None and self.lineage.failover_risk):
            return False
        waiting = cast("list[_PrimaryConnection]", self._available_connections)
        return bool(waiting) and waiting[-1].is_quiet

    async def _send_commands_on_connection(
        self, commands: Sequence[Sequence[EncodableT]], seconds: float
    ) -> list[object]:
        connection = cast(_PrimaryConnection, await self.get_connection())
        try:
            return await connection.send_commands(commands, seconds)
        finally:
            await self.release(connection)

    async def get_connection(self, command_name: object = None, *_: object, **__: object) -> AbstractConnection:  # noqa: ARG002  # redis-py passes it
        await self._slots.acquire()
        try:
            connection = cast(_PrimaryConnection, self.get_available_connection())  # type: ignore[no-untyped-call]  # redis-py
        except BaseException:
            self._slots.release()
            raise
        try:
            is_new = not connection.is_connected
            if is_new or not connection.is_quiet:
                await self.ensure_connection(connection)
            if not is_new and self.lineage is not None and self.lineage.failover_risk:
                await connection.update_lineage()
        except BaseException:
            await self.release(connection)
            raise
        return connection

    async def release(self, connection: AbstractConnection) -> None:
        await super().release(connection)
        self._slots.release()

    async def disconnect(self, inuse_connections: bool = True) -> None:
        await super().disconnect(inuse_connections)
        if inuse_connections:
            for sentinel in self._sentinels:
                await sentinel.aclose()

    async def _find_primary(self) -> tuple[str, int]:
        """The primary's host and port, from the first sentinel that knows it; raises redis-py's ``ConnectionError``."""
        problems = []
        for sentinel in self._sentinels:
            try:
                async with asyncio.timeout(_SENTINEL_SECONDS):
                    host_and_port = await sentinel.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service)  # type: ignore[no-untyped-call]  # redis-py
            except (RedisError, OSError) as error:
                problems.append(f"{type(error).__name__}: {error}")
                continue
            if host_and_port:
                return str(host_and_port[0]), int(host_and_port[1])
            problems.append("it knows no such service")
        raise ConnectionError(f"no sentinel knows the primary of {self._service!r} ({'; '.join(problems)})")


def _is_transient(error: ResponseError) -> bool:
    return isinstance(error, OutOfMemoryError) or str(error).startswith(_TRANSIENT_ERROR_PREFIXES)


def _open_sentinels(address: RedisAddress) -> list["Redis"]:
    tls = address.url.startswith("rediss:")
    nodes = address.nodes if address.kind == "sentinel" else ()
    return [
        Redis(
            host=host,
            port=port,
            ssl=tls,
            username=address.sentinel_username,
            password=address.sentinel_password,
            decode_responses=True,
            socket_connect_timeout=_SENTINEL_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        for host, port in nodes
    ]


def _make_retry() -> Retry:
    return Retry(ExponentialBackoff(cap=0.5, base=0.05), 3)
