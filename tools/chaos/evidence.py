"""What is there at the end of a run, and the harms that may be found in it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cli.gateway.messages import TaskView
from shared.domain.exact_json import Json, JsonObject
from tools.chaos.endings import UnexpectedEnd, find_unexpected_ends
from tools.chaos.ledgers import CompanyLedger
from tools.chaos.load import ENDED, SentTask
from tools.chaos.roller import RollingEvidence
from tools.chaos.sent_calls import SentCall
from tools.chaos.sight import Counted
from tools.chaos.tails import LostTail

NOWHERE = "-"


class Harm(StrEnum):
    """Each of these makes a run fail; from ``FAILED_REQUEST`` on they are looked for only where nothing was struck."""

    LOST = "lost"
    TWICE_ACCEPTED = "accepted twice"
    DOUBLE_WRITE = "double write"
    UNCALLED_WRITE = "write that nobody asked for or allowed"
    WRONG_ARGUMENT = "write with an argument that was not asked for"
    BEFORE_APPROVAL = "write sent before its approval"
    NOT_AS_APPROVED = "write sent otherwise than it was approved"
    AFTER_CANCEL = "write sent after its task was canceled"
    FALSE_PROOF = "write reported as verified that the company did not apply"
    DOUBLING_PROVED = "write that a company applied twice, reported as verified"
    DOUBLING_UNTOLD = "write that a company applied twice, and of which its task says nothing"
    OUTCOME_MISSING = "outcome missing"
    OUTCOME_REPEATED = "outcome repeated"
    OVER_LIMIT = "more sessions waiting than the limit lets in"
    TENANTS_MIXED = "key of another tenant that opened a task"
    OVERSPENT = "task that spent more than its ceiling"
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


class Crossing(NamedTuple):
    """What was let through that must not be: a key of another tenant, or more messages than there is room for."""

    task_id: str
    sentence: str


class Finding(NamedTuple):
    harm: Harm
    task_id: str
    sentence: str


@dataclass(frozen=True)
class RunEvidence:
    """What is there at the end. ``views``: tasks by id as the gateway shows them. ``books``: by protocol.

    ``calls``: every tool call that was sent to a company, in its order. ``tails``: what Redis lost of its log.
    """

    sent: Sequence[SentTask]
    views: Mapping[str, TaskView]
    books: Mapping[str, CompanyLedger]
    counted: Counted
    known_tasks: frozenset[str]
    rolled: RollingEvidence | None = None
    calls: Sequence[SentCall] = ()
    crossings: Sequence[Crossing] = ()
    over_limit: Sequence[Crossing] = ()
    tails: Sequence[LostTail] = ()

    @property
    def ended(self) -> frozenset[str]:
        return frozenset(task_id for task_id, view in self.views.items() if view.state in ENDED)

    @property
    def unexpected_ends(self) -> tuple[UnexpectedEnd, ...]:
        return tuple(find_unexpected_ends(self.endings()))

    def endings(self) -> Iterator[tuple[SentTask, TaskView]]:
        for sent in self.sent:
            view = self.view_of(sent)
            if view is not None and view.state in ENDED:
                yield sent, view

    def states(self) -> Counter[str]:
        return Counter(view.state for view in self.views.values())

    def view_of(self, sent: SentTask) -> TaskView | None:
        return self.views.get(sent.accepted.task_id) if sent.accepted else None


def name_of(sent: SentTask) -> str:
    """The id of a task; a dash for one that nobody accepted."""
    return sent.accepted.task_id if sent.accepted else NOWHERE


def reported_writes(view: TaskView) -> Iterator[JsonObject]:
    """The writes that a task tells of."""
    listed: Json = view.metadata.get("writes")
    return (write for write in (listed if isinstance(listed, list) else ()) if isinstance(write, dict))


def arguments_of(write: JsonObject) -> JsonObject:
    arguments = write.get("arguments")
    return arguments if isinstance(arguments, dict) else {}
