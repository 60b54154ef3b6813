"""Parses clients' messages of all protocols into one form; errors name the field."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple, cast

from pydantic import JsonValue, ValidationError

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import (
    id_at,
    list_at,
    name_json_type,
    object_at,
    require_type,
    required_id_at,
    text_at,
    to_invalid_field,
)
from services.gateway.features.files.service import ClientFile, is_file_part, parse_file_part
from services.gateway.features.webhooks.model import TaskWebhook, parse_webhook_of_message
from shared.contracts.task import PracticeRun, SolverRequest
from shared.domain.exact_json import Json, JsonObject, dumps, to_builtins
from shared.domain.words import A2aVersion

_PART_FIELDS = frozenset({"text", "data", "metadata", "mediaType", "filename"})
_REQUEST_FIELDS = frozenset({"policy_doc", "tools_endpoint", "principal", "session_id", "practice"})
# Our answers spell them so, and what is not seen would be a write, a rule that does not hold, or a yes to another plan.
_OTHER_SPELLINGS = {
    "dryRun": "dry_run",
    "policyDoc": "policy_doc",
    "toolsEndpoint": "tools_endpoint",
    "approvalId": "approval_id",
}


class ClientMessage(NamedTuple):
    """A client's message. ``task_id``: of a known task; in the early protocol it may be a new one.

    ``repeat_key``: messages with the same value are repeats of one, whatever their ids. ``parts``: as sent, if there is
    more than text. ``is_always_new``: whether it is never a repeat of a message with the same id.
    """

    dialect: A2aVersion
    task_id: str | None
    session_id: str | None
    message_id: str | None
    text: str
    data: tuple[JsonObject, ...]
    policy_doc: str | dict[str, JsonValue] | None
    tools_endpoint: str | None
    metadata: JsonObject
    solver: SolverRequest | None = None
    webhook: TaskWebhook | None = None
    part_count: int = 1
    practice: PracticeRun | None = None
    repeat_key: str | None = None
    parts: tuple[dict[str, JsonValue], ...] = ()
    files: tuple[ClientFile, ...] = ()
    is_always_new: bool = False

    @property
    def whole_text(self) -> str:
        """The text for the worker: text parts, then data parts as JSON; if there are only files, their names."""
        text = "\n".join(filter(None, [self.text, *(dumps(part) for part in self.data)]))
        return text if text.strip() else "Attached: " + ", ".join(file.file.shown_name for file in self.files)

    @property
    def request_metadata(self) -> dict[str, JsonValue]:
        """The client's metadata, without the entries that are fields of the task's request."""
        return convert_to_json_values(self.other_metadata)

    @property
    def other_metadata(self) -> JsonObject:
        return {key: value for key, value in self.metadata.items() if key not in _REQUEST_FIELDS}


def parse_message(params: JsonObject, dialect: A2aVersion) -> ClientMessage:
    """Parse the parameters of ``tasks/send`` (early), ``message/send`` (0.3) or ``SendMessage`` (1.0).

    Raises ``InvalidField``.
    """
    if dialect is A2aVersion.LEGACY:
        task_id: str | None = required_id_at(params, "id", "params.id")
        session = id_at(params, "sessionId", "params.sessionId")
        message, message_id = _read_message_object(params), None
    else:
        message = _read_message_object(params)
        message_id = required_id_at(message, "messageId", "message.messageId")
        task_id = id_at(message, "taskId", "message.taskId")
        session = id_at(message, "contextId", "message.contextId")
    metadata, parts = merge_metadata(params), list_at(message, "parts", "message.parts")
    text, data, files = _split_parts_by_kind(parts)
    return ClientMessage(
        dialect=dialect,
        task_id=task_id,
        session_id=_read_session_id(metadata, session, dialect),
        message_id=message_id,
        text=text,
        data=data,
        policy_doc=convert_policy_document(metadata.get("policy_doc"), "metadata.policy_doc"),
        tools_endpoint=text_at(metadata, "tools_endpoint", "metadata.tools_endpoint") or None,
        metadata=metadata,
        practice=_parse_practice(metadata),
        part_count=len(parts),
        parts=_select_parts_for_history(parts, files) if data or files else (),
        files=files,
        webhook=parse_webhook_of_message(params, dialect),
    )


def merge_metadata(params: JsonObject) -> JsonObject:
    """The metadata of the message, overridden by that of the request: clients use either.

    Raises ``InvalidField`` for a wrong type, and for a name in both spellings.
    """
    message = object_at(params, "message", "params.message")
    inner = normalize_field_spelling(object_at(message, "metadata", "message.metadata"), "message.metadata")
    return {**inner, **normalize_field_spelling(object_at(params, "metadata"), "metadata")}


def normalize_field_spelling(fields: JsonObject, path: str) -> JsonObject:
    """The fields with our names in snake case; raises ``InvalidField`` for a name in both spellings."""
    for other, name in _OTHER_SPELLINGS.items():
        if other in fields and name in fields:
            raise InvalidField(f"{path}.{name}", f"is given twice, as {name} and as {other}; send one of them")
    return {_OTHER_SPELLINGS.get(key, key): value for key, value in fields.items()}


def convert_to_json_values(value: JsonObject) -> dict[str, JsonValue]:
    return cast(dict[str, JsonValue], to_builtins(value))


def _parse_practice(metadata: JsonObject) -> PracticeRun | None:
    """Parse ``practice``: true, or an object with ``current_time`` and ``instructions``; None if false or absent.

    Raises ``InvalidField`` for anything else.
    """
    practice = metadata.get("practice")
    if practice in (None, False):
        return None
    if practice is not True and not isinstance(practice, dict):
        raise InvalidField("metadata.practice", f"must be true or an object, not {name_json_type(practice)}")
    try:
        fields = {} if practice is True else {**convert_to_json_values(practice), "turn": 0}
        return PracticeRun.model_validate(fields)
    except ValidationError as error:
        raise to_invalid_field(error, "metadata.practice") from None


def _read_message_object(params: JsonObject) -> JsonObject:
    if params.get("message") is None:
        raise InvalidField("params.message", "is required")
    message = object_at(params, "message", "params.message")
    role = text_at(message, "role", "message.role")
    if role not in (None, "", "user", "ROLE_USER"):
        raise InvalidField("message.role", "a client's message has the role user")
    return message


def _read_session_id(metadata: JsonObject, session_id: str | None, dialect: A2aVersion) -> str | None:
    in_metadata = id_at(metadata, "session_id", "metadata.session_id")
    if in_metadata and session_id and in_metadata != session_id:
        field = "params.sessionId" if dialect is A2aVersion.LEGACY else "message.contextId"
        raise InvalidField("metadata.session_id", f"differs from {field}; send one of them")
    return in_metadata or session_id


def _split_parts_by_kind(parts: list[Json]) -> tuple[str, tuple[JsonObject, ...], tuple[ClientFile, ...]]:
    texts: list[str] = []
    data: list[JsonObject] = []
    files: list[ClientFile] = []
    for index, part_value in enumerate(parts):
        path = f"message.parts[{index}]"
        part = require_type(part_value, dict, path)
        if is_file_part(part):
            files.append(parse_file_part(part, path))
        elif part.get("text") is not None:
            texts.append(text_at(part, "text", f"{path}.text") or "")
        elif part.get("data") is not None:
            data.append(object_at(part, "data", f"{path}.data"))
        else:
            raise InvalidField(path, "must have a text, data or a file")
    text = "\n".join(texts)
    if not text.strip() and not data and not files:
        raise InvalidField("message.parts", "there is no text in the message")
    return text, tuple(data), tuple(files)


def _select_parts_for_history(parts: list[Json], files: Sequence[ClientFile]) -> tuple[dict[str, JsonValue], ...]:
    """The parts as the task's history stores them: with known fields only, and files without their bytes."""
    stored_parts, file = [], iter(files)
    for part in parts:
        if isinstance(part, dict):
            fields = convert_to_json_values({key: value for key, value in part.items() if key in _PART_FIELDS})
            stored_parts.append({**fields, **next(file).stored_part} if is_file_part(part) else fields)
    return tuple(stored_parts)


def convert_policy_document(value: Json, path: str) -> str | dict[str, JsonValue] | None:
    """The policy document as sent, or as JSON text if floats would change its numbers; None for an empty one. Raises
    ``InvalidField`` if it is no text and no object.
    """
    if isinstance(value, dict):
        return convert_to_json_values(value) if _is_exact_as_float(value) else dumps(value)
    if value is None or isinstance(value, str):
        return value or None
    raise InvalidField(path, f"must be a string or an object, not {name_json_type(value)}")


def _is_exact_as_float(value: Json) -> bool:
    match value:
        case Decimal():
            return Decimal(repr(float(value))) == value
        case dict():
            return all(_is_exact_as_float(item) for item in value.values())
        case list():
            return all(_is_exact_as_float(item) for item in value)
        case _:
            return True


DECISION_WORDS = ("approve", "reject")


class MessageDecision(NamedTuple):
    """A decision on an approval in a message. ``approval_id``: None for the one that the task waits for."""

    decision: str
    comment: str = ""
    approval_id: str | None = None


def parse_decision(message: ClientMessage) -> MessageDecision | None:
    """The decision in a message: its text ``approve`` or ``reject``, or a data part with ``decision``; None if none.

    The text counts only in a message without data. Raises ``InvalidField`` for another word, or two decisions.
    """
    claims = [part for part in message.data if "decision" in part]
    if not claims:
        word = message.text.strip().lower()
        return MessageDecision(word) if word in DECISION_WORDS and not message.data else None
    path = "message.parts.data.decision"
    if len(claims) > 1:
        raise InvalidField(path, "there must be one decision in a message")
    word = (text_at(claims[0], "decision", path) or "").strip().lower()
    if word not in DECISION_WORDS:
        raise InvalidField(path, "must be approve or reject")
    comment = text_at(claims[0], "comment", "message.parts.data.comment") or ""
    approval_id = id_at(
        normalize_field_spelling(claims[0], "message.parts.data"), "approval_id", "message.parts.data.approval_id"
    )
    return MessageDecision(word, comment, approval_id)
