"""The journal of one task: each paid or binding step is done once, by whichever attempt at the turn (I5)."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from time import perf_counter
from typing import NamedTuple, TypeAlias

import structlog
from pydantic import JsonValue

from services.executor.core.session.budget import (
    RELEASED_KIND,
    RESERVED_KIND,
    Reservation,
    Settlement,
    TaskSpending,
    parse_settlement,
)
from services.executor.core.session.dossier import Progress, changed_fields_as_json
from services.executor.core.states.machine import Canceled, EarlyEnd, Failed, ModelTemporarilyUnavailable, TenantStopped
from services.executor.ports.services import PolicyUnavailable
from services.executor.ports.turns import (
    HandedOver,
    JournalBatch,
    JournalEntry,
    LeaseLost,
    RepairedFault,
    StopState,
    TurnEnd,
    TurnStore,
)
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskEvent, TaskRecord, TurnKind
from shared.domain import metric_names as names
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.model_price import NANOS_PER_DOLLAR
from shared.domain.protected_values import ProtectedKind
from shared.domain.redaction import HIDDEN_VALUES, redact_json
from shared.domain.words import DOUBTFUL_STATUSES, FsmState, TaskState, ToolClass, TurnPhase, WriteStatus
from shared.ports.meter import Meter, NoMeter
from shared.ports.tracing import Span

_UNFINISHED_STATUSES = (WriteStatus.SENDING, WriteStatus.DENIED)


class TurnCounts:
    """The metrics of one attempt at a turn. Steps that a resumed turn finds in its journal are not counted again."""

    def __init__(self, meter: Meter = NoMeter()) -> None:  # noqa: B008  # it has no state
        self._meter = meter
        self._seconds_by_phase: dict[TurnPhase, float] = {}  # observed at the turn's end, when its outcome is known
        self._outcome = ""  # the state in which the turn left its task, once it has

    @contextmanager
    def count_turn(self, kind: TurnKind, waited_us: int | None) -> Iterator[None]:
        """A context for the attempt: its time is recorded, by its outcome, when it ends.

        ``waited_us``: how long the turn had waited, in microseconds; None but for its first attempt.
        """
        if waited_us is not None:
            self._meter.observe(names.ACCEPT_TO_START, waited_us / 1_000_000, kind=kind.value)
        start, outcome_if_raised = perf_counter(), "broken"
        try:
            yield
        except (HandedOver, LeaseLost, asyncio.CancelledError):
            outcome_if_raised = "handed_over"
            raise
        except TenantStopped:
            outcome_if_raised = "stopped"
            raise
        finally:
            outcome = self._outcome or outcome_if_raised
            self._meter.observe(names.TURN_SECONDS, perf_counter() - start, outcome=outcome)
            for phase, seconds in self._seconds_by_phase.items():
                self._meter.observe(names.PHASE_SECONDS, seconds, phase=phase.value, outcome=outcome)

    @contextmanager
    def measure_span(self, stage: TurnPhase | FsmState, span: AbstractContextManager[Span]) -> Iterator[Span]:
        """A context for the span of a phase or state, which also counts its seconds."""
        start = perf_counter()
        try:
            with span as open_span:
                yield open_span
        finally:
            seconds = perf_counter() - start
            if isinstance(stage, TurnPhase):
                self._seconds_by_phase[stage] = seconds
            else:
                self._meter.observe(names.STATE_SECONDS, seconds, state=stage.value)

    def count_event(self, event: TaskEvent) -> None:
        data = event.data
        if event.kind == "model":
            nanos = data.get("nanos")
            price = nanos / NANOS_PER_DOLLAR if isinstance(nanos, int) else 0.0
            self._meter.add(names.MODEL_MONEY, price, tier=str(data["tier"]), model=str(data["model"]))
        elif event.kind == "note" and "bandit" in data:
            self._meter.add(names.STRATEGIES_CHOSEN, strategy=str(data["strategy"]))
        elif event.kind == "note" and "not_applied" in data:
            self._meter.add(names.STRATEGIES_ABANDONED, strategy=str(data["strategy"]))

    def count_settled_write(self, entry: LedgerEntry, status_before: WriteStatus) -> None:
        """Counts a write with a final status (``SENT`` only of a notice), and a doubt that the status settles."""
        proof_comes = entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE
        if entry.status not in _UNFINISHED_STATUSES and not proof_comes:
            self._meter.add(names.WRITES, proof=entry.status.value)
        if status_before in DOUBTFUL_STATUSES and entry.status not in DOUBTFUL_STATUSES:
            self._meter.add(names.DOUBTS_SETTLED, status=entry.status.value)

    def count_end(self, end: TurnEnd, approval_before: Approval | None) -> None:
        """Counts the approval that the turn asked for, those that it ended, and its task if that has ended.

        ``approval_before``: the approval as the turn found it; None without one.
        """
        self._outcome, new_approval = end.record.state.value, end.approval
        if end.settled_approval is not None:
            self._meter.add(names.APPROVALS_ENDED, status=end.settled_approval.status.value)
        status_before = (approval_before.approval_id, approval_before.status) if approval_before else None
        if new_approval and (new_approval.approval_id, new_approval.status) != status_before:
            if new_approval.status is ApprovalStatus.WAITING:
                self._meter.add(names.APPROVALS_ASKED)
            else:
                self._meter.add(names.APPROVALS_ENDED, status=new_approval.status.value)
        if (outcome := end.outcome) is not None:
            part = str(end.record.metadata.get("failed_part") or "task")
            count_ended_task(self._meter, outcome, part)


def count_ended_task(meter: Meter, outcome: TaskOutcome, failed_part: str) -> None:
    """Counts an ended task. ``failed_part``: the label of ``purple_tasks_failed_total``, if the task failed."""
    state, strategy = outcome.state.value, outcome.strategy.value
    meter.add(names.TASKS_ENDED, state=state, strategy=strategy)
    meter.observe(names.TASK_SECONDS, outcome.duration_ms / 1000, state=state)
    if not outcome.dry_run:
        meter.observe(names.TASK_QUALITY, outcome.quality, strategy=strategy)
    if outcome.state is TaskState.FAILED:
        meter.add(names.TASKS_FAILED, part=failed_part)


CHECKPOINT_KIND = "checkpoint"
NOTE_KIND = "note"  # a result or decision of a step that called nothing outside
ATTEMPT_KIND = "turn"  # the beginning of an attempt at a turn
INPUT_KIND = "input"  # what the run was given by the world outside its steps; key: name#number
EARLY_END_PREFIX = "ended at "  # begins the name of the input that tells how a step ended early
KINDS_WITHOUT_STEP = frozenset({ATTEMPT_KIND, INPUT_KIND, RESERVED_KIND, RELEASED_KIND})


def write_early_end_note(early: EarlyEnd, began: datetime, **extra_fields: JsonValue) -> str:
    """The JSON note of how a run or step ended early, in the attempt that began at ``began``.

    ``kind`` is the name of the exception's class: one that was ever noted must keep its name.
    """
    note = {
        "kind": type(early).__name__,
        "reason": early.reason,
        "part": early.failed_component,
        "began": began.isoformat(),
    }
    retry = {"retry_after": early.retry_after} if isinstance(early, ModelTemporarilyUnavailable) else {}
    return json.dumps({**note, **retry, **extra_fields})


_CURRENT_STEP_KEY: ContextVar[str] = ContextVar("step", default="")


def get_current_step_key() -> str:
    """The key of the journal step in progress; empty outside of any step."""
    return _CURRENT_STEP_KEY.get()


class JournalLimits(NamedTuple):
    """Bounds on a journal: how many finished steps, and how many characters (``size``) of all its entries together."""

    steps: int = 1_000
    size: int = 8_000_000


class Journal:
    """The finished steps of a task by key. A finished step is answered from memory and not done again.

    Entries and events wait in memory. Each of the following stores all that waits, in one step:

    - ``store_reservation``, before a request to a model is sent, with the most that its reply may cost;
    - ``store_then_raise_if_stopped``, before a tool is called, if a reply or the progress waits (not before a verdict);
    - ``open_write``, before a call that writes is sent, with its intent; ``settle_write``, with its outcome;
    - the end of the turn, which gets the entries from ``pop_unstored``; ``flush``, if the turn breaks off.

    ``raise_if_stopped`` stores nothing. The store is that of one turn (``RedisTurnStore``), whose two scripts are
    ``append.lua`` and ``finish.lua``.
    """

    def __init__(
        self,
        store: TurnStore,
        entries: Iterable[JournalEntry],
        store_time: datetime,
        seconds_left: float,
        limits: JournalLimits = JournalLimits(),  # noqa: B008  # a frozen value
    ) -> None:
        """``seconds_left``: the working time that the task has left."""
        self._store = store
        self._steps: dict[str, str] = {}
        self._input_by_name: dict[str, str] = {}
        self._size = 0
        self._input_count = 0
        self._waiting: list[JournalEntry] = []
        self._common_texts: tuple[str, ...] = ()  # texts that many tasks have in common
        self._record: TaskRecord | None = None
        self._store_lock = asyncio.Lock()
        self._events: list[TaskEvent] = []
        self.now = store_time  # the store's time, as of its last reply
        self.began = store_time  # when this attempt at the turn began; it differs for each attempt
        self._working_seconds = seconds_left
        self._limits = limits
        self._phase: TurnPhase | None = None
        self.stopped_at: str | None = None  # the step at which the run ended, if it ended there
        self.judged_plan, self.judged_at = "", store_time  # the plan on which this attempt last had a verdict, and when
        self.progress: Progress | None = None  # where the run stands, as it was saved last
        self.saw_pictures = True  # whether every model that replied in this run was shown the task's images
        self.counts = TurnCounts()
        self.policy_counts = Counter[str]()  # how often each question was put to the policy service in this run
        entries = tuple(entries)
        self.spending = TaskSpending(entries)
        self.hidden: dict[str, ProtectedKind] = {}  # protected values, which no event or log line of this run shows
        for entry in entries:
            self._index_entry(entry)
        self._keys_of_earlier_attempts = frozenset(self._steps)

    @property
    def worked_seconds(self) -> float:
        """For how many seconds this attempt has run."""
        return (self.now - self.began).total_seconds()

    @property
    def seconds_left(self) -> float:
        """The working time that the task has left, in seconds."""
        return self._working_seconds - self.worked_seconds

    def get(self, key: str) -> str | None:
        """The result of the finished step under that key, as stored; None if it has not finished."""
        return self._steps.get(key)

    def get_from_earlier_attempt(self, key: str) -> str | None:
        """The data of a step that an earlier attempt finished; None if there is none."""
        return self.get(key) if key in self._keys_of_earlier_attempts else None

    def add_event(self, kind: str, **data: JsonValue) -> None:
        """Adds an event for those who watch the task, published with the next store. Protected values are redacted."""
        event = TaskEvent(kind=kind, at=self.now, data=redact_json(data, self.hidden))
        self.counts.count_event(event)
        self._events.append(event)

    def enter_phase(self, phase: TurnPhase) -> None:
        """Adds an event that the run is in this phase; once for each attempt."""
        if phase is not self._phase:
            self._phase = phase
            self.add_event("phase", phase=phase.value)

    def redact_from_now_on(self, values: Mapping[str, ProtectedKind]) -> None:
        """Redacts these values in all later events and log lines of this run."""
        self.hidden.update(values)
        HIDDEN_VALUES.set(self.hidden)

    def pop_unstored(self) -> JournalBatch:
        """Returns everything that waits to be stored; it counts as stored from now on."""
        batch = JournalBatch(tuple(self._waiting), tuple(self._events), self._record)
        self._waiting = []
        self._events = []
        self._record = None
        return batch

    def queue_record(self, record: TaskRecord) -> None:
        """Stores the task's changed record with the next step."""
        self._record = record

    def record_input(self, name: str, data: str, common_texts: tuple[str, ...] = (), kind: str = INPUT_KIND) -> None:
        """Notes an input from outside, for a replay, unless it equals the last of its name.

        Stored with the next step. ``common_texts``: texts in it that many tasks have. ``kind``: ``ATTEMPT_KIND`` where
        an attempt begins.
        """
        if self._input_by_name.get(name) != data:
            self._queue_entry(JournalEntry(f"{name}#{self._input_count}", kind, data, common_texts))

    def find_last_input(self, name: str) -> str | None:
        """The newest noted input of this name; None if there is none."""
        return self._input_by_name.get(name)

    async def run_step(
        self,
        key: str,
        kind: str,
        step: Callable[[], Awaitable[str]],
        question_digest: str = "",  # noqa: ARG002  # a replay looks at it
        check_before: Callable[[], Awaitable[None]] | None = None,
    ) -> str:
        """The result of a step: from the journal if it is finished, else by running it.

        ``question_digest``: a replay compares it with its own. ``check_before``: raises if the step must not be run; by
        default ``store_then_raise_if_stopped``.
        """
        finished = self._steps.get(key)
        if finished is not None:
            return finished
        try:
            result = await self._run_bounded_step(key, step, check_before or self.store_then_raise_if_stopped)
        except EarlyEnd as early:
            self.stopped_at = self.stopped_at or key
            self.record_input(f"{EARLY_END_PREFIX}{key}", write_early_end_note(early, self.began))
            raise
        except PolicyUnavailable as error:
            self.record_input(f"unavailable:{key}", str(error))
            raise
        self.add_entry(key, kind, result)
        return result

    async def run_local_step(self, key: str, step: Callable[[], Awaitable[str]], question_digest: str = "") -> str:
        """The result of a step that calls nothing outside; like ``run_step``, but nothing is stored before it."""
        return await self.run_step(key, NOTE_KIND, step, question_digest, self.raise_if_stopped)

    def decide_once(self, key: str, decide: Callable[[], str]) -> str:
        """The decision under this key; if no attempt has made it, it is made now and stored with the next step."""
        decision = self._steps.get(key)
        if decision is None:
            decision = decide()
            self._queue_entry(JournalEntry(key, "note", decision))
        return decision

    def add_entry(self, key: str, kind: str, data: str) -> None:
        self.add_entries(JournalEntry(key, kind, data))

    def add_entries(self, *entries: JournalEntry) -> None:
        """Adds finished steps that are stored in one step, all or none."""
        for entry in entries:
            self._queue_entry(entry)

    async def store_reservation(self, reservation: Reservation) -> None:
        """Stores the reservation for a model call. Raises what ``raise_if_stopped`` raises."""
        self._queue_entry(reservation.entry)
        await self.raise_if_stopped()
        async with self._store_lock:
            stop_state = await self._store.append(*self.pop_unstored())
        self.apply_stop_state(stop_state)

    def pop_settlements(self, day: str) -> tuple[Settlement, ...]:
        """Returns, once, the settlements of that day whose replies are stored, for the tenant's day to count."""
        waiting = {parse_settlement(entry.data_json) for entry in self._waiting if entry.kind == "model"}
        uncounted = self.spending.uncounted
        settlements = tuple(paid for paid in uncounted if paid.day == day and paid not in waiting)
        self.spending.uncounted = [paid for paid in uncounted if paid not in settlements]
        return settlements

    def release_reservation(self, reservation: Reservation) -> None:
        """Releases the reservation of a call that was never made."""
        self.spending.release_reservation(reservation.name)
        if reservation.entry in self._waiting:
            self._waiting.remove(reservation.entry)
        else:
            self.add_entry(f"released:{reservation.name}", RELEASED_KIND, reservation.name)

    async def flush(self) -> None:
        """Stores everything that waits; for a turn that breaks off, whose later steps would have stored it."""
        if any(batch := self.pop_unstored()):
            self.update_time(await self._store.append(*batch))

    async def open_write(self, entry: LedgerEntry, call_seconds: float, was_shown_before: Callable[[], bool]) -> None:
        """Stores a write's intent and all that waits; or nothing, and raises what ``raise_if_stopped`` raises.
        ``was_shown_before``: as in ``TurnStore.open_write``.
        """
        batch = self.pop_unstored()
        stop_state = await self._store.open_write(entry, call_seconds, batch, was_shown_before)
        if stop_state.was_refused:
            self._requeue_batch(batch)
            self.apply_stop_state(stop_state)
        self.update_time(stop_state)

    async def settle_write(self, entry: LedgerEntry, status_before: WriteStatus) -> None:
        """Replaces the write's stored ledger entry, and stores the entries and events that wait.

        Raises ``LedgerConflict`` if the stored entry no longer has ``status_before``.
        """
        self.update_time(await self._store.settle_write(entry, status_before, self.pop_unstored()))
        self.counts.count_settled_write(entry, status_before)

    def clear_early_end(self) -> None:
        """Notes that the run continues although a step raised an early end, so that a replay does not end there."""
        self.stopped_at = None

    async def store_then_raise_if_stopped(self) -> None:
        """Stores what waits, if a model's reply or a checkpoint is among it; then ``raise_if_stopped``.

        Called before each tool call.
        """
        async with self._store_lock:  # another step may be storing the reply that this one depends on
            if any(entry.kind in ("model", CHECKPOINT_KIND) for entry in self._waiting):
                self.update_time(await self._store.append(*self.pop_unstored()))
        await self.raise_if_stopped()

    async def raise_if_stopped(self) -> None:
        """Raises ``Canceled``, ``TenantStopped``, ``Failed`` or ``HandedOver`` if this run must stop."""
        self.apply_stop_state(await self._store.get_stop_state())

    def apply_stop_state(self, stop_state: StopState) -> None:
        """Takes the store's time from the stop state. Raises if the run must stop or its working time is used up."""
        self.now = stop_state.now
        if stop_state.cancel is not None:
            raise Canceled(f"canceled by {stop_state.cancel.principal.id}")
        if stop_state.stopped is not None:
            raise TenantStopped(stop_state.stopped)
        if self.seconds_left <= 0:
            raise self.build_out_of_time_error()

    def build_out_of_time_error(self) -> Failed:
        return Failed("the task used up its working time (TASK_TIMEOUT)")

    def update_time(self, stop_state: StopState) -> None:
        """Takes the store's time, but checks nothing: no run may stop between a write's intent and its result."""
        self.now = stop_state.now

    async def _run_bounded_step(
        self, key: str, step: Callable[[], Awaitable[str]], check_before: Callable[[], Awaitable[None]]
    ) -> str:
        """Runs a step; raises ``Failed`` if the journal has too many steps, or becomes too large by its result."""
        if len(self._steps) >= self._limits.steps:
            raise Failed(
                f"the task took {self._limits.steps} steps without an end (JOURNAL_STEPS); {key} was not begun"
            )
        await check_before()
        outer_step = _CURRENT_STEP_KEY.set(key)
        try:
            result = await step()
        finally:
            _CURRENT_STEP_KEY.reset(outer_step)
        if self._size + len(result) > self._limits.size:
            raise Failed(f"the task collected more than one task may hold (JOURNAL_BYTES, {self._limits.size}): {key}")
        return result

    def save_progress(
        self,
        progress: Progress,
        label: str = "entered",
        other_entries: tuple[JournalEntry, ...] = (),
        verdicts: Sequence[Mapping[str, JsonValue]] = (),
    ) -> None:
        """Stores the progress with the next step, once for each ``label`` and visit of a state, together with the
        ``other_entries``. Adds an event for a state that is entered, and one for each of the ``verdicts``.
        """
        changes = changed_fields_as_json(progress, self.progress)
        if "template" in changes:
            self.register_shared_texts(changes["template"])  # tasks of a process have it in common
        if label == "entered":
            self.add_event("state", state=progress.state.value, process_type=progress.process_type)
        for verdict in verdicts:
            self.add_event("verdict", **verdict)
        data = "{" + ",".join(f'"{name}":{changes[name]}' for name in sorted(changes)) + "}"
        self.add_entries(JournalEntry(f"{progress.visit_key}:{label}", CHECKPOINT_KIND, data), *other_entries)
        self.progress = progress

    def register_shared_texts(self, *texts: str) -> None:
        """Registers texts that many tasks have in common, so that later entries may refer to them by name."""
        self._common_texts = tuple(dict.fromkeys((*self._common_texts, *texts)))

    def _queue_entry(self, entry: JournalEntry) -> None:
        if common := [text for text in self._common_texts if text in entry.data_json]:
            entry = entry._replace(shared=tuple(dict.fromkeys((*entry.shared, *common))))
        self._waiting.append(entry)
        self._index_entry(entry)

    def _index_entry(self, entry: JournalEntry) -> None:
        self._size += len(entry.data_json)
        if entry.kind in KINDS_WITHOUT_STEP:
            self._input_count += 1
            self._input_by_name[entry.key.rpartition("#")[0]] = entry.data_json
        else:
            self._steps.setdefault(entry.key, entry.data_json)

    def _requeue_batch(self, batch: JournalBatch) -> None:
        self._waiting = [*batch.entries, *self._waiting]
        self._events = [*batch.events, *self._events]
        self._record = self._record or batch.record


MakeJournal: TypeAlias = Callable[[TurnStore, Sequence[JournalEntry], datetime, float, JournalLimits], Journal]


def restore_latest_progress(entries: Iterable[JournalEntry]) -> Progress | None:
    """The progress as of the last checkpoint, from the changes in all checkpoints; None if there is none."""
    fields: JsonObject = {}
    for entry in entries:
        if entry.kind == CHECKPOINT_KIND:
            fields.update(loads_object(entry.data_json))
    if not fields:
        return None
    dossier = {name.removeprefix("dossier."): value for name, value in fields.items() if name.startswith("dossier.")}
    flat = {name: value for name, value in fields.items() if not name.startswith("dossier.")}
    return Progress.model_validate({**flat, "dossier": dossier})


log = structlog.get_logger()


class RepairedFaultCounter:
    """Counts the faults that this process repaired, by kind."""

    def __init__(self, meter: Meter = NoMeter()) -> None:  # noqa: B008  # it has no state
        self._counts: Counter[RepairedFault] = Counter()
        self._unreported: Counter[RepairedFault] = Counter()
        self._meter = meter
        for fault in RepairedFault:  # each is shown from the beginning
            meter.add(names.FAULTS_MENDED, 0, fault=fault.value)

    def add(self, fault: RepairedFault, number: int = 1, **labels: str) -> None:
        """Counts a fault and logs it."""
        self._counts[fault] += number
        self._unreported[fault] += number
        self._meter.add(names.FAULTS_MENDED, number, fault=fault.value)
        log.warning("fault_repaired", fault=fault.value, count=number, **labels)

    @property
    def counts(self) -> Mapping[str, int]:
        """The count of each kind of fault, including zeros."""
        return {fault.value: self._counts[fault] for fault in RepairedFault}

    def take_unreported(self) -> Mapping[RepairedFault, int]:
        """Returns the counts since the last call, for the installation's counts."""
        unreported, self._unreported = self._unreported, Counter()
        return unreported
