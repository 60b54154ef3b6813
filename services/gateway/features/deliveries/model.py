"""Deliveries: what is queued, claimed and posted, and which updates of a task its webhook receives.

A line of the queue is one webhook of a task, or one notice; its updates are delivered in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.gateway.features.streams import updates
from services.gateway.features.tasks.views import ends_task
from services.gateway.features.webhooks.model import DeliveryProgress, SignedPost, TaskWebhook
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import A2aVersion, TaskState


class QueuedDelivery(NamedTuple):
    """A webhook or notice that is due, or that this process has claimed for a lease.

    ``member``: its id in the queue; ``token``: since when it is due (ms), or what identifies the lease.
    """

    member: str
    tenant: str
    token: str


class WebhookWork(NamedTuple):
    """A webhook with its delivery progress, its task, and the task's events after that progress."""

    webhook: TaskWebhook
    progress: DeliveryProgress
    record: TaskRecord
    events: Sequence[tuple[str, TaskEvent]]


class SignedPostWork(NamedTuple):
    """A notice to post, and the progress of its delivery."""

    delivery: SignedPost
    progress: DeliveryProgress


class UnreadableDelivery(NamedTuple):
    """A webhook or notice that this process cannot decrypt. ``subject``, ``config_id``: from its id in the queue."""

    progress: DeliveryProgress
    subject: str
    config_id: str


DeliveryWork = WebhookWork | SignedPostWork | UnreadableDelivery


class StepAfterDelivery(StrEnum):
    """What happens to a webhook or notice after a try to deliver it."""

    KEEP_CLAIM = "hold"  # it is held for the next delivery
    DONE = "done"  # it rests until there is news
    RETRY = "retry"
    DISABLE = "off"  # it is told nothing more


class NoReceiverAnswer(Exception):
    """The receiver gave no answer; the message says why, without secrets or network addresses."""


class ReceiverAnswer(NamedTuple):
    """A receiver's answer. ``retry_after``: the raw ``Retry-After`` header; empty if there is none."""

    status: int
    retry_after: str = ""


class HttpPoster(Protocol):
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        """Post a body and return the receiver's answer; follows no redirect. Raises ``NoReceiverAnswer``."""


_END_EVENT = "end"  # names the news of an end whose own event is not there any more
_STATUS_NUMBER, _TASK_NUMBER = 1_000_000, 1_000_001  # numbers of parts: results have theirs before


class WebhookUpdate(NamedTuple):
    """One update to deliver. ``name`` is unique among the task's; ``progress``: once this update is delivered."""

    name: str
    update: updates.Update
    progress: DeliveryProgress


_NumberedPart = tuple[int, updates.Update]  # one of the updates that an event leads to, after its place among them


def list_pending_updates(work: WebhookWork) -> list[WebhookUpdate]:
    """The updates that the webhook has yet to receive, in order; their names are the same each time."""
    progress = work.progress
    pending: list[WebhookUpdate] = []
    for event_id, event in work.events:
        is_last = ends_task(event)
        event_parts = updates.list_updates_of_event(event, work.record, is_final=is_last)
        parts = list(_number_updates_for_webhook(event_parts, work, progress.state, is_last=is_last))
        pending += _list_undelivered_updates(event_id, parts, progress)
        progress = _advance_cursor(event_id, parts, progress)
    state = work.record.state
    if not work.events and state.is_terminal and progress.state != state.value:
        end_parts = updates.list_end_updates(work.record, state, work.record.updated_at, is_final=True)
        parts = list(_number_updates_for_webhook(end_parts, work, progress.state, is_last=True))
        pending += _list_undelivered_updates(_END_EVENT, parts, progress)
    return pending


def _list_undelivered_updates(
    event_id: str, parts: Sequence[_NumberedPart], progress: DeliveryProgress
) -> Iterator[WebhookUpdate]:
    """Yields the updates of an event that are not delivered yet; the last one's progress has the event as cursor."""
    for number, update in parts:
        if number > progress.part:
            later_progress = progress.model_copy(update={"part": number})
            if number == parts[-1][0]:
                later_progress = _advance_cursor(event_id, parts, progress)
            yield WebhookUpdate(_name_update(event_id, number), update, later_progress)


def _name_update(event_id: str, number: int) -> str:
    """The update's name, as in streams; the final task, which only webhooks get, has the suffix ``task``."""
    return event_id if number == _STATUS_NUMBER else f"{event_id}.{'task' if number == _TASK_NUMBER else number}"


def _advance_cursor(event_id: str, parts: Sequence[_NumberedPart], progress: DeliveryProgress) -> DeliveryProgress:
    cursor = progress.cursor if event_id == _END_EVENT else event_id
    states = [update.state.value for _, update in parts if isinstance(update, updates.StatusUpdate)]
    part, state = 0 if parts else progress.part, states[-1] if states else progress.state
    return progress.model_copy(update={"cursor": cursor, "part": part, "state": state})


def _number_updates_for_webhook(
    parts: Iterator[updates.UpdatePart], work: WebhookWork, state: str, *, is_last: bool
) -> Iterator[_NumberedPart]:
    """Yields an event's updates for the webhook, with numbers that are the same each time.

    ``is_last``: whether the event is the task's last; a webhook of 1.0 then also gets the task.
    """
    dialect = work.webhook.dialect
    for part in parts:
        if _is_for_webhooks(part.update, state, dialect):
            yield part.number or _STATUS_NUMBER, part.update
    if is_last and dialect is A2aVersion.A2A_1_0:
        yield _TASK_NUMBER, updates.Snapshot(work.record, is_final=True)


def _is_for_webhooks(update: updates.Update, state: str, dialect: A2aVersion) -> bool:
    """Whether webhooks get the update: not progress within a state, nor, before protocol 1.0, single results."""
    if isinstance(update, updates.StatusUpdate):
        return update.state.value != state or update.state is TaskState.INPUT_REQUIRED
    return isinstance(update, updates.ArtifactUpdate) and dialect is A2aVersion.A2A_1_0
