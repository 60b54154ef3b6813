"""The protocols' own types as JSON: 1.0, 0.3 over JSON-RPC, and 0.3 over REST, which words it differently."""

from collections.abc import Callable, Sequence
from typing import cast

from a2a.compat.v0_3.conversions import to_compat_message, to_compat_task
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.types.a2a_pb2 import Message, Task
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue

from services.gateway.core.tasks.options import ListOptions
from services.gateway.core.tasks.task_list import ListedTasks

Shown = dict[str, JsonValue]


def shown_1_0(value: Task | Message) -> Shown:
    return cast(Shown, MessageToDict(value))


def sent_1_0(value: Task | Message) -> Shown:
    """What SendMessage answers: one of the two, under its name."""
    return {"task" if isinstance(value, Task) else "message": shown_1_0(value)}


def listed(word: Callable[[Task], Shown], tasks: Sequence[Task], page: ListedTasks, options: ListOptions) -> Shown:
    """Every field is there, also on an empty or last page."""
    shown: JsonValue = [word(task) for task in tasks]
    return {
        "tasks": shown,
        "nextPageToken": page.next_token,
        "pageSize": options.query.size,
        "totalSize": page.total,
    }


def shown_0_3(value: Task | Message) -> Shown:
    old = to_compat_task(value) if isinstance(value, Task) else to_compat_message(value)
    return cast(Shown, old.model_dump(mode="json", by_alias=True, exclude_none=True))


def rest_0_3(value: Task | Message) -> Shown:
    """The task or message as 0.3's REST words it: states in capitals, ``content`` in place of ``parts``."""
    if isinstance(value, Task):
        return cast(Shown, MessageToDict(ToProto.task(to_compat_task(value))))
    old = ToProto.message(to_compat_message(value))
    return cast(Shown, MessageToDict(old)) if old else {}


def rest_sent_0_3(value: Task | Message) -> Shown:
    return {"task" if isinstance(value, Task) else "message": rest_0_3(value)}
