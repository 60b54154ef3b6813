"""What the command line sends to the gateway and reads from it (A2A 0.3 over JSON-RPC), as frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import uuid4

from pydantic.alias_generators import to_snake

from shared.domain.exact_json import Json, JsonObject, as_object


@dataclass(frozen=True)
class Speaker:
    """The sender of a message; only the embedded profile, which has no authentication, trusts it.

    ``name``: empty if an API key says who it is.
    """

    name: str = "cli"
    roles: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    def build_metadata(self) -> JsonObject | None:
        """The metadata that names the sender; None if the sender has no name."""
        if not self.name:
            return None
        return {"id": self.name, "roles": [*self.roles] or ["client"], "levels": [*self.levels]}


@dataclass(frozen=True)
class OutgoingMessage:
    """A message to send: it begins a new task, or is the next turn of the task ``task_id``."""

    text: str
    speaker: Speaker
    session: str | None = None
    task_id: str | None = None
    policy_doc: str | None = None
    tools_endpoint: str | None = None
    dry_run: bool = False

    def build_params(self) -> JsonObject:
        """The parameters of a ``message/send`` that returns at once: the rest comes as events."""
        message: JsonObject = {
            "kind": "message",
            "role": "user",
            "messageId": uuid4().hex,
            "parts": [{"kind": "text", "text": self.text}],
            "metadata": self._build_metadata(),
        }
        if self.task_id:
            message["taskId"] = self.task_id
        if self.session:
            message["contextId"] = self.session
        return {"message": message, "configuration": {"blocking": False}, "metadata": self._build_metadata()}

    def _build_metadata(self) -> JsonObject:
        metadata: dict[str, Json] = {"principal": self.speaker.build_metadata()}
        metadata |= {"policy_doc": self.policy_doc, "tools_endpoint": self.tools_endpoint}
        metadata |= {"session_id": self.session, "dry_run": self.dry_run}
        return {key: value for key, value in metadata.items() if value}


@dataclass(frozen=True)
class TaskView:
    """A task as its gateway shows it."""

    id: str
    state: str
    answer: str
    metadata: Mapping[str, Json]

    @property
    def is_open(self) -> bool:
        return self.state in ("submitted", "working")

    @property
    def level(self) -> str | None:
        """The level that must decide on a waiting task, if its verdict names one; else None."""
        level = as_object(self.metadata.get("verdict")).get("escalationLevel")
        return level if isinstance(level, str) else None

    @property
    def is_completed_or_waiting(self) -> bool:
        """Whether the task is completed, or waits for a person."""
        return self.state in ("completed", "input-required")


@dataclass(frozen=True)
class Event:
    """One event of a task. ``id``: a reader that resumes after this id gets the later events."""

    id: str
    kind: str
    at: datetime
    data: Mapping[str, Json]


def parse_task_view(result: JsonObject) -> TaskView:
    """Parse an A2A 0.3 task. Its metadata keys become snake case, as in the gateway's own records."""
    status = as_object(result.get("status"))
    text = _get_first_part_text(result.get("artifacts")) or _get_first_part_text([status.get("message")])
    metadata = {
        to_snake(key): value for key, value in as_object(_convert_whole_numbers_to_int(result.get("metadata"))).items()
    }
    return TaskView(str(result.get("id", "")), str(status.get("state", "")), text, metadata)


def _get_first_part_text(holders: Json) -> str:
    """The text of the first part of the first artifact (or message)."""
    for holder in holders if isinstance(holders, list) else ():
        for part in get_list_or_empty(as_object(holder).get("parts")):
            text = as_object(part).get("text")
            if isinstance(text, str):
                return text
    return ""


def _convert_whole_numbers_to_int(value: Json) -> Json:
    """The value with whole ``Decimal`` numbers as ints, since A2A's metadata has no integers."""
    match value:
        case Decimal() if value == value.to_integral_value():
            return int(value)
        case dict():
            return {key: _convert_whole_numbers_to_int(inner) for key, inner in value.items()}
        case list():
            return [_convert_whole_numbers_to_int(inner) for inner in value]
        case _:
            return value


def get_list_or_empty(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
