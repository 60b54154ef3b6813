"""What an attempt at a turn counts for in the metrics: its phases and states, its writes and approvals, its task."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter

from services.executor.core.session.endings import TenantStopped
from services.executor.ports.turns import HandedOver, LeaseLost, TurnEnd
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TurnKind
from shared.domain import metric_names as names
from shared.domain.model_price import NANO
from shared.domain.words import DOUBTS, FsmState, Phase, ToolClass, WriteStatus
from shared.ports.meter import Meter, NoMeter
from shared.ports.tracing import Span

_ON_THE_WAY = (WriteStatus.SENDING, WriteStatus.DENIED)


class TurnCounts:
    """Counts one attempt at a turn. A step that a resumed turn finds in its journal is not counted again."""

    def __init__(self, meter: Meter = NoMeter()) -> None:  # noqa: B008  # it has no state
        self._meter = meter
        self._took: dict[Phase, float] = {}  # seconds of the phases: what they count for is known when the turn ends
        self._outcome = ""  # the state in which the turn left its task, once it has

    @contextmanager
    def count_turn(self, kind: TurnKind, waited_us: int | None) -> Iterator[None]:
        """A context in which the attempt is made: its seconds count by how it ended. ``waited_us``: of a first one."""
        if waited_us is not None:
            self._meter.observe(names.ACCEPT_TO_START, waited_us / 1_000_000, kind=kind.value)
        began, broke = perf_counter(), "broken"
        try:
            yield
        except (HandedOver, LeaseLost, asyncio.CancelledError):
            broke = "handed_over"
            raise
        except TenantStopped:
            broke = "stopped"
            raise
        finally:
            outcome = self._outcome or broke
            self._meter.observe(names.TURN_SECONDS, perf_counter() - began, outcome=outcome)
            for phase, seconds in self._took.items():
                self._meter.observe(names.PHASE_SECONDS, seconds, phase=phase.value, outcome=outcome)

    @contextmanager
    def time_span(self, what: Phase | FsmState, span: AbstractContextManager[Span]) -> Iterator[Span]:
        """The span of a phase or state, with its seconds counted."""
        began = perf_counter()
        try:
            with span as opened:
                yield opened
        finally:
            seconds = perf_counter() - began
            if isinstance(what, Phase):
                self._took[what] = seconds
            else:
                self._meter.observe(names.STATE_SECONDS, seconds, state=what.value)

    def count_event(self, event: TaskEvent) -> None:
        data = event.data
        if event.kind == "model":
            nanos = data.get("nanos")
            price = nanos / NANO if isinstance(nanos, int) else 0.0
            self._meter.add(names.MODEL_MONEY, price, tier=str(data["tier"]), model=str(data["model"]))
        elif event.kind == "note" and "bandit" in data:
            self._meter.add(names.STRATEGIES_CHOSEN, strategy=str(data["strategy"]))
        elif event.kind == "note" and "not_applied" in data:
            self._meter.add(names.STRATEGIES_LEFT, strategy=str(data["strategy"]))

    def count_settlement(self, entry: LedgerEntry, before: WriteStatus) -> None:
        """Counts a write that may stay as it is now: it is not being sent, and no proof of it is still to come."""
        proof_comes = entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE
        if entry.status not in _ON_THE_WAY and not proof_comes:
            self._meter.add(names.WRITES, proof=entry.status.value)
        if before in DOUBTS and entry.status not in DOUBTS:
            self._meter.add(names.DOUBTS_SETTLED, status=entry.status.value)

    def count_end(self, end: TurnEnd, asked: Approval | None) -> None:
        """Counts what the turn left: its approval, and its task if that ended. ``asked``: the approval before."""
        self._outcome, now = end.record.state.value, end.approval
        if end.settled is not None:
            self._meter.add(names.APPROVALS_ENDED, status=end.settled.status.value)
        if now and not (asked and (asked.approval_id, asked.status) == (now.approval_id, now.status)):
            if now.status is ApprovalStatus.WAITING:
                self._meter.add(names.APPROVALS_ASKED)
            else:
                self._meter.add(names.APPROVALS_ENDED, status=now.status.value)
        if (ended := end.outcome) is not None:
            state, strategy = ended.state.value, ended.strategy.value
            self._meter.add(names.TASKS_ENDED, state=state, strategy=strategy)
            self._meter.observe(names.TASK_SECONDS, ended.duration_ms / 1000, state=state)
            if not ended.dry_run:
                self._meter.observe(names.TASK_QUALITY, ended.quality, strategy=strategy)
            if state == "failed":
                self._meter.add(names.TASKS_FAILED, part=str(end.record.metadata.get("failed_part") or "task"))
