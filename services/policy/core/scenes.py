"""What a rule looks at: the facts as one policy sees them, for one planned call or for none."""

from collections.abc import Sequence
from typing import NamedTuple

from services.policy.core.values import Context
from shared.contracts.policy import CallContext, EvaluateRequest, Policy

_CALLS_OWN = ("tool", "call_id")  # no record says these


class CallScene(NamedTuple):
    """``proven``: the facts without what only the request gives; None where everything is known from elsewhere too.

    ``recorded``: the facts with what a record says instead, for each that says something else; ``judges_records``:
    whether the policy asks for these where the call itself decides. ``proven_by_record``: what is proven, and what such
    a record says of the rest.
    """

    call: CallContext | None
    binding: bool
    context: Context
    proven: Context | None = None
    recorded: tuple[Context, ...] = ()
    judges_records: bool = False
    proven_by_record: tuple[Context, ...] = ()

    @property
    def call_id(self) -> str | None:
        return self.call.call_id if self.call else None

    @property
    def unknown(self) -> tuple[str, ...] | None:
        """The fields that the call has without a known value; None where nobody tells."""
        return self.call.unknown_fields if self.call else None

    @property
    def contexts(self) -> Sequence[Context]:
        """All that is looked at: the facts, what of them is proven, and what records say instead."""
        proven = () if self.proven is None else (self.proven,)
        return (self.context, *proven, *self.recorded, *self.proven_by_record)


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[CallScene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none.

    Where several know a field: the policy's own facts, then the request's, then the call's fields, then its true tool.
    """
    context = {**policy.context, **request.context}
    if not request.calls:
        return (CallScene(None, request.binding, context),)
    return tuple(_scene(policy, context, call, request.binding) for call in request.calls)


def _scene(policy: Policy, context: Context, call: CallContext, binding: bool) -> CallScene:
    known: Context = {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
    if not binding:
        return CallScene(call, binding, known)
    records = [{name: value for name, value in one.items() if name not in _CALLS_OWN} for one in call.recorded]
    proven, instead = None, list[Context]()
    if call.unproven:
        proven = {name: value for name, value in known.items() if name not in call.unproven}
        instead = [{**proven, **{name: one[name] for name in one if name in call.unproven}} for one in records]
    recorded = tuple({**known, **one} for one in records)
    return CallScene(call, binding, known, proven, recorded, policy.judges_records, tuple(instead))
