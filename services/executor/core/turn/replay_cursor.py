"""The position in an archived attempt during its replay: which steps were replayed, and where the runs differ."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.plan.draft import CLOSING_STEP_SUFFIX, ClosedPlan
from services.executor.core.session.journal import (
    ATTEMPT_KIND,
    CHECKPOINT_KIND,
    EARLY_END_PREFIX,
    INPUT_KIND,
    KINDS_WITHOUT_STEP,
)
from services.executor.core.states.machine import EarlyEnd, ProcessTemplate
from services.executor.core.turn.recording import AttemptStart, RecordedEnd, parse_attempt_start, parse_early_end
from services.executor.ports.turns import JournalEntry
from shared.contracts.archive import ArchivedTask
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import FsmState, TaskState


class CannotReplay(Exception):
    """The archived task lacks something that a replay needs; the message says what."""


class ArchivedAttempt(NamedTuple):
    """One attempt at one turn. ``steps``: all journal steps at its end; ``own_keys``: the keys that it added."""

    start: AttemptStart
    entries_before: tuple[JournalEntry, ...]
    steps: Mapping[str, JournalEntry]
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
    entries = [JournalEntry(step.key, step.kind, step.data) for step in task.journal]
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
    entries_before: Sequence[JournalEntry],
    new_entries: Sequence[JournalEntry],
    ledger: Mapping[str, LedgerEntry],
    is_last: bool,
) -> ArchivedAttempt:
    entries_to_end = (*entries_before, *new_entries)
    keys_before = {entry.key for entry in entries_before}
    keys = (entry.key for entry in new_entries if entry.kind not in KINDS_WITHOUT_STEP and entry.key not in keys_before)
    steps: dict[str, JournalEntry] = {}
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
        self.shown = self._sort_in_ledger_order(attempt.start.ledger)

    def reveal_write(self, key: str) -> bool:
        """Adds the write's final state to the ledger; False if it was made neither in this attempt nor before."""
        if key in self._ledger_at_end:
            self.shown = self._sort_in_ledger_order({**self.shown, key: self._ledger_at_end[key]})
        return key in self.shown

    def register_closed_plan(self, entry: JournalEntry) -> None:
        """Registers the plan that a step closed, if it closed one, so that its writes may be revealed."""
        if entry.key.endswith(CLOSING_STEP_SUFFIX):
            self._plans.add(ClosedPlan.model_validate_json(entry.data_json).plan.hash)

    def reveal_planned_writes(self) -> None:
        """Reveals the writes of all plans closed so far."""
        planned = {key: entry for key, entry in self._ledger_at_end.items() if entry.plan_hash in self._plans}
        self.shown = self._sort_in_ledger_order({**self.shown, **planned})

    def _sort_in_ledger_order(self, entries: Mapping[str, LedgerEntry]) -> Mapping[str, LedgerEntry]:
        """The entries in the archived ledger's order, in which answers list them."""
        return {key: entries[key] for key in (*self._ledger_at_end, *entries) if key in entries}


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

    def take_step(self, key: str, request: str = "") -> JournalEntry:
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
        """Why the policy service was away for an unfinished step, whose inner steps count as replayed; or None."""
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
        """Counts the step as replayed if the archived attempt has it. Raises what ``build_absence_error`` returns if it
        has not, and ``ReplayDifference`` if the step is a checkpoint and differs.
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

    def list_journal_so_far(self) -> tuple[JournalEntry, ...]:
        """The task's journal at this point of the replay."""
        own_entries = (self.attempt.steps[key] for key in self.attempt.own_keys if key in self._replayed_keys)
        return (*self.attempt.entries_before, *own_entries)

    def find_first_untaken_step(self) -> str | None:
        """The first step that the archived attempt took and the replay did not; None if there is none. Reads that are
        repeated before a plan's first write do not count: a replay's ledger has that write already.
        """
        untaken = (key for key in self.attempt.own_keys if key not in self._replayed_keys)
        return next((key for key in untaken if _REREAD_STEP not in key), None)

    def _list_inner_keys(self, key: str) -> list[str]:
        """The keys of this attempt's steps inside the step ``key``: those begin with its key and came before it."""
        keys = self.attempt.own_keys
        if key in self.attempt.steps:
            keys = keys[: keys.index(key)] if key in keys else ()
        return [inner_key for inner_key in keys if inner_key.startswith(f"{key}:")]

    def _count_as_taken(self, entry: JournalEntry) -> None:
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
    match, other_match = _PARALLEL_STEP_KEY_PATTERN.match(step), _PARALLEL_STEP_KEY_PATTERN.match(key)
    if step == key or (match and other_match and match[1] == other_match[1]):
        return True
    return _DRAFT_STEP in step and step.partition(_DRAFT_STEP)[0] == key.partition(_DRAFT_STEP)[0]


def enters_write_state(key: str) -> bool:
    """Whether the step of this key enters a state that writes."""
    return bool(_WRITE_STATE_ENTRY_KEY_PATTERN.match(key))


def _collect_latest_fields(entries: tuple[JournalEntry, ...]) -> JsonObject:
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


class ReplayResult(NamedTuple):
    """The result of a replay: the first ``difference`` and its step ``at``; or, if there is none, the task's end."""

    steps: tuple[StepTaken, ...]
    at: str
    difference: str
    state: TaskState | None
    answer: str

    @property
    def is_same(self) -> bool:
        return not self.difference
