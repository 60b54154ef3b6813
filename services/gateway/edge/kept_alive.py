"""Answers that take their time: kept alive against idle time-outs, given up when the client goes away."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

JSON_BEAT = (b" ", 10.0)  # white space before a JSON text is part of it
SSE_BEAT = (b": keep-alive\n\n", 15.0)


class KeptAlive(Response):
    """Sends what a generator yields, and a filler every few seconds.

    ``chunks`` must not raise: the status has been sent before it runs. ``on_delivered`` is awaited when all was sent
    to a client that was still there.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        media_type: str,
        beat: tuple[bytes, float],
        on_delivered: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._chunks, self._beat, self._on_delivered = chunks, beat, on_delivered

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if not await self._send_while_there(receive, send):
            return
        await send({"type": "http.response.body", "body": b""})
        if self._on_delivered:
            await self._on_delivered()

    async def _send_while_there(self, receive: Receive, send: Send) -> bool:
        """True when everything was sent, False when the client went away first."""
        async with asyncio.TaskGroup() as group:
            body = group.create_task(self._send_chunks(send))
            gone = group.create_task(_await_departure(receive))
            beat = group.create_task(self._send_beats(send))
            await asyncio.wait({body, gone}, return_when=asyncio.FIRST_COMPLETED)
            delivered = body.done()
            for task in (body, gone, beat):
                task.cancel()
        return delivered

    async def _send_chunks(self, send: Send) -> None:
        try:
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            await self._chunks.aclose()

    async def _send_beats(self, send: Send) -> None:
        filler, every = self._beat
        while True:
            await asyncio.sleep(every)
            await send({"type": "http.response.body", "body": filler, "more_body": True})


async def _await_departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
