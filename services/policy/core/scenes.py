"""What a rule looks at: the facts as one policy sees them, for one planned call or for none."""

from types import MappingProxyType
from typing import NamedTuple

from services.policy.core.values import Context
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy
from shared.domain.words import ToolClass

_CALLS_OWN = ("tool", "call_id")  # no record says these


class Scene(NamedTuple):
    """``proven``: the same without what only the request gives; None where everything is known from elsewhere too.

    ``recorded``: the same with what a record says instead, for each that says something else; ``judges_records``:
    whether the policy asks for these where the call itself decides. ``proven_by_record``: what is proven, and what such
    a record says of the rest. ``own``: the call's fields alone. ``unknown``: those that it has besides, without a known
    value; None where nobody tells.
    """

    call_id: str | None
    tool: str
    context: Context
    binding: bool
    proven: Context | None = None
    recorded: tuple[Context, ...] = ()
    judges_records: bool = False
    proven_by_record: tuple[Context, ...] = ()
    own: Context = MappingProxyType({})
    unknown: tuple[str, ...] | None = None
    changes: bool = True

    @property
    def stated(self) -> Context:
        """What a rule may say which calls it is about by, and nothing else."""
        return {name: self.context[name] for name in ("tool", "verb", "process_type") if name in self.context}


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[Scene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none."""
    context = facts(policy, request.context)
    if not request.calls:
        return (Scene(None, "", context, request.binding),)
    return tuple(_scene(policy, context, call, request.binding) for call in request.calls)


def _scene(policy: Policy, context: Context, call: CallContext, binding: bool) -> Scene:
    known = call_facts(context, call)
    changes = call.tool_class is ToolClass.CHANGE
    scene = Scene(
        call.call_id, call.tool, known, binding, own=call.fields, unknown=call.unknown_fields, changes=changes
    )
    if not binding:
        return scene
    records = [{name: value for name, value in one.items() if name not in _CALLS_OWN} for one in call.recorded]
    if records:
        recorded = tuple({**known, **one} for one in records)
        scene = scene._replace(recorded=recorded, judges_records=policy.judges_records)
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
