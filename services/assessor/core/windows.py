"""The times of a turn: the participant's actions take one simulated second, answers arrive in the rest of the turn."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

APPLY = timedelta(seconds=1)
_SHORTEST_DELAY = timedelta(seconds=1)
LateReplies: TypeAlias = Literal["window", "later"]


class Window(NamedTuple):
    """The stretch in which answers arrive: after ``opens``, at the latest at ``closes``. It may be empty."""

    opens: datetime
    closes: datetime

    @property
    def remainder(self) -> timedelta:
        return max(self.closes - self.opens, timedelta())


def window_of_turn(start: datetime, step: timedelta) -> Window:
    """The window of a turn that began then and lasts so long; time never stands still for less than ``APPLY``."""
    return Window(start + APPLY, start + max(step, APPLY))


def arrival_time(within: Window, delay: timedelta, late: LateReplies) -> datetime:
    """When an answer with that delay arrives.

    An answer that takes longer than the window arrives at its end, or in a ``later`` turn, as ``late`` says; if the
    window is empty it always arrives later.
    """
    at = within.opens + max(delay, _SHORTEST_DELAY)
    if late == "later" or not within.remainder:
        return at
    return min(at, within.closes)


def clip(step: timedelta, now: datetime, end: datetime) -> timedelta:
    """The part of a step that does not pass the scenario's end."""
    return max(min(step, end - now), timedelta())
