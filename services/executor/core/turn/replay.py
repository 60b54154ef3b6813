"""Replays an archived task in memory with today's code and prompts, calling nothing outside; compares both runs: which
steps were replayed, and where the runs differ.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias

from typing_extensions import override

from services.executor.core.plan.draft import CLOSING_STEP_SUFFIX, ClosedPlan
from services.executor.core.prime.known import parse_noted_experience
from services.executor.core.reflect.outcome import without_footer
from services.executor.core.session.context import Limits, Ports
from services.executor.core.session.journal import (
    ATTEMPT_KIND,
    CHECKPOINT_KIND,
    EARLY_END_PREFIX,
    INPUT_KIND,
    KINDS_WITHOUT_STEP,
    Journal,
    JournalLimits,
    MakeJournal,
)
from services.executor.core.session.ledger import index_in_sending_order
from services.executor.core.session.recorded_answers import (
    build_call_input_name,
    build_policy_input_name,
    build_tools_input_name,
    parse_tools,
    parse_verdict,
    raise_recorded_failure,
)
from services.executor.core.states.machine import EarlyEnd, ProcessTemplate
from services.executor.core.states.prompts import Prompts
from services.executor.core.turn.recording import (
    AttemptStart,
    RecordedEnd,
    parse_attempt_start,
    parse_early_end,
    parse_session,
)
from services.executor.ports import turns
from services.executor.ports.services import Experience, LearnedStore, PolicyService, PolicyUnavailable, Tenants
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolUnreachable
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.approval import Approval
from shared.contracts.archive import ArchivedTask
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import TaskEvent, TaskRecord
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import FsmState, TaskState, WriteStatus
from shared.ports.models import Model, ModelReply, ModelRequest
from shared.ports.store import StoreUnavailable


class CannotReplay(Exception):
    """The archived task lacks something that a replay needs; the message says what."""


class ArchivedAttempt(NamedTuple):
    """One attempt at one turn. ``steps``: all journal steps at its end; ``own_keys``: the keys that it added."""

    start: AttemptStart
    entries_before: tuple[turns.JournalEntry, ...]
    steps: Mapping[str, turns.JournalEntry]
    own_keys: tuple[str, ...]
    inputs: Mapping[str, str]  # the newest of each name at its end
    ledger: Mapping[str, LedgerEntry]  # at its end
    is_last: bool  # of its turn: it came to an end

    @property
    def end(self) -> RecordedEnd | None:
        """The attempt's recorded early end; None if it had none."""
        recorded = parse_early_end(self.inputs["ended"]) if "ended" in self.inputs else None
        return recorded if recorded and recorded.began == self.start.began.isoformat() else None


def split_into_attempts(task: ArchivedTask) -> tuple[ArchivedAttempt, ...]:
    """The task's attempts in order. Raises ``CannotReplay``."""
    if lost_keys := [step.key for step in task.journal if step.lost]:
        raise CannotReplay(f"what its journal held of {lost_keys[0]!r} was lost before it was archived")
    entries = [turns.JournalEntry(step.key, step.kind, step.data) for step in task.journal]
    start_indexes = [index for index, entry in enumerate(entries) if entry.kind == ATTEMPT_KIND]
    if not start_indexes:
        raise CannotReplay("its journal does not say what its turns were given: nothing was done, or it is too old")
    try:
        starts = [parse_attempt_start(entries[index].data_json) for index in start_indexes]
    except (ValueError, KeyError) as error:
        raise CannotReplay(f"the note of a turn cannot be read: {error}") from error
    ends = [*start_indexes[1:], len(entries)]
    ledgers = [*(start.ledger for start in starts[1:]), task.ledger]
    next_turn_ids = [*(start.turn.turn_id for start in starts[1:]), ""]
    rows = zip(starts, start_indexes, ends, ledgers, next_turn_ids, strict=True)
    return tuple(
        _build_attempt(start, entries[:index], entries[index:end], ledger, next_turn_id != start.turn.turn_id)
        for start, index, end, ledger, next_turn_id in rows
    )


def _build_attempt(
    start: AttemptStart,
    entries_before: Sequence[turns.JournalEntry],
    new_entries: Sequence[turns.JournalEntry],
    ledger: Mapping[str, LedgerEntry],
    is_last: bool,
) -> ArchivedAttempt:
    entries_to_end = (*entries_before, *new_entries)
    keys_before = {entry.key for entry in entries_before}
    keys = (entry.key for entry in new_entries if entry.kind not in KINDS_WITHOUT_STEP and entry.key not in keys_before)
    steps: dict[str, turns.JournalEntry] = {}
    for entry in entries_to_end:
        if entry.kind not in KINDS_WITHOUT_STEP:
            steps.setdefault(entry.key, entry)
    inputs = {entry.key.rpartition("#")[0]: entry.data_json for entry in entries_to_end if entry.kind == INPUT_KIND}
    return ArchivedAttempt(start, tuple(entries_before), steps, tuple(dict.fromkeys(keys)), inputs, ledger, is_last)


_FIELDS_NOT_COMPARED = ("worked_ms", "dossier.audit_clean")  # how long it took; what an earlier release stored
_CONTRACT_BY_FIELD: Mapping[str, type[Contract]] = {
    "template": ProcessTemplate,
    "dossier.plan": WritePlan,
    "dossier.plans": WritePlan,
}
_WRITE_STATE_ENTRY_KEY_PATTERN = re.compile(rf"\d+\.({FsmState.MUTATE}|{FsmState.SCHEDULE_NOTIFY}):entered")
# Whatever each led to, as a page or a repetition, among them.
_PARALLEL_STEP_KEY_PATTERN = re.compile(r"(.*:tool|.*:again:[^:]+):r?\d+(?::|$)")
_DRAFT_STEP = ":draft:"  # of two that are made beside each other
_REREAD_STEP = ":again:"  # before the first write of a plan; the ledger that a replay has shows that write already


class ReplayDifference(Exception):
    """The two runs differ. ``at``: the key of the step; ``how``: the difference, in words."""

    def __init__(self, at: str, how: str) -> None:
        super().__init__(f"{at}: {how}")
        self.at = at
        self.how = how


class AttemptStopped(Exception):
    """The archived attempt stopped at this point, and another attempt continued."""


class StepTaken(NamedTuple):
    """A step that both runs have. ``size``: of what it stored, in characters."""

    turn_id: str
    key: str
    kind: str
    size: int


class ReplayedWrites:
    """The ledger during the replay: as the attempt found it, with the final state of each write reached so far."""

    def __init__(self, attempt: ArchivedAttempt) -> None:
        self._ledger_at_end = attempt.ledger
        self._plans: set[str] = set()
        for entry in attempt.entries_before:
            self.register_closed_plan(entry)
        self.shown = index_in_sending_order(attempt.start.ledger.values())

    def reveal_write(self, key: str) -> bool:
        """Adds the write's final state to the ledger; False if it was made neither in this attempt nor before."""
        if key in self._ledger_at_end:
            self.shown = index_in_sending_order({**self.shown, key: self._ledger_at_end[key]}.values())
        return key in self.shown

    def register_closed_plan(self, entry: turns.JournalEntry) -> None:
        """Registers the plan that a step closed, if it closed one, so that its writes may be revealed."""
        if entry.key.endswith(CLOSING_STEP_SUFFIX):
            self._plans.add(ClosedPlan.model_validate_json(entry.data_json).plan.hash)

    def reveal_planned_writes(self) -> None:
        """Reveals the writes of all plans closed so far."""
        planned = {key: entry for key, entry in self._ledger_at_end.items() if entry.plan_hash in self._plans}
        self.shown = index_in_sending_order({**self.shown, **planned}.values())


class ReplayCursor:
    """The replay of one attempt. ``is_given_up``: this is the task's last attempt, and it stopped like those before it.

    ``stops``: the archived attempt stored no end of the turn.
    """

    def __init__(self, attempt: ArchivedAttempt, is_given_up: bool = False) -> None:
        self.attempt = attempt
        self.ledger = ReplayedWrites(attempt)
        self.steps_taken: list[StepTaken] = []
        self._replayed_keys: set[str] = set()
        self._checkpoint_fields = _collect_latest_fields(attempt.entries_before)
        self.stops = is_given_up or not attempt.is_last

    def take_step(self, key: str, request: str = "") -> turns.JournalEntry:
        """The archived step, which counts as replayed; without one, raises what ``build_absence_error`` returns.

        ``request``: the digest of the model's request, which must be that of a reply of this attempt; else
        ``ReplayDifference``.
        """
        entry = self.attempt.steps.get(key)
        if entry is None:
            raise self.build_absence_error(key, "this step was not taken then")
        is_own_reply = entry.kind == "model" and key in self.attempt.own_keys  # others had another request
        if is_own_reply and loads_object(entry.data_json).get("request", request) != request:
            raise ReplayDifference(key, "the model would be asked something else")
        self._count_as_taken(entry)
        self.ledger.register_closed_plan(entry)
        return entry

    def find_policy_unavailable_reason(self, key: str) -> str | None:
        """The recorded reason why the policy service was unavailable in the unfinished step ``key``; None if the step
        was finished or has no such reason. With a reason, the step's inner steps count as replayed.
        """
        reason = self.attempt.inputs.get(f"unavailable:{key}")
        if reason is None or key in self.attempt.steps:
            return None
        self._replayed_keys.update(self._list_inner_keys(key))
        return reason

    def find_early_end(self, key: str) -> EarlyEnd | None:
        """The recorded early end of a step without a result, whose inner steps then count as replayed; else None."""
        recorded = self.attempt.inputs.get(f"{EARLY_END_PREFIX}{key}")
        ended = parse_early_end(recorded) if recorded is not None and key not in self.attempt.steps else None
        if ended is None or ended.began != self.attempt.start.began.isoformat():
            return None
        self._replayed_keys.update(self._list_inner_keys(key))
        return ended.early

    def take_step_if_any(self, key: str) -> str | None:
        """The step's data; None if the archived attempt did not take it."""
        entry = self.attempt.steps.get(key)
        if entry is not None:
            self._count_as_taken(entry)
        return entry.data_json if entry else None

    def require_archived_step(self, key: str, kind: str, data: str) -> None:
        """Counts the step as replayed if the archived attempt has it.

        Raises what ``build_absence_error`` returns if it has not, and ``ReplayDifference`` if the step is a checkpoint
        and differs.
        """
        entry = self.attempt.steps.get(key)
        if entry is None:
            raise self.build_absence_error(key, "this was not stored then")
        if kind == CHECKPOINT_KIND:
            then = {**self._checkpoint_fields, **_select_compared_fields(entry.data_json)}
            now = {**self._checkpoint_fields, **_select_compared_fields(data)}
            # As texts, since Python calls 1 and True equal. What only today's run stores is newer.
            different = sorted(name for name in then if dumps(then[name]) != dumps(now.get(name)))
            if different:
                raise ReplayDifference(key, f"the checkpoint says something else of {', '.join(different)}")
            self._checkpoint_fields = now
        self._count_as_taken(entry)

    def get_recorded_input(self, name: str, difference: str) -> str:
        """The recorded input of this name; without one, raises what ``build_absence_error`` returns."""
        recorded = self.attempt.inputs.get(name)
        if recorded is None:
            raise self.build_absence_error(name, difference)
        return recorded

    def build_absence_error(self, key: str, difference: str) -> Exception:
        """The exception to raise if the archived attempt has nothing under ``key``: its early end, if it may have been
        there and no step is untaken; ``AttemptStopped``, if it stored no end; else a ``ReplayDifference``.
        """
        ended = self.attempt.end
        if ended is not None and (ended.step is None or _could_have_ended_at(ended.step, key)):
            untaken = self.find_first_untaken_step()
            return ended.early if untaken is None else ReplayDifference(untaken, "this step would not be taken")
        return AttemptStopped() if self.stops else ReplayDifference(key, difference)

    def list_journal_so_far(self) -> tuple[turns.JournalEntry, ...]:
        """The task's journal at this point of the replay."""
        own_entries = (self.attempt.steps[key] for key in self.attempt.own_keys if key in self._replayed_keys)
        return (*self.attempt.entries_before, *own_entries)

    def find_first_untaken_step(self) -> str | None:
        """The first step that the archived attempt took and the replay did not; None if there is none.

        Reads that are repeated before a plan's first write do not count: a replay's ledger has that write already.
        """
        untaken = (key for key in self.attempt.own_keys if key not in self._replayed_keys)
        return next((key for key in untaken if _REREAD_STEP not in key), None)

    def _list_inner_keys(self, key: str) -> list[str]:
        """The keys of this attempt's steps inside the step ``key``: those begin with its key and came before it."""
        keys = self.attempt.own_keys
        if key in self.attempt.steps:
            keys = keys[: keys.index(key)] if key in keys else ()
        return [inner_key for inner_key in keys if inner_key.startswith(f"{key}:")]

    def _count_as_taken(self, entry: turns.JournalEntry) -> None:
        if entry.key in self._replayed_keys:
            return
        self._replayed_keys.update(self._list_inner_keys(entry.key), (entry.key,))
        if entry.key in self.attempt.own_keys:
            turn_id = self.attempt.start.turn.turn_id
            self.steps_taken.append(StepTaken(turn_id, entry.key, entry.kind, len(entry.data_json)))


def _could_have_ended_at(step: str, key: str) -> bool:
    """Whether an attempt that ended early in ``step`` may have done so before it stored the step ``key``: both are the
    same, ran in parallel, or are drafts of one reply.
    """
    match = _PARALLEL_STEP_KEY_PATTERN.match(step)
    other_match = _PARALLEL_STEP_KEY_PATTERN.match(key)
    if step == key or (match and other_match and match[1] == other_match[1]):
        return True
    return _DRAFT_STEP in step and step.partition(_DRAFT_STEP)[0] == key.partition(_DRAFT_STEP)[0]


def enters_write_state(key: str) -> bool:
    """Whether the step of this key enters a state that writes."""
    return bool(_WRITE_STATE_ENTRY_KEY_PATTERN.match(key))


def _collect_latest_fields(entries: tuple[turns.JournalEntry, ...]) -> JsonObject:
    fields: JsonObject = {}
    for entry in entries:
        if entry.kind == CHECKPOINT_KIND:
            fields.update(_select_compared_fields(entry.data_json))
    return fields


def _select_compared_fields(checkpoint: str) -> JsonObject:
    """The fields of a checkpoint that must be equal in a replay; of templates and plans those that exist today."""
    fields = {name: value for name, value in loads_object(checkpoint).items() if name not in _FIELDS_NOT_COMPARED}
    contracts = {name: contract for name, contract in _CONTRACT_BY_FIELD.items() if name in fields}
    return fields | {name: _keep_known_fields(fields[name], contract) for name, contract in contracts.items()}


def _keep_known_fields(value: Json, contract: type[Contract]) -> Json:
    if isinstance(value, list):
        return [_keep_known_fields(item, contract) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: content for key, content in value.items() if key in contract.model_fields}


_AT_END = "the end"  # in place of a step, where the ended tasks differ


class ReplayResult(NamedTuple):
    """The result of a replay: the first ``difference`` and its step ``at``, both empty if there is none.

    ``end``: the task as the replay ended it; None if it differs before its end.
    """

    steps: tuple[StepTaken, ...]
    at: str
    difference: str
    end: TaskRecord | None

    @property
    def is_same(self) -> bool:
        return not self.difference


class ReplayJournal(Journal):
    """A journal that answers each step from the archive, and compares added entries with it."""

    def __init__(
        self,
        cursor: ReplayCursor,
        store: turns.TurnStore,
        entries: Iterable[turns.JournalEntry],
        now: datetime,
        seconds: float,
        bounds: JournalLimits,
    ) -> None:
        super().__init__(store, entries, now, seconds, bounds)
        self._cursor = cursor

    @override
    def get(self, key: str) -> str | None:
        return self._cursor.take_step_if_any(key)

    @override
    async def run_step(
        self,
        key: str,
        kind: str,
        step: Callable[[], Awaitable[str]],
        question_digest: str = "",
        check_before: Callable[[], Awaitable[None]] | None = None,
    ) -> str:
        """The step's recorded result; ``step`` itself never runs. Raises what ended the recorded attempt there."""
        if key not in self._cursor.attempt.steps:
            await asyncio.sleep(0)  # those beside it may have been finished then
            await asyncio.sleep(0)
        unavailable = self._cursor.find_policy_unavailable_reason(key)
        if unavailable is not None:
            raise PolicyUnavailable(unavailable)
        if ended := self._cursor.find_early_end(key):
            raise ended
        return self._cursor.take_step(key, question_digest).data_json

    @override
    def decide_once(self, key: str, decide: Callable[[], str]) -> str:
        recorded = self._cursor.take_step_if_any(key)
        return decide() if recorded is None else recorded

    @override
    def add_entries(self, *entries: turns.JournalEntry) -> None:
        for entry in entries:
            self._cursor.require_archived_step(entry.key, entry.kind, entry.data_json)
            if enters_write_state(entry.key):
                self._cursor.ledger.reveal_planned_writes()

    @override
    def record_input(self, name: str, data: str, common_texts: tuple[str, ...] = (), kind: str = INPUT_KIND) -> None:
        return


class ReplayStore(turns.TurnStore):
    """The stored state as the attempt found it. A write gets its recorded outcome once the replay reaches it."""

    def __init__(self, cursor: ReplayCursor, record: TaskRecord, approval: Approval | None) -> None:
        self._cursor = cursor
        self._approval = approval
        self.record = record
        self.end: turns.TurnEnd | None = None

    @override
    async def read_journal(self) -> tuple[turns.JournalEntry, ...]:
        return self._cursor.list_journal_so_far()

    @override
    async def read_ledger(self) -> Mapping[str, LedgerEntry]:
        return self._cursor.ledger.shown

    @override
    async def read_approval(self) -> Approval | None:
        return self._approval

    @override
    async def read_session(self) -> turns.SessionState:
        """The recorded session. PRIME reads it, after the turn's decisions on earlier writes were applied."""
        if any(enters_write_state(entry.key) for entry in self._cursor.attempt.entries_before):
            self._cursor.ledger.reveal_planned_writes()
        recorded = self._cursor.attempt.inputs.get("session")
        return turns.SessionState() if recorded is None else parse_session(recorded)

    @override
    async def get_stop_state(self) -> turns.StopState:
        return turns.StopState(self._cursor.attempt.start.began)

    @override
    async def await_signal(self) -> None:
        await asyncio.Event().wait()

    @override
    async def append(
        self, entries: Sequence[turns.JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> turns.StopState:
        self.record = record or self.record
        return await self.get_stop_state()

    @override
    async def open_write(
        self,
        entry: LedgerEntry,
        call_seconds: float,
        batch: turns.JournalBatch = turns.EMPTY_BATCH,
        was_shown_before: Callable[[], bool] = lambda: False,
    ) -> turns.StopState:
        if not self._cursor.ledger.reveal_write(entry.key):
            raise self._cursor.build_absence_error(
                f"write {entry.call.call_id}", f"{entry.call.tool} would be called; it was not"
            )
        return await self.get_stop_state()

    @override
    async def settle_write(
        self, entry: LedgerEntry, status_before: WriteStatus, batch: turns.JournalBatch = turns.EMPTY_BATCH
    ) -> turns.StopState:
        self._cursor.ledger.reveal_write(entry.key)
        return await self.get_stop_state()

    @override
    async def finish(self, end: turns.TurnEnd) -> None:
        self.end = end


class ArchivedPorts(Model, ToolServers, PolicyService, Tenants, LearnedStore):
    """All ports of the run, answered from the archive; else they raise what ``build_absence_error`` returns."""

    def __init__(self, cursor: ReplayCursor) -> None:
        self._cursor = cursor
        self._request_counts: Counter[str] = Counter()

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        raise self._cursor.build_absence_error("model", "a model would be asked")

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return self._parse_recorded_tools(connection)[0]

    @override
    def may_have_unlisted_tools(self, connection: Connection) -> bool:
        return self._parse_recorded_tools(connection)[1]

    def _parse_recorded_tools(self, connection: Connection) -> tuple[tuple[Tool, ...], bool]:
        recorded = self._cursor.get_recorded_input(build_tools_input_name(connection), "its tools were not listed then")
        return parse_tools(recorded, connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """Raises the recorded failure of a write or read-back. Outcomes of other calls are in the ledger."""
        failure = self._cursor.attempt.inputs.get(build_call_input_name(connection, tool, arguments))
        if failure is not None:
            raise_recorded_failure(loads_object(failure))
        if not self._cursor.attempt.is_last:
            raise AttemptStopped
        raise ToolUnreachable("nothing is called in a replay")

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        name = build_policy_input_name(request.to_json(), self._request_counts)
        return parse_verdict(self._cursor.get_recorded_input(name, "the policy would be asked something else"))

    @override
    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        raise self._cursor.build_absence_error("allowances", "the policy would be asked about reads")

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        raise self._cursor.build_absence_error("prose", "a prose policy would be checked")

    @override
    async def get(self, tenant: str) -> TenantRecord:
        noted = self._cursor.get_recorded_input("tenant", "the tenant's record was not read then")
        return TenantRecord.model_validate_json(noted)

    @override
    async def recall(self, tenant: str, process_type: str) -> Experience:
        experience, recalled = (self._cursor.attempt.inputs.get(name) for name in ("experience", "recalled"))
        if experience is None:
            raise StoreUnavailable("nothing was recalled then")
        return parse_noted_experience(experience, recalled)

    @override
    async def add_tool_names(self, tenant: str, names: frozenset[str]) -> None:
        return

    @override
    async def get_policy_translation(self, tenant: str, key: str) -> str | None:
        raise self._cursor.build_absence_error(key, "a translation would be looked up")

    @override
    async def store_policy_translation(self, tenant: str, key: str, text: str) -> None:
        return

    @override
    async def list_synthesized_processes(self, tenant: str) -> tuple[str, ...]:
        raise self._cursor.build_absence_error("processes", "synthesized processes would be looked up")

    @override
    async def get_synthesized_process(self, tenant: str, process_type: str) -> str | None:
        raise self._cursor.build_absence_error(process_type, "a synthesized process would be looked up")

    @override
    async def store_synthesized_process_if_new(self, tenant: str, process_type: str, text: str) -> str:
        raise self._cursor.build_absence_error(process_type, "a process would be synthesized")


MakeReplayWorker: TypeAlias = Callable[[Ports, Limits, Prompts, MakeJournal], turns.TurnRunner]
_STATED_DEADLINE_PATTERN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # as a question to a person says it
_COMPARED_METADATA = ("process_type", "strategy", "states", "plan_hash", "escalated", "values")


class _ReplayedTask(NamedTuple):
    """The task's record and approval after the attempts replayed so far."""

    record: TaskRecord
    approval: Approval | None = None


async def replay(task: ArchivedTask, limits: Limits, prompts: Prompts, worker: MakeReplayWorker) -> ReplayResult:
    """Runs the archived task's attempts again from its journal, calling nothing outside, and returns where the new run
    first differs from the archived one. Raises ``CannotReplay`` if the archive lacks something that the run needs.

    ``worker``: the ``Worker`` class, which ``__main__`` passes in (docs/decisions/0081).
    """
    steps: list[StepTaken] = []
    replayed = _ReplayedTask(_restore_record_before_first_turn(task.record))
    attempts = split_into_attempts(task)
    try:
        for number, attempt in enumerate(attempts, 1):
            cursor = ReplayCursor(attempt, is_given_up=number == len(attempts) and _is_given_up(task.record))
            try:
                replayed = await _run_attempt(cursor, replayed, limits, prompts, worker)
            finally:
                steps += cursor.steps_taken
        if not _is_given_up(task.record):
            _require_equal_records(task.record, replayed.record)
    except ReplayDifference as difference:
        end = replayed.record if difference.at == _AT_END else None
        return ReplayResult(tuple(steps), difference.at, difference.how, end)
    return ReplayResult(tuple(steps), "", "", task.record)


async def _run_attempt(
    cursor: ReplayCursor, before: _ReplayedTask, limits: Limits, prompts: Prompts, worker: MakeReplayWorker
) -> _ReplayedTask:
    """Replays one attempt to its end, or to where the archived one stopped; returns the task as it is then.

    Raises ``ReplayDifference`` for the first step that differs.
    """
    attempt = cursor.attempt
    store = ReplayStore(cursor, before.record, before.approval)
    archive = ArchivedPorts(cursor)
    ports = Ports(archive, archive, archive, archive, archive)
    runner = worker(ports, attempt.start.restore_limits(limits), prompts, partial(ReplayJournal, cursor))
    try:
        await runner.run(turns.TurnWork(attempt.start.turn, before.record, attempts=1), store)
    except AttemptStopped:
        return _ReplayedTask(store.record, before.approval)
    untaken = cursor.find_first_untaken_step()
    if untaken is not None:
        raise ReplayDifference(untaken, "this step would not be taken")
    return _get_state_after_attempt(cursor, store, before)


def _get_state_after_attempt(cursor: ReplayCursor, store: ReplayStore, before: _ReplayedTask) -> _ReplayedTask:
    """The record and approval after this attempt.

    If the archived attempt died before its end was stored, the end does not count, since the next attempt runs the
    turn. Raises ``ReplayDifference`` if the replay reached no end.
    """
    if store.end is None:
        raise ReplayDifference(f"turn {cursor.attempt.start.turn.turn_id}", "the turn would not end")
    if cursor.stops:
        return _ReplayedTask(store.record, before.approval)
    return _ReplayedTask(store.end.record, store.end.approval or before.approval)


def _restore_record_before_first_turn(record: TaskRecord) -> TaskRecord:
    """The record as it was before the task's first turn."""
    blank: dict[str, object] = {
        "reason": None,
        "answer": None,
        "artifacts": (),
        "metadata": {},
        "history": (),
        "later_files": (),
        "turns_done": (),
    }
    update = {**blank, "state": TaskState.SUBMITTED, "started_at": None, "updated_at": record.accepted_at}
    return record.model_copy(update=update)


def _is_given_up(record: TaskRecord) -> bool:
    """Whether the task was ended because too many attempts had stopped, and not by a run."""
    return record.state is TaskState.FAILED and "states" not in record.metadata


def _require_equal_records(then: TaskRecord, now: TaskRecord) -> None:
    if then.state is not now.state:
        raise ReplayDifference(_AT_END, f"the task would be {now.state}, not {then.state}")
    for name in _COMPARED_METADATA:
        if then.metadata.get(name) != now.metadata.get(name):
            raise ReplayDifference(
                _AT_END, f"its {name} would be {now.metadata.get(name)}, not {then.metadata.get(name)}"
            )
    if _strip_deadline(then, without_footer(then.answer or "")) != _strip_deadline(now, now.answer or ""):
        raise ReplayDifference(_AT_END, "its answer would be another")


def _strip_deadline(record: TaskRecord, answer: str) -> str:
    """The answer; without the deadline if it is a question, since that depends on when it is asked."""
    return _STATED_DEADLINE_PATTERN.sub("", answer) if record.state is TaskState.INPUT_REQUIRED else answer
