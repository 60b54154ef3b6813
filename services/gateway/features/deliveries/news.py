"""The updates that a webhook receives of its task (state changes, results, the final task), and the ports for it."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.features.streams import updates
from services.gateway.features.tasks.service import ends_task
from services.gateway.features.webhooks.model import HookState, SignedPost, TaskHook
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import Dialect, TaskState


class DeliverySink(Protocol):
    async def enqueue(self, delivery: SignedPost) -> None:
        """Store a post until it is delivered or given up. May raise ``StoreUnavailable`` and may be repeated."""


class DueDelivery(NamedTuple):
    """A line of deliveries that may be claimed: its member in the queue, its tenant, and since when it is due (ms)."""

    member: str
    tenant: str
    score: str


class DuePage(NamedTuple):
    """The lines that are due, and the seconds until another will be (None: no other)."""

    due: Sequence[DueDelivery]
    next_in: float | None


class ClaimedDelivery(NamedTuple):
    """A line claimed by this process until its lease ends. ``token`` changes with each lease."""

    member: str
    tenant: str
    token: str


class HookWork(NamedTuple):
    """A webhook to deliver to: how far it was told, its task, and the events after that."""

    webhook: TaskHook
    told: HookState
    record: TaskRecord
    events: Sequence[tuple[str, TaskEvent]]


class SignedPostWork(NamedTuple):
    """A signed notice to post, and the state of its delivery."""

    delivery: SignedPost
    told: HookState


class UnreadableDelivery(NamedTuple):
    """A line that no key here can decrypt. ``subject`` and ``config_id``: from its name."""

    told: HookState
    subject: str
    config_id: str


Work = HookWork | SignedPostWork | UnreadableDelivery


class DeliveryStep(StrEnum):
    """What happens to a line after a delivery."""

    HOLD = "hold"  # it is held for the next delivery
    DONE = "done"  # it rests until there is news
    RETRY = "retry"
    OFF = "off"  # it is told nothing more


class DeliveryQueue(Protocol):
    """The durable queue of lines. One process at a time holds a line. All methods may raise ``StoreUnavailable``."""

    async def look(self, most: int, each: int) -> DuePage:
        """The due lines, the longest due first; at most ``most`` of each partition and ``each`` of each tenant."""

    async def claim(self, due: Sequence[DueDelivery], seconds: float) -> Sequence[ClaimedDelivery]:
        """Claim lines for ``seconds``; returns those that no other process has."""

    async def read(self, claim: ClaimedDelivery) -> Work | None:
        """What a line has to deliver; None if there is nothing, or another version wrote it."""

    async def settle(
        self, claim: ClaimedDelivery, work: Work, told: HookState, step: DeliveryStep, seconds: float
    ) -> str:
        """Store how far a line was told. ``seconds``: how long it stays claimed, or until the next try.

        Returns the token of the claim; empty if another process has the line by now, or it is gone.
        """


class Undelivered(Exception):
    """The receiver gave no answer: the message says why, without secrets or network addresses."""


class ReceiverAnswer(NamedTuple):
    """A receiver's answer. ``retry_after``: the header of that name, as it was written."""

    status: int
    retry_after: str = ""


class HttpPoster(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        """Post a body and return the receiver's answer; follows no redirect. Raises ``Undelivered``."""


_END = "end"  # names the news of an end whose own event is not there any more
_STATUS, _TASK = 1_000_000, 1_000_001  # numbers of parts: results have theirs before


class News(NamedTuple):
    """One update to deliver. ``name`` is unique among the task's; ``told``: the webhook's state after it."""

    name: str
    update: updates.Update
    told: HookState


class _NewsPart(NamedTuple):
    """A numbered part of what one event tells."""

    number: int
    update: updates.Update


def news_of(work: HookWork) -> list[News]:
    """All updates to deliver by now, in order; reading again gives the same names."""
    told, found = work.told, list[News]()
    for event_id, event in work.events:
        parts = list(_event_parts(event, work.record, told.state, work.webhook.dialect))
        found += _undelivered_parts(event_id, parts, told)
        told = _advance(event_id, parts, told)
    if not work.events and _end_is_owed(work.record, told):
        parts = list(_end_parts(work.record, work.webhook.dialect))
        found += _undelivered_parts(_END, parts, told)
    return found


def _undelivered_parts(event_id: str, parts: Sequence[_NewsPart], told: HookState) -> Iterator[News]:
    """Yields the parts not yet delivered. Between two parts of an event the cursor stays before it."""
    for number, update in parts:
        if number > told.part:
            after = (
                _advance(event_id, parts, told)
                if number == parts[-1].number
                else told.model_copy(update={"part": number})
            )
            yield News(_name_update(event_id, number), update, after)


def _name_update(event_id: str, number: int) -> str:
    """The update's name, as in streams; the whole task, which only webhooks get, has a name of its own."""
    return event_id if number == _STATUS else f"{event_id}.{'task' if number == _TASK else number}"


def _advance(event_id: str, parts: Sequence[_NewsPart], told: HookState) -> HookState:
    cursor = told.cursor if event_id == _END else event_id
    states = [part.update.state.value for part in parts if isinstance(part.update, updates.StatusUpdate)]
    part, state = 0 if parts else told.part, states[-1] if states else told.state
    return told.model_copy(update={"cursor": cursor, "part": part, "state": state})


def _event_parts(event: TaskEvent, record: TaskRecord, state: str, dialect: Dialect) -> Iterator[_NewsPart]:
    """Yields the parts that an event tells, with numbers that stay the same at each reading."""
    ends = ends_task(event)
    for part in updates.parts_of(event, record, final=ends):
        if _is_worth_telling(part.update, state, dialect):
            yield _NewsPart(part.number or _STATUS, part.update)
    if ends and dialect is Dialect.A2A_1_0:
        yield _NewsPart(_TASK, updates.Snapshot(record, final=True))


def _is_worth_telling(update: updates.Update, state: str, dialect: Dialect) -> bool:
    """Whether a webhook gets the update: no progress within a state, and no results in older protocols."""
    if isinstance(update, updates.StatusUpdate):
        return update.state.value != state or update.state is TaskState.INPUT_REQUIRED
    return isinstance(update, updates.ArtifactUpdate) and dialect is Dialect.A2A_1_0


def _end_is_owed(record: TaskRecord, told: HookState) -> bool:
    return record.state.is_terminal and told.state != record.state.value


def _end_parts(record: TaskRecord, dialect: Dialect) -> Iterator[_NewsPart]:
    status = updates.StatusUpdate(record.state, record.updated_at, record.reason, record=record, final=True)
    if dialect is not Dialect.A2A_1_0:
        yield _NewsPart(_STATUS, status)
        return
    for index, artifact in updates.results_of(record, record.state):
        yield _NewsPart(index + 1, updates.ArtifactUpdate(index, artifact))
    yield _NewsPart(_STATUS, status)
    yield _NewsPart(_TASK, updates.Snapshot(record, final=True))
