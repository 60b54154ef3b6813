"""Packs a task's record and its events for Redis.

An executor packs the record, and the events of one step as one stream entry. That entry has the id of its last event;
the others have the ids just below. A gateway stores both as plain JSON, for executors of the previous release.
"""

from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from shared.contracts.task import TaskEvent, TaskRecord
from shared.infra.compression import DictionaryCompressor

_RECORDS = DictionaryCompressor("record_shapes.txt")
_EVENTS = DictionaryCompressor("event_shapes.txt")
_EVENT_LIST_ADAPTER = TypeAdapter(list[TaskEvent])


def pack_task_record(record: TaskRecord) -> bytes:
    return _RECORDS.pack(record.stored_json())


def unpack_task_record_json(stored: str | bytes) -> str:
    """The record's JSON. Raises ``ValueError`` if it cannot be read."""
    return _RECORDS.unpack(stored)


def parse_task_record(stored: str | bytes) -> TaskRecord:
    """The stored record. Raises ``ValueError`` if it cannot be read."""
    return TaskRecord.model_validate_json(unpack_task_record_json(stored))


def pack_task_events(events: Sequence[TaskEvent]) -> bytes:
    """The events of one step, packed as one stream entry."""
    return _EVENTS.pack(f"[{','.join(event.stored_json() for event in events)}]")


def unpack_task_events_json(entry: str) -> str:
    """The events of an entry as a JSON list. Raises ``ValueError`` if it cannot be read."""
    text = _EVENTS.unpack(entry)
    return text if text.startswith("[") else f"[{text}]"


def parse_task_events(last_id: str, entry: str) -> Iterator[tuple[str, TaskEvent]]:
    """The events of an entry of a task's stream, each with its id. Raises ``ValueError`` if it cannot be read."""
    events = _EVENT_LIST_ADAPTER.validate_json(unpack_task_events_json(entry))
    moment, _, last_number = last_id.partition("-")
    first_number = int(last_number) - len(events) + 1
    return ((f"{moment}-{first_number + index}", event) for index, event in enumerate(events))
