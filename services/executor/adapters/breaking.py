"""Tool servers behind circuit breakers: one that does not answer is not asked by every task anew (``ToolServers``)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

import structlog
from typing_extensions import override

from services.executor.adapters.credentials import ResolvedCredentials
from services.executor.ports.tools import (
    Send,
    ServerQuestion,
    T,
    ToolForbidden,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
    WrappedServers,
)
from shared.contracts.tenant import Connection


class Circuit(StrEnum):
    CLOSED = "closed"  # calls pass
    OPEN = "open"  # no call passes
    HALF_OPEN = "half-open"  # one call passes, and what becomes of it decides


class BreakerLimits(NamedTuple):
    """``failures`` in a row open it for ``first`` seconds. After ``steady`` seconds without an answer each pause is
    twice the one before it, at most ``longest``: a server that was only restarted is found again while reads wait.
    """

    failures: int = 5
    first: float = 0.5
    steady: float = 5.0
    longest: float = 30.0


USUAL = BreakerLimits()


class Breaker:
    """The circuit to one server. ``now`` is any clock that only goes forward, in seconds."""

    def __init__(self, limits: BreakerLimits = USUAL) -> None:
        self._limits = limits
        self._in_a_row = 0
        self._pause = limits.first
        self._opened = 0.0
        self._until = 0.0
        self._probing = False

    def state(self, now: float) -> Circuit:
        if self._in_a_row < self._limits.failures:
            return Circuit.CLOSED
        return Circuit.OPEN if self._probing or now < self._until else Circuit.HALF_OPEN

    @property
    def is_probing(self) -> bool:
        """Whether the one call is under way that decides."""
        return self._probing

    def seconds_left(self, now: float) -> float:
        """How long no call passes, as far as is known now."""
        return max(0.0, self._until - now)

    def passes(self, now: float) -> bool:
        """Whether a call may be made now. Whoever makes it says afterwards what became of it."""
        state = self.state(now)
        if state is Circuit.HALF_OPEN:
            self._probing = True
        return state is not Circuit.OPEN

    def record_answer(self) -> None:
        """The server answered, whatever it said."""
        self._in_a_row, self._pause, self._probing = 0, self._limits.first, False

    def record_failure(self, now: float) -> None:
        """No connection, or no usable answer. Calls that were under way when it opened do not lengthen its pause."""
        was = self.state(now)
        self._in_a_row = min(self._in_a_row + 1, self._limits.failures)
        opens = was is Circuit.CLOSED and self._in_a_row == self._limits.failures
        if opens:
            self._opened = now
        elif self._probing and now - self._opened >= self._limits.steady:
            self._pause = min(2 * self._pause, self._limits.longest)
        if opens or self._probing:
            self._until = now + self._pause
        self._probing = False

    def record_abandoned(self) -> None:
        """The caller left before it knew: nothing is learned, and another call may try."""
        self._probing = False


MAX_REMEMBERED = 1024
MOST_WAITED = 2.0  # seconds that a call waits for the one that decides

log = structlog.get_logger()


class BreakingTools(WrappedServers):
    """Keeps one breaker for each server, in this process. A call that it does not let pass certainly was not sent."""

    def __init__(
        self,
        servers: ToolServers,
        limits: BreakerLimits = USUAL,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(servers)
        self._limits = limits
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._news = asyncio.Event()
        self._breakers: dict[str, Breaker] = {}

    @property
    def circuits(self) -> Mapping[str, int]:
        """How many servers stand how: a figure for ``/health``, without their addresses."""
        now = self._clock()
        return Counter(breaker.state(now).value for breaker in self._breakers.values())

    @override
    async def _ask(self, question: ServerQuestion, send: Send[T]) -> T:
        """What the server answers. Who comes beside the one call that decides waits for it, within its own time."""
        connection, tool, timeout = question.connection, question.tool, question.timeout
        breaker, began = self._breaker(connection.line), self._clock()
        await self._wait_for_decision(breaker, timeout)
        if not breaker.passes(self._clock()):
            left = breaker.seconds_left(self._clock())
            what = f"{tool} was not sent" if tool else "its tools were not asked for"
            raise ToolUnreachable(f"{connection.id} failed several times in a row; {what}, and may be in {left:.1f} s")
        try:
            answer = await send(self._servers, max(0.001, (timeout or 0.0) - (self._clock() - began)))
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


class ServerHealth(NamedTuple):
    breaking: BreakingTools
    credentials: ResolvedCredentials

    @property
    def circuits(self) -> Mapping[str, int]:
        """Servers by the state of their circuit breakers, and how many connections have no credential to show."""
        lacking = self.credentials.lacking
        return {**self.breaking.circuits, **({"without_credential": lacking} if lacking else {})}
