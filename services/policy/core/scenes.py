"""What a rule looks at: the facts as one policy sees them, for one planned call or for none."""

from typing import NamedTuple

from services.policy.core.values import Context
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy

_CALLS_OWN = ("tool", "call_id")  # no record says these


class Scene(NamedTuple):
    """``proven``: the same without what only the request gives; None where everything is known from elsewhere too.

    ``recorded``: the same with what a record says instead, for each that says something else; none where the policy
    does not ask for it. ``proven_by_record``: what is proven, and what such a record says of the rest.
    """

    call_id: str | None
    tool: str
    context: Context
    binding: bool
    proven: Context | None = None
    recorded: tuple[Context, ...] = ()
    proven_by_record: tuple[Context, ...] = ()


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[Scene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none."""
    context = facts(policy, request.context)
    if not request.calls:
        return (Scene(None, "", context, request.binding),)
    return tuple(_scene(policy, context, call, request.binding) for call in request.calls)


def _scene(policy: Policy, context: Context, call: CallContext, binding: bool) -> Scene:
    known = call_facts(context, call)
    scene = Scene(call.call_id, call.tool, known, binding)
    if not binding:
        return scene
    records = [{name: value for name, value in one.items() if name not in _CALLS_OWN} for one in call.recorded]
    if policy.judges_records:
        scene = scene._replace(recorded=tuple({**known, **one} for one in records))
    if call.unproven:
        proven = {name: value for name, value in known.items() if name not in call.unproven}
        instead = [{name: value for name, value in one.items() if name in call.unproven} for one in records]
        scene = scene._replace(proven=proven, proven_by_record=tuple({**proven, **one} for one in instead))
    return scene


def facts(policy: Policy, context: Context) -> dict[str, ContextValue]:
    """The request's facts win over the policy's own."""
    return {**policy.context, **context}


def call_facts(context: Context, call: CallContext) -> Context:
    """A call's fields win over both, and its true tool over its fields."""
    return {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
