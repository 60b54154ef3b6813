"""The gate at dispatch: no call leaves the executor in a state that does not permit its class (I1)."""

from services.executor.core.states.machine import RULES, permits
from services.executor.ports.tools import Tool
from shared.domain.words import FsmState


class DispatchRefused(Exception):
    """A call that must not be made. The message is told to whoever asked for it."""


def check(state: FsmState, tool: Tool) -> None:
    """Raises ``Refused`` if ``state`` does not permit the tool's class."""
    if permits(state, tool.tool_class):
        return
    permitted = ", ".join(sorted(RULES[state].permits)) or "no server's tools"
    raise DispatchRefused(
        f"{tool.name} is a tool of class {tool.tool_class} ({tool.why_class}); {state} permits {permitted}. "
        "It was not called."
    )
