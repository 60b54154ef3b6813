"""An assessment in which this worker is the one that is measured."""

from datetime import datetime

from pydantic import AwareDatetime, Field

from shared.contracts.base import Contract


class Participation(Contract):
    """An assessment that a caller has begun in a session. ``sealed_key``: the user's key, opened at call time alone."""

    assessment: str  # names this beginning; another one in the same session has another name
    session_id: str
    caller: str  # the id of the principal who began it
    ues_url: str
    sealed_key: str = Field(repr=False)
    since: datetime
    first: AwareDatetime  # when it began, by the time of its world
    turns: int = 0  # the highest turn that was begun
