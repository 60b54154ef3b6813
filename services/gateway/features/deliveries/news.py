"""What a webhook is told of its task (changes of state, results, the task at its end), and what that needs."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.features.streams import updates
from services.gateway.features.tasks.service import ends_task
from services.gateway.features.webhooks.model import HookState, SignedPost, TaskHook
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import Dialect, TaskState


class Posts(Protocol):
    async def enqueue(self, delivery: SignedPost) -> None:
        """Keep it until it is delivered or given up. May raise ``StoreUnavailable`` and may be repeated."""


class DueLine(NamedTuple):
    """A line of deliveries that may be claimed: the member of its queue, whose it is, and since when (ms)."""

    member: str
    tenant: str
    score: str


class Look(NamedTuple):
    """What is due, and in how many seconds something else will be (None: nothing is)."""

    due: Sequence[DueLine]
    next_in: float | None


class ClaimedLine(NamedTuple):
    """A line that is this process's own until its lease ends. ``token`` changes with each lease."""

    member: str
    tenant: str
    token: str


class HookWork(NamedTuple):
    """A webhook, how far it was told, its task and the events after that."""

    webhook: TaskHook
    told: HookState
    record: TaskRecord
    events: Sequence[tuple[str, TaskEvent]]


class SignedPostWork(NamedTuple):
    """A notice that is signed already and only has to be posted, and how far it was."""

    delivery: SignedPost
    told: HookState


class UnreadableLine(NamedTuple):
    """A line whose content no key here opens. ``subject`` and ``config_id``: as far as its name tells."""

    told: HookState
    subject: str
    config_id: str


Work = HookWork | SignedPostWork | UnreadableLine


class LineStep(StrEnum):
    """What becomes of a line."""

    HOLD = "hold"  # it is held for the next delivery
    DONE = "done"  # it rests until there is news
    RETRY = "retry"
    OFF = "off"  # it is told nothing more


class Lines(Protocol):
    """The durable queue of lines. All may raise ``StoreUnavailable``; a line is with one process at a time."""

    async def look(self, most: int, each: int) -> Look:
        """The lines that are due, the longest due first; of each partition at most so many, and of each tenant."""

    async def claim(self, due: Sequence[DueLine], seconds: float) -> Sequence[ClaimedLine]:
        """Those of them that nobody else was quicker to take, for so many seconds."""

    async def read(self, claim: ClaimedLine) -> Work | None:
        """What is to be delivered. None if there is nothing, and the line is gone; or another version wrote it."""

    async def settle(self, claim: ClaimedLine, work: Work, told: HookState, step: LineStep, seconds: float) -> str:
        """Store how far it is told. ``seconds``: how long it is held, or until it is tried again.

        The token under which it is held; empty if another process has it by now, or it is gone.
        """


class Undelivered(Exception):
    """No answer came: the message says why, and names no secret and no address of a network."""


class ReceiverAnswer(NamedTuple):
    """``retry_after``: the header of that name, as the receiver wrote it."""

    status: int
    retry_after: str = ""


class Post(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        """What it answers; follows no redirect. Raises ``Undelivered``."""


_END = "end"  # names the news of an end whose own event is not there any more
_STATUS, _TASK = 1_000_000, 1_000_001  # numbers of parts: results have theirs before


class News(NamedTuple):
    """One thing to tell, by a name that no other news of the task has, and how far that takes the webhook."""

    name: str
    update: updates.Update
    told: HookState


class _NewsPart(NamedTuple):
    """A part of what one event tells."""

    number: int
    update: updates.Update


def news_of(work: HookWork) -> list[News]:
    """All that is to be told by now, in order; a second reading gives the same names."""
    told, found = work.told, list[News]()
    for event_id, event in work.events:
        parts = list(_parts(event, work.record, told.state, work.webhook.dialect))
        found += _undelivered_parts(event_id, parts, told)
        told = _advance(event_id, parts, told)
    if not work.events and _end_is_owed(work.record, told):
        parts = list(_end(work.record, work.webhook.dialect))
        found += _undelivered_parts(_END, parts, told)
    return found


def _undelivered_parts(event_id: str, parts: Sequence[_NewsPart], told: HookState) -> Iterator[News]:
    """Those that were not delivered yet. Between two parts of one event, the cursor stands before it."""
    for number, update in parts:
        if number > told.part:
            after = _advance(event_id, parts, told) if number == parts[-1].number else told._replace(part=number)
            yield News(_name(event_id, number), update, after)


def _name(event_id: str, number: int) -> str:
    """As streams name the same update; the whole task is told by webhooks alone."""
    return event_id if number == _STATUS else f"{event_id}.{'task' if number == _TASK else number}"


def _advance(event_id: str, parts: Sequence[_NewsPart], told: HookState) -> HookState:
    cursor = told.cursor if event_id == _END else event_id
    states = [part.update.state.value for part in parts if isinstance(part.update, updates.StatusUpdate)]
    return told._replace(cursor=cursor, part=0 if parts else told.part, state=states[-1] if states else told.state)


def _parts(event: TaskEvent, record: TaskRecord, state: str, dialect: Dialect) -> Iterator[_NewsPart]:
    """Each has its own number, whatever else there is: results may have gone by the time of a second reading."""
    ends = ends_task(event)
    for part in updates.parts_of(event, record, final=ends):
        if _is_worth_telling(part.update, state, dialect):
            yield _NewsPart(part.number or _STATUS, part.update)
    if ends and dialect is Dialect.A2A_1_0:
        yield _NewsPart(_TASK, updates.Snapshot(record, final=True))


def _is_worth_telling(update: updates.Update, state: str, dialect: Dialect) -> bool:
    """Progress within one state is not; and older receivers get whole tasks, so each change of state is all."""
    if isinstance(update, updates.StatusUpdate):
        return update.state.value != state or update.state is TaskState.INPUT_REQUIRED
    return isinstance(update, updates.ArtifactUpdate) and dialect is Dialect.A2A_1_0


def _end_is_owed(record: TaskRecord, told: HookState) -> bool:
    return record.state.is_terminal and told.state != record.state.value


def _end(record: TaskRecord, dialect: Dialect) -> Iterator[_NewsPart]:
    status = updates.StatusUpdate(record.state, record.updated_at, record.reason, record=record, final=True)
    if dialect is not Dialect.A2A_1_0:
        yield _NewsPart(_STATUS, status)
        return
    for index, artifact in updates.results_of(record, record.state):
        yield _NewsPart(index + 1, updates.ArtifactUpdate(index, artifact))
    yield _NewsPart(_STATUS, status)
    yield _NewsPart(_TASK, updates.Snapshot(record, final=True))
