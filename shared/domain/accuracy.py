"""Whether predictions of a kind can still be relied on."""

from collections.abc import Sequence
from enum import StrEnum

WINDOW_KEPT = 10
_LOOKED_AT = 5
_DRIFT = 40  # percent: with fewer of the last ones right, a prediction misleads
_FEWEST = 3  # samples before anything is said of them
_UNKNOWN = 0.75
_TRUSTED = 0.75


class Trust(StrEnum):
    """What a task is told of a predicted value. ``NONE``: too little is known to say anything."""

    NONE = ""
    TRUST = "trust"
    VERIFY = "verify"
    DRIFT = "drift"


def confidence(attempts: int, matches: int) -> float:
    """The share that came true; 0.75 until there are three samples."""
    return matches / attempts if attempts >= _FEWEST else _UNKNOWN


def drifts(window: Sequence[bool]) -> bool:
    """Whether fewer than 40 % of the last five came true; never before there are five."""
    last = window[-_LOOKED_AT:]
    return len(last) == _LOOKED_AT and 100 * sum(last) < _DRIFT * len(last)


def trust(attempts: int, matches: int, window: Sequence[bool]) -> Trust:
    """How a prediction is to be taken."""
    if drifts(window):
        return Trust.DRIFT
    if attempts < _FEWEST:
        return Trust.NONE
    return Trust.TRUST if confidence(attempts, matches) >= _TRUSTED else Trust.VERIFY


def recent(window: Sequence[bool]) -> tuple[int, int]:
    """How many of the last ones that are looked at came true, and how many those are."""
    last = window[-_LOOKED_AT:]
    return sum(last), len(last)
