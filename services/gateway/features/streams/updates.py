"""The updates of a task that clients receive, in any protocol, and the ids by which a stream is resumed.

An update's id is that of its stored event (``1700000000000-0``). If an event leads to several updates, all but the last
have a part in their id (``1700000000000-0.2``: the second update of that event).
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.features.tasks import views
from shared.contracts.task import Artifact, ArtifactChunk, TaskEvent, TaskRecord
from shared.domain.words import TaskState, TurnPhase
from shared.ports.tasks import TaskSnapshot, parse_stream_id

LAST_EVENT_ID_HEADER = "Last-Event-ID"
_EVENT_ID_PATTERN = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?(?:\.(\d{1,6}))?")
_LARGEST_NUMBER = 2**64 - 1


EventPosition: TypeAlias = tuple[int, int]  # of an event in a task's stream: milliseconds and number, as in its id


def format_position(position: EventPosition) -> str:
    """The id of the event at a position."""
    return "{}-{}".format(*position)


class SeenEvents(NamedTuple):
    """The events that a client has: all up to ``position``. ``part``: how many of that event's updates; all if None."""

    position: EventPosition
    part: int | None = None

    @property
    def stream_id_to_read_after(self) -> str:
        """The stream id after which the gateway reads on for this client: ``position``, or the id just before it if the
        client has only some of that event's updates, so that the event is read again.
        """
        ms, number = self.position
        if self.part is not None and number:
            return format_position((ms, number - 1))
        return format_position((ms - 1, _LARGEST_NUMBER) if self.part is not None and ms else self.position)

    @property
    def event_id(self) -> str:
        return format_event_id(format_position(self.position), self.part)

    def includes_update(self, stream_id: str, part: int | None) -> bool:
        """Whether the client has the update ``part`` of an event; None is the event's last update."""
        if self.part is None or parse_stream_id(stream_id) != self.position:
            return parse_stream_id(stream_id) <= self.position
        return part is not None and part <= self.part


def format_event_id(stream_id: str, part: int | None) -> str:
    return stream_id if part is None else f"{stream_id}.{part}"


def parse_last_event_id(text: str | None) -> SeenEvents | None:
    """Parse a ``Last-Event-ID``; None if it is empty or 0. Raises ``InvalidField`` for an invalid id."""
    if not text or text == "0":
        return None
    match = _EVENT_ID_PATTERN.fullmatch(text)
    if match is None:
        raise InvalidField(LAST_EVENT_ID_HEADER, "must be an id that this stream gave")
    ms, seq, part = match.groups()
    return SeenEvents((int(ms), int(seq or 0)), None if part is None else int(part))


class Resumption(NamedTuple):
    """Where a stream resumes. ``seen``: the events that the client has; None if none of them is still stored.

    ``lost_after``: the client's last id, if events after it have been dropped.
    """

    seen: SeenEvents | None
    lost_after: str | None = None


def find_resumption(seen: SeenEvents | None, task_snapshot: TaskSnapshot) -> Resumption:
    """Find where a task's stream resumes for a client that has the events ``seen``.

    An id from before the stream's first event belongs to another stream; the client then starts from the beginning.
    """
    if seen is None:
        return Resumption(None)
    if (
        task_snapshot.oldest is None
        or task_snapshot.newest is None
        or seen.position > parse_stream_id(task_snapshot.newest)
    ):
        return Resumption(None, seen.event_id)
    if seen.position >= parse_stream_id(task_snapshot.oldest):
        return Resumption(seen)
    return Resumption(None, None if task_snapshot.has_all_events else seen.event_id)


_NO_METADATA: Mapping[str, JsonValue] = MappingProxyType({})
ANSWER_ARTIFACT_INDEX = 0
_PHASE_TEXTS = {
    TurnPhase.PRIME.value: "Recalling what is known and preparing",
    TurnPhase.EXECUTE.value: "Carrying the task out",
    TurnPhase.REFLECT.value: "Reviewing the result",
}


class Snapshot(NamedTuple):
    """An update with the whole task. ``lost_after``: the id after which events were dropped, if there is such a gap.

    ``is_final``: whether it is the last update of the stream.
    """

    record: TaskRecord
    lost_after: str | None = None
    is_final: bool = False


class TasklessReply(NamedTuple):
    """An answer without a task, which is the only update of its stream. ``record``: not stored."""

    record: TaskRecord


class StatusUpdate(NamedTuple):
    """A change of the task's status. ``record``: the task at the end of its newest turn; None within a turn."""

    state: TaskState
    at: datetime
    text: str | None = None
    metadata: Mapping[str, JsonValue] = _NO_METADATA
    record: TaskRecord | None = None
    is_final: bool = False


class ArtifactUpdate(NamedTuple):
    """A result, or a chunk of one. ``number``: its place among the task's results, from 1; 0 for the answer."""

    number: int
    artifact: Artifact
    append: bool = False
    last_chunk: bool = True


Update: TypeAlias = Snapshot | TasklessReply | StatusUpdate | ArtifactUpdate


class UpdatePart(NamedTuple):
    """One of the updates that a stored event leads to. ``number``: its place among them; None for the last."""

    number: int | None
    update: Update


def list_updates_of_event(event: TaskEvent, record: TaskRecord | None, *, is_final: bool) -> Iterator[UpdatePart]:
    """Yields the updates that an event leads to, often none.

    ``record``: the task, if the event ends a turn. ``is_final``: whether its status is the last of the stream.
    """
    match event.kind:
        case "artifact":
            chunk = ArtifactChunk.model_validate(event.data)
            yield UpdatePart(None, ArtifactUpdate(chunk.index, chunk.artifact, chunk.append, chunk.last_chunk))
        case "turn_finished":
            yield from _list_turn_end_updates(event, record, is_final=is_final)
        case _:
            if (status := _build_progress_update(event)) is not None:
                yield UpdatePart(None, status)


def ends_newest_ended_turn(event: TaskEvent, record: TaskRecord) -> bool:
    """Whether the turn that this event ends is the last one that has ended."""
    return record.turns_done[-1:] == (event.data.get("turn_id"),)


def is_at_rest(record: TaskRecord) -> bool:
    """Whether the task has ended, or waits for a person or for a time."""
    return record.state.is_terminal or _is_waiting_state(record.state, record.metadata.get("waits_until"))


def _is_waiting_state(state: object, until: object) -> bool:
    return state == TaskState.INPUT_REQUIRED or bool(until)


def leaves_task_waiting(event: TaskEvent) -> bool:
    """Whether the event ends a turn that leaves its task waiting for a person or for a time."""
    return event.kind == "turn_finished" and _is_waiting_state(event.data.get("state"), event.data.get("waits_until"))


def _list_results(record: TaskRecord, state: TaskState) -> Iterator[tuple[int, Artifact]]:
    """Yields answer and results to send at the end of a turn that left the task in ``state``, each with its number; no
    result that was streamed already.
    """
    record = record.model_copy(update={"state": state})
    answer = views.build_answer_text(record)
    answers = [(ANSWER_ARTIFACT_INDEX, Artifact(name=views.ANSWER_NAME, text=answer.text))] if answer else []
    artifacts = enumerate(views.list_artifacts(record), start=1)
    results = [(number, artifact) for number, artifact in artifacts if not artifact.streamed]
    yield from (*answers, *results) if answer and answer.is_given else (*results, *answers)


def _list_turn_end_updates(event: TaskEvent, record: TaskRecord | None, *, is_final: bool) -> Iterator[UpdatePart]:
    """Yields the results and the status of an ended turn; the status alone if later turns have ended since."""
    state = TaskState(str(event.data["state"]))
    if record is None or not ends_newest_ended_turn(event, record):
        yield UpdatePart(None, StatusUpdate(state, event.at, is_final=is_final))
    else:
        yield from list_end_updates(record, state, event.at, is_final=is_final)


def list_end_updates(record: TaskRecord, state: TaskState, at: datetime, *, is_final: bool) -> Iterator[UpdatePart]:
    """Yields the results and the status update of a turn that left the task in ``state``.

    ``is_final``: whether the status update ends the stream.
    """
    for index, artifact in _list_results(record, state):
        yield UpdatePart(index + 1, ArtifactUpdate(index, artifact))
    yield UpdatePart(None, StatusUpdate(state, at, record.reason, record=record, is_final=is_final))


def _build_progress_update(event: TaskEvent) -> StatusUpdate | None:
    data = event.data
    match event.kind:
        case "phase":
            return _describe_progress(event, _PHASE_TEXTS.get(str(data.get("phase")), str(data.get("phase"))))
        case "state":
            return _describe_progress(event, f"State {data.get('state')}")
        case "write" if "status" in data:
            return _describe_progress(event, f"Write {data.get('tool')}: {data.get('status')}")
        case "approval" if "by" in data:
            return _describe_progress(event, f"The approval was {data.get('status')} by {data.get('by')}")
        case "status":
            return _build_status_between_turns(event)
        case _:
            return None


def _describe_progress(event: TaskEvent, text: str) -> StatusUpdate:
    return StatusUpdate(TaskState.WORKING, event.at, text, {"progress": {"kind": event.kind, **event.data}})


def _build_status_between_turns(event: TaskEvent) -> StatusUpdate | None:
    """The status update of an event between turns; None for a status that the end of the turn repeats."""
    state = TaskState(str(event.data["state"]))
    if state not in (TaskState.SUBMITTED, TaskState.WORKING):
        return None
    reason = event.data.get("reason")
    return StatusUpdate(state, event.at, None if reason is None else str(reason))


def build_legacy_update(update: Update, shown_id: str, model_notice: str) -> dict[str, JsonValue]:
    """An update in the early protocol: ``{id, status, final}`` or ``{id, artifact}``, with the client's own task id."""
    match update:
        case Snapshot(record, lost_after, is_final):
            gap: dict[str, JsonValue] = {} if lost_after is None else {"gap": {"lost_after": lost_after}}
            status = views.build_legacy_status(record.state, record.reason, record.updated_at)
            metadata = {**views.build_client_metadata(record, model_notice), **gap}
            return {"id": shown_id, "status": status, "final": is_final, "metadata": metadata}
        case TasklessReply(record):
            status = views.build_legacy_status(record.state, record.answer, record.updated_at)
            metadata = views.build_client_metadata(record, model_notice)
            return {"id": shown_id, "status": status, "final": True, "metadata": metadata}
        case StatusUpdate():
            status = views.build_legacy_status(update.state, update.text, update.at)
            metadata = (
                views.build_client_metadata(update.record, model_notice) if update.record else dict(update.metadata)
            )
            return {"id": shown_id, "status": status, "final": update.is_final, "metadata": metadata}
        case ArtifactUpdate():
            artifact = views.build_legacy_artifact(update.number, update.artifact)
            chunk: dict[str, JsonValue] = {"append": update.append, "lastChunk": update.last_chunk}
            return {"id": shown_id, "artifact": {**artifact, **chunk}}
