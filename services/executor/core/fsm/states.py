"""What each state permits: one table, enforced at dispatch and by leaving tools out of requests (I1)."""

from collections.abc import Mapping
from typing import NamedTuple

from services.executor.ports.models import Tier
from shared.domain.words import FsmState, ToolClass


class StateRule(NamedTuple):
    """The classes of server tools a state may dispatch, and the model tier that thinks in it."""

    permits: frozenset[ToolClass]
    tier: Tier


_NONE: frozenset[ToolClass] = frozenset()
_READING = frozenset({ToolClass.READ, ToolClass.COMPUTE})
_NOTIFYING = _READING | {ToolClass.NOTIFY}
_CHANGING = _NOTIFYING | {ToolClass.CHANGE}

RULES: Mapping[FsmState, StateRule] = {
    FsmState.DECOMPOSE: StateRule(_NONE, Tier.HAIKU),
    FsmState.ASSESS: StateRule(_READING, Tier.HAIKU),
    FsmState.COMPUTE: StateRule(_NONE, Tier.HAIKU),
    FsmState.POLICY_CHECK: StateRule(_NONE, Tier.HAIKU),
    FsmState.APPROVAL_GATE: StateRule(_READING, Tier.HAIKU),
    FsmState.MUTATE: StateRule(_CHANGING, Tier.SONNET),
    FsmState.SCHEDULE_NOTIFY: StateRule(_NOTIFYING, Tier.HAIKU),
    FsmState.COMPLETE: StateRule(_NONE, Tier.HAIKU),
    FsmState.ESCALATE: StateRule(_NONE, Tier.HAIKU),
    FsmState.FAILED: StateRule(_NONE, Tier.HAIKU),
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


def tier_of(state: FsmState, task: str) -> Tier:
    """The state's tier; COMPUTE thinks on Sonnet when the task uses one of the complex words of seed 000."""
    if state is FsmState.COMPUTE and any(word in task.lower() for word in _COMPLEX):
        return Tier.SONNET
    return RULES[state].tier
