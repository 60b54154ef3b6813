"""The course of an archived attempt as it is replayed: which steps were taken again, where it goes another way."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import TypeAdapter

from services.executor.core.reflect.outcome import FinishedRun
from services.executor.core.session.context import AnswerRules, Limits
from services.executor.core.session.endings import Failed, ModelRests, Part, RunEnds
from services.executor.core.session.journal import CHECKPOINT, ENDED_AT, INPUT, NO_STEPS, TURN, Journal, ending_note
from services.executor.ports.orchestrators import Orchestrating
from services.executor.ports.sessions import Work
from services.executor.ports.turns import JournalEntry, SessionState
from shared.contracts.archive import ArchivedTask
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import Turn
from shared.domain import span_names as names
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, plain
from shared.domain.quality import Formula
from shared.domain.words import FsmState, Strategy, TaskState
from shared.ports.tracing import Span, SpanKind, Tracer

VERSION = 1  # of what is noted; a reader handles the one before
_DECIDING = ("iterations", "tool_calls", "plans", "trusts_requests", "strategies", "orchestrators")
_LEDGER = TypeAdapter(dict[str, LedgerEntry])
_SESSION = TypeAdapter(SessionState)


class Begun(NamedTuple):
    """An attempt at a turn as it began; ``ledger`` is the task's at that moment, ``settings`` what it was set to."""

    turn: Turn
    began: datetime
    ledger: Mapping[str, LedgerEntry]
    settings: JsonObject

    def limits(self, today: Limits) -> Limits:
        """Today's limits, with those that decide which way a run goes as they were set then."""
        said = {name: self.settings.get(name, getattr(today, name)) for name in _DECIDING}
        said["orchestrators"] = self.settings.get("orchestrators", [Orchestrating.LOCAL])  # there was no other
        return today._replace(
            iterations=int(str(said["iterations"])),
            tool_calls=int(str(said["tool_calls"])),
            plans=int(str(said["plans"])),
            trusts_requests=bool(said["trusts_requests"]),
            answers=_answers(self.settings),
            audits_values=self.settings.get("audits_values") is True,  # runs of an older release had no such audit
            strategies=tuple(Strategy(str(name)) for name in cast("list[str]", said["strategies"])),
            orchestrators=tuple(Orchestrating(str(name)) for name in cast("list[str]", said["orchestrators"])),
        )


class EarlyEnding(NamedTuple):
    """How a run ended before its answer, in the attempt that began then, and the step it stood at, if at one."""

    ending: RunEnds
    step: str | None
    began: str


def note_turn(journal: Journal, turn: Turn, ledger: Mapping[str, LedgerEntry], limits: Limits) -> None:
    """Note that an attempt at the turn begins."""
    parts = [f'"v":{VERSION}', f'"turn":{turn.stored_json()}', f'"began":"{journal.began.isoformat()}"']
    settings: JsonObject = {name: plain(getattr(limits, name)) for name in _DECIDING}
    settings |= {"formula": limits.answers.formula.value, "reviews": limits.answers.reviews}
    settings |= {"audits_values": limits.audits_values}
    parts.append(f'"settings":{dumps(settings)},"ledger":{_LEDGER.dump_json(dict(ledger)).decode()}')
    journal.begins(turn.turn_id, "{" + ",".join(parts) + "}")


def _answers(settings: JsonObject) -> AnswerRules:
    """Tasks of a release before answers were reviewed had none reviewed. A footer is no part of what is compared."""
    formula = Formula(str(settings.get("formula", Formula.SIGNALS.value)))
    return AnswerRules(formula, footer=False, reviews=settings.get("reviews") is True)


def read_turn(text: str) -> Begun:
    """Raises ``ValueError`` for a note of a version that this one cannot read."""
    noted = loads_object(text)
    if noted.get("v") not in (1, VERSION):
        raise ValueError(f"version {noted.get('v')} of a turn's note is not known here")
    turn = Turn.model_validate_json(dumps(noted["turn"]))
    began, ledger = datetime.fromisoformat(str(noted["began"])), _LEDGER.validate_python(noted["ledger"])
    return Begun(turn, began, ledger, cast(JsonObject, noted.get("settings", {})))


def note_ending(journal: Journal, ending: RunEnds) -> None:
    """Note how the run ends."""
    journal.record_input("ended", ending_note(ending, journal.began, step=journal.stopped_at))


def read_ending(text: str) -> EarlyEnding:
    """How a turn ended early, out of the note in its journal; ``Failed`` where this version has no such ending."""
    noted = loads_object(text)
    kind = _kinds(RunEnds).get(str(noted["kind"]), Failed)
    step = cast("str | None", noted.get("step"))
    return EarlyEnding(_ending(kind, noted), step, str(noted["began"]))


def _ending(kind: type[RunEnds], noted: JsonObject) -> RunEnds:
    reason, after = str(noted["reason"]), noted.get("retry_after")
    if kind is ModelRests:
        return ModelRests(reason, None if after is None else float(str(after)))
    return kind(reason, cast("Part | None", noted["part"]))


def _kinds(kind: type[RunEnds]) -> dict[str, type[RunEnds]]:
    below = [_kinds(one) for one in kind.__subclasses__()]
    return {name: one for kinds in below for name, one in kinds.items()} | {kind.__name__: kind}


def note_session(journal: Journal, session: SessionState) -> None:
    journal.record_input("session", _SESSION.dump_json(session).decode())


def read_session(text: str) -> SessionState:
    return _SESSION.validate_json(text)


def turn_span(tracer: Tracer, work: Work) -> AbstractContextManager[Span]:
    """All turns of a task, and all attempts at them, stand in the trace of the request that began it.

    A later turn is linked with the request that brought it: a decision, a cancel, a further message.
    """
    began, brought = work.record.traceparent, work.turn.traceparent
    name = names.TURN.format(kind=work.turn.kind.value)
    return tracer.continue_trace(name, SpanKind.CONSUMER, began or brought, None if brought == began else brought)


def tell_beginning(span: Span, work: Work) -> None:
    if not span.is_recording:
        return
    record = work.record
    of_task = {names.TENANT: record.tenant, names.SESSION: record.session_id, names.TASK: record.task_id}
    of_turn = {names.TURN_KIND: work.turn.kind.value, names.DIALECT: record.dialect.value}
    counts = {names.ATTEMPT: work.attempts, names.WAITED_MS: work.waited_us // 1000}
    span.note({**of_task, **of_turn, **counts})


def tell_end(span: Span, ended: FinishedRun) -> None:
    if not span.is_recording:
        return
    span.note({names.TASK_STATE: ended.state.value})
    if ended.progress is not None:
        span.note({names.PROCESS_TYPE: ended.progress.template.process_type})
        span.note({names.STRATEGY: ended.progress.strategy.value})


class CannotReplay(Exception):
    """The archived task does not tell enough; the message says what is missing."""


class ArchivedAttempt(NamedTuple):
    """One attempt at one turn. ``steps`` are all that stood in the journal at its end, ``own`` the keys it added."""

    begun: Begun
    before: tuple[JournalEntry, ...]
    steps: Mapping[str, JournalEntry]
    own: tuple[str, ...]
    inputs: Mapping[str, str]  # the newest of each name at its end
    ledger: Mapping[str, LedgerEntry]  # at its end
    is_last: bool  # of its turn: it came to an end

    @property
    def ending(self) -> EarlyEnding | None:
        """How it ended before its answer, if it did."""
        noted = read_ending(self.inputs["ended"]) if "ended" in self.inputs else None
        return noted if noted and noted.began == self.begun.began.isoformat() else None


def attempts_of(task: ArchivedTask) -> tuple[ArchivedAttempt, ...]:
    """In the order in which they were made. Raises ``CannotReplay``."""
    if lost := [step.key for step in task.journal if step.lost]:
        raise CannotReplay(f"what its journal held of {lost[0]!r} was lost before it was archived")
    entries = [JournalEntry(step.key, step.kind, step.data) for step in task.journal]
    marks = [index for index, entry in enumerate(entries) if entry.kind == TURN]
    if not marks:
        raise CannotReplay("its journal does not say what its turns were given: nothing was done, or it is too old")
    begun = [_read_beginning(entries[index]) for index in marks]
    ends = [*marks[1:], len(entries)]
    ledgers = [*(one.ledger for one in begun[1:]), task.ledger]
    turns = [*(one.turn.turn_id for one in begun[1:]), ""]
    return tuple(
        _attempt(one, entries, start, end, ledger, following != one.turn.turn_id)
        for one, start, end, ledger, following in zip(begun, marks, ends, ledgers, turns, strict=True)
    )


def _attempt(
    begun: Begun,
    entries: Sequence[JournalEntry],
    start: int,
    end: int,
    ledger: Mapping[str, LedgerEntry],
    is_last: bool,
) -> ArchivedAttempt:
    before, all_of_them = tuple(entries[:start]), entries[:end]
    known = {entry.key for entry in before}
    own = (entry.key for entry in entries[start:end] if entry.kind not in NO_STEPS and entry.key not in known)
    steps: dict[str, JournalEntry] = {}
    for entry in all_of_them:
        if entry.kind not in NO_STEPS:
            steps.setdefault(entry.key, entry)
    inputs = {entry.key.rpartition("#")[0]: entry.data_json for entry in all_of_them if entry.kind == INPUT}
    return ArchivedAttempt(begun, before, steps, tuple(dict.fromkeys(own)), inputs, ledger, is_last)


def _read_beginning(entry: JournalEntry) -> Begun:
    try:
        return read_turn(entry.data_json)
    except (ValueError, KeyError) as error:
        raise CannotReplay(f"the note of a turn cannot be read: {error}") from error


_VOLATILE = ("worked_ms",)  # how long it took is no difference
_WRITING = re.compile(rf"\d+\.({FsmState.MUTATE}|{FsmState.SCHEDULE_NOTIFY}):entered")
_SIDE_BY_SIDE = re.compile(r"(.*:tool|.*:again:[^:]+):r?\d+(?::|$)")  # whatever each led to: a page, a repetition
_DRAFT = ":draft:"  # of two that are made beside each other
_READ_AGAIN = ":again:"  # before the first write of a plan; the ledger that a replay has shows that write already


class Differs(Exception):
    """Today's run goes another way than the archived one: ``at`` which step, and ``how``."""

    def __init__(self, at: str, how: str) -> None:
        super().__init__(f"{at}: {how}")
        self.at = at
        self.how = how


class StoppedHere(Exception):
    """The archived attempt stopped here, and another one went on."""


class StepTaken(NamedTuple):
    """A step that both runs took."""

    turn_id: str
    key: str
    kind: str
    size: int


class Writes:
    """The ledger of one attempt: as it stood at its beginning, and each write as it ended once the run comes to it."""

    def __init__(self, attempt: ArchivedAttempt) -> None:
        self._end = attempt.ledger
        self.shown = self._in_ledger_order(attempt.begun.ledger)

    def show(self, key: str) -> bool:
        """Whether the write was made in this attempt or before."""
        if key in self._end:
            self.shown = self._in_ledger_order({**self.shown, key: self._end[key]})
        return key in self.shown

    def show_all(self) -> None:
        self.shown = self._end

    def _in_ledger_order(self, known: Mapping[str, LedgerEntry]) -> Mapping[str, LedgerEntry]:
        """In the ledger's own order, in which an answer lists them."""
        return {key: known[key] for key in (*self._end, *known) if key in known}


class Course:
    """``given_up``: the last attempt of the task stopped too, and no other one was made.

    ``stops``: the attempt stored no end of the turn.
    """

    def __init__(self, attempt: ArchivedAttempt, given_up: bool = False) -> None:
        self.attempt = attempt
        self.ledger = Writes(attempt)
        self.taken: list[StepTaken] = []
        self._seen: set[str] = set()
        self._fields = _overlaid(attempt.before)
        self.stops = given_up or not attempt.is_last

    def take(self, key: str, asked: str = "") -> JournalEntry:
        """The archived step; raises ``Differs``, ``StoppedHere`` or the ending that stood there."""
        entry = self.attempt.steps.get(key)
        if entry is None:
            raise self.absent(key, "this step was not taken then")
        its_own = entry.kind == "model" and key in self.attempt.own  # an earlier attempt was given other things
        if its_own and loads_object(entry.data_json).get("request", asked) != asked:
            raise Differs(key, "the model would be asked something else")
        self._note(entry)
        return entry

    def unavailable(self, key: str) -> str | None:
        """Why the policy service could not be had for a step that was not finished then."""
        found = self.attempt.inputs.get(f"unavailable:{key}")
        if found is None or key in self.attempt.steps:
            return None
        self._seen.update(inner for inner in self.attempt.own if inner.startswith(f"{key}:"))
        return found

    def find_end(self, key: str) -> RunEnds | None:
        """How a step ended then that gave nothing: the run may have gone on without it."""
        noted = self.attempt.inputs.get(f"{ENDED_AT}{key}")
        ended = read_ending(noted) if noted is not None and key not in self.attempt.steps else None
        if ended is None or ended.began != self.attempt.begun.began.isoformat():
            return None
        self._seen.update(inner for inner in self.attempt.own if inner.startswith(f"{key}:"))
        return ended.ending

    def peek(self, key: str) -> str | None:
        """A step's data, if it was taken then."""
        entry = self.attempt.steps.get(key)
        if entry is not None:
            self._note(entry)
        return entry.data_json if entry else None

    def compare(self, key: str, kind: str, data: str) -> None:
        """A step that needs nobody: it must have been stored then, and a checkpoint must say the same."""
        entry = self.attempt.steps.get(key)
        if entry is None:
            raise self.absent(key, "this was not stored then")
        if kind == CHECKPOINT:
            was, now = {**self._fields, **_stable_fields(entry.data_json)}, {**self._fields, **_stable_fields(data)}
            different = sorted(name for name in was if _text(was, name) != _text(now, name))  # the rest is newer
            if different:
                raise Differs(key, f"the checkpoint says something else of {', '.join(different)}")
            self._fields = now
        self._note(entry)

    def recorded_input(self, name: str, what: str) -> str:
        """What the world gave the run under that name."""
        found = self.attempt.inputs.get(name)
        if found is None:
            raise self.absent(name, what)
        return found

    def absent(self, key: str, how: str) -> Exception:
        """What to raise where the archived attempt knows nothing of ``key``."""
        ended = self.attempt.ending
        if ended is not None and (ended.step is None or _can_have_stood(ended.step, key)):
            return self._ending(ended.ending)
        return StoppedHere() if self.stops else Differs(key, how)

    def so_far(self) -> tuple[JournalEntry, ...]:
        """The task's journal as it stands at this point of the replay."""
        own = (self.attempt.steps[key] for key in self.attempt.own if key in self._seen)
        return (*self.attempt.before, *own)

    def untaken(self) -> str | None:
        """The first step that only the archived attempt took."""
        return next((key for key in self.attempt.own if key not in self._seen and _READ_AGAIN not in key), None)

    def _inner_steps(self, key: str) -> Iterator[str]:
        """The steps that were taken in the course of that one: stored before it, and named after it."""
        own = self.attempt.own
        return (inner for inner in own[: own.index(key)] if inner.startswith(f"{key}:")) if key in own else iter(())

    def _ending(self, ending: RunEnds) -> Exception:
        left = self.untaken()
        return ending if left is None else Differs(left, "this step would not be taken")

    def _note(self, entry: JournalEntry) -> None:
        if entry.key in self._seen:
            return
        self._seen.update(self._inner_steps(entry.key), (entry.key,))
        if entry.key in self.attempt.own:
            self.taken.append(StepTaken(self.attempt.begun.turn.turn_id, entry.key, entry.kind, len(entry.data_json)))


def _can_have_stood(step: str, key: str) -> bool:
    """Whether a run that ended at that step can have stood at this one: the same, or one of those beside it."""
    reads = _SIDE_BY_SIDE.match(step)
    beside = reads is not None and (other := _SIDE_BY_SIDE.match(key)) is not None and reads[1] == other[1]
    return step == key or beside or (_DRAFT in step and step.partition(_DRAFT)[0] == key.partition(_DRAFT)[0])


def writes_begin(key: str) -> bool:
    """Whether a step of that name enters a state that writes."""
    return bool(_WRITING.match(key))


def _overlaid(entries: tuple[JournalEntry, ...]) -> JsonObject:
    fields: JsonObject = {}
    for entry in entries:
        if entry.kind == CHECKPOINT:
            fields.update(_stable_fields(entry.data_json))
    return fields


def _stable_fields(checkpoint: str) -> JsonObject:
    return {name: value for name, value in loads_object(checkpoint).items() if name not in _VOLATILE}


def _text(fields: JsonObject, name: str) -> str | None:
    """Compared as text: to Python, 1 and true are the same."""
    missing: Json = None
    return dumps(fields.get(name, missing))


class ReplayResult(NamedTuple):
    """``difference`` is the first one, and ``at`` its step; both are empty where today's run ends the same."""

    steps: tuple[StepTaken, ...]
    at: str
    difference: str
    state: TaskState | None
    answer: str

    @property
    def is_same(self) -> bool:
        return not self.difference
