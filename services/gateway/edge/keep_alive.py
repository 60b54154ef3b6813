"""Slow responses: kept alive against idle time-outs, abandoned when the client disconnects, ended at shutdown."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from services.gateway.edge.shutdown import ShutdownState

JSON_HEARTBEAT = (b" ", 10.0)  # white space before a JSON text is part of it
SSE_HEARTBEAT = (b": keep-alive\n\n", 15.0)


def sse_frame(data: str, *, event_id: str = "", event: str = "", comment: str = "") -> bytes:
    """The bytes of a server-sent event, without what is empty. ``comment``: is not part of the event."""
    fields = {"": comment, "id": event_id, "event": event, "data": data}
    lines = [f"{name}: {value}\n" for name, value in fields.items() if value]
    return f"{''.join(lines)}\n".encode()


def sse_response(
    frames: AsyncGenerator[bytes, None], on_delivered: Callable[[], Awaitable[None]] | None = None
) -> "KeepAliveResponse":
    """A stream of server-sent events, kept alive."""
    return KeepAliveResponse(frames, "text/event-stream", SSE_HEARTBEAT, on_delivered)


class KeepAliveResponse(Response):
    """A response that sends what ``chunks`` yields, and the bytes of ``heartbeat`` every few seconds meanwhile.

    ``chunks`` must not raise: the status is sent before it runs. ``on_delivered`` is awaited when everything was sent
    before the client disconnected.
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
        self._chunks, self._heartbeat, self._on_delivered = chunks, heartbeat, on_delivered

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if not await self._send_all_unless_disconnected(receive, send):
            return
        await send({"type": "http.response.body", "body": b""})
        if self._on_delivered:
            await self._on_delivered()

    async def _send_all_unless_disconnected(self, receive: Receive, send: Send) -> bool:
        """Send all chunks; returns False if the client disconnected first."""
        async with asyncio.TaskGroup() as group:
            body = group.create_task(self._send_chunks(send))
            disconnect = group.create_task(_wait_for_disconnect(receive))
            heartbeats = group.create_task(self._send_heartbeats(send))
            await asyncio.wait({body, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            delivered = body.done()
            for task in (body, disconnect, heartbeats):
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


RECONNECT_HINT = b": this replica stops; reconnect, and go on after the last id\nretry: 1000\n\n"


class DrainMiddleware:
    """Middleware that ends streams when the replica stops.

    The application sees a disconnect; the client is told in an SSE comment to reconnect.
    """

    def __init__(self, app: ASGIApp, shutdown: ShutdownState) -> None:
        self._app, self._shutdown = app, shutdown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        exchange = _DrainableExchange(self._shutdown, receive, send)
        await self._app(scope, exchange.receive, exchange.send)
        await exchange.send_reconnect_hint()
        return None


class _DrainableExchange:
    def __init__(self, shutdown: ShutdownState, receive: Receive, send: Send) -> None:
        self._shutdown, self._receive, self._send = shutdown, receive, send
        self._is_stream = self._is_cut_off = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_stream = _is_stream(message)
        await self._send(message)

    async def receive(self) -> Message:
        """The client's next ASGI message, or a disconnect if the replica ends its streams first."""
        if not self._is_stream:
            return await self._receive()
        async with asyncio.TaskGroup() as group:
            message = group.create_task(_await_message(self._receive))
            streams_end = group.create_task(self._shutdown.streams_end.wait())
            await asyncio.wait({message, streams_end}, return_when=asyncio.FIRST_COMPLETED)
            self._is_cut_off = not message.done()
            message.cancel()
            streams_end.cancel()
        return {"type": "http.disconnect"} if self._is_cut_off else message.result()

    async def send_reconnect_hint(self) -> None:
        """Send the comment that tells a client to reconnect, if its stream was cut off by the shutdown."""
        if self._is_cut_off:
            await self._send({"type": "http.response.body", "body": RECONNECT_HINT})


async def _await_message(receive: Receive) -> Message:
    return await receive()


def _is_stream(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])
