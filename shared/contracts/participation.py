"""What gateway and executor say to each other of an assessment in which this worker is the one that is measured."""

from datetime import datetime

from pydantic import AwareDatetime, Field

from shared.contracts.base import Contract


class AssessedTurn(Contract):
    """One turn of an assessment, as a task's request carries it. The key to the world is not in it (I12).

    ``assessment`` is that of its ``Participation``: where another has taken its place by now, the turn acts no more.
    """

    assessment: str = ""
    ues_url: str
    turn_number: int = Field(ge=1)
    current_time: AwareDatetime  # the world's
    events_processed: int = 0


class Participation(Contract):
    """An assessment that a caller has begun in a session. ``sealed_key``: the user's key, opened at call time alone."""

    assessment: str  # names this beginning; another one in the same session has another name
    session_id: str
    caller: str  # the id of the principal who began it
    ues_url: str
    sealed_key: str = Field(repr=False)
    since: datetime
    turns: int = 0  # the highest turn that was begun
