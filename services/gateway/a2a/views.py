"""Tasks, updates and webhooks as JSON in the words of the protocols."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, cast
from urllib.parse import quote

from a2a.compat.v0_3 import types as types_0_3
from a2a.compat.v0_3.conversions import to_compat_agent_card, to_compat_stream_response
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.types.a2a_pb2 import AgentCard, StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict
from pydantic import BaseModel, JsonValue
from pydantic.alias_generators import to_camel

from services.gateway.a2a.card_keys import CardKeys
from services.gateway.features.streams.updates import ArtifactUpdate, Snapshot, StatusUpdate, TasklessReply, Update
from services.gateway.features.tasks.views import answer_of, artifacts_of, metadata_of
from services.gateway.features.webhooks.model import TaskHook, legacy_shape, shape_of_1_0
from shared.contracts.task import FILE_ID, Artifact, HistoryMessage, TaskRecord
from shared.domain.words import Dialect, TaskState

Shown = dict[str, JsonValue]


def task_view(record: TaskRecord, notice: str, history_length: int | None = None, *, artifacts: bool = True) -> Shown:
    """The task as JSON of 1.0. ``history_length``: at most so many of the latest messages; all if None."""
    kept = record.history[-history_length:] if history_length else () if history_length == 0 else record.history
    return _without_empty(
        id=record.task_id,
        contextId=record.session_id,
        status=_status_view(record, record.state, record.reason, record.updated_at, "status"),
        artifacts=_list_artifacts(record) if artifacts else [],
        history=[_message_view(record, item) for item in kept],
        metadata=_show_metadata(metadata_of(record, notice)),
    )


def reply_view(record: TaskRecord, notice: str) -> Shown:
    """The answer of an ended task, and its results' data, as a message that belongs to no task."""
    answer = answer_of(record)
    data = [part for item in artifacts_of(record) if item.data is not None for part in _artifact_parts(item)]
    return {
        "messageId": f"{record.task_id}-reply",
        "contextId": record.session_id,
        "role": "ROLE_AGENT",
        "parts": [{"text": answer.text if answer else ""}, *data],
        "metadata": _show_metadata(metadata_of(record, notice)),
    }


def update_view(update: Update, name: str, record: TaskRecord, notice: str, length: int | None = None) -> Shown:
    """An update under its kind's name. ``name`` distinguishes it from the task's other updates."""
    match update:
        case Snapshot():
            return {"task": _show_snapshot(update, notice, length)}
        case TasklessReply(replied):
            return {"message": reply_view(replied, notice)}
        case StatusUpdate():
            return {"statusUpdate": _status_update(update, name, record, notice)}
        case ArtifactUpdate():
            artifact = _show_artifact(update.place, update.artifact)
            flags = _without_empty(append=update.append, lastChunk=update.last_chunk)
            return {"artifactUpdate": {**_ids_of_task(record), "artifact": artifact, **flags}}


def _show_snapshot(update: Snapshot, notice: str, length: int | None) -> Shown:
    gap: Shown = {} if update.lost_after is None else {"gap": {"lostAfter": update.lost_after}}
    metadata = _show_metadata({**metadata_of(update.record, notice), **gap})
    return {**task_view(update.record, notice, length), "metadata": metadata}


def _status_update(update: StatusUpdate, name: str, record: TaskRecord, notice: str) -> Shown:
    metadata = metadata_of(update.record, notice) if update.record else update.metadata
    status = _status_view(record, update.state, update.text, update.at, name)
    return {**_ids_of_task(record), "status": status, **_without_empty(metadata=_show_metadata(metadata))}


def _ids_of_task(record: TaskRecord) -> Shown:
    return {"taskId": record.task_id, "contextId": record.session_id}


def _status_view(record: TaskRecord, state: TaskState, text: str | None, at: datetime, name: str) -> Shown:
    status: Shown = {"state": f"TASK_STATE_{state.name}", "timestamp": _format_time(at)}
    if text:
        said = HistoryMessage(role="agent", text=text, message_id=f"{record.task_id}-{name}", at=at)
        status["message"] = _message_view(record, said)
    return status


def _list_artifacts(record: TaskRecord) -> list[JsonValue]:
    """The worker's answer, then its results; a mere sentence about the status comes after the results."""
    answer = answer_of(record)
    made: list[JsonValue] = [_show_artifact(place, item) for place, item in enumerate(artifacts_of(record), start=1)]
    if answer is None:
        return made
    said = _show_artifact(0, Artifact(name=answer.name, text=answer.text))
    return [said, *made] if answer.is_given else [*made, said]


def _show_artifact(place: int, item: Artifact) -> Shown:
    """A result as an artifact. ``place``: its number among the task's results; 0 for the answer."""
    name = f"{item.name}-{place}" if place else item.name
    return {**_without_empty(artifactId=name, name=item.name), "parts": _artifact_parts(item)}


def _artifact_parts(item: Artifact) -> list[JsonValue]:
    parts: list[JsonValue] = []
    if item.text is not None:
        parts.append({"text": item.text, **_without_empty(mediaType=item.media_type)})
    if item.data is not None:
        parts.append({"data": item.data, "mediaType": "application/json"})
    if (file := item.file) is not None:
        content: Shown = {"raw": file.content or ""} if file.url is None else {"url": file.url}
        parts.append({**content, **_without_empty(filename=file.name, mediaType=file.media_type)})
    return parts


def _message_view(record: TaskRecord, item: HistoryMessage) -> Shown:
    parts: list[JsonValue] = [_kept_part(record, part) for part in item.parts] or [{"text": item.text}]
    role = "ROLE_USER" if item.role == "user" else "ROLE_AGENT"
    return {"messageId": item.message_id, **_ids_of_task(record), "role": role, "parts": parts}


def _kept_part(record: TaskRecord, part: Shown) -> Shown:
    """A part of a message; a file whose bytes are not at hand is given as its address at this agent."""
    if FILE_ID not in part:
        return part
    others = {name: value for name, value in part.items() if name != FILE_ID}
    return {"url": f"/tasks/{quote(record.task_id, safe='')}/files/{part[FILE_ID]}", **others}


def _show_metadata(ours: Mapping[str, JsonValue]) -> Shown:
    """The metadata with camel-case keys, those of progress too; other nested keys stay."""
    progress = ours.get("progress")
    told = {**ours, "progress": _show_metadata(progress)} if isinstance(progress, dict) else ours
    return {to_camel(key): value for key, value in told.items()}


def _format_time(at: datetime) -> str:
    """A timestamp as protobuf writes it: with three or six digits after the second, or none, as few as needed."""
    utc = at.replace(tzinfo=None) if at.tzinfo is None else at.astimezone(UTC).replace(tzinfo=None)
    digits = "microseconds" if utc.microsecond % 1000 else "milliseconds" if utc.microsecond else "seconds"
    return f"{utc.isoformat(timespec=digits)}Z"


def _without_empty(**fields: JsonValue) -> Shown:
    """The fields that are not empty, as protobuf writes JSON."""
    return {name: value for name, value in fields.items() if value}


_Event = types_0_3.Message | types_0_3.Task | types_0_3.TaskStatusUpdateEvent | types_0_3.TaskArtifactUpdateEvent


class Wording(NamedTuple):
    """How one protocol words its answers over one binding.

    ``update``: writes a 1.0 payload (task, message or update under its name), given whether the stream ends with it.
    """

    dialect: Dialect
    task: Callable[[Shown], Shown]
    update: Callable[[Shown, bool], Shown]
    webhook: Callable[[TaskHook, str, str], Shown]  # the webhook, its task, and the token if it may be told
    webhooks: Callable[[list[JsonValue], str], JsonValue]
    card: Callable[[AgentCard, CardKeys | None], Shown]  # signed as 1.0 has it, and what older ones are signed with
    nothing: JsonValue


def _build_event(payload: Shown, final: bool) -> _Event:
    """An update as an event of 0.3, whose ``final`` means the stream's end; the SDK sets it only for ended tasks."""
    event = to_compat_stream_response(ParseDict(payload, StreamResponse())).result
    if isinstance(event, types_0_3.TaskStatusUpdateEvent):
        event.final = final
    return event


def _old_update(payload: Shown, final: bool) -> Shown:
    return _dump(_build_event(payload, final))


def _old_rest_update(payload: Shown, final: bool) -> Shown:
    return cast(Shown, MessageToDict(ToProto.stream_response(_build_event(payload, final))))


def _old_webhook(webhook: TaskHook, task_id: str, token: str) -> Shown:
    config: JsonValue = {"id": webhook.config_id, **legacy_shape(webhook), **_without_empty(token=token)}
    return {"taskId": task_id, "pushNotificationConfig": config}


def _old_rest_webhook(webhook: TaskHook, task_id: str, token: str) -> Shown:
    """A webhook as 0.3's REST words it, with its path as ``name``."""
    config = _old_webhook(webhook, task_id, token)["pushNotificationConfig"]
    return {"name": f"tasks/{task_id}/pushNotificationConfigs/{webhook.config_id}", "pushNotificationConfig": config}


def _dump(model: BaseModel) -> Shown:
    return cast(Shown, model.model_dump(mode="json", by_alias=True, exclude_none=True))


def _old_card(card: AgentCard, keys: CardKeys | None) -> Shown:
    shown = _dump(to_compat_agent_card(card))
    return keys.sign_0_3(shown) if keys else shown


NEW = Wording(
    Dialect.A2A_1_0,
    task=lambda task: task,
    update=lambda payload, _: payload,
    webhook=lambda webhook, task_id, token: {**shape_of_1_0(webhook, task_id), **_without_empty(token=token)},
    webhooks=lambda configs, token: {"configs": configs, "nextPageToken": token},
    card=lambda card, _: cast(Shown, MessageToDict(card)),
    nothing={},
)
OLD = Wording(
    Dialect.A2A_0_3,
    task=lambda task: _old_update({"task": task}, False),
    update=_old_update,
    webhook=_old_webhook,
    webhooks=lambda configs, _: configs,
    card=_old_card,
    nothing=None,
)
OLD_REST = OLD._replace(
    task=lambda task: cast(Shown, _old_rest_update({"task": task}, False)["task"]),
    update=_old_rest_update,
    webhook=_old_rest_webhook,
    webhooks=lambda configs, _: {"configs": configs},
    nothing={},
)
