"""A turn that was given up, kept for an operator with all that is needed to start its task again."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.contracts.task import Principal, TaskRequest, Turn
from shared.domain.words import A2aVersion


class DeadTurn(Contract):
    """A turn that was given up. ``attempts``: how often it was begun; ``last_error``: empty if unknown.

    ``writes``: those that its task made or may have made. If the task is started again, it would make them again.
    """

    tenant: str
    session_id: str
    task_id: str
    turn: Turn
    dialect: A2aVersion
    requester: Principal
    request: TaskRequest
    attempts: int
    reason: str
    last_error: str
    died_at: datetime
    writes: tuple[str, ...] = ()
