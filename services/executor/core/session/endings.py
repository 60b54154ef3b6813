"""The ways in which a run can end before its answer, with their reasons."""

import re
from collections.abc import Iterable
from typing import Literal

from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import Turn, TurnKind
from shared.domain.words import DONE, UNDECIDED, FsmState, TaskState

REST_SUBJECT = "quiet:"  # begins the subject of the timer that ends a rest, whatever it is for
Part = Literal["model", "tool_server", "policy_service"]
NOTHING_WRITTEN = "Nothing was written or sent."


class RunEnds(Exception):
    """The run is over. ``state`` is the task's end; ``fsm_state`` the machine's, None if that does not change."""

    state = TaskState.FAILED
    fsm_state: FsmState | None = FsmState.FAILED
    escalated = False
    partial = False

    def __init__(self, reason: str, part: Part | None = None) -> None:
        """``part``: what did not work, where the cause lies in a part of the installation and not in the task."""
        super().__init__(reason)
        self.reason = reason
        self.part = part

    def tell_of_writes(self, ledger: Iterable[LedgerEntry]) -> None:
        """Makes a reason that says that nothing was written, of the plan at hand, true of a task that has written."""
        if any(entry.status in (*DONE, *UNDECIDED) for entry in ledger):
            self.reason = _NOTHING_WRITTEN.sub(r"\1othing more was written", self.reason)


_NOTHING_WRITTEN = re.compile(r"\b([Nn])othing was written\b")


class TenantStopped(Exception):
    """The tenant is stopped: the run pauses, and goes on from its journal later. Nothing has ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Failed(RunEnds):
    """Something that was needed did not work."""


class ModelRests(Failed):
    """The model is away and may be back in minutes. ``retry_after``: after how many seconds, if it says so."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason, "model")
        self.retry_after = retry_after


class Rejected(RunEnds):
    """A policy or a person said no."""

    state = TaskState.REJECTED
    fsm_state = None


class Escalated(RunEnds):
    """A person has to look at it: a write in doubt, an audit that would not come clean."""

    fsm_state = FsmState.ESCALATE
    escalated = True


class Canceled(RunEnds):
    """Somebody asked for the task to stop."""

    state = TaskState.CANCELED
    fsm_state = None


def ends_rest(turn: Turn) -> bool:
    """Whether a turn is the timer that ends a rest."""
    return turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(REST_SUBJECT)


class NotSent(Failed):
    """A call cannot be made as it was planned; nothing was sent."""
