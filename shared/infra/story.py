"""A task's events as they are kept, with where they begin and end and the record that stands with them."""

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
    """``record`` is JSON, empty if there is none or it was not asked for. ``whole``: no event was ever dropped."""

    record: str
    oldest: str
    newest: str
    whole: bool
    rows: list[Row]


def place_of(stream_id: str) -> tuple[int, int]:
    ms, _, seq = stream_id.partition("-")
    return int(ms), int(seq or 0)


async def read_story(scripts: Scripts, events: str, record: str = "", *, after: str = "0", most: int = 0) -> Story:
    """``events`` and ``record`` are keys of one task; of the events after that id so many at most."""
    names = [events, record] if record else [events]
    json, oldest, newest, whole, *fields = cast("list[str]", await scripts.run("read_story", names, [after, most]))
    pairs = zip(fields[::2], fields[1::2], strict=True)
    rows = [Row(stream_id, TaskEvent.model_validate_json(event)) for stream_id, event in pairs]
    return Story(json, oldest, newest, whole == "1", rows)
