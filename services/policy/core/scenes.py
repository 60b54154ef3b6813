"""What a rule looks at: the facts as one policy sees them, for one planned call or for none."""

from typing import NamedTuple

from services.policy.core.values import Context
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy


class Scene(NamedTuple):
    call_id: str | None
    tool: str
    context: Context
    binding: bool


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[Scene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none."""
    context = facts(policy, request.context)
    if not request.calls:
        return (Scene(None, "", context, request.binding),)
    return tuple(Scene(call.call_id, call.tool, call_facts(context, call), request.binding) for call in request.calls)


def facts(policy: Policy, context: Context) -> dict[str, ContextValue]:
    """The request's facts win over the policy's own."""
    return {**policy.context, **context}


def call_facts(context: Context, call: CallContext) -> Context:
    """A call's fields win over both, and its true tool over its fields."""
    return {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
