"""The streams under an MCP session, in which a call of a tool goes to the server without a stream and a task between.

The SDK's own transport serves all else: how a session begins and ends, notices, lists, and each answer that is not one
JSON response to the call.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCRequest
from typing_extensions import override

from services.executor.adapters.mcp_wire import McpTransport

_Message: TypeAlias = SessionMessage | Exception
_CALL = "tools/call"


@asynccontextmanager
async def open_streams(url: str, line: McpTransport) -> AsyncIterator[tuple["_Received", "_Sent"]]:
    """What a session reads from, and what it writes to, over ``line``."""
    async with line.client() as http, streamable_http_client(url, http_client=http) as (theirs, to_them):
        received = _Received()

        async def pass_on() -> None:
            async for message in theirs:
                received.add(message)
            received.end()

        async with asyncio.TaskGroup() as group:
            passing = group.create_task(pass_on())
            try:
                yield received, _Sent(url, line, to_them, received)
            finally:
                passing.cancel()


class _Stream:
    async def aclose(self) -> None:
        """Nothing of its own to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


class _Received(_Stream):
    """Messages from the server, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[_Message | None] = asyncio.Queue()

    def add(self, message: _Message) -> None:
        self._waiting.put_nowait(message)

    def end(self) -> None:
        self._waiting.put_nowait(None)

    async def receive(self) -> _Message:
        message = await self._waiting.get()
        if message is None:
            self.end()
            raise anyio.EndOfStream
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Message:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Writing(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


class _Sent(_Stream):
    """Messages to the server."""

    def __init__(self, url: str, line: McpTransport, others: _Writing, received: _Received) -> None:
        self._url, self._line, self._others, self._received = url, line, others, received

    async def send(self, item: SessionMessage, /) -> None:
        """A call of a tool is answered when this returns, or the SDK's transport reads what came of it."""
        call = item.message
        if not isinstance(call, JSONRPCRequest) or call.method != _CALL:
            await self._others.send(item)
            return
        stamped = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
        result = await self._line.call(self._url, call, stamped or {})
        if result is not None:
            self._received.add(SessionMessage(result))
            return
        with self._line.handing_over(call):
            await self._others.send(item)

    @override
    async def aclose(self) -> None:
        await self._others.aclose()
