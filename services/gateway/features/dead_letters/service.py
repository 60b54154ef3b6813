"""Dead letters, and the new task by which a dead turn is requeued."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from services.gateway.edge.ids import derive_id
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.task import HistoryMessage, TaskRecord, Turn, TurnKind


class LetterKind(StrEnum):
    TURN = "turn"
    OUTCOME = "outcome"


class DeadLetter(NamedTuple):
    """A turn that failed too often, or a task's outcome that the learner could not process.

    ``content``: a ``DeadTurn`` or ``TaskOutcome`` as JSON. If it cannot be parsed, ``tenant`` is None and the content
    empty.
    """

    letter_id: str
    kind: LetterKind
    at: datetime
    tenant: str | None = None
    session_id: str = ""
    task_id: str = ""
    reason: str = ""
    error: str = ""
    tries: int = 0
    content: str = ""


class RequeueResult(NamedTuple):
    """The requeued letter. ``task_id``: the new task's; None for an outcome."""

    letter: DeadLetter
    task_id: str | None = None


def build_requeued_task(dead: DeadTurn, letter_id: str, now: datetime) -> tuple[TaskRecord, Turn]:
    """A new task and its first turn, with a dead turn's request and session. A letter always gives the same ids."""
    task_id = derive_id("requeued", dead.tenant, letter_id)
    turn_id = derive_id(task_id, "turn")
    text = dead.request.text
    record = TaskRecord(
        tenant=dead.tenant,
        task_id=task_id,
        session_id=dead.session_id,
        dialect=dead.dialect,
        requester=dead.requester,
        request=dead.request,
        metadata={"requeued_from": dead.task_id},
        history=(HistoryMessage(role="user", text=text, message_id=turn_id, at=now),),
        accepted_at=now,
        updated_at=now,
    )
    return record, Turn(
        turn_id=turn_id,
        task_id=task_id,
        kind=TurnKind.MESSAGE,
        principal=dead.requester,
        received_at=now,
        message_id=turn_id,
        text=text,
    )
