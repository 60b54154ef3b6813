"""Decides what a client's message becomes: a turn of a new or known task, a signal, or a repeat of another."""

from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField, NoVisibleTask, TaskHasEnded
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.model import Caller, may_decide, may_read, require_client_role
from services.gateway.features.tasks.message import ClientMessage, MessageDecision, parse_decision
from services.gateway.features.tasks.store import FoundTask
from shared.contracts.task import HistoryMessage, SentFile, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.exact_json import Json, digest
from shared.domain.words import A2aVersion, TaskState


class TimeAndFreshId(NamedTuple):
    """The present time and an unused id, for the task or turn that a message becomes."""

    now: datetime
    fresh_id: str


class TurnToAccept(NamedTuple):
    """A turn to queue in its session, with its task's record, which is stored too if the task is new."""

    record: TaskRecord
    turn: Turn
    dedupe: str


class TurnToSignal(NamedTuple):
    """A turn, such as a decision, to store ahead of the messages that are queued in its session."""

    record: TaskRecord
    turn: Turn


class TurnToAwait(NamedTuple):
    """A repeat of an earlier message: nothing is stored, and the client waits for that message's turn."""

    record: TaskRecord
    turn_id: str


Intake = TurnToAccept | TurnToSignal | TurnToAwait


def build_signal(
    record: TaskRecord, caller: Caller, kind: TurnKind, moment: TimeAndFreshId, text: str = "", **data: JsonValue
) -> Turn:
    """Build, but do not send, the turn by which a caller signals a task. ``moment``: when the signal was received, and
    the turn's id; ``text`` and ``data``: what the signal says, by its kind.
    """
    return Turn(
        turn_id=moment.fresh_id,
        task_id=record.task_id,
        kind=kind,
        principal=caller.principal,
        received_at=moment.now,
        text=text,
        data=data,
    )


def decide_intake(message: ClientMessage, caller: Caller, found_task: FoundTask, moment: TimeAndFreshId) -> Intake:
    """Decide what a message becomes. ``found_task``: the task that its task id leads to, if any.

    Raises ``NoVisibleTask``, ``TaskHasEnded``, ``NotAClient`` and ``InvalidField``.
    """
    record, dedupe = found_task.record, _derive_repeat_key(message, found_task, moment.fresh_id)
    incoming = _IncomingMessage(message, caller, moment, dedupe, derive_id("turn", caller.tenant, dedupe))
    if record is None:
        require_client_role(caller)
        return incoming.build_new_task(*_choose_ids_of_new_task(incoming, found_task))
    if incoming.turn_id in (*record.turns_done, found_task.signalled_turn_id):
        return TurnToAwait(record, incoming.turn_id)
    decision = parse_decision(message) if record.state is TaskState.INPUT_REQUIRED else None
    if not (decision and may_decide(caller.principal, record)):
        _check_is_requester(message, caller, record)
    if not decision:
        require_client_role(caller)
    if record.state.is_terminal:
        return incoming.build_new_task(*_choose_ids_of_new_task(incoming, found_task))
    if message.session_id not in (None, record.session_id):
        cause = f"task {message.task_id!r} belongs to session {record.session_id!r}"
        raise InvalidField(name_session_field(message.dialect), cause)
    turn = incoming.build_turn(record.task_id).model_copy(update={"files": _list_sent_files(message)})
    if decision:
        return TurnToSignal(record, _make_decision_turn(turn, decision, record))
    return TurnToAccept(record, turn, incoming.dedupe)


class _IncomingMessage(NamedTuple):
    """A message with its sender. ``dedupe``: a key that is equal for a repeat of the same message."""

    message: ClientMessage
    caller: Caller
    moment: TimeAndFreshId
    dedupe: str
    turn_id: str

    def build_turn(self, task_id: str) -> Turn:
        return Turn(
            turn_id=self.turn_id,
            task_id=task_id,
            kind=TurnKind.MESSAGE,
            principal=self.caller.principal,
            received_at=self.moment.now,
            message_id=self.message.message_id or self.turn_id,
            text=self.message.whole_text,
            parts=self.message.parts,
        )

    def build_new_task(self, task_id: str, session_id: str) -> TurnToAccept:
        """Build a new task with the message's turn as its first."""
        message = self.message
        turn = self.build_turn(task_id)
        now = self.moment.now
        message_id = message.message_id or self.turn_id
        first_message = HistoryMessage(role="user", text=turn.text, message_id=message_id, at=now, parts=turn.parts)
        record = TaskRecord(
            tenant=self.caller.tenant,
            task_id=task_id,
            session_id=session_id,
            dialect=message.dialect,
            requester=self.caller.principal,
            request=TaskRequest(
                text=turn.text,
                policy_doc=message.policy_doc,
                tools_endpoint=message.tools_endpoint,
                metadata=message.request_metadata,
                solver=message.solver,
                files=_list_sent_files(message),
                practice=message.practice,
            ),
            history=(first_message,),
            accepted_at=now,
            updated_at=now,
        )
        return TurnToAccept(record, turn, self.dedupe)


def _derive_repeat_key(message: ClientMessage, found_task: FoundTask, fresh_id: str) -> str:
    """The key by which a repeat of the message is recognised: its id; without one, no message is a repeat.

    Messages of the early protocol have no ids: there an equal message with the same task id is a repeat until the
    client has received its answer.
    """
    key = found_task.key
    if message.repeat_key:
        return digest(["same", key.fingerprint])
    if message.dialect is A2aVersion.LEGACY:
        return digest(["legacy", key.alias, key.fingerprint, found_task.answered_turn_id])
    may_be_repeat = message.message_id and not message.is_always_new
    return digest(["a2a", key.fingerprint if may_be_repeat else fresh_id])


def _choose_ids_of_new_task(incoming: _IncomingMessage, found_task: FoundTask) -> tuple[str, str]:
    """The id and the session of the new task that a message begins; clients of 0.3 and 1.0 use the gateway's ids.

    Raises ``NoVisibleTask`` if their message names a task that does not exist, ``TaskHasEnded`` for one that has ended.
    A client of the early protocol chooses its tasks' ids. An id whose newest task has ended begins another one in that
    task's session; a first task without session id gets its own id as one, made unique per caller.
    """
    message = incoming.message
    record = found_task.record
    caller = incoming.caller
    if message.dialect is A2aVersion.LEGACY:
        if record is not None:
            return incoming.moment.fresh_id, message.session_id or record.session_id
        alias = found_task.key.alias
        return alias, message.session_id or (
            derive_caller_scoped_id(alias, caller) if caller.principal.verified else alias
        )
    if record is not None:
        raise TaskHasEnded(record.task_id, record.state.value)
    if message.task_id:
        raise NoVisibleTask(message.task_id)
    return incoming.moment.fresh_id, message.session_id or derive_id("session", caller.tenant, incoming.dedupe)


def name_session_field(dialect: A2aVersion) -> str:
    """The field in which a message of that protocol names its session."""
    return "metadata.session_id" if dialect is A2aVersion.LEGACY else "message.contextId"


def derive_caller_scoped_id(task_id: str, caller: Caller) -> str:
    """An id that replaces a client's task id if a task that the client may not see has that id already.

    So clients that number their tasks do not collide, and no answer reveals that an id is taken.
    """
    return derive_id("own", caller.tenant, caller.principal.id, task_id)


def compute_fingerprint(message: ClientMessage, caller: Caller) -> str:
    """A hash that identifies a message: of its sender and its repeat key or id or, without these, its content."""
    if name := message.repeat_key or message.message_id:
        return digest([caller.principal.id, "id", name])
    solver = (message.solver.model_dump_json(),) if message.solver else ()
    files = (list[Json]([file.file.file_id or file.file.url for file in message.files]),) if message.files else ()
    content = (message.text, list(message.data), message.session_id, message.metadata, *files, *solver)
    return digest([caller.principal.id, *content])


def _make_decision_turn(turn: Turn, decision: MessageDecision, record: TaskRecord) -> Turn:
    """The turn as a decision on the approval that the message names, else on the one that the task waits for."""
    approval_id = decision.approval_id or record.metadata.get("approval_id")
    data = {"decision": decision.decision, "comment": decision.comment, "approval_id": approval_id}
    decision_fields = {"kind": TurnKind.DECISION, "message_id": None, "text": decision.decision, "data": data}
    return turn.model_copy(update=decision_fields)


def _list_sent_files(message: ClientMessage) -> tuple[SentFile, ...]:
    return tuple(file.file for file in message.files)


def _check_is_requester(message: ClientMessage, caller: Caller, record: TaskRecord) -> None:
    """Raises ``InvalidField`` or ``NoVisibleTask`` unless the caller is the task's requester."""
    if caller.principal.id == record.requester.id:
        return
    if may_read(caller.principal, record):
        cause = "the task belongs to another principal; an approver may only decide it"
        raise InvalidField("params.id" if message.dialect is A2aVersion.LEGACY else "message.taskId", cause)
    raise NoVisibleTask(message.task_id or record.task_id)
