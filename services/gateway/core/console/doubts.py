"""A write whose fate nobody knows, as an operator judges it: what was sent, and what was read before and after."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.core.console.words import shown, title_of
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import plain
from shared.domain.words import Resolution, TaskState

CHOICES = (
    (Resolution.DONE, "It took hold", "The plan goes on; the write counts as made."),
    (Resolution.RETRY, "It did not: send it again", "The same call goes out once more."),
    (Resolution.SKIP, "Leave it undone", "The plan goes on without it."),
    (Resolution.TAKE_OVER, "I take over", "The task ends; a person does the rest."),
)


class Doubt(NamedTuple):
    call_id: str
    title: str
    tool: str
    arguments: tuple[tuple[str, str], ...]
    known: tuple[tuple[str, str], ...]
    deadline: datetime | None


def doubts_of(record: TaskRecord) -> tuple[Doubt, ...]:
    """The writes that an operator must judge; none once the task does not wait for that."""
    found = record.metadata.get("doubts")
    if record.state is not TaskState.INPUT_REQUIRED or not isinstance(found, list):
        return ()
    return tuple(_doubt(one) for one in found if isinstance(one, dict))


def _doubt(one: Mapping[str, JsonValue]) -> Doubt:
    arguments, tool = one.get("arguments"), str(one.get("tool") or "a call")
    rows = arguments.items() if isinstance(arguments, dict) else ()
    labels = (
        ("note", "What is known"),
        ("answered", "It answered"),
        ("before", "Read before"),
        ("after", "Read after"),
    )
    return Doubt(
        call_id=str(one.get("call_id") or ""),
        title=title_of(tool),
        tool=tool,
        arguments=tuple((name, shown(plain(value))) for name, value in rows),
        known=tuple((label, shown(plain(one[key]))) for key, label in labels if one.get(key)),
        deadline=_time(one.get("deadline")),
    )


def _time(value: JsonValue) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
