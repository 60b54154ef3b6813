"""Whom an approval goes on to that nobody decided in time."""

from datetime import datetime
from itertools import pairwise

from pydantic import Field, field_validator

from shared.contracts.base import Contract
from shared.domain.words import Level


class Rung(Contract):
    """One level: how long it has (the tenant's ``approval_hours`` if it does not say), and how many must agree."""

    level: str
    hours: float | None = Field(default=None, gt=0)
    approvers: int = Field(default=1, ge=1, le=20)

    @field_validator("level")
    @classmethod
    def _is_known(cls, word: str) -> str:
        return Level.parse(word).word


class Escalation(Contract):
    """That a level let its time pass: ``level`` is the one that was asked until ``deadline``."""

    level: str | None
    deadline: datetime
    at: datetime


def is_rising(ladder: tuple[Rung, ...]) -> bool:
    ranks = [Level.parse(rung.level) for rung in ladder]
    return all(before < after for before, after in pairwise(ranks))


def rungs_above(ladder: tuple[Rung, ...], level: str | None) -> tuple[Rung, ...]:
    """The rungs that come after a level, which need not be one of them."""
    return tuple(rung for rung in ladder if level is None or Level.parse(rung.level) > Level.parse(level))


def find_rung(ladder: tuple[Rung, ...], level: str | None) -> Rung | None:
    return next((rung for rung in ladder if rung.level == level), None)
