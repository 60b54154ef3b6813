"""A task's updates, whatever the protocol, and their places in its event stream.

A place's id is that of the stored event (``1700000000000-0``). If one stored event is told as several updates, all but
the last also carry a part (``1700000000000-0.2``: the first two parts of that event were told).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.features.tasks.views import answer_of, artifacts_of, legacy_artifact, legacy_status, metadata_of
from shared.contracts.task import Artifact, ArtifactChunk, TaskEvent, TaskRecord
from shared.domain.words import Phase, TaskState
from shared.ports.tasks import TaskSnapshot

LAST_EVENT_ID = "Last-Event-ID"
_ID = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?(?:\.(\d{1,6}))?")
_LAST_SEQ = 2**64 - 1


@dataclass(frozen=True, order=True)
class EventPlace:
    """The place of an event in a stream."""

    ms: int
    seq: int

    @classmethod
    def parse(cls, stream_id: str) -> "EventPlace":
        ms, _, seq = stream_id.partition("-")
        return cls(int(ms), int(seq or 0))

    @property
    def before(self) -> "EventPlace":
        """The last place before this one that an event could have."""
        if self.seq:
            return EventPlace(self.ms, self.seq - 1)
        return EventPlace(self.ms - 1, _LAST_SEQ) if self.ms else self

    def __str__(self) -> str:
        return f"{self.ms}-{self.seq}"


class SeenEvents(NamedTuple):
    """What a client has: everything up to ``place``, or of that event only the parts up to ``part``."""

    place: EventPlace
    part: int | None = None

    @property
    def after(self) -> str:
        """The stream id after which to read on."""
        return str(self.place if self.part is None else self.place.before)

    @property
    def event_id(self) -> str:
        return event_id(str(self.place), self.part)

    def has(self, stream_id: str, part: int | None) -> bool:
        """Whether the client has that part of an event; ``part`` None is the event's last part."""
        if self.part is None or EventPlace.parse(stream_id) != self.place:
            return EventPlace.parse(stream_id) <= self.place
        return part is not None and part <= self.part


def event_id(stream_id: str, part: int | None) -> str:
    return stream_id if part is None else f"{stream_id}.{part}"


def read_seen(text: str | None) -> SeenEvents | None:
    """Parse a ``Last-Event-ID``; None if it is empty or 0. Raises ``InvalidField`` for an id that no stream gave."""
    if not text or text == "0":
        return None
    found = _ID.fullmatch(text)
    if found is None:
        raise InvalidField(LAST_EVENT_ID, "must be an id that this stream gave")
    ms, seq, part = found.groups()
    return SeenEvents(EventPlace(int(ms), int(seq or 0)), None if part is None else int(part))


class Resumption(NamedTuple):
    """Where a stream resumes. ``seen``: None if the client has nothing of what is still stored.

    ``lost_after``: the client's last id, if events after it were dropped.
    """

    seen: SeenEvents | None
    lost_after: str | None = None


def resumption(seen: SeenEvents | None, standing: TaskSnapshot) -> Resumption:
    """Where the stream of a task resumes for a client that has seen so much.

    An id from before the stream's first event is from another stream: the client then has nothing and lacks nothing.
    """
    if seen is None:
        return Resumption(None)
    if standing.oldest is None or standing.newest is None or seen.place > EventPlace.parse(standing.newest):
        return Resumption(None, seen.event_id)
    if seen.place >= EventPlace.parse(standing.oldest):
        return Resumption(seen)
    return Resumption(None, None if standing.whole else seen.event_id)


_NOTHING: Mapping[str, JsonValue] = MappingProxyType({})
ANSWER_PLACE = 0
_PHASES = {
    Phase.PRIME.value: "Recalling what is known and preparing",
    Phase.EXECUTE.value: "Carrying the task out",
    Phase.REFLECT.value: "Reviewing the result",
}


class Snapshot(NamedTuple):
    """The whole task. ``lost_after``: the id after which events were dropped, if there is such a gap.

    ``final``: nothing more comes.
    """

    record: TaskRecord
    lost_after: str | None = None
    final: bool = False


class TasklessReply(NamedTuple):
    """An answer without a task, and all that its stream tells. The record is not stored."""

    record: TaskRecord


class StatusUpdate(NamedTuple):
    """The task's status. ``record``: the task as its newest turn left it, at the end of that turn."""

    state: TaskState
    at: datetime
    text: str | None = None
    metadata: Mapping[str, JsonValue] = _NOTHING
    record: TaskRecord | None = None
    final: bool = False


class ArtifactUpdate(NamedTuple):
    """A result or a chunk of one. ``place``: its number among the task's results; 0 for the answer."""

    place: int
    artifact: Artifact
    append: bool = False
    last_chunk: bool = True


Update: TypeAlias = Snapshot | TasklessReply | StatusUpdate | ArtifactUpdate


class Part(NamedTuple):
    """One update of a stored event. ``number`` distinguishes it from the event's others; the last has none."""

    number: int | None
    update: Update


def parts_of(event: TaskEvent, record: TaskRecord | None, *, final: bool) -> Iterator[Part]:
    """Yields the updates that an event tells clients, often none. ``record``: the task by then, for a turn's end."""
    match event.kind:
        case "artifact":
            chunk = ArtifactChunk.model_validate(event.data)
            yield Part(None, ArtifactUpdate(chunk.index, chunk.artifact, chunk.append, chunk.last_chunk))
        case "turn_finished":
            yield from _end_of_turn(event, record, final=final)
        case _:
            if (status := _progress_status(event)) is not None:
                yield Part(None, status)


def is_newest_turn(event: TaskEvent, record: TaskRecord) -> bool:
    """Whether no later turn has ended since the one that this event ends."""
    return record.turns_done[-1:] == (event.data.get("turn_id"),)


def is_at_rest(record: TaskRecord) -> bool:
    """Whether the task has ended, or waits for a person or for a time."""
    return record.state.is_terminal or _is_waiting(record.state, record.metadata.get("waits_until"))


def _is_waiting(state: object, until: object) -> bool:
    return state == TaskState.INPUT_REQUIRED or bool(until)


def leaves_waiting(event: TaskEvent) -> bool:
    """Whether the event ends a turn that leaves its task to a person or to a time."""
    return event.kind == "turn_finished" and _is_waiting(event.data.get("state"), event.data.get("waits_until"))


def results_of(record: TaskRecord, state: TaskState) -> Iterator[tuple[int, Artifact]]:
    """Yields the results to tell at the end of a turn that left the task in that state, each with its place."""
    record = record.model_copy(update={"state": state})
    answer = answer_of(record)
    said = [(ANSWER_PLACE, Artifact(name=answer.name, text=answer.text))] if answer else []
    made = [(place, item) for place, item in enumerate(artifacts_of(record), start=1) if not item.streamed]
    yield from (*said, *made) if answer and answer.is_given else (*made, *said)


def _end_of_turn(event: TaskEvent, record: TaskRecord | None, *, final: bool) -> Iterator[Part]:
    """Yields a turn's results and status; only the status, if other turns have ended since."""
    state = TaskState(str(event.data["state"]))
    if record is None or not is_newest_turn(event, record):
        yield Part(None, StatusUpdate(state, event.at, final=final))
        return
    for index, artifact in results_of(record, state):
        yield Part(index + 1, ArtifactUpdate(index, artifact))
    yield Part(None, StatusUpdate(state, event.at, record.reason, record=record, final=final))


def _progress_status(event: TaskEvent) -> StatusUpdate | None:
    data = event.data
    match event.kind:
        case "phase":
            return _describe_progress(event, _PHASES.get(str(data.get("phase")), str(data.get("phase"))))
        case "state":
            return _describe_progress(event, f"State {data.get('state')}")
        case "write" if "status" in data:
            return _describe_progress(event, f"Write {data.get('tool')}: {data.get('status')}")
        case "approval" if "by" in data:
            return _describe_progress(event, f"The approval was {data.get('status')} by {data.get('by')}")
        case "status":
            return _between_turns(event)
        case _:
            return None


def _describe_progress(event: TaskEvent, text: str) -> StatusUpdate:
    return StatusUpdate(TaskState.WORKING, event.at, text, {"progress": {"kind": event.kind, **event.data}})


def _between_turns(event: TaskEvent) -> StatusUpdate | None:
    """The status of an event between turns; None for one that ends a turn, which is told with the turn's end."""
    state = TaskState(str(event.data["state"]))
    if state not in (TaskState.SUBMITTED, TaskState.WORKING):
        return None
    reason = event.data.get("reason")
    return StatusUpdate(state, event.at, None if reason is None else str(reason))


def legacy_update(update: Update, shown_id: str, notice: str) -> dict[str, JsonValue]:
    """``{id, status, final}`` or ``{id, artifact}``, under the id that the client chose."""
    match update:
        case Snapshot(record, lost_after, final):
            gap: dict[str, JsonValue] = {} if lost_after is None else {"gap": {"lost_after": lost_after}}
            status = legacy_status(record.state, record.reason, record.updated_at)
            metadata = {**metadata_of(record, notice), **gap}
            return {"id": shown_id, "status": status, "final": final, "metadata": metadata}
        case TasklessReply(record):
            status = legacy_status(record.state, record.answer, record.updated_at)
            return {"id": shown_id, "status": status, "final": True, "metadata": metadata_of(record, notice)}
        case StatusUpdate():
            status = legacy_status(update.state, update.text, update.at)
            metadata = metadata_of(update.record, notice) if update.record else dict(update.metadata)
            return {"id": shown_id, "status": status, "final": update.final, "metadata": metadata}
        case ArtifactUpdate():
            artifact = legacy_artifact(update.place, update.artifact)
            chunk: dict[str, JsonValue] = {"append": update.append, "lastChunk": update.last_chunk}
            return {"id": shown_id, "artifact": {**artifact, **chunk}}
