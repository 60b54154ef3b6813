"""What the turns of an assessment remember: each other, and nothing that was said in their session before."""

from services.executor.ports.turns import SessionState
from shared.contracts.task import TaskRecord


def begins_anew(record: TaskRecord) -> bool:
    """Whether the task is an assessment's first turn; a context may have had another assessment before."""
    turn = record.request.assessment
    return turn is not None and turn.turn_number == 1


def own_memory(session: SessionState, record: TaskRecord) -> SessionState:
    """What the session remembers, as far as it is this task's to know and to add to."""
    return SessionState() if begins_anew(record) else session
