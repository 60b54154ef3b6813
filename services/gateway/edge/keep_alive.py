"""How a replica stops; and slow responses: kept alive against idle time-outs, ended when client or replica leaves."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override


class ShutdownState:
    """How far this replica's shutdown has come. ``linger_seconds``: how long it still accepts requests after the stop
    signal; ``grace_seconds``: how long those in progress then have.
    """

    def __init__(self, linger_seconds: float = 0, grace_seconds: float = 10) -> None:
        self.linger_seconds, self.grace_seconds = linger_seconds, grace_seconds
        self.is_announced = False
        self.streams_end = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()
        self._is_hurried = False

    def announce(self) -> None:
        self.is_announced = True

    def end_streams(self) -> None:
        self.is_announced = True
        self.streams_end.set()

    def end_waits(self) -> None:
        self._is_hurried = True
        for wait in self._waits:
            if not wait.expired():  # one that has just ended by itself can be given no other time
                wait.reschedule(0)

    @asynccontextmanager
    async def limit_wait(self, seconds: float) -> AsyncIterator[None]:
        """A context for a wait: it raises ``TimeoutError`` after ``seconds``, or as soon as the shutdown's time is
        over.
        """
        async with asyncio.timeout(0 if self._is_hurried else seconds) as wait:
            self._waits.add(wait)
            try:
                yield
            finally:
                self._waits.discard(wait)


JSON_HEARTBEAT = (b" ", 10.0)  # white space before a JSON text is part of it
SSE_HEARTBEAT = (b": keep-alive\n\n", 15.0)
RECONNECT_HINT = b": this replica stops; reconnect, and go on after the last id\nretry: 1000\n\n"
_SSE_TYPE = "text/event-stream"
SHUTDOWN_KEY = "shutdown"  # of the replica's ``ShutdownState``, in the state that the lifespan gives to each request


def encode_sse_frame(data: str, *, event_id: str = "", event: str = "", comment: str = "") -> bytes:
    """The bytes of a server-sent event, without what is empty. ``comment``: is not part of the event."""
    fields = {"": comment, "id": event_id, "event": event, "data": data}
    lines = [f"{name}: {value}\n" for name, value in fields.items() if value]
    return f"{''.join(lines)}\n".encode()


def build_sse_response(
    frames: AsyncGenerator[bytes, None], on_delivered: Callable[[], Awaitable[None]] | None = None
) -> "KeepAliveResponse":
    """A stream of server-sent events, as a ``KeepAliveResponse``. ``on_delivered``: awaited once all was sent."""
    return KeepAliveResponse(frames, _SSE_TYPE, SSE_HEARTBEAT, on_delivered)


class KeepAliveResponse(Response):
    """A response that sends what ``chunks`` yields, and the bytes of ``heartbeat`` every few seconds meanwhile.

    ``chunks`` must not raise: the status is sent before it runs. ``on_delivered`` is awaited when everything was sent
    before the client disconnected. A stream of events ends when the replica stops, with a comment to reconnect.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        media_type: str,
        heartbeat: tuple[bytes, float],
        on_delivered: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._chunks = chunks
        self._heartbeat = heartbeat
        self._on_delivered = on_delivered

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        shutdown = scope.get("state", {}).get(SHUTDOWN_KEY) if self.media_type == _SSE_TYPE else None
        streams_end = shutdown.streams_end if isinstance(shutdown, ShutdownState) else asyncio.Event()
        if not await self._send_all_unless_cut_off(receive, send, streams_end):
            if streams_end.is_set():
                await send({"type": "http.response.body", "body": RECONNECT_HINT})
            return
        await send({"type": "http.response.body", "body": b""})
        if self._on_delivered:
            await self._on_delivered()

    async def _send_all_unless_cut_off(self, receive: Receive, send: Send, streams_end: asyncio.Event) -> bool:
        """Send all chunks; returns False if the client disconnected, or the replica ended its streams, first."""
        async with asyncio.TaskGroup() as group:
            body = group.create_task(self._send_chunks(send))
            disconnect = group.create_task(_wait_for_disconnect(receive))
            end = group.create_task(streams_end.wait())
            heartbeats = group.create_task(self._send_heartbeats(send))
            await asyncio.wait({body, disconnect, end}, return_when=asyncio.FIRST_COMPLETED)
            delivered = body.done()
            for task in (body, disconnect, end, heartbeats):
                task.cancel()
        return delivered

    async def _send_chunks(self, send: Send) -> None:
        try:
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            await self._chunks.aclose()

    async def _send_heartbeats(self, send: Send) -> None:
        filler, seconds = self._heartbeat
        while True:
            await asyncio.sleep(seconds)
            await send({"type": "http.response.body", "body": filler, "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
