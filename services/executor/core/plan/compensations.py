"""What takes a call of a plan back: the tool that the operator's catalogue names, its arguments found by name."""

from services.executor.core.records.made_id import reference_to_made
from services.executor.core.records.tool_words import identifies, properties_of, required_arguments
from services.executor.core.tools.toolbox import Toolbox
from services.executor.core.tools.validate import key_field
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, dumps
from shared.domain.words import ToolClass


def with_compensations(plan: WritePlan, toolbox: Toolbox) -> WritePlan:
    """The plan with what takes each change back; a change whose part has such a one before it asks for that."""
    calls: list[PlannedCall] = []
    for call in plan.calls:
        if call.tool_class is ToolClass.CHANGE:
            asks = any(one.part == call.part and one.compensation for one in calls)
            undo = _compensation(call, toolbox)
            call = call.model_copy(  # noqa: PLW2901  # the same call, completed
                update={"compensation": undo, "on_failure": "compensate" if asks else call.on_failure}
            )
        calls.append(call)
    return plan.model_copy(update={"calls": tuple(calls)})


def _compensation(call: PlannedCall, toolbox: Toolbox) -> PlannedCall | None:
    """None where the catalogue names no tool, or one that the server does not have or that changes nothing."""
    tool = toolbox.find(call.connection_id, call.tool)
    undo = toolbox.find(call.connection_id, (tool.catalogue.compensated_by if tool else None) or "")
    if undo is None or undo.tool_class is not ToolClass.CHANGE:
        return None
    return PlannedCall(
        call_id=f"undo-{call.call_id}",
        connection_id=undo.connection_id,
        tool=undo.name,
        tool_class=undo.tool_class,
        arguments_json=dumps(_arguments(call, undo)),
        part=call.part,
        idempotency_field=key_field(undo),
    )


def _arguments(call: PlannedCall, undo: Tool) -> dict[str, Json]:
    """What the call was given under the same names; what else is needed is what it answers with."""
    own = {name: call.arguments[name] for name in properties_of(undo) if name in call.arguments}
    needed = required_arguments(undo) - {key_field(undo)}
    return {**own, **{name: _reference_to_answer(call, name) for name in sorted(needed - own.keys())}}


def _reference_to_answer(call: PlannedCall, name: str) -> Json:
    return reference_to_made(call.call_id, name) if identifies(name) else {"$ref": f"{call.call_id}.{name}"}
