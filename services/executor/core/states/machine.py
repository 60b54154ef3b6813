"""The process machine: pure transitions over a template's states."""

from collections.abc import Sequence

from shared.domain.words import FsmState

PLAN_STATES = (FsmState.POLICY_CHECK, FsmState.APPROVAL_GATE, FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)
_ENDS = (FsmState.COMPLETE, FsmState.ESCALATE)


class NoSuchStep(Exception):
    """The machine was asked for a step that its path does not have."""


def state_after(path: Sequence[FsmState], state: FsmState) -> FsmState:
    """The state that follows ``state`` on ``path``."""
    try:
        return path[path.index(state) + 1]
    except (ValueError, IndexError):
        raise NoSuchStep(f"no state follows {state} on the path {', '.join(path)}") from None


def after_planning(path: Sequence[FsmState]) -> FsmState:
    """The state in which a plan begins to be carried out."""
    found = next((state for state in path if state in PLAN_STATES), None)
    if found is None:
        raise NoSuchStep(f"nothing is written on the path {', '.join(path)}")
    return found


def with_gate(path: Sequence[FsmState]) -> tuple[FsmState, ...]:
    """The path with APPROVAL_GATE in it, put right before MUTATE where the template has none."""
    if FsmState.APPROVAL_GATE in path:
        return tuple(path)
    at = path.index(FsmState.MUTATE)
    return (*path[:at], FsmState.APPROVAL_GATE, *path[at:])


def with_end(path: Sequence[FsmState], escalated: bool) -> tuple[FsmState, ...]:
    """The same path, ending in ESCALATE or in COMPLETE."""
    return (*path[:-1], FsmState.ESCALATE if escalated else FsmState.COMPLETE)


def is_end(state: FsmState) -> bool:
    """Whether a path ends here, and the answer is given."""
    return state in _ENDS
