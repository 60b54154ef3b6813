"""What each state permits: one table, enforced at dispatch (I1)."""

from collections.abc import Mapping
from typing import NamedTuple

from shared.domain.words import FsmState, ToolClass


class StateRule(NamedTuple):
    """The classes of server tools a state may dispatch."""

    permits: frozenset[ToolClass]


_NONE: frozenset[ToolClass] = frozenset()
_READING = frozenset({ToolClass.READ, ToolClass.COMPUTE})
_NOTIFYING = _READING | {ToolClass.NOTIFY}
_CHANGING = _NOTIFYING | {ToolClass.CHANGE}

RULES: Mapping[FsmState, StateRule] = {
    FsmState.DECOMPOSE: StateRule(_NONE),
    FsmState.ASSESS: StateRule(_READING),
    FsmState.COMPUTE: StateRule(_NONE),
    FsmState.POLICY_CHECK: StateRule(_NONE),
    FsmState.APPROVAL_GATE: StateRule(_READING),
    FsmState.MUTATE: StateRule(_CHANGING),
    FsmState.SCHEDULE_NOTIFY: StateRule(_NOTIFYING),
    FsmState.COMPLETE: StateRule(_NONE),
    FsmState.ESCALATE: StateRule(_NONE),
    FsmState.FAILED: StateRule(_NONE),
}

_COMPLEX = (
    "reconcile",
    "root cause",
    "diagnose",
    "forecast",
    "synthesize",
    "cross-reference",
    "correlate",
    "investigate",
)


def permits(state: FsmState, tool_class: ToolClass) -> bool:
    return tool_class in RULES[state].permits


def is_complex(task: str) -> bool:
    """Whether the task uses one of the complex words of seed 000: a question with one is Sonnet's."""
    return any(word in task.lower() for word in _COMPLEX)
