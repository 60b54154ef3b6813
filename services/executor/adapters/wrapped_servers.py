"""Wraps every tool server (``ToolServers``): hides shown secrets in answers, waits for one that is being replaced,
counts calls, and pauses one that fails again and again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from time import perf_counter
from typing import NamedTuple, cast

import structlog
from typing_extensions import override

from services.executor.adapters.credentials import ResolvedCredentials
from services.executor.ports import tools as ports
from shared.contracts.tenant import Connection
from shared.domain import metric_names as names
from shared.domain.exact_json import Json, JsonObject
from shared.domain.identity_cache import IdentityCache
from shared.domain.lru_cache import LruCache
from shared.infra.patiently import PAUSES, retry_patiently
from shared.ports.meter import Meter

_IN_ITS_PLACE = "[credential]"
_SHORTEST = 8  # what is shorter is found in every second answer by chance, and keeps nobody out


class DiscreetServers(ports.WrappedServers):
    def __init__(self, servers: ports.ToolServers, credentials: ports.Credentials) -> None:
        super().__init__(servers)
        self._credentials = credentials
        self._hidden = IdentityCache[tuple[ports.Tool, ...], dict[tuple[str, ...], tuple[ports.Tool, ...]]](
            lambda _: {}, 128
        )

    @override
    async def _ask(self, question: ports.ServerQuestion, send: ports.Send[ports.T]) -> ports.T:
        try:
            answer = await super()._ask(question, send)
        except (ports.ToolUnreachable, ports.ToolSilent) as error:
            raise self._error_without_secrets(question.connection, error) from None
        if isinstance(answer, ports.ToolAnswer):
            return cast("ports.T", self._answer_without_secrets(question.connection, answer))
        return answer

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[ports.Tool, ...]:
        tools = await super().discover(connection, session_id)
        secrets = self._credentials.shown_secrets(connection)
        return self._hide(tools, secrets) if secrets else tools

    def _hide(self, tools: tuple[ports.Tool, ...], secrets: tuple[str, ...]) -> tuple[ports.Tool, ...]:
        """The tools without the secrets; the same objects for the same listing, as long as the secrets are the same."""
        known = self._hidden(tools)
        if secrets not in known:
            known.clear()
            known[secrets] = tuple(_tool(tool, secrets) for tool in tools)
        return known[secrets]

    def _answer_without_secrets(self, connection: Connection, answer: ports.ToolAnswer) -> ports.ToolAnswer:
        secrets = self._credentials.shown_secrets(connection)
        asked = answer.unfinished
        cleaned = asked._replace(question=_text(asked.question, secrets)) if asked else None
        return answer._replace(content=_without_secrets(answer.content, secrets), unfinished=cleaned)

    def _error_without_secrets(
        self, connection: Connection, error: ports.ToolUnreachable | ports.ToolSilent
    ) -> ports.ToolUnreachable | ports.ToolSilent:
        said = _text(str(error), self._credentials.shown_secrets(connection))
        return error if said == str(error) else type(error)(said)


def _tool(tool: ports.Tool, secrets: Sequence[str]) -> ports.Tool:
    schema = cast("JsonObject", _without_secrets(tool.input_schema, secrets))
    return tool._replace(description=_text(tool.description, secrets), input_schema=schema)


def _without_secrets(value: Json, secrets: Sequence[str]) -> Json:
    if not secrets:
        return value
    match value:
        case str():
            return _text(value, secrets)
        case list():
            return [_without_secrets(part, secrets) for part in value]
        case dict():
            return {_text(name, secrets): _without_secrets(part, secrets) for name, part in value.items()}
        case _:
            return value


def _text(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _IN_ITS_PLACE) if len(secret) >= _SHORTEST else text
    return text


log = structlog.get_logger()


class PatientTools(ports.WrappedServers):
    """Retries listings and reads of a server that is away. Other calls are passed on as they are: they may change
    something.
    """

    def __init__(self, servers: ports.ToolServers, pauses: tuple[float, ...] = PAUSES) -> None:
        super().__init__(servers)
        self._pauses = pauses

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[ports.Tool, ...]:
        lost = (ports.ToolUnreachable, ports.ToolSilent)
        return await retry_patiently(
            lambda: self._servers.discover(connection, session_id), lost, self._pauses, never=(ports.ToolForbidden,)
        )

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ports.ToolAnswer:
        """Reads, again while the server cannot be reached, and once more after a silence; all of it within the
        time-out.
        """
        clock = asyncio.get_running_loop().time
        until, fell_silent = clock() + timeout, False
        for pause in self._pauses:
            try:
                return await self._servers.read(connection, tool, arguments, until - clock(), session_id)
            except ports.ToolForbidden:
                raise
            except (ports.ToolUnreachable, ports.ToolSilent) as error:
                silent = isinstance(error, ports.ToolSilent)
                if clock() + pause >= until or (silent and fell_silent):
                    raise
                fell_silent = fell_silent or silent
                log.info("read_repeated", tool=tool, error=str(error))
            await asyncio.sleep(pause)
        return await self._servers.read(connection, tool, arguments, until - clock(), session_id)


class CountedTools(ports.WrappedServers):
    def __init__(self, servers: ports.ToolServers, meter: Meter) -> None:
        super().__init__(servers)
        self._meter = meter

    @override
    async def _ask(self, question: ports.ServerQuestion, send: ports.Send[ports.T]) -> ports.T:
        began, outcome = perf_counter(), "given_up"
        try:
            answer = await super()._ask(question, send)
            outcome = "error" if isinstance(answer, ports.ToolAnswer) and answer.is_error else "ok"
        except ports.ToolForbidden:
            outcome = "forbidden"
            raise
        except ports.ToolUnreachable:
            outcome = "unreachable"
            raise
        except ports.ToolSilent:
            outcome = "silent"
            raise
        finally:
            self._meter.observe(names.TOOL_SECONDS, perf_counter() - began, kind=question.kind)
            self._meter.add(names.TOOL_CALLS, connection=question.connection.id, kind=question.kind, outcome=outcome)
        return answer


class Circuit(StrEnum):
    CLOSED = "closed"  # calls pass
    OPEN = "open"  # no call passes
    HALF_OPEN = "half-open"  # one call passes, and what becomes of it decides


class BreakerLimits(NamedTuple):
    """When a breaker opens and for how long: after ``failures`` in a row for ``first`` seconds.

    After ``steady`` seconds without an answer each pause is twice the one before it, at most ``longest``: a server that
    was only restarted is found again while reads wait.
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
        """Whether the single call that decides about closing the breaker is under way."""
        return self._probing

    def seconds_left(self, now: float) -> float:
        """For how many seconds no call passes, as far as is known now."""
        return max(0.0, self._until - now)

    def passes(self, now: float) -> bool:
        """Whether a call may be made now. The caller has to record afterwards what became of it."""
        state = self.state(now)
        if state is Circuit.HALF_OPEN:
            self._probing = True
        return state is not Circuit.OPEN

    def record_answer(self) -> None:
        """Notes that the server answered, whatever it said."""
        self._in_a_row, self._pause, self._probing = 0, self._limits.first, False

    def record_failure(self, now: float) -> None:
        """Notes that there was no connection, or no usable answer. Calls that were under way when the breaker opened do
        not lengthen its pause.
        """
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
        """Notes that the caller left before the outcome was known: nothing is learned, and another call may try."""
        self._probing = False


MAX_REMEMBERED = 1024
MOST_WAITED = 2.0  # seconds that a call waits for the one that decides


class BreakingTools(ports.WrappedServers):
    """Servers with a breaker for each, in this process. A call that a breaker does not let pass was certainly not
    sent.
    """

    def __init__(
        self,
        servers: ports.ToolServers,
        limits: BreakerLimits = USUAL,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(servers)
        self._limits = limits
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._news = asyncio.Event()
        self._breakers = LruCache[str, Breaker](MAX_REMEMBERED)

    @property
    def circuits(self) -> Mapping[str, int]:
        """How many servers are in each state of the breaker, for ``/health``, without their addresses."""
        now = self._clock()
        return Counter(breaker.state(now).value for breaker in self._breakers.values())

    @override
    async def _ask(self, question: ports.ServerQuestion, send: ports.Send[ports.T]) -> ports.T:
        """The server's answer. While a single call decides about the breaker, others wait for it, within their own
        time.
        """
        connection, tool, timeout = question.connection, question.tool, question.timeout
        began, key = self._clock(), connection.server_key
        breaker = self._breakers.use(key) or self._breakers.keep(key, Breaker(self._limits))
        await self._wait_for_decision(breaker, timeout)
        if not breaker.passes(self._clock()):
            left = breaker.seconds_left(self._clock())
            what = f"{tool} was not sent" if tool else "its tools were not asked for"
            raise ports.ToolUnreachable(
                f"{connection.id} failed several times in a row; {what}, and may be in {left:.1f} s"
            )
        try:
            answer = await send(self._servers, max(0.001, (timeout or 0.0) - (self._clock() - began)))
        except ports.ToolForbidden:
            breaker.record_abandoned()
            raise
        except (ports.ToolUnreachable, ports.ToolSilent):
            self._record_failure(connection, breaker)
            raise
        except BaseException:
            breaker.record_abandoned()
            raise
        else:
            breaker.record_answer()
        finally:
            self._wake_waiting()
        return answer

    def _wake_waiting(self) -> None:
        """Wakes the calls that wait for the outcome of another."""
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


class ServerHealth(NamedTuple):
    breaking: BreakingTools
    credentials: ResolvedCredentials

    @property
    def circuits(self) -> Mapping[str, int]:
        """Servers by the state of their circuit breakers, and how many connections have no credential to show."""
        lacking = self.credentials.lacking
        return {**self.breaking.circuits, **({"without_credential": lacking} if lacking else {})}
