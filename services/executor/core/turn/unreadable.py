"""What is kept of a turn that nobody can read: the letter to an operator, and the outcome that is counted."""

from services.executor.ports.sessions import UnreadableTurn
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import Principal, TaskRequest, Turn, TurnKind
from shared.domain.words import Dialect, Strategy, TaskState

_NOBODY = Principal(id="unknown")
_REASON = "The stored turn, or its task's record, cannot be read; it is not tried again."
_WRITES = ("unknown: its record cannot be read",)


def unread_letter(unread: UnreadableTurn, tenant: str, session_id: str) -> DeadTurn:
    """Writes cannot be excluded, so nobody begins it anew by mistake."""
    turn = unread.turn or Turn(
        turn_id=unread.turn_id,
        task_id=unread.task_id,
        kind=TurnKind.MESSAGE,
        principal=_NOBODY,
        received_at=unread.now,
    )
    return DeadTurn(
        tenant=tenant,
        session_id=session_id,
        task_id=unread.task_id,
        turn=turn,
        dialect=Dialect.A2A_1_0,
        requester=turn.principal,
        request=TaskRequest(text=turn.text),
        attempts=unread.attempts,
        reason=_REASON,
        last_error=str(unread),
        died_at=unread.now,
        writes=_WRITES,
    )


def unread_outcome(unread: UnreadableTurn, tenant: str, session_id: str) -> TaskOutcome:
    """A failure of which nothing is known, so that the task is counted once like any other."""
    return TaskOutcome(
        event_id=f"{unread.task_id}:1",
        tenant=tenant,
        session_id=session_id,
        task_id=unread.task_id,
        state=TaskState.FAILED,
        process_type="general",
        strategy=Strategy.FSM,
        strategy_applied=False,
        quality=0.0,
        summary=_REASON,
        tool_calls=0,
        model_calls=0,
        writes={},
        policy_passed=None,
        reason=_REASON,
        duration_ms=0,
        ended_at=unread.now,
    )
