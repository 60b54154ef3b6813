"""One MCP session with one server. All callers share it; it is opened once and ended when it is broken or no longer
needed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Protocol, Self, TypeVar

import anyio
import structlog
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCRequest
from pydantic import ValidationError

from services.executor.adapters.mcp_content import summarize_error
from services.executor.adapters.mcp_wire import McpTransport, SessionExpired
from services.executor.ports.tools import ToolSilent, ToolUnreachable

_CALL_METHOD = "tools/call"
_BROKEN_LINK_ERRORS = (ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError, ValueError)

T = TypeVar("T")


@asynccontextmanager
async def open_streams(url: str, transport: McpTransport) -> AsyncIterator[tuple["_Streams", "_Streams"]]:
    """Yields the two streams of an MCP session over ``transport``: one to read from, one to write to."""
    async with transport.open_client() as http, streamable_http_client(url, http_client=http) as (source, sink), sink:
        streams = _Streams(url, transport, sink)

        async def forward_messages() -> None:
            async for message in source:
                streams.add(message)
            streams.add(None)

        async with asyncio.TaskGroup() as group:
            forwarding = group.create_task(forward_messages())
            try:
                yield streams, streams
            finally:
                forwarding.cancel()


class _WriteStream(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class _Streams:
    """The server's messages in their order, and a writer for messages to it. Both end when the transport closes."""

    def __init__(self, url: str, transport: McpTransport, outgoing: _WriteStream) -> None:
        self._url, self._transport, self._outgoing = url, transport, outgoing
        self._received: asyncio.Queue[SessionMessage | Exception | None] = asyncio.Queue()

    def add(self, message: SessionMessage | Exception | None) -> None:
        """Adds a message from the server. None marks the end."""
        self._received.put_nowait(message)

    async def receive(self) -> SessionMessage | Exception:
        message = await self._received.get()
        if message is None:
            self.add(None)
            raise anyio.EndOfStream
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def send(self, item: SessionMessage, /) -> None:
        """Sends one message: a tool call directly over our transport, all else through the SDK's."""
        call = item.message
        if not isinstance(call, JSONRPCRequest) or call.method != _CALL_METHOD:
            return await self._outgoing.send(item)
        headers = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
        result = await self._transport.call(self._url, call, headers or {})
        if result is not None:
            return self.add(SessionMessage(result))
        try:
            await self._outgoing.send(item)
        except BaseException:
            self._transport.drop_answer(call)
            raise

    async def aclose(self) -> None:
        """Does nothing: there is nothing of its own to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> bool | None: ...


log = structlog.get_logger()

OPEN_SECONDS = 10.0


class McpLink:
    """One session with a server, inside the task of ``run``: the SDK's cancel scopes must be left where entered."""

    def __init__(self, url: str, transport: McpTransport) -> None:
        self._url, self._transport = url, transport
        self._opened: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._opening: asyncio.Timeout | None = None
        self._users = 0

    @property
    def is_usable(self) -> bool:
        """Whether the session can take a call: it is open or still opening, and not closed."""
        has_failed = self._opened.done() and (self._opened.cancelled() or self._opened.exception() is not None)
        return not has_failed and not self._closing.is_set()

    @property
    def is_idle(self) -> bool:
        return self._users == 0

    @contextmanager
    def mark_in_use(self) -> Iterator[None]:
        """A context in which the session does not count as idle."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    async def await_session(self) -> ClientSession:
        """The open session; raises ``ToolUnreachable`` or ``ToolSilent`` if it cannot be opened."""
        return self._opened.result() if self._opened.done() else await asyncio.shield(self._opened)

    async def translate_errors(self, request: Awaitable[T]) -> T:
        """The result of ``request``. Transport errors become the port's; an expired session is closed."""
        try:
            return await request
        except SessionExpired:
            self.close()
            raise
        except MCPError as error:
            trouble = self._transport.pop_port_error(error)
            if trouble is None:
                raise
            if isinstance(trouble, SessionExpired):
                self.close()
            raise trouble from error
        except _BROKEN_LINK_ERRORS as error:
            raise ToolSilent(f"the answer cannot be used: {summarize_error(error)}") from error

    def close(self) -> None:
        """Ends the session, even while it opens. Calls in flight fail with ``ToolSilent``."""
        self._closing.set()
        if self._opening is not None and not self._opening.expired():
            self._opening.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Opens the session and keeps it open until ``close``. Never raises."""
        trouble: Exception = ToolUnreachable("the session was closed before it opened")
        try:
            for url in _list_candidate_urls(self._url):
                if self._closing.is_set() or self._opened.done():
                    break
                trouble = await self._run_session_at(url)
                if isinstance(trouble, ToolUnreachable):
                    break
        finally:
            self._closing.set()
            self._fail_waiting_callers(trouble)

    async def _run_session_at(self, url: str) -> Exception:
        """Opens the session at one URL and keeps it; returns the error that ended it or kept it from opening."""
        try:
            await self._keep_session(Client(open_streams(url, self._transport), cache=None))
        except Exception as error:  # noqa: BLE001 - the outer edge of a session: its callers are told, others live on
            return self._translate_error(_find_innermost_error(error))
        return ToolSilent("the session was closed")

    async def _keep_session(self, client: Client) -> None:
        async with asyncio.timeout(OPEN_SECONDS) as limit:
            self._opening = limit
            try:
                async with client:
                    limit.reschedule(None)
                    self._opening = None
                    self._opened.set_result(client.session)
                    await self._closing.wait()
            finally:
                self._opening = None

    def _translate_error(self, error: Exception) -> Exception:
        trouble = self._transport.pop_port_error(error) if isinstance(error, MCPError) else None
        if self._opened.done():
            log.warning("tool_session_lost", error=type(error).__name__)
        if isinstance(error, TimeoutError):
            return ToolSilent(f"no MCP session within {OPEN_SECONDS:g} seconds")
        return trouble or ToolSilent(f"no MCP session: {error}")

    def _fail_waiting_callers(self, trouble: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(trouble)
            self._opened.exception()  # marks it as seen: perhaps nobody waits any more


def _list_candidate_urls(url: str) -> Iterator[str]:
    yield url
    if not url.rstrip("/").endswith("/mcp"):
        yield f"{url.rstrip('/')}/mcp"


def _find_innermost_error(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
