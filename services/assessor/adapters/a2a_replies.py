"""Finding the data in an A2A reply: a message or a task, its parts as data or as JSON text, of protocol 0.3 or 1.0."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

from shared.contracts.assessment.messages import JsonObject

_WORKING_STATES = frozenset({"submitted", "working", "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"})
_AGENT_ROLES = frozenset({"agent", "ROLE_AGENT"})


class RepliesRead(NamedTuple):
    """The data of an agent's replies. ``working_task``: a task without data yet that may still bring some; ``problem``:
    why there is no data.
    """

    data: JsonObject | None
    working_task: str | None = None
    problem: str = ""


def read_replies(result: JsonValue) -> RepliesRead:
    """A task's artifacts come first, then what its status says, then the newest thing that its agent said."""
    if not isinstance(result, dict):
        return RepliesRead(None, problem="the answer holds neither a message nor a task")
    inner = result.get("task") or result.get("message")
    reply = inner if isinstance(inner, dict) else result
    if "status" not in reply:
        data = _first_object(reply.get("parts"))
        return RepliesRead(data, problem="" if data else "the message has no part with data")
    return _read_task(reply)


def _read_task(task: JsonObject) -> RepliesRead:
    status = task.get("status")
    state = str(status.get("state")) if isinstance(status, dict) else ""
    working = state in _WORKING_STATES
    for parts in _list_part_lists(task, status):
        data = _first_object(parts)
        if data is not None:
            return RepliesRead(data)
    task_id = task.get("id")
    if working and isinstance(task_id, str):
        return RepliesRead(None, task_id)
    return RepliesRead(
        None, problem=f"the task ended as {state.lower().removeprefix('task_state_')} and brought no data"
    )


def _list_part_lists(task: JsonObject, status: JsonValue) -> Iterator[JsonValue]:
    for artifact in _objects_in(task.get("artifacts")):
        yield artifact.get("parts")
    message = status.get("message") if isinstance(status, dict) else None
    if isinstance(message, dict):
        yield message.get("parts")
    for message in reversed(_objects_in(task.get("history"))):
        if message.get("role") in _AGENT_ROLES:
            yield message.get("parts")


def _first_object(parts: JsonValue) -> JsonObject | None:
    """The first part that is data, else the first text that is a JSON object; None if there is neither."""
    objects = _objects_in(parts)
    for part in objects:
        data = part.get("data")
        if isinstance(data, dict):
            inner = data.get("data")  # some wrap it once more
            return inner if len(data) == 1 and isinstance(inner, dict) else data
    return next((data for part in objects if (data := _parse_object(part.get("text"))) is not None), None)


def _parse_object(text: JsonValue) -> JsonObject | None:
    if not isinstance(text, str):
        return None
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _objects_in(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
