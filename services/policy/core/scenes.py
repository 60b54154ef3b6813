"""What a rule looks at: the facts as one policy sees them, for one planned call or for none."""

from typing import NamedTuple

from services.policy.core.values import Context
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy


class Scene(NamedTuple):
    """``proven``: the same without what only the request gives; None where everything is known from elsewhere too."""

    call_id: str | None
    tool: str
    context: Context
    binding: bool
    proven: Context | None = None


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[Scene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none."""
    context = facts(policy, request.context)
    if not request.calls:
        return (Scene(None, "", context, request.binding),)
    return tuple(_scene(context, call, request.binding) for call in request.calls)


def _scene(context: Context, call: CallContext, binding: bool) -> Scene:
    known = call_facts(context, call)
    if not call.unproven or not binding:
        return Scene(call.call_id, call.tool, known, binding)
    proven = {name: value for name, value in known.items() if name not in call.unproven}
    return Scene(call.call_id, call.tool, known, binding, proven)


def facts(policy: Policy, context: Context) -> dict[str, ContextValue]:
    """The request's facts win over the policy's own."""
    return {**policy.context, **context}


def call_facts(context: Context, call: CallContext) -> Context:
    """A call's fields win over both, and its true tool over its fields."""
    return {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
