"""A TCP proxy that misbehaves when told to: cuts, pauses, delays, refuses. For faults in tests and in chaos runs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_PIECE = 65_536
_UNIX = "unix://"


class Flow:
    """One direction of the traffic; ``delay`` holds each piece back for that many seconds."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.swallowed = 0
        self.pieces = 0  # that ever came, whether they went on or not
        self._open = asyncio.Event()
        self._open.set()
        self._until_cut: int | None = None

    def pause(self) -> None:
        """Let nothing through; what comes is kept."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    def cut_at(self, piece: int = 1) -> None:
        """Swallow the n-th piece that comes from now on, and cut the connection that it came on; once."""
        self._until_cut = piece

    def cancel_cut(self) -> None:
        """Take back what ``cut_at`` asked for and has not happened."""
        self._until_cut = None

    async def admit_piece(self) -> bool:
        """Whether a piece that has come goes on; else its connection is to be cut."""
        self.pieces += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        await self._open.wait()
        if self._until_cut is None:
            return True
        self._until_cut -= 1
        if self._until_cut > 0:
            return True
        self._until_cut = None
        self.swallowed += 1
        return False


class TcpProxy:
    """Listens on TCP and passes everything on to ``upstream``: ``host:port`` or ``unix:///path``.

    Use it as an async context manager. Everything may be called at any time while it runs. ``listen`` makes, for each
    connection, what is called with every piece of its requests before the piece goes on, or is swallowed.
    """

    def __init__(
        self,
        upstream: str,
        host: str = "127.0.0.1",
        port: int = 0,
        listen: Callable[[], Callable[[bytes], None]] | None = None,
    ) -> None:
        self._listen = listen
        self.upstream = upstream  # may be changed: it is where the next connection goes
        self.host, self.port = host, port
        self.requests, self.answers = Flow(), Flow()
        self.connections = 0  # ever made
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._open)

    async def __aenter__(self) -> "TcpProxy":
        await self.accept()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()
        self.requests.resume()
        self.answers.resume()
        if self._open:
            await asyncio.wait(self._open)

    async def accept(self) -> None:
        """Take connections, again on the same port."""
        if self._server is None:
            self._server = await asyncio.start_server(self._serve_connection, self.host, self.port)
            self.port = int(self._server.sockets[0].getsockname()[1])

    async def refuse(self) -> None:
        """Cut everything, and refuse every connection until ``accept``: nobody listens."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        self.cut()

    def cut(self) -> int:
        """Cut every connection at once; how many there were."""
        lines = tuple(self._open.items())
        for task, writers in lines:
            _abort(writers)
            task.cancel()
        return len(lines)

    def pause(self) -> None:
        """Both ways stand still: connections stay open and are even made, but nothing goes through."""
        self.requests.pause()
        self.answers.pause()

    def resume(self) -> None:
        self.requests.resume()
        self.answers.resume()

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._server is None:
            return writer.transport.abort()
        self.connections += 1
        self._open[task] = [writer]
        try:
            async with self._upstream() as (server_reader, server_writer):
                self._open[task].append(server_writer)
                await self._pass_on(reader, writer, server_reader, server_writer)
        except (OSError, asyncio.CancelledError):  # cut, or nobody behind: the client sees its line end
            pass
        finally:
            _abort(self._open.pop(task))

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
    ) -> None:
        """Both ways, until one of them ends."""
        async with asyncio.TaskGroup() as group:
            ways = [
                group.create_task(_pump(reader, server_writer, self.requests, self._listen and self._listen())),
                group.create_task(_pump(server_reader, writer, self.answers)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()

    @asynccontextmanager
    async def _upstream(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        if self.upstream.startswith(_UNIX):
            reader, writer = await asyncio.open_unix_connection(self.upstream.removeprefix(_UNIX))
        else:
            host, _, port = self.upstream.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield reader, writer
        finally:
            writer.close()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Flow, hear: Callable[[bytes], None] | None = None
) -> None:
    try:
        while piece := await reader.read(_PIECE):
            if hear:
                hear(piece)
            if not await way.admit_piece():
                return
            writer.write(piece)
            await writer.drain()
    except OSError:
        return


def _abort(writers: list[asyncio.StreamWriter]) -> None:
    for writer in writers:
        writer.transport.abort()
