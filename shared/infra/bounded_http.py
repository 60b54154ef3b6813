"""HTTP/1.1 with limits on the size and time of request heads, before any application sees them.

The head of a response is sent in one write with a body that follows at once, which saves a system call.
"""

import asyncio

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
_RESPONSES_BY_STATUS = {
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    408: b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
}


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits on the bytes and seconds of a request's head (431, 408).

    A connection without any request is closed after ``silent_seconds``, which is longer than the keep-alive time.
    """

    head_seconds = 10.0
    silent_seconds = 75.0
    _silence: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _is_in_head = True
    _deadline: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._silence = asyncio.get_running_loop().call_later(self.silent_seconds, transport.close)

    @override
    def data_received(self, data: bytes) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        super().data_received(data)
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._deadline is None and not self.transport.is_closing():
                self._deadline = self.loop.call_later(self.head_seconds, self._refuse_and_close, 408)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse_and_close(431)

    @override
    def on_message_begin(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_begin()

    @override
    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        self._cancel_deadline()
        cycle_before = self.cycle
        super().on_headers_complete()
        if self.cycle is not cycle_before:  # a connection that becomes a websocket has no answer
            self.cycle.transport = _AnswerTransport(self.transport, self.loop)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        if self._silence is not None:
            self._silence.cancel()
        super().connection_lost(exc)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse_and_close(self, status: int) -> None:
        """Answers with ``status`` and closes the connection.

        If an earlier request is still being answered, only closes it.
        """
        self._cancel_deadline()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_RESPONSES_BY_STATUS[status])
        self.transport.close()


class _AnswerTransport(asyncio.Transport):
    """A transport for one response, which sends the head together with the first part of the body.

    The head waits at most until the next iteration of the event loop.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._head: bytes | None = None  # empty once it has left
        self._leaves: asyncio.Handle | None = None

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._head is None:
            self._head = bytes(data)
            self._leaves = self._loop.call_soon(self._send_head_with_body)
        elif self._head:
            self._send_head_with_body(data)
        else:
            self._transport.write(data)

    def _send_head_with_body(self, body: bytes | bytearray | memoryview = b"") -> None:
        if self._leaves is not None:
            self._leaves.cancel()
            self._leaves = None
        if self._head:
            self._transport.write(b"".join((self._head, body)))
            self._head = b""

    @override
    def close(self) -> None:
        self._send_head_with_body()
        self._transport.close()

    @override
    def is_closing(self) -> bool:
        return self._transport.is_closing()
