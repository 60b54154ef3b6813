"""Server-sent events of a replica that leaves: every stream ends with a word to reconnect, whatever sends it."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.edge.leaving import Leaving

LAST_WORDS = b": this replica stops; reconnect, and go on after the last id\nretry: 1000\n\n"


class Drain:
    """Middleware. To what sends a stream the client seems to have gone; the client gets the last words."""

    def __init__(self, app: ASGIApp, leaving: Leaving) -> None:
        self._app, self._leaving = app, leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        exchange = _DrainedExchange(self._leaving, receive, send)
        await self._app(scope, exchange.receive, exchange.send)
        await exchange.end()
        return None


class _DrainedExchange:
    def __init__(self, leaving: Leaving, receive: Receive, send: Send) -> None:
        self._leaving, self._receive, self._send = leaving, receive, send
        self._streams = self._cut = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._streams = _is_stream(message)
        await self._send(message)

    async def receive(self) -> Message:
        """The client's next message, or its leave where the replica ends the stream."""
        if not self._streams:
            return await self._receive()
        async with asyncio.TaskGroup() as group:
            news = group.create_task(_await_message(self._receive))
            told = group.create_task(self._leaving.streams_end.wait())
            await asyncio.wait({news, told}, return_when=asyncio.FIRST_COMPLETED)
            self._cut = not news.done()
            news.cancel()
            told.cancel()
        return {"type": "http.disconnect"} if self._cut else news.result()

    async def end(self) -> None:
        if self._cut:
            await self._send({"type": "http.response.body", "body": LAST_WORDS})


async def _await_message(receive: Receive) -> Message:
    return await receive()


def _is_stream(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])
