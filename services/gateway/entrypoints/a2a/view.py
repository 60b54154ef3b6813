"""Tasks, messages and updates as the JSON of protocol 1.0: written straight from the stored task.

It is what ``MessageToDict`` gives of the official types; the older protocols are converted from it.
"""

from collections.abc import Mapping
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from services.gateway.core.streaming.updates import ArtifactUpdate, Reply, Snapshot, StatusUpdate, Update
from services.gateway.core.tasks.views import answer_of, metadata_of
from shared.contracts.task import Artifact, File, HistoryMessage, TaskRecord
from shared.domain.words import TaskState

Shown = dict[str, JsonValue]


def task_view(record: TaskRecord, notice: str, history_length: int | None = None, *, artifacts: bool = True) -> Shown:
    """``history_length``: how many messages of history at most; all if None."""
    kept = record.history[-history_length:] if history_length else () if history_length == 0 else record.history
    return _without_empty(
        id=record.task_id,
        contextId=record.session_id,
        status=_status(record, record.state, record.reason, record.updated_at, "status"),
        artifacts=_artifacts(record) if artifacts else [],
        history=[_message(record, item) for item in kept],
        metadata=_metadata(metadata_of(record, notice)),
    )


def reply_view(record: TaskRecord, notice: str) -> Shown:
    """The answer of an ended task as a message that belongs to no task."""
    answer = answer_of(record)
    return {
        "messageId": f"{record.task_id}-reply",
        "contextId": record.session_id,
        "role": "ROLE_AGENT",
        "parts": [{"text": answer.text if answer else ""}],
        "metadata": _metadata(metadata_of(record, notice)),
    }


def update_view(update: Update, name: str, record: TaskRecord, notice: str, length: int | None = None) -> Shown:
    """An update under its kind's name; ``name`` tells it from the task's others."""
    match update:
        case Snapshot():
            return {"task": _snapshot(update, notice, length)}
        case Reply(replied):
            return {"message": reply_view(replied, notice)}
        case StatusUpdate():
            return {"statusUpdate": _status_update(update, name, record, notice)}
        case ArtifactUpdate():
            artifact = _artifact(update.place, update.artifact)
            flags = _without_empty(append=update.append, lastChunk=update.last_chunk)
            return {"artifactUpdate": {**_names(record), "artifact": artifact, **flags}}


def _snapshot(update: Snapshot, notice: str, length: int | None) -> Shown:
    task = task_view(update.record, notice, length)
    if update.lost_after is None:
        return task
    metadata = _metadata({**metadata_of(update.record, notice), "gap": {"lostAfter": update.lost_after}})
    return {**task, "metadata": metadata}


def _status_update(update: StatusUpdate, name: str, record: TaskRecord, notice: str) -> Shown:
    metadata = metadata_of(update.record, notice) if update.record else update.metadata
    status = _status(record, update.state, update.text, update.at, name)
    return {**_names(record), "status": status, **_without_empty(metadata=_metadata(metadata))}


def _names(record: TaskRecord) -> Shown:
    return {"taskId": record.task_id, "contextId": record.session_id}


def _status(record: TaskRecord, state: TaskState, text: str | None, at: datetime, name: str) -> Shown:
    status: Shown = {"state": f"TASK_STATE_{state.name}", "timestamp": _time(at)}
    if text:
        said = HistoryMessage(role="agent", text=text, message_id=f"{record.task_id}-{name}", at=at)
        status["message"] = _message(record, said)
    return status


def _artifacts(record: TaskRecord) -> list[JsonValue]:
    """The worker's answer first; a sentence about the status, where it gave none, behind what it made."""
    answer = answer_of(record)
    made: list[JsonValue] = [_artifact(place, item) for place, item in enumerate(record.artifacts, start=1)]
    if answer is None:
        return made
    said = _artifact(0, Artifact(name=answer.name, text=answer.text))
    return [said, *made] if answer.is_given else [*made, said]


def _artifact(place: int, item: Artifact) -> Shown:
    """``place``: where it stands among the task's results; 0 is the answer."""
    name = f"{item.name}-{place}" if place else item.name
    return {**_without_empty(artifactId=name, name=item.name), "parts": _parts(item)}


def _parts(item: Artifact) -> list[JsonValue]:
    parts: list[JsonValue] = []
    if item.text is not None:
        parts.append({"text": item.text, **_without_empty(mediaType=item.media_type)})
    if item.data is not None:
        parts.append({"data": item.data, "mediaType": "application/json"})
    if item.file is not None:
        parts.append(_file(item.file))
    return parts


def _file(file: File) -> Shown:
    content: Shown = {"raw": file.content or ""} if file.url is None else {"url": file.url}
    return {**content, **_without_empty(filename=file.name, mediaType=file.media_type)}


def _message(record: TaskRecord, item: HistoryMessage) -> Shown:
    parts: list[JsonValue] = [*item.parts] if item.parts else [{"text": item.text}]
    role = "ROLE_USER" if item.role == "user" else "ROLE_AGENT"
    return {"messageId": item.message_id, **_names(record), "role": role, "parts": parts}


def _metadata(ours: Mapping[str, JsonValue]) -> Shown:
    """Our own keys as the protocol spells its fields, also those of progress; what else they hold is told as it is."""
    progress = ours.get("progress")
    told = {**ours, "progress": _metadata(progress)} if isinstance(progress, dict) else ours
    return {to_camel(key): value for key, value in told.items()}


def _time(at: datetime) -> str:
    stamp = Timestamp()
    stamp.FromDatetime(at)
    return str(stamp.ToJsonString())


def _without_empty(**fields: JsonValue) -> Shown:
    """As protobuf writes JSON: what is empty is left out."""
    return {name: value for name, value in fields.items() if value}
