"""Tool servers behind circuit breakers: one that does not answer is not asked by every task anew (``ToolServers``)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from typing import TypeVar

import structlog
from typing_extensions import override

from services.executor.core.tools.breaker import USUAL, Breaker, BreakerLimits, Circuit
from services.executor.ports.tools import Tool, ToolAnswer, ToolForbidden, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject

MAX_REMEMBERED = 1024
MOST_WAITED = 2.0  # seconds that a call waits for the one that decides

log = structlog.get_logger()

T = TypeVar("T")


class BreakingTools(ToolServers):
    """Keeps one breaker for each server, in this process. A call that it does not let pass certainly was not sent."""

    def __init__(
        self,
        servers: ToolServers,
        limits: BreakerLimits = USUAL,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._servers = servers
        self._limits = limits
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._news = asyncio.Event()
        self._breakers: dict[str, Breaker] = {}

    @property
    def circuits(self) -> Mapping[str, int]:
        """How many servers stand how: a figure for ``/health``, without their addresses."""
        now = self._clock()
        return Counter(breaker.state(now).value for breaker in self._breakers.values())

    def circuit_of(self, connection: Connection) -> Circuit:
        breaker = self._breakers.get(connection.line)
        return breaker.state(self._clock()) if breaker else Circuit.CLOSED

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return await self._ask_through_breaker(
            connection, "", None, lambda _: self._servers.discover(connection, session_id)
        )

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._servers.may_have_unlisted(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._ask_through_breaker(
            connection, tool, timeout, lambda left: self._servers.call(connection, tool, arguments, left, session_id)
        )

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._ask_through_breaker(
            connection, tool, timeout, lambda left: self._servers.read(connection, tool, arguments, left, session_id)
        )

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ToolAnswer | None:
        return await self._ask_through_breaker(
            connection,
            "",
            timeout,
            lambda left: self._servers.ask_outcome(connection, arguments, left, session_id, stop_agent=stop_agent),
        )

    async def _ask_through_breaker(
        self, connection: Connection, tool: str, timeout: float | None, ask: Callable[[float], Coroutine[None, None, T]]
    ) -> T:
        """What the server answers. Who comes beside the one call that decides waits for it, within its own time."""
        breaker, began = self._breaker(connection.line), self._clock()
        await self._wait_for_decision(breaker, timeout)
        if not breaker.passes(self._clock()):
            left = breaker.seconds_left(self._clock())
            what = f"{tool} was not sent" if tool else "its tools were not asked for"
            raise ToolUnreachable(f"{connection.id} failed several times in a row; {what}, and may be in {left:.1f} s")
        try:
            answer = await ask(max(0.001, (timeout or 0.0) - (self._clock() - began)))
        except ToolForbidden:
            breaker.record_abandoned()
            raise
        except (ToolUnreachable, ToolSilent):
            self._record_failure(connection, breaker)
            raise
        except BaseException:
            breaker.record_abandoned()
            raise
        else:
            breaker.record_answer()
        finally:
            self._tell()
        return answer

    def _tell(self) -> None:
        """Wake whoever waits for what a call came to."""
        self._news.set()
        self._news = asyncio.Event()

    async def _wait_for_decision(self, breaker: Breaker, timeout: float | None) -> None:
        if not breaker.is_probing:
            return
        try:
            async with asyncio.timeout(MOST_WAITED if timeout is None else min(timeout / 2, MOST_WAITED)):
                while breaker.is_probing:
                    await self._news.wait()
        except TimeoutError:
            return

    def _record_failure(self, connection: Connection, breaker: Breaker) -> None:
        before = breaker.state(self._clock())
        breaker.record_failure(self._clock())
        if before is Circuit.CLOSED and breaker.state(self._clock()) is Circuit.OPEN:
            log.warning("tool_server_left_alone", connection=connection.id)

    def _breaker(self, line: str) -> Breaker:
        """The latest used stands last; the first is forgotten where there are too many."""
        breaker = self._breakers.pop(line, None) or Breaker(self._limits)
        self._breakers[line] = breaker
        if len(self._breakers) > MAX_REMEMBERED:
            self._breakers.pop(next(iter(self._breakers)))
        return breaker
