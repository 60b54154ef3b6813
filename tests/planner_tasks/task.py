"""What a task in plain words is: its text, the writes that carry it out, and what its answer has to say."""

from dataclasses import dataclass

from shared.domain.exact_json import Json, JsonObject

Call = tuple[str, JsonObject]


@dataclass(frozen=True)
class PlainTask:
    """``writes``: calls that lead the company's fresh books to the state in which the task must leave them.

    ``besides``: calls that its kind of process wants besides, where it is carried out as one of that kind.
    ``says``: texts that the answer has to hold; ``listed``: the exact JSON list that it has to be.
    """

    text: str
    writes: tuple[Call, ...]
    says: tuple[str, ...]
    listed: tuple[Json, ...] | None
    besides: tuple[Call, ...]


def task(
    text: str,
    *writes: Call,
    says: tuple[str, ...] = (),
    listed: tuple[Json, ...] | None = None,
    besides: tuple[Call, ...] = (),
) -> PlainTask:
    return PlainTask(text, writes, says, listed, besides)


def call(tool: str, **arguments: Json) -> Call:
    return tool, arguments
