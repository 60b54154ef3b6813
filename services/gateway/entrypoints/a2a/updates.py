"""One update of a stream in each dialect's own shape."""

from collections.abc import Callable
from typing import TypeAlias, cast

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as types_0_3
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue

from services.gateway.core.streaming.legacy_updates import legacy_update
from services.gateway.core.streaming.streams import Stream, Told
from services.gateway.core.streaming.updates import ArtifactUpdate, Reply, Snapshot, StatusUpdate
from services.gateway.core.tasks.views import metadata_of
from services.gateway.entrypoints.a2a.view import a2a_reply, a2a_view, artifact_view, state_view, status_message
from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect

Shape: TypeAlias = Callable[[Told], dict[str, JsonValue]]


def shape_of(stream: Stream, dialect: Dialect, notice: str, history_length: int | None = None) -> Shape:
    """How updates of a stream are written in JSON-RPC results, and in the REST bodies of 1.0."""
    record = stream.record
    match dialect:
        case Dialect.LEGACY:
            return lambda told: legacy_update(told.update, stream.shown_id, notice)
        case Dialect.A2A_0_3:
            return lambda told: _as_0_3(told, record, notice, history_length)
        case Dialect.A2A_1_0:
            return lambda told: _as_1_0(told, record, notice, history_length)


def stream_response(
    told: Told, record: TaskRecord, notice: str, history_length: int | None = None
) -> pb.StreamResponse:
    """An update in the official protocol's own type; it has no word for the last one of a stream."""
    match told.update:
        case Snapshot() as update:
            return pb.StreamResponse(task=_task(update, notice, history_length))
        case Reply(replied):
            return pb.StreamResponse(message=a2a_reply(replied, notice))
        case StatusUpdate() as update:
            return pb.StreamResponse(status_update=_status(update, told.event_id, record, notice))
        case ArtifactUpdate() as update:
            return pb.StreamResponse(artifact_update=_artifact(update, record))


def _as_1_0(told: Told, record: TaskRecord, notice: str, length: int | None) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", MessageToDict(stream_response(told, record, notice, length)))


def _as_0_3(told: Told, record: TaskRecord, notice: str, length: int | None) -> dict[str, JsonValue]:
    """The SDK says ``final`` of ended tasks only; in 0.3 it means the stream's end, whatever the task waits for."""
    result = conversions.to_compat_stream_response(stream_response(told, record, notice, length)).result
    if isinstance(told.update, StatusUpdate) and isinstance(result, types_0_3.TaskStatusUpdateEvent):
        result.final = told.update.final
    return cast("dict[str, JsonValue]", result.model_dump(mode="json", by_alias=True, exclude_none=True))


def _task(update: Snapshot, notice: str, length: int | None) -> pb.Task:
    task = a2a_view(update.record, notice, length)
    if update.lost_after is not None:
        task.metadata.update({"gap": {"lost_after": update.lost_after}})
    return task


def _status(update: StatusUpdate, name: str, record: TaskRecord, notice: str) -> pb.TaskStatusUpdateEvent:
    status = pb.TaskStatus(state=state_view(update.state), timestamp=update.at)
    if update.text:
        status.message.CopyFrom(status_message(record, update.text, update.at, name))
    event = pb.TaskStatusUpdateEvent(task_id=record.task_id, context_id=record.session_id, status=status)
    event.metadata.update(metadata_of(update.record, notice) if update.record else dict(update.metadata))
    return event


def _artifact(update: ArtifactUpdate, record: TaskRecord) -> pb.TaskArtifactUpdateEvent:
    return pb.TaskArtifactUpdateEvent(
        task_id=record.task_id,
        context_id=record.session_id,
        artifact=artifact_view(update.place, update.artifact),
        append=update.append,
        last_chunk=update.last_chunk,
    )
