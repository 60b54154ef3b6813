"""What a webhook is told of its task: each change of state, results as they come, and the whole task at its end."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.gateway.features.deliveries.model import HookWork
from services.gateway.features.streams.updates import (
    ArtifactUpdate,
    Snapshot,
    StatusUpdate,
    Update,
    parts_of,
    results_of,
)
from services.gateway.features.tasks.service import ends_task
from services.gateway.features.webhooks.model import HookState
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import Dialect, TaskState

_END = "end"  # names the news of an end whose own event is not there any more
_STATUS, _TASK = 1_000_000, 1_000_001  # numbers of parts: results have theirs before


class News(NamedTuple):
    """One thing to tell, by a name that no other news of the task has, and how far that takes the webhook."""

    name: str
    update: Update
    told: HookState


class _NewsPart(NamedTuple):
    """A part of what one event tells."""

    number: int
    update: Update


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
    states = [part.update.state.value for part in parts if isinstance(part.update, StatusUpdate)]
    return told._replace(cursor=cursor, part=0 if parts else told.part, state=states[-1] if states else told.state)


def _parts(event: TaskEvent, record: TaskRecord, state: str, dialect: Dialect) -> Iterator[_NewsPart]:
    """Each has its own number, whatever else there is: results may have gone by the time of a second reading."""
    ends = ends_task(event)
    for part in parts_of(event, record, final=ends):
        if _is_worth_telling(part.update, state, dialect):
            yield _NewsPart(part.number or _STATUS, part.update)
    if ends and dialect is Dialect.A2A_1_0:
        yield _NewsPart(_TASK, Snapshot(record, final=True))


def _is_worth_telling(update: Update, state: str, dialect: Dialect) -> bool:
    """Progress within one state is not; and older receivers get whole tasks, so each change of state is all."""
    if isinstance(update, StatusUpdate):
        return update.state.value != state or update.state is TaskState.INPUT_REQUIRED
    return isinstance(update, ArtifactUpdate) and dialect is Dialect.A2A_1_0


def _end_is_owed(record: TaskRecord, told: HookState) -> bool:
    return record.state.is_terminal and told.state != record.state.value


def _end(record: TaskRecord, dialect: Dialect) -> Iterator[_NewsPart]:
    status = StatusUpdate(record.state, record.updated_at, record.reason, record=record, final=True)
    if dialect is not Dialect.A2A_1_0:
        yield _NewsPart(_STATUS, status)
        return
    for index, artifact in results_of(record, record.state):
        yield _NewsPart(index + 1, ArtifactUpdate(index, artifact))
    yield _NewsPart(_STATUS, status)
    yield _NewsPart(_TASK, Snapshot(record, final=True))
