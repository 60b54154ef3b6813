"""Turns a client's message into what is stored: a turn of a new task, of a known one, or a decision."""

from datetime import datetime
from typing import NamedTuple

from typing_extensions import override

from services.gateway.edge.errors import InvalidField, NoVisibleTask, TaskHasEnded
from services.gateway.edge.ids import derive_id
from services.gateway.features.identity.model import Caller, check_client, may_decide, may_read
from services.gateway.features.tasks.message import ClientMessage, DecisionWord, decision_in
from services.gateway.features.tasks.model import FoundTask
from shared.contracts.task import HistoryMessage, SentFile, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.exact_json import Json, digest
from shared.domain.words import Dialect, TaskState


class IntakeTime(NamedTuple):
    """The time, and an unused id."""

    now: datetime
    fresh_id: str


class Accept(NamedTuple):
    """A turn to store among its session's messages, with its task if that is new."""

    record: TaskRecord
    turn: Turn
    dedupe: str


class Signal(NamedTuple):
    """A turn to store ahead of its session's messages."""

    record: TaskRecord
    turn: Turn


class Join(NamedTuple):
    """A repeat of an earlier message: nothing is stored, and its turn is waited for."""

    record: TaskRecord
    turn_id: str


Intake = Accept | Signal | Join


def take_in(message: ClientMessage, caller: Caller, found: FoundTask, moment: IntakeTime) -> Intake:
    """Decide what a message is. ``found``: where its task id leads.

    Raises ``NoVisibleTask``, ``TaskHasEnded``, ``NotAClient`` and ``InvalidField``.
    """
    names, known = names_of(message.dialect), found.record
    same = digest(["same", found.key.fingerprint]) if message.same_as else None
    dedupe = same or names.identify(message, found, moment.fresh_id)
    arrival = _Arrival(message, caller, moment, dedupe, derive_id("turn", caller.tenant, dedupe))
    if known is None:
        check_client(caller)
        return arrival.begin(names.name_task(arrival, found))
    if arrival.turn_id in (*known.turns_done, found.signalled):
        return Join(known, arrival.turn_id)
    decision = decision_in(message) if known.state is TaskState.INPUT_REQUIRED else None
    if not (decision and may_decide(caller.principal, known)):
        _check_own(message, caller, known)
    if not decision:
        check_client(caller)
    if known.state.is_terminal:
        return arrival.begin(names.name_task(arrival, found))
    if message.session_id not in (None, known.session_id):
        raise InvalidField(names.session_field, f"task {message.task_id!r} belongs to session {known.session_id!r}")
    turn = arrival.build_turn(known.task_id).model_copy(update={"files": _list_files(message)})
    return Signal(known, _decide_by(turn, decision, known)) if decision else Accept(known, turn, arrival.dedupe)


class TaskIds(NamedTuple):
    """The id and the session of a task that a message begins."""

    task_id: str
    session_id: str


class _Arrival(NamedTuple):
    """A message that has come, and the key by which it is recognised when it is sent again."""

    message: ClientMessage
    caller: Caller
    moment: IntakeTime
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

    def begin(self, ids: TaskIds) -> Accept:
        """The message's turn as the first of a new task."""
        message, turn, now = self.message, self.build_turn(ids.task_id), self.moment.now
        named = message.message_id or self.turn_id
        said = HistoryMessage(role="user", text=turn.text, message_id=named, at=now, parts=turn.parts)
        record = TaskRecord(
            tenant=self.caller.tenant,
            task_id=ids.task_id,
            session_id=ids.session_id,
            dialect=message.dialect,
            requester=self.caller.principal,
            request=TaskRequest(
                text=turn.text,
                policy_doc=message.policy_doc,
                tools_endpoint=message.tools_endpoint,
                metadata=message.request_metadata,
                solver=message.solver,
                files=_list_files(message),
                practice=message.practice,
            ),
            history=(said,),
            accepted_at=now,
            updated_at=now,
        )
        return Accept(record, turn, self.dedupe)


class ClientNames:
    """How clients of protocols 0.3 and 1.0 name things: tasks by the ids that we give, messages by ids of their own."""

    task_field, session_field = "message.taskId", "message.contextId"
    answer_counts = False  # whether a message that comes again is a new one if its answer was received

    def identify(self, message: ClientMessage, found: FoundTask, fresh_id: str) -> str:
        """The key by which a message is recognised when it is sent again: its id; without one, it never is."""
        return digest(["a2a", found.key.fingerprint if message.message_id and not message.is_always_new else fresh_id])

    def name_task(self, arrival: _Arrival, found: FoundTask) -> TaskIds:
        """The ids of the task that a message begins, since its task id leads to none, or to one that has ended.

        Raises ``NoVisibleTask`` and ``TaskHasEnded``.
        """
        if found.record is not None:
            raise TaskHasEnded(found.record.task_id, found.record.state.value)
        if arrival.message.task_id:
            raise NoVisibleTask(arrival.message.task_id)
        session = arrival.message.session_id or derive_id("session", arrival.caller.tenant, arrival.dedupe)
        return TaskIds(arrival.moment.fresh_id, session)


class LegacyNames(ClientNames):
    """How clients of the early protocol name things: tasks as they like, and messages not at all.

    A task's name leads to the newest one of that name; after its end the name begins another in the same session. What
    is sent again under a name is the same message until its answer was received.
    """

    task_field, session_field = "params.id", "metadata.session_id"
    answer_counts = True

    @override
    def identify(self, message: ClientMessage, found: FoundTask, fresh_id: str) -> str:
        return digest(["legacy", found.key.alias, found.key.fingerprint, found.answered])

    @override
    def name_task(self, arrival: _Arrival, found: FoundTask) -> TaskIds:
        """A first task without a session gets one of its name, which no other verified caller's session has."""
        named, alias = arrival.message.session_id, found.key.alias
        if found.record is not None:
            return TaskIds(arrival.moment.fresh_id, named or found.record.session_id)
        return TaskIds(alias, named or (own_id(alias, arrival.caller) if arrival.caller.principal.verified else alias))


_NAMES, _LEGACY_NAMES = ClientNames(), LegacyNames()


def names_of(dialect: Dialect) -> ClientNames:
    return _LEGACY_NAMES if dialect is Dialect.LEGACY else _NAMES


def own_id(task_id: str, caller: Caller) -> str:
    """The id that replaces a client's task id which another client's task, not visible to it, has already.

    So clients that number their tasks do not collide, and no answer reveals that an id is taken.
    """
    return derive_id("own", caller.tenant, caller.principal.id, task_id)


def fingerprint_of(message: ClientMessage, caller: Caller) -> str:
    """What identifies a message: its sender and its id, or without an id its content."""
    if name := message.same_as or message.message_id:
        return digest([caller.principal.id, "id", name])
    solver = (message.solver.model_dump_json(),) if message.solver else ()
    files = (list[Json]([file.file.file_id or file.file.url for file in message.files]),) if message.files else ()
    content = (message.text, list(message.data), message.session_id, message.metadata, *files, *solver)
    return digest([caller.principal.id, *content])


def _decide_by(turn: Turn, decision: DecisionWord, known: TaskRecord) -> Turn:
    """A message's turn as the decision that it makes: on the question that it names, or else the one that stands."""
    asked = decision.approval_id or known.metadata.get("approval_id")
    data = {"decision": decision.decision, "comment": decision.comment, "approval_id": asked}
    decided = {"kind": TurnKind.DECISION, "message_id": None, "text": decision.decision, "data": data}
    return turn.model_copy(update=decided)


def _list_files(message: ClientMessage) -> tuple[SentFile, ...]:
    return tuple(file.file for file in message.files)


def _check_own(message: ClientMessage, caller: Caller, known: TaskRecord) -> None:
    """Raises ``InvalidField`` or ``NoVisibleTask`` unless the task is the caller's own."""
    if caller.principal.id == known.requester.id:
        return
    if may_read(caller.principal, known):
        cause = "the task belongs to another principal; an approver may only decide it"
        raise InvalidField(names_of(message.dialect).task_field, cause)
    raise NoVisibleTask(message.task_id or known.task_id)
