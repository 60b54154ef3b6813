"""A worker, a store and a tracer that tell a meter what passes through them, for the metrics of turns."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TypeVar

import structlog
from typing_extensions import override

from services.executor.core.session.endings import TenantStopped
from services.executor.core.turn.runner import RunsTurns
from services.executor.ports import turns
from services.executor.ports.sessions import Work
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain import metric_names as names
from shared.domain import span_names
from shared.domain.model_price import NANO
from shared.domain.words import DOUBTS, ToolClass, WriteStatus
from shared.ports.meter import Meter
from shared.ports.tracing import Span, SpanKind, Tracer

PHASES = {span_names.PRIME: "PRIME", span_names.EXECUTE: "EXECUTE", span_names.REFLECT: "REFLECT"}
_STATE = span_names.STATE.format(state="")
# Seconds of the phases of the turn that is being worked on: what they count for is known when it ends.
TOOK: ContextVar[Counter[str] | None] = ContextVar("took", default=None)


class TimedTracer(Tracer):
    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer, self._meter = tracer, meter

    @property
    def is_on(self) -> bool:
        return self._tracer.is_on

    def span(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[Span]:
        if name in PHASES or name.startswith(_STATE):
            return self._time_span(name, kind)
        return self._tracer.span(name, kind)

    def continue_trace(
        self, name: str, kind: SpanKind, parent: str | None, link: str | None = None
    ) -> AbstractContextManager[Span]:
        return self._tracer.continue_trace(name, kind, parent, link)

    def current_span(self) -> Span:
        return self._tracer.current_span()

    def traceparent(self) -> str | None:
        return self._tracer.traceparent()

    @contextmanager
    def _time_span(self, name: str, kind: SpanKind) -> Iterator[Span]:
        began = perf_counter()
        try:
            with self._tracer.span(name, kind) as span:
                yield span
        finally:
            self._count(name, perf_counter() - began)

    def _count(self, name: str, seconds: float) -> None:
        took = TOOK.get()
        if name not in PHASES:
            self._meter.observe(names.STATE_SECONDS, seconds, state=name.removeprefix(_STATE))
        elif took is not None:
            took[PHASES[name]] += round(seconds * 1_000_000)


T = TypeVar("T")
_ON_THE_WAY = (WriteStatus.SENDING, WriteStatus.DENIED)


class CountedTurns(RunsTurns):
    def __init__(self, worker: RunsTurns, meter: Meter) -> None:
        self._worker, self._meter = worker, meter

    async def run(self, work: Work, store: turns.TurnStore) -> None:
        if work.attempts == 1:
            waited = work.waited_us / 1_000_000
            self._meter.observe(names.ACCEPT_TO_START, waited, kind=work.turn.kind.value)
        counted, began = CountedStore(store, self._meter), perf_counter()
        broke, took = "broken", Counter[str]()
        token = TOOK.set(took)
        try:
            await self._worker.run(work, counted)
        except (turns.HandedOver, turns.LeaseLost, asyncio.CancelledError):
            broke = "handed_over"
            raise
        except TenantStopped:
            broke = "stopped"
            raise
        finally:
            TOOK.reset(token)
            self._count(perf_counter() - began, counted.outcome or broke, took)

    @override
    async def settle(self, work: Work, store: turns.TurnStore) -> None:
        await self._worker.settle(work, CountedStore(store, self._meter))

    def _count(self, seconds: float, outcome: str, took: Mapping[str, int]) -> None:
        self._meter.observe(names.TURN_SECONDS, seconds, outcome=outcome)
        for phase, micros in took.items():
            self._meter.observe(names.PHASE_SECONDS, micros / 1_000_000, phase=phase, outcome=outcome)


class CountedStore(turns.TurnStore):
    """A turn's store that counts what is stored. ``outcome``: the state in which the turn left its task, once it
    has.
    """

    def __init__(self, store: turns.TurnStore, meter: Meter) -> None:
        self._store, self._meter = store, meter
        self._asked: Approval | None = None  # as the turn found it
        self.outcome = ""

    async def journal(self) -> tuple[turns.JournalEntry, ...]:
        return await self._store.journal()

    async def ledger(self) -> Mapping[str, LedgerEntry]:
        return await self._store.ledger()

    async def approval(self) -> Approval | None:
        self._asked = await self._store.approval()
        return self._asked

    async def session(self) -> turns.SessionState:
        return await self._store.session()

    async def pulse(self) -> turns.Pulse:
        return await self._store.pulse()

    async def await_news(self) -> None:
        await self._store.await_news()

    async def append(
        self, entries: Sequence[turns.JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> turns.Pulse:
        return self._count_events(await self._store.append(entries, events, record), events)

    async def open_write(
        self, entry: LedgerEntry, hold_seconds: float, beside: turns.Unstored = turns.NOTHING
    ) -> turns.Pulse:
        return self._count_events(await self._store.open_write(entry, hold_seconds, beside), beside.events)

    async def settle_write(
        self, entry: LedgerEntry, before: WriteStatus, beside: turns.Unstored = turns.NOTHING
    ) -> turns.Pulse:
        pulse = self._count_events(await self._store.settle_write(entry, before, beside), beside.events)
        if _is_final(entry):
            self._meter.add(names.WRITES, proof=entry.status.value)
        if before in DOUBTS and entry.status not in DOUBTS:
            self._meter.add(names.DOUBTS_SETTLED, status=entry.status.value)
        return pulse

    async def finish(self, end: turns.TurnEnd) -> None:
        await self._store.finish(end)
        self._count_events(None, end.events)
        self.outcome = end.record.state.value
        self._count_approvals(end)
        if end.outcome is not None:
            _count_task(self._meter, end.outcome, end.record)

    def _count_events(self, pulse: T, events: Sequence[TaskEvent]) -> T:
        for event in events:
            count_event(self._meter, event)
        return pulse

    def _count_approvals(self, end: turns.TurnEnd) -> None:
        known, now = self._asked, end.approval
        if end.settled is not None:
            self._meter.add(names.APPROVALS_ENDED, status=end.settled.status.value)
        if now is None or (known is not None and (known.approval_id, known.status) == (now.approval_id, now.status)):
            return
        if now.status is ApprovalStatus.WAITING:
            self._meter.add(names.APPROVALS_ASKED)
        else:
            self._meter.add(names.APPROVALS_ENDED, status=now.status.value)


def _is_final(entry: LedgerEntry) -> bool:
    """Whether a write may stay as it is: it is not being sent, and no proof of it is still to come."""
    proof_comes = entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE
    return entry.status not in _ON_THE_WAY and not proof_comes


def _count_task(meter: Meter, ended: TaskOutcome, record: TaskRecord) -> None:
    state, strategy = ended.state.value, ended.strategy.value
    meter.add(names.TASKS_ENDED, state=state, strategy=strategy)
    meter.observe(names.TASK_SECONDS, ended.duration_ms / 1000, state=state)
    if not ended.dry_run:
        meter.observe(names.TASK_QUALITY, ended.quality, strategy=strategy)
    if state == "failed":
        meter.add(names.TASKS_FAILED, part=str(record.metadata.get("failed_part") or "task"))


def count_event(meter: Meter, event: TaskEvent) -> None:
    """Counts an event in the metrics. A call that a resumed turn finds in its journal makes no second event."""
    data = event.data
    if event.kind == "model":
        nanos = data.get("nanos")
        price = nanos / NANO if isinstance(nanos, int) else 0.0
        meter.add(names.MODEL_MONEY, price, tier=str(data["tier"]), model=str(data["model"]))
    elif event.kind == "note" and "bandit" in data:
        meter.add(names.STRATEGIES_CHOSEN, strategy=str(data["strategy"]))
    elif event.kind == "note" and "not_applied" in data:
        meter.add(names.STRATEGIES_LEFT, strategy=str(data["strategy"]))


class BoundTurns(RunsTurns):
    def __init__(self, worker: RunsTurns) -> None:
        self._worker = worker

    async def run(self, work: Work, store: turns.TurnStore) -> None:
        with _log_context(work):
            await self._worker.run(work, store)

    @override
    async def settle(self, work: Work, store: turns.TurnStore) -> None:
        with _log_context(work):
            await self._worker.settle(work, store)


def _log_context(work: Work) -> AbstractContextManager[None]:
    record = work.record
    named = {"tenant": record.tenant, "session": record.session_id, "task": record.task_id}
    return structlog.contextvars.bound_contextvars(**named, turn=work.turn.turn_id)
