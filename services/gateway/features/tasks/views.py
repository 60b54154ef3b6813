"""A task as JSON in the early protocol's form and in the gateway's own; its answer and results for all protocols."""

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import JsonValue

from shared.contracts.assessment.messages import EarlyCompletion, TurnComplete
from shared.contracts.task import Artifact, File, TaskRecord
from shared.domain.exact_json import objects_in
from shared.domain.instants import format_duration, parse_duration
from shared.domain.words import TaskState

NAME = "assessment_turn"
SHORTEST, USUAL, LONGEST = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_NEXT = re.compile(
    r"^[ \t]*[*_`]*Next(?: turn)?[*_`]*:[*_` \t]*(?P<said>[^\s`*_]+)[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_WORD_FOR_FINISHED = "finished"
_LONGEST_NOTES = 4_000  # characters of the notes


def is_assessment_turn(record: TaskRecord) -> bool:
    """Whether the task is a turn of an assessment."""
    return record.request.practice is not None and record.request.practice.turn > 0


def artifacts_of(record: TaskRecord) -> tuple[Artifact, ...]:
    """The task's results; for an ended turn of an assessment also its reply, as the last one."""
    if not is_assessment_turn(record) or not record.state.is_terminal:
        return record.artifacts
    return (
        *record.artifacts,
        Artifact(name=NAME, data=_build_assessor_reply(record).to_json(), media_type="application/json"),
    )


def _build_assessor_reply(record: TaskRecord) -> TurnComplete | EarlyCompletion:
    """The reply to an assessor: ``TurnComplete`` with the time until the next turn, or ``EarlyCompletion``.

    It is ``EarlyCompletion`` only if the answer says so and every write of the turn was verified.
    """
    answer = record.answer or record.reason or ""
    said = [match["said"] for match in _NEXT.finditer(answer)][-1:] if record.state is TaskState.COMPLETED else []
    told = _NEXT.sub("", answer).strip()[:_LONGEST_NOTES]
    are_verified = all(one.get("status") == "verified" for one in objects_in(record.metadata.get("writes")))
    if said and said[0].casefold().rstrip(".") == _WORD_FOR_FINISHED and are_verified:
        return EarlyCompletion(reason=told)
    return TurnComplete(notes=told, time_step=format_duration(_parse_time_step(said[0] if said else "")))


def _parse_time_step(text: str) -> timedelta:
    """Parse a duration, limited to a minute to a day; an hour if the text is invalid."""
    try:
        wanted = parse_duration(text.rstrip("."))
    except ValueError:
        return USUAL
    return min(max(wanted, SHORTEST), LONGEST) if wanted else USUAL


_LEGACY_STATES = {TaskState.REJECTED: TaskState.FAILED}
_WITH_TEXT = frozenset(TaskState) - {TaskState.SUBMITTED, TaskState.WORKING}


class AnswerText(NamedTuple):
    """The text of a task's answer. ``is_given``: whether the worker gave it; else it is a sentence on the status."""

    name: str
    text: str
    is_given: bool


def answer_of(record: TaskRecord) -> AnswerText | None:
    """The text that a client waits for: the answer, else the reason; None while the task is queued or worked on."""
    if record.state not in _WITH_TEXT:
        return None
    if record.state is TaskState.INPUT_REQUIRED:  # what has happened, and the question as it was asked
        text = "\n\n".join(dict.fromkeys(filter(None, (record.reason, record.answer))))
    else:
        text = record.answer or record.reason or ""
    is_given = bool(record.answer) and record.state is not TaskState.INPUT_REQUIRED
    return AnswerText("answer", text or f"The task is {record.state.value}.", is_given)


def client_metadata(record: TaskRecord, notice: str) -> dict[str, JsonValue]:
    """The record's metadata, with the reason, the session, the requester, and the notice about the model."""
    extra: dict[str, JsonValue] = {
        "session_id": record.session_id,
        "requester": {"id": record.requester.id, "verified": record.requester.verified},
    }
    if record.reason:
        extra["reason"] = record.reason
    if notice:
        extra["model_notice"] = notice
    return {**record.metadata, **extra}


def legacy_view(record: TaskRecord, shown_id: str, history_length: int | None, notice: str) -> dict[str, JsonValue]:
    """The task as JSON of the early protocol, under the client's own id."""
    return {
        "id": shown_id,
        "sessionId": record.session_id,
        "status": legacy_status(record.state, record.reason, record.updated_at),
        "artifacts": _legacy_artifacts(record),
        "history": _legacy_history(record, history_length),
        "metadata": client_metadata(record, notice),
    }


def legacy_status(state: TaskState, text: str | None, at: datetime) -> dict[str, JsonValue]:
    status: dict[str, JsonValue] = {"state": _LEGACY_STATES.get(state, state).value, "timestamp": at.isoformat()}
    return {**status, "message": {"role": "agent", "parts": [_text_part(text)]}} if text else status


def public_view(record: TaskRecord, notice: str) -> dict[str, JsonValue]:
    """The task in the gateway's own JSON form: its record without internal fields."""
    fields = {"task_id", "session_id", "dialect", "state", "reason", "answer", "artifacts", "history"}
    times = {"accepted_at", "started_at", "updated_at"}
    view: dict[str, JsonValue] = record.model_dump(mode="json", include=fields | times)
    return {**view, "request": {"text": record.request.text}, "metadata": client_metadata(record, notice)}


def _legacy_artifacts(record: TaskRecord) -> list[JsonValue]:
    answer = answer_of(record)
    artifacts: list[JsonValue] = []
    if answer:
        artifacts.append({"name": answer.name, "index": 0, "parts": [_text_part(answer.text)]})
    for index, artifact in enumerate(artifacts_of(record), start=len(artifacts)):
        artifacts.append(legacy_artifact(index, artifact))
    return artifacts


def legacy_artifact(index: int, artifact: Artifact) -> dict[str, JsonValue]:
    """An artifact as JSON of the early protocol; ``index``: its place among the task's artifacts."""
    parts: list[JsonValue] = []
    if artifact.text is not None:
        parts.append(_add_media_type(_text_part(artifact.text), artifact.media_type))
    if artifact.data is not None:
        parts.append(_add_media_type({"type": "data", "data": artifact.data}, "application/json"))
    if artifact.file is not None:
        parts.append({"type": "file", "file": _legacy_file(artifact.file)})
    return {"name": artifact.name, "index": index, "parts": parts}


def _legacy_file(file: File) -> dict[str, JsonValue]:
    named: dict[str, JsonValue] = {"name": file.name, "mimeType": file.media_type}
    return {**named, "uri": file.url} if file.url else {**named, "bytes": file.content or ""}


def _legacy_history(record: TaskRecord, length: int | None) -> list[JsonValue]:
    if not length:
        return []
    return [{"role": item.role, "parts": [_text_part(item.text)]} for item in record.history[-length:]]


def _add_media_type(part: dict[str, JsonValue], media_type: str | None) -> dict[str, JsonValue]:
    return {**part, "metadata": {"mimeType": media_type}} if media_type else part


def _text_part(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}
