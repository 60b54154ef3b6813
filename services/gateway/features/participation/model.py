"""The assessments in which this worker is measured: one for each session, kept for a day after its last turn."""

from datetime import datetime
from typing import NamedTuple, Protocol

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


class Beginning(NamedTuple):
    """``assessment`` names it: the same name again is the same beginning. ``api_key`` is kept sealed."""

    assessment: str
    session_id: str
    caller: str
    ues_url: str
    api_key: str
    since: datetime
    first: datetime  # when it began, by the time of its world


class BegunByOther(Exception):
    """Another principal's assessment runs in that session; nothing was stored."""


class NoKey(Exception):
    """The key to the assessed world cannot be opened here: ``ASSESSMENT_KEY`` is not the one it was sealed with."""


class Participations(Protocol):
    """Every method may raise ``StoreUnavailable``."""

    async def begin(self, tenant: str, beginning: Beginning) -> Participation:
        """Store it in place of the same caller's earlier one in that session, and as the caller's latest.

        Raises ``BegunByOther``.
        """
        ...

    async def find(self, tenant: str, session_id: str) -> Participation | None: ...

    async def latest(self, tenant: str, caller: str) -> Participation | None:
        """Of all that the caller has begun and that run still, the one begun last."""
        ...

    async def renew(self, tenant: str, participation: Participation, turn_number: int) -> bool:
        """Note that a turn begins, and keep it for another day; false where it runs no longer."""
        ...

    async def drop(self, tenant: str, participation: Participation) -> None:
        """Forget it and its key; another that has taken its place stays."""
        ...

    def key_of(self, participation: Participation) -> str:
        """The user's key, for the moment of a call: it is written nowhere. Raises ``NoKey``."""
        ...
