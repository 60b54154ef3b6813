"""Turns and outcomes that were given up."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol


class LetterKind(StrEnum):
    TURN = "turn"
    OUTCOME = "outcome"


class DeadLetter(NamedTuple):
    """A turn that was given up, or an outcome that could not be learned from.

    ``tenant`` is None, and there is no ``content``, where it cannot be read; ``content`` is a ``DeadTurn`` or a
    ``TaskOutcome``.
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


class DeadLetters(Protocol):
    """All may raise ``StoreUnavailable``. A letter whose tenant cannot be read belongs to every tenant's operators."""

    async def newest(self, tenant: str, limit: int) -> Sequence[DeadLetter]: ...

    async def find(self, tenant: str, letter_id: str) -> DeadLetter | None: ...

    async def drop(self, letter: DeadLetter) -> bool:
        """Take it out for good; False if it was gone."""
        ...

    async def replay(self, letter: DeadLetter) -> bool:
        """Hand an outcome to the learner once more and take the letter out, in one step; False if it was gone."""
        ...
