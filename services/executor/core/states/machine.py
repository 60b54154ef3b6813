"""The process machine: what each state permits (I1), and pure transitions over a template's states."""

from collections.abc import Mapping, Sequence

from services.executor.ports.tools import Tool
from shared.domain.words import FsmState, ToolClass

_NONE: frozenset[ToolClass] = frozenset()
_READING = frozenset({ToolClass.READ, ToolClass.COMPUTE})
_NOTIFYING = _READING | {ToolClass.NOTIFY}
_CHANGING = _NOTIFYING | {ToolClass.CHANGE}
# The classes of server tools that each state may dispatch.
PERMITTED: Mapping[FsmState, frozenset[ToolClass]] = {
    FsmState.DECOMPOSE: _NONE,
    FsmState.ASSESS: _READING,
    FsmState.COMPUTE: _NONE,
    FsmState.POLICY_CHECK: _NONE,
    FsmState.APPROVAL_GATE: _READING,
    FsmState.MUTATE: _CHANGING,
    FsmState.SCHEDULE_NOTIFY: _NOTIFYING,
    FsmState.COMPLETE: _NONE,
    FsmState.ESCALATE: _NONE,
    FsmState.FAILED: _NONE,
}
_COMPLEX = "reconcile|root cause|diagnose|forecast|synthesize|cross-reference|correlate|investigate".split("|")


def is_complex(task: str) -> bool:
    """Whether the task uses one of the complex words: a question with one goes to Sonnet."""
    return any(word in task.lower() for word in _COMPLEX)


PLAN_STATES = (FsmState.POLICY_CHECK, FsmState.APPROVAL_GATE, FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)
_ENDS = (FsmState.COMPLETE, FsmState.ESCALATE)


class NoSuchStep(Exception):
    """A path does not have the step that was asked for."""


def state_after(path: Sequence[FsmState], state: FsmState) -> FsmState:
    """The state that follows ``state`` on ``path``."""
    try:
        return path[path.index(state) + 1]
    except (ValueError, IndexError):
        raise NoSuchStep(f"no state follows {state} on the path {', '.join(path)}") from None


def after_planning(path: Sequence[FsmState]) -> FsmState:
    """The state in which a plan begins to be carried out; raises ``NoSuchStep`` if the path writes nothing."""
    found = next((state for state in path if state in PLAN_STATES), None)
    if found is None:
        raise NoSuchStep(f"nothing is written on the path {', '.join(path)}")
    return found


def with_gate(path: Sequence[FsmState]) -> tuple[FsmState, ...]:
    """The path with APPROVAL_GATE in it, put directly before MUTATE if the template has none."""
    if FsmState.APPROVAL_GATE in path:
        return tuple(path)
    at = path.index(FsmState.MUTATE)
    return (*path[:at], FsmState.APPROVAL_GATE, *path[at:])


def with_end(path: Sequence[FsmState], escalated: bool) -> tuple[FsmState, ...]:
    """The path with ESCALATE or COMPLETE as its end."""
    return (*path[:-1], FsmState.ESCALATE if escalated else FsmState.COMPLETE)


def is_end(state: FsmState) -> bool:
    """Whether a path ends in this state."""
    return state in _ENDS


class DispatchRefused(Exception):
    """A call must not be made; the message is told to whoever asked for it."""


def require_permitted(state: FsmState, tool: Tool) -> None:
    """Raises ``DispatchRefused`` if ``state`` does not permit the tool's class."""
    if tool.tool_class in PERMITTED[state]:
        return
    permitted = ", ".join(sorted(PERMITTED[state])) or "no server's tools"
    raise DispatchRefused(
        f"{tool.name} is a tool of class {tool.tool_class} ({tool.why_class}); {state} permits {permitted}. "
        "It was not called."
    )
