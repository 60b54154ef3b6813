"""Repeats questions to a tool server while it is briefly away, and stops asking it while it keeps failing (circuit
breaker).
"""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from time import monotonic, perf_counter
from typing import NamedTuple, TypeVar

import structlog

from services.executor.ports.tools import ToolAddressForbidden, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain import metric_names as names
from shared.domain.lru_cache import LruCache
from shared.infra.retries import RETRY_PAUSES, retry_with_pauses
from shared.ports.meter import Meter, NoMeter

log = structlog.get_logger()

T = TypeVar("T")


class CircuitState(StrEnum):
    """Whether a circuit breaker lets calls pass."""

    CLOSED = "closed"  # calls pass
    OPEN = "open"  # no call passes
    HALF_OPEN = "half-open"  # one call passes, and what becomes of it decides


class CircuitBreakerLimits(NamedTuple):
    """The limits of a circuit breaker: it opens after ``failures`` in a row, at first for ``first`` seconds.

    Once a server has not answered for ``steady`` seconds, each pause is twice the one before, up to ``longest``. Before
    that the pauses stay short, so that a server which was only restarted is found while reads still wait.
    """

    failures: int = 5
    first: float = 0.5
    steady: float = 5.0
    longest: float = 30.0


DEFAULT_LIMITS = CircuitBreakerLimits()


class CircuitBreaker:
    """The circuit breaker of one server: after repeated failures it refuses calls for a while, then lets one trial call
    pass. ``now`` is in seconds on any clock that never goes back.
    """

    def __init__(self, limits: CircuitBreakerLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._failures_in_a_row = 0
        self._pause = limits.first
        self._opened = 0.0
        self._until = 0.0
        self._last_call = 0
        self._trial_call: int | None = None  # the one that may close the breaker, while it is in flight

    def get_state(self, now: float) -> CircuitState:
        if self._failures_in_a_row < self._limits.failures:
            return CircuitState.CLOSED
        return CircuitState.OPEN if self._trial_call is not None or now < self._until else CircuitState.HALF_OPEN

    def seconds_until_retry(self, now: float) -> float:
        """For how many seconds the breaker will still refuse every call; 0 if it lets one pass."""
        return max(0.0, self._until - now)

    def admit_call(self, now: float) -> int | None:
        """The number of a call that may be made now, by which the caller must record its outcome; None if none may."""
        state = self.get_state(now)
        if state is CircuitState.OPEN:
            return None
        self._last_call += 1
        if state is CircuitState.HALF_OPEN:
            self._trial_call = self._last_call
        return self._last_call

    def record_answer(self) -> None:
        """Notes that the server answered, with whatever content."""
        self._failures_in_a_row = 0
        self._pause = self._limits.first
        self._trial_call = None

    def record_failure(self, call: int, now: float) -> bool:
        """Notes that no usable answer came; returns whether this opened the breaker.

        An open breaker heeds only its trial call: any other call in flight was made before it opened.
        """
        is_trial, state_before = call == self._trial_call, self.get_state(now)
        self._failures_in_a_row = min(self._failures_in_a_row + 1, self._limits.failures)
        has_opened = state_before is CircuitState.CLOSED and self._failures_in_a_row == self._limits.failures
        if has_opened:
            self._opened = now
        elif is_trial and now - self._opened >= self._limits.steady:
            self._pause = min(2 * self._pause, self._limits.longest)
        if has_opened or is_trial:
            self._until = now + self._pause
        self.record_abandoned_call(call)
        return has_opened

    def record_abandoned_call(self, call: int) -> None:
        """Records that the caller gave up: the state stays; after a trial call another one may be made."""
        if call == self._trial_call:
            self._trial_call = None


MOST_BREAKERS = 1024
_NO_ANSWER_ERRORS = (ToolUnreachable, ToolSilent)
_OUTCOME_BY_ERROR = {
    ToolAddressForbidden: "forbidden",
    ToolUnreachable: "unreachable",
    ToolSilent: "silent",
}  # first match


class ServerQuestion(NamedTuple):
    """One request to a server. ``kind``: discover, call, read, or recall (``ToolServers.ask_outcome``); only discover
    has no time-out.
    """

    kind: str
    connection: Connection
    tool: str = ""
    timeout: float = math.inf


class Resilience:
    """Asks servers through one circuit breaker each. A call that the breaker refuses was certainly not sent.

    Tool lists and reads are repeated while their server is away. Other calls are not, since they may change something.
    A question counts once in the metrics, however often it was sent.
    """

    def __init__(
        self,
        meter: Meter | None = None,
        pauses: tuple[float, ...] = RETRY_PAUSES,
        limits: CircuitBreakerLimits = DEFAULT_LIMITS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``pauses``: the seconds between attempts."""
        self._meter = meter or NoMeter()
        self._pauses = pauses
        self._limits = limits
        self._clock = clock
        self._breakers = LruCache[str, CircuitBreaker](MOST_BREAKERS)

    @property
    def circuit_counts_by_state(self) -> Mapping[str, int]:
        """The number of servers by breaker state, for ``/health``."""
        now = self._clock()
        return Counter(breaker.get_state(now).value for breaker in self._breakers.values())

    async def ask(self, question: ServerQuestion, send: Callable[[float], Awaitable[T]]) -> T:
        """The server's answer. ``send`` asks the server once; it is given the number of seconds left."""
        began, outcome = perf_counter(), "given_up"
        try:
            answer = await self._ask_by_kind(question, send)
            outcome = "error" if isinstance(answer, ToolAnswer) and answer.is_error else "ok"
        except _NO_ANSWER_ERRORS as error:
            outcome = next(word for kind, word in _OUTCOME_BY_ERROR.items() if isinstance(error, kind))
            raise
        finally:
            kind, connection = question.kind, question.connection.id
            self._meter.observe(names.TOOL_SECONDS, perf_counter() - began, kind=kind)
            self._meter.add(names.TOOL_CALLS, connection=connection, kind=kind, outcome=outcome)
        return answer

    async def _ask_by_kind(self, question: ServerQuestion, send: Callable[[float], Awaitable[T]]) -> T:
        if question.kind == "discover":
            never = (ToolAddressForbidden,)
            return await retry_with_pauses(
                lambda: self._ask_once(question, send), _NO_ANSWER_ERRORS, self._choose_pauses(question), never=never
            )
        if question.kind == "read":
            return await self._read_with_retries(question, send)
        return await self._ask_once(question, send)

    def _choose_pauses(self, question: ServerQuestion) -> tuple[float, ...]:
        """The seconds between attempts; no pauses, hence one attempt, if the breaker will refuse all of them anyway."""
        breaker = self._breakers.get(question.connection.server_key)
        refusing_seconds = breaker.seconds_until_retry(self._clock()) if breaker else 0.0
        return () if refusing_seconds > sum(self._pauses) else self._pauses

    async def _read_with_retries(self, question: ServerQuestion, send: Callable[[float], Awaitable[T]]) -> T:
        """Repeats a read while the server is unreachable, and once after it did not answer; all within the time-out."""
        until, fell_silent = monotonic() + question.timeout, False
        for pause in self._choose_pauses(question):
            try:
                return await self._ask_once(question._replace(timeout=until - monotonic()), send)
            except ToolAddressForbidden:
                raise
            except _NO_ANSWER_ERRORS as error:
                silent = isinstance(error, ToolSilent)
                if monotonic() + pause >= until or (silent and fell_silent):
                    raise
                fell_silent = fell_silent or silent
                log.info("tool_read_repeated", tool=question.tool, error=str(error))
            await asyncio.sleep(pause)
        return await self._ask_once(question._replace(timeout=until - monotonic()), send)

    async def _ask_once(self, question: ServerQuestion, send: Callable[[float], Awaitable[T]]) -> T:
        key = question.connection.server_key
        breaker = self._breakers.look_up(key) or self._breakers.put(key, CircuitBreaker(self._limits))
        call = breaker.admit_call(self._clock())
        if call is None:
            raise ToolUnreachable(_describe_open_breaker(question, breaker.seconds_until_retry(self._clock())))
        try:
            answer = await send(max(0.001, question.timeout))
        except ToolAddressForbidden:
            breaker.record_abandoned_call(call)
            raise
        except _NO_ANSWER_ERRORS:
            if breaker.record_failure(call, self._clock()):
                log.warning("circuit_breaker_opened", connection=question.connection.id)
            raise
        except BaseException:
            breaker.record_abandoned_call(call)
            raise
        else:
            breaker.record_answer()
        return answer


def _describe_open_breaker(question: ServerQuestion, seconds_until_retry: float) -> str:
    effect = f"{question.tool} was not sent" if question.tool else "its tools were not asked for"
    server = question.connection.id
    return f"{server} failed several times in a row; {effect}, and may be in {seconds_until_retry:.1f} s"
