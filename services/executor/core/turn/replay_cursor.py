"""The position in an archived attempt during its replay: which steps were replayed, and where the runs differ."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.plan.closing import CLOSING
from services.executor.core.plan.draft import ClosedPlan
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
    """One attempt at one turn. ``steps``: all journal steps at its end; ``own``: the keys that it added."""

    begun: AttemptStart
    before: tuple[JournalEntry, ...]
    steps: Mapping[str, JournalEntry]
    own: tuple[str, ...]
    inputs: Mapping[str, str]  # the newest of each name at its end
    ledger: Mapping[str, LedgerEntry]  # at its end
    is_last: bool  # of its turn: it came to an end

    @property
    def end(self) -> RecordedEnd | None:
        """The attempt's recorded early end; None if it had none."""
        noted = parse_early_end(self.inputs["ended"]) if "ended" in self.inputs else None
        return noted if noted and noted.began == self.begun.began.isoformat() else None


def attempts_of(task: ArchivedTask) -> tuple[ArchivedAttempt, ...]:
    """The task's attempts in order. Raises ``CannotReplay``."""
    if lost := [step.key for step in task.journal if step.lost]:
        raise CannotReplay(f"what its journal held of {lost[0]!r} was lost before it was archived")
    entries = [JournalEntry(step.key, step.kind, step.data) for step in task.journal]
    marks = [index for index, entry in enumerate(entries) if entry.kind == ATTEMPT_KIND]
    if not marks:
        raise CannotReplay("its journal does not say what its turns were given: nothing was done, or it is too old")
    begun = [_read_beginning(entries[index]) for index in marks]
    ends = [*marks[1:], len(entries)]
    ledgers = [*(one.ledger for one in begun[1:]), task.ledger]
    turns = [*(one.turn.turn_id for one in begun[1:]), ""]
    return tuple(
        _build_attempt(one, entries, start, end, ledger, following != one.turn.turn_id)
        for one, start, end, ledger, following in zip(begun, marks, ends, ledgers, turns, strict=True)
    )


def _build_attempt(
    begun: AttemptStart,
    entries: Sequence[JournalEntry],
    start: int,
    end: int,
    ledger: Mapping[str, LedgerEntry],
    is_last: bool,
) -> ArchivedAttempt:
    before, all_of_them = tuple(entries[:start]), entries[:end]
    earlier = {entry.key for entry in before}
    own = (
        entry.key for entry in entries[start:end] if entry.kind not in KINDS_WITHOUT_STEP and entry.key not in earlier
    )
    steps: dict[str, JournalEntry] = {}
    for entry in all_of_them:
        if entry.kind not in KINDS_WITHOUT_STEP:
            steps.setdefault(entry.key, entry)
    inputs = {entry.key.rpartition("#")[0]: entry.data_json for entry in all_of_them if entry.kind == INPUT_KIND}
    return ArchivedAttempt(begun, before, steps, tuple(dict.fromkeys(own)), inputs, ledger, is_last)


def _read_beginning(entry: JournalEntry) -> AttemptStart:
    try:
        return parse_attempt_start(entry.data_json)
    except (ValueError, KeyError) as error:
        raise CannotReplay(f"the note of a turn cannot be read: {error}") from error


_VOLATILE = ("worked_ms", "dossier.audit_clean")  # how long it took; what an earlier release stored
_MODELS: Mapping[str, type[Contract]] = {
    "template": ProcessTemplate,
    "dossier.plan": WritePlan,
    "dossier.plans": WritePlan,
}
_ENTRY_OF_WRITE_STATE = re.compile(rf"\d+\.({FsmState.MUTATE}|{FsmState.SCHEDULE_NOTIFY}):entered")
_SIDE_BY_SIDE = re.compile(r"(.*:tool|.*:again:[^:]+):r?\d+(?::|$)")  # whatever each led to: a page, a repetition
_DRAFT = ":draft:"  # of two that are made beside each other
_READ_AGAIN = ":again:"  # before the first write of a plan; the ledger that a replay has shows that write already


class ReplayDifference(Exception):
    """The two runs differ: ``at`` which step, and ``how``."""

    def __init__(self, at: str, how: str) -> None:
        super().__init__(f"{at}: {how}")
        self.at = at
        self.how = how


class AttemptStopped(Exception):
    """The archived attempt stopped at this point, and another attempt continued."""


class StepTaken(NamedTuple):
    """A step that both runs have."""

    turn_id: str
    key: str
    kind: str
    size: int


class ReplayedWrites:
    """The ledger during the replay: as at the beginning of the attempt, plus the final state of each write that the
    replay has reached.
    """

    def __init__(self, attempt: ArchivedAttempt) -> None:
        self._end = attempt.ledger
        self._plans: set[str] = set()
        for entry in attempt.before:
            self.register_closed_plan(entry)
        self.shown = self._in_ledger_order(attempt.begun.ledger)

    def reveal_write(self, key: str) -> bool:
        """Adds the write's final state to the ledger; False if it was made neither in this attempt nor before."""
        if key in self._end:
            self.shown = self._in_ledger_order({**self.shown, key: self._end[key]})
        return key in self.shown

    def register_closed_plan(self, entry: JournalEntry) -> None:
        """If the step closed a plan, notes it, so that its writes may be revealed."""
        if entry.key.endswith(CLOSING):
            self._plans.add(ClosedPlan.model_validate_json(entry.data_json).plan.hash)

    def reveal_planned(self) -> None:
        """Reveals the writes of all plans closed so far."""
        planned = {key: entry for key, entry in self._end.items() if entry.plan_hash in self._plans}
        self.shown = self._in_ledger_order({**self.shown, **planned})

    def _in_ledger_order(self, entries: Mapping[str, LedgerEntry]) -> Mapping[str, LedgerEntry]:
        """The entries in the archived ledger's order, in which answers list them."""
        return {key: entries[key] for key in (*self._end, *entries) if key in entries}


class ReplayCursor:
    """The replay of one attempt. ``given_up``: this is the task's last attempt, it stopped, too, and no other followed.

    ``stops``: the archived attempt stored no end of the turn.
    """

    def __init__(self, attempt: ArchivedAttempt, given_up: bool = False) -> None:
        self.attempt = attempt
        self.ledger = ReplayedWrites(attempt)
        self.taken: list[StepTaken] = []
        self._seen: set[str] = set()
        self._fields = _latest_fields(attempt.before)
        self.stops = given_up or not attempt.is_last

    def take_step(self, key: str, asked: str = "") -> JournalEntry:
        """The archived step, which counts as replayed. Raises ``ReplayDifference``, ``AttemptStopped``, or the early
        end that is recorded there.
        """
        entry = self.attempt.steps.get(key)
        if entry is None:
            raise self.absence_error(key, "this step was not taken then")
        its_own = entry.kind == "model" and key in self.attempt.own  # an earlier attempt was given other things
        if its_own and loads_object(entry.data_json).get("request", asked) != asked:
            raise ReplayDifference(key, "the model would be asked something else")
        self._count_as_taken(entry)
        self.ledger.register_closed_plan(entry)
        return entry

    def why_unavailable(self, key: str) -> str | None:
        """Why the policy service was unavailable for a step that the archived attempt did not finish; None if it was
        available. The steps inside count as replayed.
        """
        found = self.attempt.inputs.get(f"unavailable:{key}")
        if found is None or key in self.attempt.steps:
            return None
        self._seen.update(inner for inner in self.attempt.own if inner.startswith(f"{key}:"))
        return found

    def find_early_end(self, key: str) -> EarlyEnd | None:
        """The recorded early end of a step without a result, whose inner steps then count as replayed; else None."""
        noted = self.attempt.inputs.get(f"{EARLY_END_PREFIX}{key}")
        ended = parse_early_end(noted) if noted is not None and key not in self.attempt.steps else None
        if ended is None or ended.began != self.attempt.begun.began.isoformat():
            return None
        self._seen.update(inner for inner in self.attempt.own if inner.startswith(f"{key}:"))
        return ended.early

    def take_step_if_any(self, key: str) -> str | None:
        """The step's data; None if the archived attempt did not take it."""
        entry = self.attempt.steps.get(key)
        if entry is not None:
            self._count_as_taken(entry)
        return entry.data_json if entry else None

    def compare_step(self, key: str, kind: str, data: str) -> None:
        """Compares a checkpoint, or a step that calls nothing outside, with the archived one; raises
        ``ReplayDifference``.
        """
        entry = self.attempt.steps.get(key)
        if entry is None:
            raise self.absence_error(key, "this was not stored then")
        if kind == CHECKPOINT_KIND:
            was, now = {**self._fields, **_stable_fields(entry.data_json)}, {**self._fields, **_stable_fields(data)}
            # As texts, since Python calls 1 and True equal. What only today's run stores is newer.
            different = sorted(name for name in was if dumps(was[name]) != dumps(now.get(name)))
            if different:
                raise ReplayDifference(key, f"the checkpoint says something else of {', '.join(different)}")
            self._fields = now
        self._count_as_taken(entry)

    def recorded_input(self, name: str, what: str) -> str:
        """The recorded input of this name; raises the error of ``absence_error`` if there is none."""
        found = self.attempt.inputs.get(name)
        if found is None:
            raise self.absence_error(name, what)
        return found

    def absence_error(self, key: str, how: str) -> Exception:
        """The exception to raise if the archived attempt has nothing under ``key``."""
        ended = self.attempt.end
        if ended is not None and (ended.step is None or _could_have_ended_at(ended.step, key)):
            return self._early_end_or_difference(ended.early)
        return AttemptStopped() if self.stops else ReplayDifference(key, how)

    def journal_so_far(self) -> tuple[JournalEntry, ...]:
        """The task's journal at this point of the replay."""
        own = (self.attempt.steps[key] for key in self.attempt.own if key in self._seen)
        return (*self.attempt.before, *own)

    def first_untaken_step(self) -> str | None:
        """The first step that the archived attempt took and the replay did not; None if there is none."""
        return next((key for key in self.attempt.own if key not in self._seen and _READ_AGAIN not in key), None)

    def _inner_steps(self, key: str) -> Iterator[str]:
        """The steps inside that step, whose keys begin with its key and which were stored before it."""
        own = self.attempt.own
        return (inner for inner in own[: own.index(key)] if inner.startswith(f"{key}:")) if key in own else iter(())

    def _early_end_or_difference(self, early: EarlyEnd) -> Exception:
        left = self.first_untaken_step()
        return early if left is None else ReplayDifference(left, "this step would not be taken")

    def _count_as_taken(self, entry: JournalEntry) -> None:
        if entry.key in self._seen:
            return
        self._seen.update(self._inner_steps(entry.key), (entry.key,))
        if entry.key in self.attempt.own:
            self.taken.append(StepTaken(self.attempt.begun.turn.turn_id, entry.key, entry.kind, len(entry.data_json)))


def _could_have_ended_at(step: str, key: str) -> bool:
    """Whether a run that ended at ``step`` may have reached ``key``: the same step, one run in parallel, or another
    draft of the same reply.
    """
    reads = _SIDE_BY_SIDE.match(step)
    beside = reads is not None and (other := _SIDE_BY_SIDE.match(key)) is not None and reads[1] == other[1]
    return step == key or beside or (_DRAFT in step and step.partition(_DRAFT)[0] == key.partition(_DRAFT)[0])


def enters_write_state(key: str) -> bool:
    """Whether the step of this key enters a state that writes."""
    return bool(_ENTRY_OF_WRITE_STATE.match(key))


def _latest_fields(entries: tuple[JournalEntry, ...]) -> JsonObject:
    fields: JsonObject = {}
    for entry in entries:
        if entry.kind == CHECKPOINT_KIND:
            fields.update(_stable_fields(entry.data_json))
    return fields


def _stable_fields(checkpoint: str) -> JsonObject:
    """The fields of a checkpoint that must be equal in a replay; of templates and plans only the fields that exist
    today.
    """
    fields = {name: value for name, value in loads_object(checkpoint).items() if name not in _VOLATILE}
    return fields | {name: _keep_known_fields(fields[name], model) for name, model in _MODELS.items() if name in fields}


def _keep_known_fields(value: Json, model: type[Contract]) -> Json:
    if isinstance(value, list):
        return [_keep_known_fields(one, model) for one in value]
    return {key: one for key, one in value.items() if key in model.model_fields} if isinstance(value, dict) else value


class ReplayResult(NamedTuple):
    """The result of a replay: the first ``difference``, and ``at`` which step; both empty if the runs are the same."""

    steps: tuple[StepTaken, ...]
    at: str
    difference: str
    state: TaskState | None
    answer: str

    @property
    def is_same(self) -> bool:
        return not self.difference
