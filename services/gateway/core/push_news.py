"""What a webhook is told of its task: each change of state, results as they come, and the whole task at its end."""

from collections.abc import Iterator
from typing import NamedTuple

from services.gateway.core.desk import ends_task
from services.gateway.core.updates import (
    ArtifactUpdate,
    Snapshot,
    StatusUpdate,
    Update,
    parts_of,
    results_of,
)
from services.gateway.push_ports import HookWork, Told
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import Dialect, TaskState

_END = "end"  # names the news of an end whose own event is not there any more


class News(NamedTuple):
    """One thing to tell, by a name that no other news of the task has, and how far that takes the webhook."""

    name: str
    update: Update
    told: Told


def news_of(work: HookWork) -> list[News]:
    """All that is to be told by now, in order; a second reading gives the same names."""
    told, found = work.told, list[News]()
    for event_id, event in work.events:
        updates = list(_updates(event, work.record, told.state, work.webhook.dialect))
        found += _named(event_id, updates, told)
        told = _after(event_id, updates, told)
    if not work.events and _end_is_owed(work.record, told):
        updates = list(_end(work.record, work.webhook.dialect))
        found += _named(_END, updates, told)
    return found


def _named(event_id: str, updates: list[Update], told: Told) -> Iterator[News]:
    """Those that were not delivered yet. Between two parts of one event, the cursor stands before it."""
    for number, update in enumerate(updates[told.part :], start=told.part + 1):
        if number < len(updates):
            yield News(f"{event_id}.{number}", update, told._replace(part=number))
        else:
            yield News(f"{event_id}.{number}", update, _after(event_id, updates, told))


def _after(event_id: str, updates: list[Update], told: Told) -> Told:
    if not updates:
        return told._replace(cursor=event_id)
    states = [update.state.value for update in updates if isinstance(update, StatusUpdate)]
    cursor = told.cursor if event_id == _END else event_id
    return told._replace(cursor=cursor, part=0, state=states[-1] if states else told.state)


def _updates(event: TaskEvent, record: TaskRecord, state: str, dialect: Dialect) -> Iterator[Update]:
    ends = ends_task(event)
    for part in parts_of(event, record, final=ends):
        if _is_worth_telling(part.update, state, dialect):
            yield part.update
    if ends and dialect is Dialect.A2A_1_0:
        yield Snapshot(record, final=True)


def _is_worth_telling(update: Update, state: str, dialect: Dialect) -> bool:
    """Progress within one state is not; and older receivers get whole tasks, so each change of state is all."""
    if isinstance(update, StatusUpdate):
        return update.state.value != state or update.state is TaskState.INPUT_REQUIRED
    return isinstance(update, ArtifactUpdate) and dialect is Dialect.A2A_1_0


def _end_is_owed(record: TaskRecord, told: Told) -> bool:
    return record.state.is_terminal and told.state != record.state.value


def _end(record: TaskRecord, dialect: Dialect) -> Iterator[Update]:
    status = StatusUpdate(record.state, record.updated_at, record.reason, record=record, final=True)
    if dialect is not Dialect.A2A_1_0:
        yield status
        return
    for index, artifact in results_of(record, record.state):
        yield ArtifactUpdate(index, artifact)
    yield status
    yield Snapshot(record, final=True)
