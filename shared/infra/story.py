"""Reads a task's events as they are kept, with the ends of their stream and the task's record."""

from typing import NamedTuple, cast

from shared.contracts.task import TaskEvent
from shared.infra.lua import Scripts


class Row(NamedTuple):
    """One event of a stream with its id."""

    stream_id: str
    event: TaskEvent

    @property
    def place(self) -> tuple[int, int]:
        return place_of(self.stream_id)


class Story(NamedTuple):
    """A page of a task's events, with both ends of its stream and the task's record.

    ``whole``: no event of the stream was ever dropped. ``record`` is JSON, empty if there is none or it was not asked
    for.
    """

    record: str
    oldest: str
    newest: str
    whole: bool
    rows: list[Row]


def place_of(stream_id: str) -> tuple[int, int]:
    ms, _, seq = stream_id.partition("-")
    return int(ms), int(seq or 0)


async def read_story(scripts: Scripts, events: str, record: str = "", *, after: str = "0", most: int = 0) -> Story:
    """Read a task's events after an id, at most ``most`` of them.

    ``events`` and ``record`` are Redis keys of the task.
    """
    names = [events, record] if record else [events]
    json, oldest, newest, whole, *fields = cast("list[str]", await scripts.run("read_story", names, [after, most]))
    pairs = zip(fields[::2], fields[1::2], strict=True)
    rows = [Row(stream_id, TaskEvent.model_validate_json(event)) for stream_id, event in pairs]
    return Story(json, oldest, newest, whole == "1", rows)
