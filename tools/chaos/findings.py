"""What must never have happened, looked for in what clients, companies and learner say: pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cli.gateway.messages import TaskView
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import TaskState, WriteStatus
from tools.chaos.endings import Otherwise, ended_otherwise
from tools.chaos.errands import Kind
from tools.chaos.ledgers import Applied, CompanyLedger
from tools.chaos.load import ENDED, Sent
from tools.chaos.rolled import Rolled
from tools.chaos.sight import Counted

NOWHERE = "-"


class Harm(StrEnum):
    """Each of these makes a run fail; from ``FAILED_REQUEST`` on they are looked for only where nothing was struck."""

    LOST = "lost"
    TWICE_ACCEPTED = "accepted twice"
    DOUBLE_WRITE = "double write"
    UNCALLED_WRITE = "write that nobody asked for or allowed"
    FALSE_PROOF = "write reported as verified that the company did not apply"
    OUTCOME_MISSING = "outcome missing"
    OUTCOME_REPEATED = "outcome repeated"
    FAILED_REQUEST = "failed request"
    FAILED_TASK = "task that failed"
    STREAM_GAP = "stream with a gap or a repetition"
    ROUGH_END = "process that did not end by itself and in time"
    DOUBT = "write left in doubt"
    UNFORESEEN = "approval that no errand foresaw"
    OTHERWISE = "task that ended otherwise than its errand asks"


def harms_of(*, rolling: bool) -> tuple[Harm, ...]:
    """Those that a run looks for."""
    every = tuple(Harm)
    return every if rolling else every[: every.index(Harm.FAILED_REQUEST)]


class Finding(NamedTuple):
    harm: Harm
    task_id: str
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """What is there at the end. ``views``: tasks by id as the gateway shows them. ``books``: by protocol."""

    sent: Sequence[Sent]
    views: Mapping[str, TaskView]
    books: Mapping[str, CompanyLedger]
    counted: Counted
    known_tasks: frozenset[str]
    rolled: Rolled | None = None

    @property
    def ended(self) -> frozenset[str]:
        return frozenset(task_id for task_id, view in self.views.items() if view.state in ENDED)

    @property
    def ended_otherwise(self) -> tuple[Otherwise, ...]:
        return tuple(ended_otherwise(_ended(self)))

    def states(self) -> Counter[str]:
        return Counter(view.state for view in self.views.values())

    def view_of(self, sent: Sent) -> TaskView | None:
        return self.views.get(sent.accepted.task_id) if sent.accepted else None


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Everything that must not be; empty for a run in which nothing was lost and nothing happened twice."""
    looks = (_lost, _twice, _double_writes, _uncalled, _false_proofs, _outcomes, _rolled)
    return tuple(finding for look in looks for finding in look(evidence))


def is_settled(kind: Kind, state: str) -> bool:
    """Whether a task may stay as it is: it has ended, or it waits for a person who is not there."""
    return state in ENDED or (kind is Kind.LEFT_WAITING and state == TaskState.INPUT_REQUIRED)


def untold_writes(evidence: Evidence) -> tuple[str, ...]:
    """Ended tasks whose write took hold without their report saying so, or saying that it may have."""
    told = (*_DOUBTED, WriteStatus.VERIFIED.value, WriteStatus.UNVERIFIED.value, WriteStatus.SENT.value)
    found = []
    for sent, view in _ended(evidence):
        reported = [write for write in _writes(view) if write.get("status") in told]
        for intended in sent.planned.errand.writes:
            shown = any(intended.is_made_by(str(write.get("tool")), _arguments(write)) for write in reported)
            if evidence.books[sent.planned.protocol].times(intended) and not shown:
                found.append(f"{view.id}: {intended.tool} {dict(intended.telling)} ({view.state}: {view.answer[:200]})")
    return tuple(found)


_DOUBTED = (WriteStatus.ABSENT.value, WriteStatus.IN_DOUBT.value, WriteStatus.SENDING.value)


def _ended(evidence: Evidence) -> Iterator[tuple[Sent, TaskView]]:
    for sent in evidence.sent:
        view = evidence.view_of(sent)
        if view is not None and view.state in ENDED:
            yield sent, view


def _lost(evidence: Evidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        if sent.accepted is None:
            continue
        view = evidence.view_of(sent)
        state = view.state if view else "unknown to the gateway"
        if not is_settled(sent.planned.errand.kind, state):
            told = f"{sent.planned.errand.kind.value}: {sent.planned.errand.text} is {state} at the end"
            yield Finding(Harm.LOST, sent.accepted.task_id, told)


def _twice(evidence: Evidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        if sent.twice and sent.accepted:
            yield Finding(Harm.TWICE_ACCEPTED, sent.accepted.task_id, sent.twice)
    mine = {sent.accepted.task_id for sent in evidence.sent if sent.accepted}
    for task_id in sorted(evidence.known_tasks - mine):
        yield Finding(Harm.TWICE_ACCEPTED, task_id, "Redis knows a task that no client was told of")


def _double_writes(evidence: Evidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        for intended in sent.planned.errand.writes:
            times = evidence.books[sent.planned.protocol].times(intended)
            if times > 1:
                told = f"{intended.tool} {dict(intended.telling)} was applied {times} times: {sent.planned.errand.text}"
                yield Finding(Harm.DOUBLE_WRITE, _name(sent), told)


def _uncalled(evidence: Evidence) -> Iterator[Finding]:
    """Writes of no errand of that company: what was rejected, blocked, left undecided, or never asked."""
    for protocol, books in evidence.books.items():
        errands = [sent for sent in evidence.sent if sent.planned.protocol == protocol]
        wanted = [intended for sent in errands for intended in sent.planned.errand.writes]
        for write in books.writes:
            if not any(intended.is_made_by(*write) for intended in wanted):
                task_id = next((_name(sent) for sent in errands if _touches(write, sent)), NOWHERE)
                yield Finding(Harm.UNCALLED_WRITE, task_id, f"{protocol}: {write.tool} {dumps(write.arguments)}")


def _false_proofs(evidence: Evidence) -> Iterator[Finding]:
    for sent in evidence.sent:
        view = evidence.view_of(sent)
        for write in _writes(view) if view else ():
            proved = write.get("status") == WriteStatus.VERIFIED
            if view and proved and not _shows(evidence.books[sent.planned.protocol], write):
                yield Finding(Harm.FALSE_PROOF, view.id, f"{write.get('tool')} {dumps(_arguments(write))}")


def _outcomes(evidence: Evidence) -> Iterator[Finding]:
    counted = evidence.counted
    expected = {f"{task_id}:1": task_id for task_id in evidence.ended}
    for event_id, task_id in expected.items():
        if event_id not in counted.ids:
            yield Finding(Harm.OUTCOME_MISSING, task_id, f"the learner has not counted {event_id}")
    for event_id in sorted(counted.ids - expected.keys()):
        yield Finding(Harm.OUTCOME_REPEATED, event_id, "the learner counted what no ended task has")
    if counted.events != len(counted.ids):
        told = f"the learner counted {counted.events} outcomes of {len(counted.ids)} tasks"
        yield Finding(Harm.OUTCOME_REPEATED, NOWHERE, told)
    for event_id, times in Counter(counted.cases).items():
        if times > 1:
            yield Finding(Harm.OUTCOME_REPEATED, event_id, f"the case log has it {times} times")


def _rolled(evidence: Evidence) -> Iterator[Finding]:
    """What a fault may cost, and a restart with care may not."""
    if (rolled := evidence.rolled) is None:
        return
    yield from (Finding(Harm.FAILED_REQUEST, NOWHERE, told) for told in rolled.failed)
    yield from (Finding(Harm.STREAM_GAP, *gap) for gap in rolled.gaps())
    yield from (Finding(Harm.ROUGH_END, NOWHERE, told) for told in rolled.rough_ends())
    yield from (Finding(Harm.DOUBT, NOWHERE, doubt) for doubt in sorted(rolled.doubts))
    yield from (Finding(Harm.UNFORESEEN, *one) for one in rolled.unforeseen)
    for one in evidence.ended_otherwise:
        harm = Harm.FAILED_TASK if one.state == TaskState.FAILED else Harm.OTHERWISE
        yield Finding(harm, one.task_id, one.sentence)


def _shows(books: CompanyLedger, write: JsonObject) -> bool:
    """Whether the company has applied a write of that tool with all its texts; sums are told in other words there."""
    texts = {key: value for key, value in _arguments(write).items() if isinstance(value, str)}
    return any(
        applied.tool == write.get("tool") and texts.items() <= applied.arguments.items() for applied in books.writes
    )


def _touches(write: Applied, sent: Sent) -> bool:
    keys = {str(row.cells["id"]) for row in sent.planned.errand.rows}
    return any(isinstance(value, str) and value in keys for value in write.arguments.values())


def _name(sent: Sent) -> str:
    return sent.accepted.task_id if sent.accepted else NOWHERE


def _writes(view: TaskView) -> Iterator[JsonObject]:
    listed: Json = view.metadata.get("writes")
    return (write for write in (listed if isinstance(listed, list) else ()) if isinstance(write, dict))


def _arguments(write: JsonObject) -> JsonObject:
    arguments = write.get("arguments")
    return arguments if isinstance(arguments, dict) else {}
