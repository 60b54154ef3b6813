"""Replays an archived task in memory with today's code and prompts, calling nothing outside; compares both runs."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias

from typing_extensions import override

from services.executor.core.prime.known import parse_noted_experience
from services.executor.core.reflect.outcome import without_footer
from services.executor.core.session.context import Limits, Ports
from services.executor.core.session.journal import INPUT_KIND, Journal, JournalLimits, MakeJournal
from services.executor.core.session.recorded_answers import (
    build_call_input_name,
    build_policy_input_name,
    build_tools_input_name,
    parse_tools,
    parse_verdict,
    raise_recorded_failure,
)
from services.executor.core.states.prompts import Prompts
from services.executor.core.turn.recording import parse_session
from services.executor.core.turn.replay_cursor import (
    AttemptStopped,
    ReplayCursor,
    ReplayDifference,
    ReplayResult,
    StepTaken,
    enters_write_state,
    split_into_attempts,
)
from services.executor.ports import turns
from services.executor.ports.services import Experience, LearnedStore, PolicyService, PolicyUnavailable, Tenants
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolUnreachable
from services.executor.ports.turns import TurnRunner, TurnWork
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.approval import Approval
from shared.contracts.archive import ArchivedTask
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import TaskEvent, TaskRecord
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import TaskState, WriteStatus
from shared.ports.models import Model, ModelReply, ModelRequest
from shared.ports.store import StoreUnavailable


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
        self, entry: LedgerEntry, call_seconds: float, batch: turns.JournalBatch = turns.EMPTY_BATCH
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
    """All ports of the run, answered from the archived attempt. A question it never asked raises the difference."""

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
    async def get_translation(self, tenant: str, key: str) -> str | None:
        raise self._cursor.build_absence_error(key, "a translation would be looked up")

    @override
    async def store_translation(self, tenant: str, key: str, text: str) -> None:
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


MakeReplayWorker: TypeAlias = Callable[[Ports, Limits, Prompts, MakeJournal], TurnRunner]
_STATED_DEADLINE_PATTERN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # as a question to a person says it
_COMPARED_METADATA = ("process_type", "strategy", "states", "plan_hash", "escalated", "values")


class _ReplayedTask(NamedTuple):
    """The task's record and approval after the attempts replayed so far."""

    record: TaskRecord
    approval: Approval | None = None


async def replay(task: ArchivedTask, limits: Limits, prompts: Prompts, worker: MakeReplayWorker) -> ReplayResult:
    """Replays the task's attempts and returns where they differ. Calls nothing outside. Raises ``CannotReplay``.

    ``worker``: the ``Worker`` class of ``turn/worker.py`` (decision 81).
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
        return ReplayResult(tuple(steps), difference.at, difference.how, None, "")
    return ReplayResult(tuple(steps), "", "", task.record.state, task.record.answer or "")


async def _run_attempt(
    cursor: ReplayCursor, before: _ReplayedTask, limits: Limits, prompts: Prompts, worker: MakeReplayWorker
) -> _ReplayedTask:
    """Replays one attempt to its end, or to where the archived one stopped."""
    attempt = cursor.attempt
    store = ReplayStore(cursor, before.record, before.approval)
    archive = ArchivedPorts(cursor)
    ports = Ports(archive, archive, archive, archive, archive)
    runner = worker(ports, attempt.start.restore_limits(limits), prompts, partial(ReplayJournal, cursor))
    try:
        await runner.run(TurnWork(attempt.start.turn, before.record, attempts=1), store)
    except AttemptStopped:
        return _ReplayedTask(store.record, before.approval)
    untaken = cursor.find_first_untaken_step()
    if untaken is not None:
        raise ReplayDifference(untaken, "this step would not be taken")
    return _get_state_after_attempt(cursor, store, before)


def _get_state_after_attempt(cursor: ReplayCursor, store: ReplayStore, before: _ReplayedTask) -> _ReplayedTask:
    """The record and approval after this attempt. If the archived attempt died before its end was stored, the end does
    not count, since the next attempt runs the turn. Raises ``ReplayDifference`` if the replay reached no end.
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
        raise ReplayDifference("the end", f"the task would be {now.state}, not {then.state}")
    for name in _COMPARED_METADATA:
        if then.metadata.get(name) != now.metadata.get(name):
            raise ReplayDifference(
                "the end", f"its {name} would be {now.metadata.get(name)}, not {then.metadata.get(name)}"
            )
    if _strip_deadline(then, without_footer(then.answer or "")) != _strip_deadline(now, now.answer or ""):
        raise ReplayDifference("the end", "its answer would be another")


def _strip_deadline(record: TaskRecord, answer: str) -> str:
    """The answer; without the deadline if it is a question, since that depends on when it is asked."""
    return _STATED_DEADLINE_PATTERN.sub("", answer) if record.state is TaskState.INPUT_REQUIRED else answer
