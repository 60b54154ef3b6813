"""One MCP session with one server: opened once, shared by all who call it, ended when it is no longer of use."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from mcp import Client, ClientSession
from mcp.shared.exceptions import MCPError

from services.executor.adapters.mcp_streams import open_streams
from services.executor.adapters.mcp_wire import LineTrouble, McpTransport, Trouble, open_line
from services.executor.ports.tools import OtherProtocol, ToolSilent, ToolUnreachable

log = structlog.get_logger()

OPEN_SECONDS = 10.0


class McpConnection:
    """The session lives in the task that runs ``run``; the SDK's scopes may not be left from another one."""

    def __init__(self, url: str, open_line: Callable[[], McpTransport] = open_line) -> None:
        self._url, self._open_line = url, open_line
        self._opened: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._opening: asyncio.Timeout | None = None
        self._users = 0
        self.line: McpTransport = open_line()  # replaced when a further URL is tried

    @property
    def is_usable(self) -> bool:
        """Whether a call may still be given to it: it is open, or about to be."""
        failed = self._opened.done() and (self._opened.cancelled() or self._opened.exception() is not None)
        return not failed and not self._closing.is_set()

    @property
    def is_idle(self) -> bool:
        return self._users == 0

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While somebody is in here, the link is not idle."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    async def session(self) -> ClientSession:
        """The open session; ``ToolUnreachable`` or ``ToolSilent`` if it cannot be opened."""
        return await asyncio.shield(self._opened)

    def close(self) -> None:
        """Let the session end, also while it opens; calls in flight fail as silent."""
        self._closing.set()
        if self._opening is not None and not self._opening.expired():
            self._opening.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Open the session, keep it until it is closed; never raises."""
        trouble: Exception = ToolUnreachable("the session was closed before it opened")
        try:
            for url in _candidates(self._url):
                if self._closing.is_set() or self._opened.done():
                    break
                trouble = await self._run_at(url)
                if isinstance(trouble, ToolUnreachable):
                    break
        finally:
            self._closing.set()
            self._give_up(trouble)

    async def _run_at(self, url: str) -> Exception:
        """Open at one URL and stay there; returns what ended it, or what stood against it."""
        self.line = self._open_line()
        try:
            await self._stay(Client(open_streams(url, self.line), cache=None))
        except Exception as error:  # noqa: BLE001 - the outer edge of a session: its callers are told, others live on
            return self._port_error(_innermost(error))
        return ToolSilent("the session was closed")

    async def _stay(self, client: Client) -> None:
        async with asyncio.timeout(OPEN_SECONDS) as limit:
            self._opening = limit
            try:
                await self._keep_open(client, limit)
            finally:
                self._opening = None

    async def _keep_open(self, client: Client, limit: asyncio.Timeout) -> None:
        async with client:
            limit.reschedule(None)
            self._opening = None
            self._opened.set_result(client.session)
            await self._closing.wait()

    def _port_error(self, error: Exception) -> Exception:
        trouble = self.line.trouble(error) if isinstance(error, MCPError) else None
        if self._opened.done():
            log.warning("tool_session_lost", error=type(error).__name__)
        if isinstance(error, TimeoutError):
            return ToolSilent(f"no MCP session within {OPEN_SECONDS:g} seconds")
        return as_port_error(trouble or LineTrouble(Trouble.SILENT, f"no MCP session: {error}"))

    def _give_up(self, trouble: Exception) -> None:
        if not self._opened.done():
            self._opened.set_exception(trouble)
            self._opened.exception()  # marks it as seen: perhaps nobody waits any more


def as_port_error(trouble: LineTrouble) -> ToolUnreachable | ToolSilent:
    """The port's word for what happened to the line."""
    if trouble.kind is Trouble.UNREACHABLE:
        return ToolUnreachable(trouble.sentence)
    if trouble.kind is Trouble.FOREIGN:
        return OtherProtocol(trouble.sentence)
    return ToolSilent(trouble.sentence)


def _candidates(url: str) -> Iterator[str]:
    yield url
    if not url.rstrip("/").endswith("/mcp"):
        yield f"{url.rstrip('/')}/mcp"


def _innermost(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
