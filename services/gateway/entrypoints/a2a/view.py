"""A task in the official protocol's own types."""

import base64
from datetime import datetime

from a2a.types.a2a_pb2 import Artifact, Message, Part, Role, Task, TaskState, TaskStatus

from services.gateway.core.tasks.views import answer_of, metadata_of
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


def a2a_reply(record: ours.TaskRecord, notice: str) -> Message:
    """The answer of an ended task as a message that belongs to no task."""
    answer = answer_of(record)
    reply = Message(message_id=f"{record.task_id}-reply", context_id=record.session_id, role=Role.ROLE_AGENT)
    reply.parts.append(Part(text=answer.text if answer else ""))
    reply.metadata.update(metadata_of(record, notice))
    return reply


def _status(record: ours.TaskRecord) -> TaskStatus:
    status = TaskStatus(state=_STATES[record.state], timestamp=record.updated_at)
    if record.reason:
        status.message.CopyFrom(status_message(record, record.reason, record.updated_at, "status"))
    return status


def state_view(state: words.TaskState) -> TaskState:
    return _STATES[state]


def status_message(record: ours.TaskRecord, text: str, at: datetime, name: str) -> Message:
    """What the agent says with a status of the task; ``name`` tells it from what it says with others."""
    item = ours.HistoryMessage(role="agent", text=text, message_id=f"{record.task_id}-{name}", at=at)
    return _message(record, item)


def _artifacts(record: ours.TaskRecord) -> list[Artifact]:
    answer = answer_of(record)
    artifacts = [Artifact(artifact_id=answer.name, name=answer.name, parts=[Part(text=answer.text)])] if answer else []
    for index, item in enumerate(record.artifacts, start=1):
        artifacts.append(artifact_view(index, item))
    return artifacts


def artifact_view(index: int, item: ours.Artifact) -> Artifact:
    """One artifact; ``index`` is its place among the task's, 0 is the answer's."""
    artifact_id = f"{item.name}-{index}" if index else item.name
    return Artifact(artifact_id=artifact_id, name=item.name, parts=_parts(item))


def _parts(item: ours.Artifact) -> list[Part]:
    parts = [Part(text=item.text, media_type=item.media_type or "")] if item.text is not None else []
    if item.data is not None:
        part = Part(media_type="application/json")
        part.data.struct_value.update(item.data)
        parts.append(part)
    if item.file is not None:
        parts.append(_file(item.file))
    return parts


def _file(file: ours.File) -> Part:
    part = Part(filename=file.name or "", media_type=file.media_type or "")
    if file.url is not None:
        part.url = file.url
    else:
        part.raw = base64.b64decode(file.content or "")
    return part


def _message(record: ours.TaskRecord, item: ours.HistoryMessage) -> Message:
    return Message(
        message_id=item.message_id,
        task_id=record.task_id,
        context_id=record.session_id,
        role=Role.ROLE_USER if item.role == "user" else Role.ROLE_AGENT,
        parts=[Part(text=item.text)],
    )
