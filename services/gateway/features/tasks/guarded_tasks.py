"""The store of tasks with guards around it: shedding of load, counters, traces; and wakes that may fail."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import structlog
from typing_extensions import override

from services.gateway.edge.errors import TooManyRequests
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain import metric_names as names
from shared.domain import span_names as spans
from shared.ports.meter import Meter
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted, SessionBelongsToOther, Standing, TaskEnded, Tasks, TenantIsStopped, Wakes
from shared.ports.tracing import SpanKind, Tracer


class PassingTasks(Tasks):
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        return await self._tasks.accept(record, turn, dedupe)

    @override
    async def find_accepted(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted | None:
        return await self._tasks.find_accepted(record, turn, dedupe)

    @override
    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        return await self._tasks.signal(tenant, session_id, turn)

    @override
    async def record(self, tenant: str, task_id: str) -> TaskRecord | None:
        return await self._tasks.record(tenant, task_id)

    @override
    async def standing(self, tenant: str, task_id: str) -> Standing | None:
        return await self._tasks.standing(tenant, task_id)

    @override
    def watch(self, tenant: str, task_id: str, after: str = "0") -> AsyncGenerator[tuple[str, TaskEvent], None]:
        return self._tasks.watch(tenant, task_id, after)


KEPT_SECONDS = 1.0  # for which a count lets messages in: it costs one round trip a second, however many come
REFUSES_SECONDS = 0.1  # for which it refuses them: by then an executor may have begun what waited
RETRY_SECONDS = 5.0
TOLD_SECONDS = 10.0  # until it is said again that messages are refused

log = structlog.get_logger()


class Backlog(Protocol):
    async def waiting(self) -> int:
        """How many sessions wait for an executor; may raise ``StoreUnavailable``."""
        ...


class SheddingTasks(PassingTasks):
    def __init__(self, tasks: Tasks, backlog: Backlog, most: int, clock: Callable[[], float]) -> None:
        """``clock``: seconds that never go back."""
        super().__init__(tasks)
        self._limit = _WaitingLimit(backlog, most, clock)

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        """Also raises ``TooManyRequests``; then nothing was stored. What was taken before is not refused now."""
        async with self._limit.reserve() as place:
            if place is not None:
                accepted = await self._tasks.accept(record, turn, dedupe)
                place.is_filled = accepted.fresh
                return accepted
        if before := await self._tasks.find_accepted(record, turn, dedupe):
            return before
        raise TooManyRequests("more work waits than this installation takes on", RETRY_SECONDS)


class _Reservation:
    is_filled = False


class _WaitingLimit:
    """How many more sessions may wait: what was counted, what was stored since, and what is being stored now.

    Nobody is let in or refused by a count that is too old: whoever finds it so has it made anew, and all others wait
    for that. While it is made nothing is being stored, so nothing is counted twice or left out.
    """

    def __init__(self, backlog: Backlog, most: int, clock: Callable[[], float]) -> None:
        self._backlog, self._most, self._clock = backlog, most, clock
        self._waiting, self._counted_at, self._tell_at = 0, float("-inf"), float("-inf")
        self._reserved = 0
        self._all_stored = asyncio.Event()
        self._all_stored.set()
        self._counting = asyncio.Lock()

    @asynccontextmanager
    async def reserve(self) -> AsyncIterator[_Reservation | None]:
        """A place among those that may wait; None if there is none. May raise ``StoreUnavailable``."""
        if not await self._has_place():
            yield None
            return
        self._reserved += 1
        self._all_stored.clear()
        place = _Reservation()
        try:
            yield place
        finally:
            self._reserved -= 1
            self._waiting += place.is_filled
            if not self._reserved:
                self._all_stored.set()

    async def _has_place(self) -> bool:
        """Nothing is awaited between this answer and what the caller does with it."""
        async with self._counting:
            age = self._clock() - self._counted_at
            if age >= KEPT_SECONDS or (self._is_full() and age >= REFUSES_SECONDS):
                await self._all_stored.wait()
                await self._count()
            return not self._is_full()

    def _is_full(self) -> bool:
        return self._waiting + self._reserved >= self._most

    async def _count(self) -> None:
        began = self._clock()
        self._waiting = await self._backlog.waiting()
        self._counted_at = began
        if self._is_full() and began >= self._tell_at:
            self._tell_at = began + TOLD_SECONDS
            log.warning("load_shedding", waiting=self._waiting, most=self._most)


_WHY: dict[type[Exception], str] = {
    TooManyRequests: "shed",
    TenantIsStopped: "stopped",
    SessionBelongsToOther: "other_session",
    TaskEnded: "ended",
    StoreUnavailable: "store",
}


class CountedTasks(PassingTasks):
    def __init__(self, tasks: Tasks, meter: Meter) -> None:
        super().__init__(tasks)
        self._meter = meter

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        try:
            accepted = await self._tasks.accept(record, turn, dedupe)
        except tuple(_WHY) as error:
            why = next(word for kind, word in _WHY.items() if isinstance(error, kind))
            self._meter.add(names.TURNS_REFUSED, why=why)
            raise
        fresh = "yes" if accepted.fresh else "no"
        self._meter.add(names.TURNS_ACCEPTED, dialect=record.dialect.value, fresh=fresh)
        return accepted


def traced_tasks(tasks: Tasks, tracer: Tracer) -> Tasks:
    """The tasks themselves where nobody looks."""
    return TracedTasks(tasks, tracer) if tracer.is_on else tasks


class TracedTasks(PassingTasks):
    """Accepting has a span of its own: it ends at once, so that whatever follows has a parent that was told."""

    def __init__(self, tasks: Tasks, tracer: Tracer) -> None:
        super().__init__(tasks)
        self._tracer = tracer

    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        with self._tracer.span(spans.ACCEPT, SpanKind.PRODUCER) as span:
            here = {"traceparent": self._tracer.traceparent()}
            accepted = await self._tasks.accept(record.model_copy(update=here), turn.model_copy(update=here), dedupe)
            task = accepted.record
            span.note({spans.TENANT: task.tenant, spans.SESSION: task.session_id, spans.TASK: task.task_id})
            span.note({spans.DIALECT: task.dialect.value, spans.TURN_KIND: turn.kind.value})
            span.note({spans.FRESH: accepted.fresh})
            return accepted

    @override
    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        with self._tracer.span(spans.ACCEPT, SpanKind.PRODUCER) as span:
            span.note({spans.TENANT: tenant, spans.SESSION: session_id, spans.TASK: turn.task_id})
            span.note({spans.TURN_KIND: turn.kind.value})
            here = {"traceparent": self._tracer.traceparent()}
            return await self._tasks.signal(tenant, session_id, turn.model_copy(update=here))


_SECONDS = 1.0


class BestEffortWakes(Wakes):
    def __init__(self, wakes: Wakes) -> None:
        self._wakes = wakes

    async def wake(self, tenant: str, session_id: str) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                await self._wakes.wake(tenant, session_id)
        except (StoreUnavailable, TimeoutError) as error:  # the executors' reaper mends a lost wake
            log.warning("wake_lost", session_id=session_id, error=f"{type(error).__name__}: {error}")
