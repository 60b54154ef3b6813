"""Reads a page of a task's events, with the ends of their stream and the task's record."""

from typing import NamedTuple, cast

from shared.contracts.task import TaskEvent
from shared.infra.lua import Scripts
from shared.infra.stored_tasks import parse_task_events
from shared.ports.tasks import parse_stream_id


class EventRow(NamedTuple):
    """One event of a stream with its id."""

    stream_id: str
    event: TaskEvent

    @property
    def parsed_id(self) -> tuple[int, int]:
        return parse_stream_id(self.stream_id)


class EventPage(NamedTuple):
    """A page of a task's events, with both ends of the stream and the task's record.

    ``has_all_events``: no event of the stream was ever dropped. ``record``: packed; empty if there is none, or none was
    asked for.
    """

    record: str
    oldest: str
    newest: str
    has_all_events: bool
    rows: list[EventRow]


async def read_event_page(
    scripts: Scripts, events: str, record: str = "", *, after: str = "0", most_entries: int = 0
) -> EventPage:
    """Reads a task's events after an id, from at most ``most_entries`` entries of the stream.

    ``events`` and ``record`` are Redis keys of the task.
    """
    key_names = [events, record] if record else [events]
    reply = cast("list[str]", await scripts.run("read_event_page", key_names, [after, most_entries]))
    record_row, oldest, newest, has_all_events, *fields = reply
    entries = tuple(zip(fields[::2], fields[1::2], strict=True))
    rows = [EventRow(*row) for entry in entries for row in parse_task_events(*entry)]
    if entries and entries[0][0] == oldest:
        oldest = rows[0].stream_id
    start = parse_stream_id(after)
    return EventPage(record_row, oldest, newest, has_all_events == "1", [row for row in rows if row.parsed_id > start])
