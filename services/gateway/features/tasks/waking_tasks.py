"""The task store as the gateway uses it: it also wakes executors, sheds load, and records metrics and traces."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from time import monotonic

import structlog
from typing_extensions import override

from services.gateway.edge.errors import StoppedTenant, TooManyRequests
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain import metric_names as names, span_names as spans
from shared.infra.wakes import ArqWakes
from shared.ports import tasks as ports
from shared.ports.meter import Meter
from shared.ports.store import StoreUnavailable
from shared.ports.tracing import NO_TRACER, SpanKind, Tracer

RETRY_SECONDS = 5.0
REFUSAL_LOG_SECONDS = 10.0  # until it is said again that messages are refused
_REFUSAL_LABELS: dict[type[Exception], str] = {
    ports.TooManyWaiting: "shed",
    ports.SessionIsCrowded: "crowded",
    ports.TenantIsStopped: "stopped",
    ports.SessionBelongsToOther: "other_session",
    ports.TaskEnded: "ended",
    StoreUnavailable: "store",
}

log = structlog.get_logger()


class WakingTasks(ports.Tasks):
    """A task store that wakes an executor for each accepted or signalled turn."""

    def __init__(
        self,
        tasks: ports.Tasks,
        wakes: ArqWakes,
        meter: Meter,
        tracer: Tracer = NO_TRACER,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``clock``: a monotonic clock in seconds."""
        self._tasks = tasks
        self._wakes = wakes
        self._meter = meter
        self._tracer = tracer
        self._clock, self._next_log_at = clock, float("-inf")

    async def accept(
        self, record: TaskRecord, turn: Turn, dedupe: str | None, prepare: ports.PrepareAcceptance | None = None
    ) -> ports.Acceptance:
        """Accept a turn, and wake its session; see ``Tasks.accept``.

        Raises ``TooManyRequests`` if too many sessions wait, or messages of this one, and ``StoppedTenant``.
        """
        try:
            accepted = await self._accept_in_span(record, turn, dedupe, prepare)
        except tuple(_REFUSAL_LABELS) as error:
            label = next(label for kind, label in _REFUSAL_LABELS.items() if isinstance(error, kind))
            self._meter.add(names.TURNS_REFUSED, why=label)
            match error:
                case ports.TooManyWaiting(waiting=waiting):
                    if self._clock() >= self._next_log_at:
                        self._next_log_at = self._clock() + REFUSAL_LOG_SECONDS
                        log.warning("turns_refused", waiting=waiting)
                    raise TooManyRequests("more work waits than this installation takes on", RETRY_SECONDS) from error
                case ports.SessionIsCrowded():
                    raise TooManyRequests(f"{error}; send more once some are done", RETRY_SECONDS) from error
                case ports.TenantIsStopped(reason=reason):
                    problem = f"tenant {record.tenant!r} is stopped and takes no messages for now: {reason}"
                    raise StoppedTenant(problem) from error
                case _:
                    raise
        freshness = "yes" if accepted.is_new else "no"
        self._meter.add(names.TURNS_ACCEPTED, dialect=record.dialect.value, fresh=freshness)
        if accepted.is_new:
            await self._wakes.wake(accepted.record.tenant, accepted.record.session_id)
        return accepted

    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        with self._tracer.open_span(spans.ACCEPT, SpanKind.PRODUCER) as span:
            span.annotate({spans.TENANT: tenant, spans.SESSION: session_id, spans.TASK: turn.task_id})
            span.annotate({spans.TURN_KIND: turn.kind.value})
            trace = {"traceparent": self._tracer.traceparent()}
            is_taken = await self._tasks.signal(tenant, session_id, turn.model_copy(update=trace))
        if is_taken:
            await self._wakes.wake(tenant, session_id)
        return is_taken

    async def get_record(self, tenant: str, task_id: str, session_id: str = "") -> TaskRecord | None:
        return await self._tasks.get_record(tenant, task_id, session_id)

    async def get_snapshot(self, tenant: str, task_id: str, session_id: str = "") -> ports.TaskSnapshot | None:
        return await self._tasks.get_snapshot(tenant, task_id, session_id)

    def watch(
        self, tenant: str, task_id: str, after: str = "0", session_id: str = ""
    ) -> AsyncGenerator[tuple[str, TaskEvent], None]:
        return self._tasks.watch(tenant, task_id, after, session_id)

    async def _accept_in_span(
        self, record: TaskRecord, turn: Turn, dedupe: str | None, prepare: ports.PrepareAcceptance | None
    ) -> ports.Acceptance:
        """Accept a turn within a span of its own, so that the spans of its execution have a finished parent."""
        with self._tracer.open_span(spans.ACCEPT, SpanKind.PRODUCER) as span:
            trace = {"traceparent": self._tracer.traceparent()}
            record, turn = record.model_copy(update=trace), turn.model_copy(update=trace)
            accepted = await self._tasks.accept(record, turn, dedupe, prepare)
            task = accepted.record
            span.annotate({spans.TENANT: task.tenant, spans.SESSION: task.session_id, spans.TASK: task.task_id})
            span.annotate({spans.DIALECT: task.dialect.value, spans.TURN_KIND: turn.kind.value})
            span.annotate({spans.ACCEPT_FRESH: accepted.is_new})
            return accepted


_TIMEOUT_SECONDS = 1.0


class BestEffortWakes(ArqWakes):
    """A queue of wakes whose failures are only logged: the reaper of the executors wakes the session later."""

    @override
    async def wake(self, tenant: str, session_id: str) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await super().wake(tenant, session_id)
        except (StoreUnavailable, TimeoutError) as error:  # the executors' reaper mends a lost wake
            log.warning("wake_not_queued", session_id=session_id, error=f"{type(error).__name__}: {error}")
