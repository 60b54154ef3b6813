"""A circuit breaker: a server that failed several times in a row is left alone for a while, and never for good.

Own code: the libraries for it read a clock of their own, or count an answer that says "no" as a failure.
"""

from enum import StrEnum
from typing import NamedTuple


class Circuit(StrEnum):
    CLOSED = "closed"  # calls pass
    OPEN = "open"  # no call passes
    HALF_OPEN = "half-open"  # one call passes, and what becomes of it decides


class BreakerLimits(NamedTuple):
    """``failures`` in a row open it for ``first`` seconds. After ``steady`` seconds without an answer each pause is
    twice the one before it, at most ``longest``: a server that was only restarted is found again while reads wait.
    """

    failures: int = 5
    first: float = 0.5
    steady: float = 5.0
    longest: float = 30.0


USUAL = BreakerLimits()


class Breaker:
    """The circuit to one server. ``now`` is any clock that only goes forward, in seconds."""

    def __init__(self, limits: BreakerLimits = USUAL) -> None:
        self._limits = limits
        self._in_a_row = 0
        self._pause = limits.first
        self._opened = 0.0
        self._until = 0.0
        self._probing = False

    def state(self, now: float) -> Circuit:
        if self._in_a_row < self._limits.failures:
            return Circuit.CLOSED
        return Circuit.OPEN if self._probing or now < self._until else Circuit.HALF_OPEN

    @property
    def is_probing(self) -> bool:
        """Whether the one call is under way that decides."""
        return self._probing

    def seconds_left(self, now: float) -> float:
        """How long no call passes, as far as is known now."""
        return max(0.0, self._until - now)

    def passes(self, now: float) -> bool:
        """Whether a call may be made now. Whoever makes it says afterwards what became of it."""
        state = self.state(now)
        if state is Circuit.HALF_OPEN:
            self._probing = True
        return state is not Circuit.OPEN

    def record_answer(self) -> None:
        """The server answered, whatever it said."""
        self._in_a_row, self._pause, self._probing = 0, self._limits.first, False

    def record_failure(self, now: float) -> None:
        """No connection, or no usable answer. Calls that were under way when it opened do not lengthen its pause."""
        was = self.state(now)
        self._in_a_row = min(self._in_a_row + 1, self._limits.failures)
        opens = was is Circuit.CLOSED and self._in_a_row == self._limits.failures
        if opens:
            self._opened = now
        elif self._probing and now - self._opened >= self._limits.steady:
            self._pause = min(2 * self._pause, self._limits.longest)
        if opens or self._probing:
            self._until = now + self._pause
        self._probing = False

    def record_abandoned(self) -> None:
        """The caller left before it knew: nothing is learned, and another call may try."""
        self._probing = False
