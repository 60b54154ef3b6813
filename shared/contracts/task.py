"""A task, the turns that drive it, and what its clients see of it."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from shared.contracts.base import Contract
from shared.domain.words import Dialect, Role, TaskState


class Principal(Contract):
    """Who speaks. ``verified`` is false where the name came from the request itself (embedded profile)."""

    id: str
    roles: tuple[Role, ...] = (Role.CLIENT,)
    levels: tuple[str, ...] = ()  # the escalation levels an approver may decide
    verified: bool = False


class TurnKind(StrEnum):
    MESSAGE = "message"  # what a client says; waits in the inbox, in order
    DECISION = "decision"  # an approver's answer; goes before the inbox
    RESOLUTION = "resolution"  # an operator's word on a write in doubt; goes before the inbox
    CANCEL = "cancel"
    DEADLINE = "deadline"  # a timer that came due


class SentFile(Contract):
    """A file of a client's message: its content lies in the archive of files, or at an address.

    ``name`` and ``media_type`` are its sender's words. ``file_id`` is the content's hash, the name it is kept by.
    """

    file_id: str = ""
    url: str | None = None
    name: str | None = None
    media_type: str | None = None
    size: int | None = None

    @property
    def shown_name(self) -> str:
        """What people call it: its name, or the last part of its address."""
        return self.name or (self.url or "").partition("?")[0].rstrip("/").rpartition("/")[2] or "file"


class Turn(Contract):
    """One thing that happened to a task, as it waits for an executor."""

    turn_id: str
    task_id: str
    kind: TurnKind
    principal: Principal
    received_at: datetime
    message_id: str | None = None
    text: str = ""
    data: dict[str, JsonValue] = {}  # a decision: {"decision", "comment", "approval_id"}; a resolution: see Resolved
    parts: tuple[dict[str, JsonValue], ...] = ()  # as ``HistoryMessage`` has them
    files: tuple[SentFile, ...] = ()  # of a later message; those of the first stand in the task's request
    traceparent: str | None = None  # the span in which it was accepted, as W3C Trace Context names it


class PriorTurn(Contract):
    """One message of a conversation that the client brings along."""

    role: Literal["user", "assistant"]
    content: str


class SolverRequest(Contract):
    """What the solver endpoint was given beside the task: it replaces what the session remembers."""

    history: tuple[PriorTurn, ...] = ()
    expected_format: Literal["list", "single", "json"] = "list"


class Practice(Contract):
    """The task is done to try the worker, in a world made for that: nobody decides anything while it runs, and it is
    neither counted nor learned from.

    ``current_time``: that world's, by which the task's words are read; None where the task is read by the real one.
    ``instructions``: how that world goes on, and what it wants in an answer; the model is told with the task.
    ``turn``: which of an assessment's turns it is, of which the first begins with an empty memory; else 0. ``began``:
    when the first was.
    """

    current_time: AwareDatetime | None = None
    instructions: str = ""
    turn: int = Field(default=0, ge=0)
    began: AwareDatetime | None = None


class TaskRequest(Contract):
    """What the client asked for, as it asked for it. ``policy_doc``: prose, a JSON string of rules, or an object."""

    text: str
    policy_doc: str | dict[str, JsonValue] | None = None
    tools_endpoint: str | None = None
    metadata: dict[str, JsonValue] = {}
    solver: SolverRequest | None = None
    files: tuple[SentFile, ...] = ()
    practice: Practice | None = None


class File(Contract):
    """A file as its bytes (base64) or as the address where it can be fetched."""

    name: str | None = None
    media_type: str | None = None
    content: str | None = None
    url: str | None = None


class Artifact(Contract):
    """A part of the result beside the answer's text: a document, a log. ``media_type`` is that of its text."""

    name: str
    text: str | None = None
    data: dict[str, JsonValue] | None = None
    file: File | None = None
    media_type: str | None = None
    streamed: bool = False  # its events of kind ``artifact`` have told it already: see ArtifactChunk


class ArtifactChunk(Contract):
    """What an event of kind ``artifact`` tells: a part of a result that is handed on before its turn ends.

    ``index`` is the artifact's place among the record's, from 1. The record has the whole of it when the turn ends,
    marked as ``streamed``.
    """

    index: int = 1
    artifact: Artifact
    append: bool = False  # to the chunks before it
    last_chunk: bool = True


FILE_ID = "fileId"  # stands in a message's part in place of a file's bytes


class HistoryMessage(Contract):
    role: str  # "user" or "agent"
    text: str
    message_id: str
    at: datetime
    # As the client sent them, where they are more than the text. In place of a file's bytes stands its ``fileId``.
    parts: tuple[dict[str, JsonValue], ...] = ()


class TaskRecord(Contract):
    """The task as every process knows it. Changed only through the compare-and-set script of the state store."""

    tenant: str
    task_id: str
    session_id: str
    dialect: Dialect
    requester: Principal
    request: TaskRequest
    state: TaskState = TaskState.SUBMITTED
    reason: str | None = None  # why it is where it is, in a sentence
    answer: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    answers_as: Literal["task", "message"] = "task"  # "message": who waits for it is given its text alone, as a reply
    metadata: dict[str, JsonValue] = {}  # process type, strategy, states, verdict, writes ...
    history: tuple[HistoryMessage, ...] = ()
    later_files: tuple[SentFile, ...] = ()  # those that came with messages after the first, in their order
    accepted_at: datetime
    started_at: datetime | None = None
    updated_at: datetime
    turns_done: tuple[str, ...] = ()  # ids of finished turns, newest last, bounded
    traceparent: str | None = None  # of the turn that began the task: all of the task belongs to that trace


class TaskEvent(Contract):
    """One line of a task's live story, in its event stream.

    ``kind`` is one of: submitted, phase, state, model, tool, write, verdict, approval, note, insight, status,
    artifact, turn_finished.
    """

    kind: str
    at: datetime
    data: dict[str, JsonValue] = {}
