"""Turns a client's message into what is stored: a turn of a new task, of a known one, or a decision."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

from services.gateway.edge.errors import InvalidField, NoVisibleTask, TaskHasEnded
from services.gateway.edge.fields import id_at, text_at
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.model import Caller, check_client, may_decide, may_read
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.tasks.model import Thread
from shared.contracts.task import HistoryMessage, SentFile, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject, digest
from shared.domain.words import Dialect, TaskState
from shared.ports.tasks import Tasks, Wakes

WORDS = ("approve", "reject")


class DecisionWord(NamedTuple):
    """A decision in a message. ``approval_id``: the approval that it names; None for the present one."""

    decision: str
    comment: str = ""
    approval_id: str | None = None


def decision_in(text: str, data: tuple[JsonObject, ...]) -> DecisionWord | None:
    """The decision in a message: the bare word, or one data part ``{"decision", "comment",
    "approval_id"}``; else None.
    """
    claims = [part for part in data if "decision" in part]
    if claims:
        return _claimed_decision(claims)
    word = text.strip().lower()
    return DecisionWord(word) if word in WORDS and not data else None


def _claimed_decision(claims: list[JsonObject]) -> DecisionWord:
    path = "message.parts.data.decision"
    if len(claims) > 1:
        raise InvalidField(path, "there must be one decision in a message")
    word = (text_at(claims[0], "decision", path) or "").strip().lower()
    if word not in WORDS:
        raise InvalidField(path, "must be approve or reject")
    comment = text_at(claims[0], "comment", "message.parts.data.comment") or ""
    return DecisionWord(word, comment, id_at(claims[0], "approval_id", "message.parts.data.approval_id"))


# The message from which a task is made; or, for an assessor's message, its answer: the record of a task that is not
# stored. Raises ``GatewayRefusal`` and ``StoreUnavailable``.
ReadAssessment = Callable[[ClientMessage, Caller], Awaitable[ClientMessage | TaskRecord]]
# Whether the record of a tenant has a connection with a URL. May raise ``StoreUnavailable``.
HasConnection = Callable[[str, str], Awaitable[bool]]


class IntakeTime(NamedTuple):
    """The time, and an unused id."""

    now: datetime
    fresh_id: str


class Accept(NamedTuple):
    record: TaskRecord
    turn: Turn
    dedupe: str | None


class Signal(NamedTuple):
    record: TaskRecord
    turn: Turn


class Join(NamedTuple):
    """A repeat of an earlier message: nothing is stored, and its turn is waited for."""

    record: TaskRecord
    turn_id: str


Intake = Accept | Signal | Join


def fingerprint_of(message: ClientMessage, caller: Caller) -> str:
    """What identifies a message: its sender and its id, or without an id its content."""
    if name := message.same_as or message.message_id:
        return digest([caller.principal.id, "id", name])
    return digest([caller.principal.id, *_content_of(message)])


def own_id(task_id: str, caller: Caller) -> str:
    """The id that replaces a client's task id which another client's task, not visible to it, has already.

    So clients that number their tasks do not collide, and no answer reveals that an id is taken.
    """
    return derive_id("own", caller.tenant, caller.principal.id, task_id)


def take_in(
    message: ClientMessage, caller: Caller, known: TaskRecord | None, thread: Thread, moment: IntakeTime
) -> Intake:
    """Decide what a message is. ``known``: the task that its task id leads to.

    Raises ``NoVisibleTask``, ``TaskHasEnded``, ``NotAClient`` and ``InvalidField``.
    """
    dedupe = _derive_dedupe(message, caller, thread, moment)
    turn_id = derive_id("turn", caller.tenant, dedupe)
    if known is None:
        check_client(caller)
        return _new_task(message, caller, moment, turn_id, dedupe)
    if turn_id in (*known.turns_done, thread.signalled):
        return Join(known, turn_id)
    decision = decision_in(message.text, message.data) if known.state is TaskState.INPUT_REQUIRED else None
    _check_access(message, caller, known, decision)
    if not decision:
        check_client(caller)
    if known.state.is_terminal:
        return _after_the_end(message, caller, known, moment, turn_id, dedupe)
    _check_session(message, known)
    if decision:
        turn = _decision_turn(decision, caller, known, moment, turn_id)
        return Signal(known, turn.model_copy(update={"parts": message.parts, "files": _list_files(message)}))
    turn = _message_turn(message, caller, known.task_id, moment, turn_id)
    return Accept(known, turn.model_copy(update={"files": _list_files(message)}), dedupe)


def _new_task(message: ClientMessage, caller: Caller, moment: IntakeTime, turn_id: str, dedupe: str) -> Accept:
    if message.dialect is not Dialect.LEGACY and message.task_id:
        raise NoVisibleTask(message.task_id)
    task_id = message.task_id or moment.fresh_id
    return _begin(message, caller, task_id, _session_of(message, caller, dedupe), moment, turn_id, dedupe)


def _after_the_end(
    message: ClientMessage, caller: Caller, known: TaskRecord, moment: IntakeTime, turn_id: str, dedupe: str
) -> Accept:
    """A new task in the session of an ended one, for a legacy message; other protocols raise ``TaskHasEnded``."""
    if message.dialect is not Dialect.LEGACY:
        raise TaskHasEnded(known.task_id, known.state.value)
    session = message.session_id or known.session_id
    return _begin(message, caller, moment.fresh_id, session, moment, turn_id, dedupe)


def _begin(
    message: ClientMessage, caller: Caller, task_id: str, session_id: str, moment: IntakeTime, turn_id: str, dedupe: str
) -> Accept:
    turn = _message_turn(message, caller, task_id, moment, turn_id)
    record = TaskRecord(
        tenant=caller.tenant,
        task_id=task_id,
        session_id=session_id,
        dialect=message.dialect,
        requester=caller.principal,
        request=_request(message),
        history=(_build_message(turn, message),),
        accepted_at=moment.now,
        updated_at=moment.now,
    )
    return Accept(record, turn, dedupe)


def _request(message: ClientMessage) -> TaskRequest:
    return TaskRequest(
        text=message.whole_text,
        policy_doc=message.policy_doc,
        tools_endpoint=message.tools_endpoint,
        metadata=message.request_metadata,
        solver=message.solver,
        files=_list_files(message),
        practice=message.practice,
    )


def _list_files(message: ClientMessage) -> tuple[SentFile, ...]:
    return tuple(file.file for file in message.files)


def _build_message(turn: Turn, message: ClientMessage) -> HistoryMessage:
    named = turn.message_id or turn.turn_id
    return HistoryMessage(role="user", text=turn.text, message_id=named, at=turn.received_at, parts=message.parts)


def _message_turn(message: ClientMessage, caller: Caller, task_id: str, moment: IntakeTime, turn_id: str) -> Turn:
    return Turn(
        turn_id=turn_id,
        task_id=task_id,
        kind=TurnKind.MESSAGE,
        principal=caller.principal,
        received_at=moment.now,
        message_id=message.message_id or turn_id,
        text=message.whole_text,
        parts=message.parts,
    )


def _decision_turn(decision: DecisionWord, caller: Caller, known: TaskRecord, moment: IntakeTime, turn_id: str) -> Turn:
    return Turn(
        turn_id=turn_id,
        task_id=known.task_id,
        kind=TurnKind.DECISION,
        principal=caller.principal,
        received_at=moment.now,
        text=decision.decision,
        data={
            "decision": decision.decision,
            "comment": decision.comment,
            # The question that this answers: the one it names, or else the one that stands.
            "approval_id": decision.approval_id or known.metadata.get("approval_id"),
        },
    )


def cancel_turn(record: TaskRecord, caller: Caller, turn_id: str, now: datetime) -> Turn:
    """The turn by which a caller cancels a task."""
    return Turn(
        turn_id=turn_id, task_id=record.task_id, kind=TurnKind.CANCEL, principal=caller.principal, received_at=now
    )


async def pass_on(tasks: Tasks, wakes: Wakes, record: TaskRecord, turn: Turn) -> bool:
    """Put a turn ahead of its session's messages, and wake an executor; False if the task has ended.

    May raise ``StoreUnavailable`` and may be repeated.
    """
    if not await tasks.signal(record.tenant, record.session_id, turn):
        return False
    await wakes.wake(record.tenant, record.session_id)
    return True


def _check_access(message: ClientMessage, caller: Caller, known: TaskRecord, decision: DecisionWord | None) -> None:
    """Raises unless the task is the caller's own, or the message is a decision that the caller may make."""
    own = caller.principal.id == known.requester.id
    if own or (decision and may_decide(caller.principal, known)):
        return
    if may_read(caller.principal, known):
        raise InvalidField(_id_field(message), "the task belongs to another principal; an approver may only decide it")
    raise NoVisibleTask(message.task_id or known.task_id)


def _check_session(message: ClientMessage, known: TaskRecord) -> None:
    if message.session_id in (None, known.session_id):
        return
    field = "metadata.session_id" if message.dialect is Dialect.LEGACY else "message.contextId"
    raise InvalidField(field, f"task {message.task_id!r} belongs to session {known.session_id!r}")


def _id_field(message: ClientMessage) -> str:
    return "params.id" if message.dialect is Dialect.LEGACY else "message.taskId"


def _session_of(message: ClientMessage, caller: Caller, dedupe: str) -> str:
    """The message's session, or one named after the task or the message, so that a resend finds the same.

    A verified caller's has a name that no other caller's session has.
    """
    if message.session_id or message.task_id is None:
        return message.session_id or derive_id("session", caller.tenant, dedupe)
    return own_id(message.task_id, caller) if caller.principal.verified else message.task_id


def _derive_dedupe(message: ClientMessage, caller: Caller, thread: Thread, moment: IntakeTime) -> str:
    """The key by which a resend is recognised: the message id, or none at all if it has no id.

    In the early protocol it is the content under its task id, until its answer was given.
    """
    fingerprint = fingerprint_of(message, caller)
    if message.same_as:
        return digest(["same", fingerprint])
    if message.dialect is Dialect.LEGACY:
        return digest(["legacy", message.task_id, fingerprint, thread.answered])
    return digest(["a2a", fingerprint if message.message_id and not message.is_always_new else moment.fresh_id])


def _content_of(message: ClientMessage) -> tuple[Json, ...]:
    solver = (message.solver.model_dump_json(),) if message.solver else ()
    files = (list[Json]([file.file.file_id or file.file.url for file in message.files]),) if message.files else ()
    return (message.text, list(message.data), message.session_id, message.metadata, *files, *solver)
