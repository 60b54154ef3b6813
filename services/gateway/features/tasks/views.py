"""A task as JSON in the early protocol's form and in the gateway's own; its answer and results for all protocols."""

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import JsonValue

from shared.contracts.assessment.messages import EarlyCompletion, TurnComplete
from shared.contracts.task import Artifact, TaskEvent, TaskRecord
from shared.domain.exact_json import objects_in
from shared.domain.instants import format_duration, parse_duration
from shared.domain.words import TaskState

_SHORTEST_STEP = timedelta(minutes=1)
_USUAL_STEP = timedelta(hours=1)
_LONGEST_STEP = timedelta(days=1)
_NEXT_TURN_LINE_PATTERN = re.compile(
    r"^[ \t]*[*_`]*Next(?: turn)?[*_`]*:[*_` \t]*(?P<next_turn>[^\s`*_]+)[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_WORD_FOR_FINISHED = "finished"
_LONGEST_NOTES = 4_000  # characters of the notes


def is_assessment_turn(record: TaskRecord) -> bool:
    """Whether the task is a turn of an assessment."""
    return record.request.practice is not None and record.request.practice.turn > 0


def ends_turn(event: TaskEvent, turn_id: str) -> bool:
    """Whether an event ends the turn, or the whole task with it."""
    return ends_task(event) or (event.kind == "turn_finished" and event.data.get("turn_id") == turn_id)


def ends_task(event: TaskEvent) -> bool:
    return event.kind == "turn_finished" and event.data.get("state") in _END_STATES


_END_STATES = frozenset(state.value for state in TaskState if state.is_terminal)


def list_artifacts(record: TaskRecord) -> tuple[Artifact, ...]:
    """The task's results; for an ended turn of an assessment also its reply, as the last one."""
    if not is_assessment_turn(record) or not record.state.is_terminal:
        return record.artifacts
    reply = _build_assessor_reply(record).to_json()
    return (*record.artifacts, Artifact(name="assessment_turn", data=reply, media_type="application/json"))


def _build_assessor_reply(record: TaskRecord) -> TurnComplete | EarlyCompletion:
    """The reply to an assessor: ``TurnComplete`` with the time until the next turn, or ``EarlyCompletion``.

    It is ``EarlyCompletion`` only if the answer says so and every write of the turn was verified.
    """
    answer = record.answer or record.reason or ""
    lines = [*_NEXT_TURN_LINE_PATTERN.finditer(answer)] if record.state is TaskState.COMPLETED else []
    next_turn = lines[-1]["next_turn"] if lines else ""
    notes = _NEXT_TURN_LINE_PATTERN.sub("", answer).strip()[:_LONGEST_NOTES]
    are_verified = all(write.get("status") == "verified" for write in objects_in(record.metadata.get("writes")))
    if next_turn.casefold().rstrip(".") == _WORD_FOR_FINISHED and are_verified:
        return EarlyCompletion(reason=notes)
    return TurnComplete(notes=notes, time_step=format_duration(_parse_time_step(next_turn)))


def _parse_time_step(text: str) -> timedelta:
    """Parse a duration and limit it: at least a minute, at most a day. An hour if the text is invalid."""
    try:
        duration = parse_duration(text.rstrip("."))
    except ValueError:
        return _USUAL_STEP
    return min(max(duration, _SHORTEST_STEP), _LONGEST_STEP) if duration else _USUAL_STEP


_LEGACY_STATES = {TaskState.REJECTED: TaskState.FAILED}
_STATES_WITH_ANSWER_TEXT = frozenset(TaskState) - {TaskState.SUBMITTED, TaskState.WORKING}


class AnswerText(NamedTuple):
    """The text of a task's answer. ``is_given``: whether the worker gave it; else it is a sentence on the status."""

    text: str
    is_given: bool


ANSWER_NAME = "answer"  # of the artifact with the answer


def build_answer_text(record: TaskRecord) -> AnswerText | None:
    """The text that a client waits for: the answer, else the reason; None while the task is queued or worked on."""
    if record.state not in _STATES_WITH_ANSWER_TEXT:
        return None
    if record.state is TaskState.INPUT_REQUIRED:  # what has happened, and the question as it was asked
        text = "\n\n".join(dict.fromkeys(filter(None, (record.reason, record.answer))))
    else:
        text = record.answer or record.reason or ""
    is_given = bool(record.answer) and record.state is not TaskState.INPUT_REQUIRED
    return AnswerText(text or f"The task is {record.state.value}.", is_given)


def build_client_metadata(record: TaskRecord, model_notice: str) -> dict[str, JsonValue]:
    """The record's metadata, with the reason, the session, the requester, and the notice about the model."""
    extra: dict[str, JsonValue] = {
        "session_id": record.session_id,
        "requester": {"id": record.requester.id, "verified": record.requester.verified},
    }
    if record.reason:
        extra["reason"] = record.reason
    if model_notice:
        extra["model_notice"] = model_notice
    return {**record.metadata, **extra}


def build_legacy_view(
    record: TaskRecord, shown_id: str, history_length: int | None, model_notice: str
) -> dict[str, JsonValue]:
    """The task as JSON of the early protocol (before A2A 0.3). ``shown_id``: the id that the client gave the task."""
    messages = record.history[-history_length:] if history_length else ()
    return {
        "id": shown_id,
        "sessionId": record.session_id,
        "status": build_legacy_status(record.state, record.reason, record.updated_at),
        "artifacts": _build_legacy_artifacts(record),
        "history": [{"role": message.role, "parts": [_build_text_part(message.text)]} for message in messages],
        "metadata": build_client_metadata(record, model_notice),
    }


def build_legacy_status(state: TaskState, text: str | None, at: datetime) -> dict[str, JsonValue]:
    status: dict[str, JsonValue] = {"state": _LEGACY_STATES.get(state, state).value, "timestamp": at.isoformat()}
    return {**status, "message": {"role": "agent", "parts": [_build_text_part(text)]}} if text else status


def build_public_view(record: TaskRecord, model_notice: str) -> dict[str, JsonValue]:
    """The task in the gateway's own JSON form: its record without internal fields."""
    fields = {"task_id", "session_id", "dialect", "state", "reason", "answer", "artifacts", "history"}
    times = {"accepted_at", "started_at", "updated_at"}
    view: dict[str, JsonValue] = record.model_dump(mode="json", include=fields | times)
    return {**view, "request": {"text": record.request.text}, "metadata": build_client_metadata(record, model_notice)}


def _build_legacy_artifacts(record: TaskRecord) -> list[JsonValue]:
    answer = build_answer_text(record)
    artifacts: list[JsonValue] = []
    if answer:
        artifacts.append({"name": ANSWER_NAME, "index": 0, "parts": [_build_text_part(answer.text)]})
    for index, artifact in enumerate(list_artifacts(record), start=len(artifacts)):
        artifacts.append(build_legacy_artifact(index, artifact))
    return artifacts


def build_legacy_artifact(index: int, artifact: Artifact) -> dict[str, JsonValue]:
    """An artifact as JSON of the early protocol; ``index``: its place among the task's artifacts."""
    parts: list[JsonValue] = []
    if artifact.text is not None:
        parts.append(_add_media_type(_build_text_part(artifact.text), artifact.media_type))
    if artifact.data is not None:
        parts.append(_add_media_type({"type": "data", "data": artifact.data}, "application/json"))
    if (file := artifact.file) is not None:
        content: dict[str, JsonValue] = {"uri": file.url} if file.url else {"bytes": file.content or ""}
        parts.append({"type": "file", "file": {"name": file.name, "mimeType": file.media_type, **content}})
    return {"name": artifact.name, "index": index, "parts": parts}


def _add_media_type(part: dict[str, JsonValue], media_type: str | None) -> dict[str, JsonValue]:
    return {**part, "metadata": {"mimeType": media_type}} if media_type else part


def _build_text_part(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}
