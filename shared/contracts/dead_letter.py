"""A turn that was given up, kept for an operator with all that is needed to begin its task anew."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.contracts.task import Principal, TaskRequest, Turn
from shared.domain.words import Dialect


class DeadTurn(Contract):
    """``attempts`` is how often the turn was begun; ``last_error`` is empty where no attempt could say anything.

    ``writes`` are those that its task made, or may have made: begun anew, it would make them once more.
    """

    tenant: str
    session_id: str
    task_id: str
    turn: Turn
    dialect: Dialect
    requester: Principal
    request: TaskRequest
    attempts: int
    reason: str
    last_error: str
    died_at: datetime
    writes: tuple[str, ...] = ()
