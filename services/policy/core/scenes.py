"""What a rule looks at: the facts as one policy sees them, for one planned call or for none; and their short form."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from services.policy.core.conditions import Condition
from services.policy.core.rules import NAMES_CALLS
from services.policy.core.values import Context
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy, Scalar
from shared.domain.words import ToolClass

RESTS_ON_THE_REQUEST = "it rests on values that only the request gives"
SAID_BY_THE_RECORD = "the record says so, and the call otherwise"
_CALLS_OWN = ("tool", "call_id")  # no record says these
_CHARACTERS = 200
_ITEMS = 8


class CallScene(NamedTuple):
    """``proven``: the same without what only the request gives; None where everything is known from elsewhere too.

    ``recorded``: the same with what a record says instead, for each that says something else; ``judges_records``:
    whether the policy asks for these where the call itself decides. ``proven_by_record``: what is proven, and what such
    a record says of the rest. ``own``: the call's fields alone. ``unknown``: those that it has besides, without a known
    value; None where nobody tells. ``fields``: the names of all that it has; None where what it has not counts too.
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
    fields: frozenset[str] | None = None

    @property
    def stated(self) -> Context:
        """What a rule may say which calls it is about by, and nothing else."""
        return {name: self.context[name] for name in NAMES_CALLS if name in self.context}

    @property
    def has_certain_tool(self) -> bool:
        """Whether it is about a call whose tool is not the request's word alone."""
        return self.call_id is not None and (self.proven is None or "tool" in self.proven)


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[CallScene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none.

    Where several know a field: the policy's own facts, then the request's, then the call's fields, then its true tool.
    """
    context = {**policy.context, **request.context}
    if not request.calls:
        return (CallScene(None, "", context, request.binding, fields=None if request.binding else frozenset(context)),)
    return tuple(_scene(policy, context, call, request.binding) for call in request.calls)


def _scene(policy: Policy, context: Context, call: CallContext, binding: bool) -> CallScene:
    known: Context = {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
    records = [{name: one[name] for name in one if name not in _CALLS_OWN} for one in call.recorded if binding]
    proven, instead = None, list[Context]()
    if binding and call.unproven:
        proven = {name: value for name, value in known.items() if name not in call.unproven}
        instead = [{**proven, **{name: one[name] for name in one if name in call.unproven}} for one in records]
    is_untold = binding and call.unknown_fields is None
    return CallScene(
        call.call_id,
        call.tool,
        known,
        binding,
        proven=proven,
        recorded=tuple({**known, **one} for one in records),
        judges_records=bool(records) and policy.judges_records,
        proven_by_record=tuple(instead),
        own=call.fields,
        unknown=call.unknown_fields,
        changes=call.tool_class is ToolClass.CHANGE,
        fields=None if is_untold else frozenset(known).union(call.unknown_fields or (), *records),
    )


def shown_values(condition: Condition, context: Context) -> dict[str, ContextValue]:
    """The fields that a condition read."""
    return {name: shorten_value(value) for name, value in condition.values(context).items()}


def shorten_value(value: ContextValue) -> ContextValue:
    """A value as a verdict repeats it: short, whatever the rule saw."""
    match value:
        case dict():
            return f"an object of {len(value)} fields"
        case list():
            return [_clip_text(item) for item in value[:_ITEMS]]
        case _:
            return _clip_text(value)


def cannot_be_decided(missing: Sequence[str]) -> str:
    """Why a rule is undecided, for people."""
    return f"cannot be decided: {', '.join(missing)} missing or null"


def _clip_text(value: Scalar) -> Scalar:
    if isinstance(value, str) and len(value) > _CHARACTERS:
        return value[: _CHARACTERS - 1] + "…"
    return value
