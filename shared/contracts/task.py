"""A task, the turns that drive it, and what its clients see of it."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from shared.contracts.base import Contract
from shared.domain.words import A2aVersion, Role, TaskState


class Principal(Contract):
    """A person or agent who sends messages. ``verified``: false if only the request itself states the name."""

    id: str
    roles: tuple[Role, ...] = (Role.CLIENT,)
    levels: tuple[str, ...] = ()  # the escalation levels an approver may decide
    verified: bool = False


class TurnKind(StrEnum):
    """What begins a turn: a message, a person's decision, a timer and so on."""

    MESSAGE = "message"  # what a client says; waits in the inbox, in order
    DECISION = "decision"  # an approver's answer; goes before the inbox
    RESOLUTION = "resolution"  # an operator's word on a write in doubt; goes before the inbox
    CANCEL = "cancel"
    DEADLINE = "deadline"  # a timer that came due


class SentFile(Contract):
    """A file in a client's message: archived under ``file_id`` (the hash of its content), or given by its address.

    ``name`` and ``media_type`` are the sender's statements.
    """

    file_id: str = ""
    url: str | None = None
    name: str | None = None
    media_type: str | None = None
    size: int | None = None

    @property
    def shown_name(self) -> str:
        """The file's name for people: its own, or the last part of its address."""
        return self.name or (self.url or "").partition("?")[0].rstrip("/").rpartition("/")[2] or "file"


class Turn(Contract):
    """One event for a task that an executor must handle: a message, a decision, a deadline and so on."""

    turn_id: str
    task_id: str
    kind: TurnKind
    principal: Principal
    received_at: datetime
    message_id: str | None = None
    text: str = ""
    data: dict[
        str, JsonValue
    ] = {}  # a decision: {"decision", "comment", "approval_id"}; a resolution: see DoubtResolution
    parts: tuple[dict[str, JsonValue], ...] = ()  # as ``HistoryMessage`` has them
    files: tuple[SentFile, ...] = ()  # of a later message; those of the first stand in the task's request
    traceparent: str | None = None  # the span in which it was accepted, as W3C Trace Context names it


class PriorTurn(Contract):
    """One earlier message of a conversation, which the client sends along."""

    role: Literal["user", "assistant"]
    content: str


class SolverRequest(Contract):
    """Further input of the solver endpoint, which replaces what the session remembers."""

    history: tuple[PriorTurn, ...] = ()
    expected_format: Literal["list", "single", "json"] = "list"


class PracticeRun(Contract):
    """Says that the task runs in a simulated world to test the worker: it is neither counted nor learned from.

    No person decides anything in it. ``current_time``: the world's time, used to interpret the task; None for real
    time. ``instructions``: told to the model with the task (how the world works, what an answer must contain).
    ``turn``: the number of the assessment's turn, 0 outside of assessments; the first begins with an empty memory.
    ``began``: when the first turn began.
    """

    current_time: AwareDatetime | None = None
    instructions: str = ""
    turn: int = Field(default=0, ge=0)
    began: AwareDatetime | None = None


class TaskRequest(Contract):
    """The request as the client made it. ``policy_doc``: prose, a JSON string of rules, or an object."""

    text: str
    policy_doc: str | dict[str, JsonValue] | None = None
    tools_endpoint: str | None = None
    metadata: dict[str, JsonValue] = {}
    solver: SolverRequest | None = None
    files: tuple[SentFile, ...] = ()
    practice: PracticeRun | None = None

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to be written: ``dry_run`` in the metadata is anything but absent, null or false."""
        wish = self.metadata.get("dry_run")
        return wish is not None and wish is not False  # 0 equals False


class ArtifactFile(Contract):
    """A file as its bytes (base64) or as the address where it can be fetched."""

    name: str | None = None
    media_type: str | None = None
    content: str | None = None
    url: str | None = None


class Artifact(Contract):
    """A part of the result besides the answer's text, such as a document. ``media_type``: that of its text."""

    name: str
    text: str | None = None
    data: dict[str, JsonValue] | None = None
    file: ArtifactFile | None = None
    media_type: str | None = None
    streamed: bool = False  # its events of kind ``artifact`` have told it already: see ArtifactChunk


class ArtifactChunk(Contract):
    """The content of an ``artifact`` event: a part of a result that is sent before the turn ends.

    ``index``: the artifact's position in the record, from 1. At the end of the turn the record has the whole artifact,
    marked as ``streamed``.
    """

    index: int = 1
    artifact: Artifact
    append: bool = False  # to the chunks before it
    last_chunk: bool = True


FILE_ID_FIELD = "fileId"  # stands in a message's part in place of a file's bytes


class HistoryMessage(Contract):
    """One message of a task's A2A history."""

    role: str  # "user" or "agent"
    text: str
    message_id: str
    at: datetime
    # As the client sent them, where they are more than the text. In place of a file's bytes stands its ``fileId``.
    parts: tuple[dict[str, JsonValue], ...] = ()


class TaskRecord(Contract):
    """A task's request, state and answer, as every service sees them. Only scripts of Redis change a stored one."""

    tenant: str
    task_id: str
    session_id: str
    dialect: A2aVersion
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
    """One event of a task, in its event stream.

    ``kind`` is one of: submitted, phase, state, model, tool, plan, write, verdict, approval, note, insight, status,
    artifact, turn_finished.
    """

    kind: str
    at: datetime
    data: dict[str, JsonValue] = {}
