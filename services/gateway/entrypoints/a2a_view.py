"""A task in the official protocol's own types."""

from a2a.types.a2a_pb2 import Artifact, Message, Part, Role, Task, TaskState, TaskStatus

from services.gateway.core.views import answer_of, metadata_of
from shared.contracts import task as ours
from shared.domain import words

_STATES: dict[words.TaskState, TaskState] = {
    words.TaskState.SUBMITTED: TaskState.TASK_STATE_SUBMITTED,
    words.TaskState.WORKING: TaskState.TASK_STATE_WORKING,
    words.TaskState.INPUT_REQUIRED: TaskState.TASK_STATE_INPUT_REQUIRED,
    words.TaskState.COMPLETED: TaskState.TASK_STATE_COMPLETED,
    words.TaskState.REJECTED: TaskState.TASK_STATE_REJECTED,
    words.TaskState.FAILED: TaskState.TASK_STATE_FAILED,
    words.TaskState.CANCELED: TaskState.TASK_STATE_CANCELED,
}


def a2a_view(record: ours.TaskRecord, notice: str, history_length: int | None = None) -> Task:
    """``history_length``: how many messages of history at most; all if None."""
    task = Task(id=record.task_id, context_id=record.session_id, status=_status(record))
    task.artifacts.extend(_artifacts(record))
    if history_length != 0:
        kept = record.history[-history_length:] if history_length else record.history
        task.history.extend(_message(record, item) for item in kept)
    task.metadata.update(metadata_of(record, notice))
    return task


def _status(record: ours.TaskRecord) -> TaskStatus:
    status = TaskStatus(state=_STATES[record.state], timestamp=record.updated_at)
    if record.reason:
        item = ours.HistoryMessage(
            role="agent", text=record.reason, message_id=f"{record.task_id}-status", at=record.updated_at
        )
        status.message.CopyFrom(_message(record, item))
    return status


def _artifacts(record: ours.TaskRecord) -> list[Artifact]:
    answer = answer_of(record)
    artifacts = [Artifact(artifact_id=answer.name, name=answer.name, parts=[Part(text=answer.text)])] if answer else []
    for index, item in enumerate(record.artifacts, start=1):
        artifacts.append(Artifact(artifact_id=f"{item.name}-{index}", name=item.name, parts=_parts(item)))
    return artifacts


def _parts(item: ours.Artifact) -> list[Part]:
    parts = [Part(text=item.text, media_type=item.media_type or "")] if item.text is not None else []
    if item.data is not None:
        part = Part(media_type="application/json")
        part.data.struct_value.update(item.data)
        parts.append(part)
    return parts


def _message(record: ours.TaskRecord, item: ours.HistoryMessage) -> Message:
    return Message(
        message_id=item.message_id,
        task_id=record.task_id,
        context_id=record.session_id,
        role=Role.ROLE_USER if item.role == "user" else Role.ROLE_AGENT,
        parts=[Part(text=item.text)],
    )
