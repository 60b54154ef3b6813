"""Builds a plan of the calls that the model proposed: orders them, and adds a read-back and a compensation to each
change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from services.executor.core.plan.notices import with_notice_sentences
from services.executor.core.records.read_backs import choose_read_back
from services.executor.core.records.references import build_made_id_reference, referenced_calls
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Escalated, ProcessTemplate
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.toolbox import Toolbox, find_idempotency_argument
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import ToolClass

UNFIT_PLAN_TEXT = "not made, propose again"


@dataclass(eq=False)
class UnfitPlan(Exception):
    """The plan cannot be carried out as it stands, but the model may correct it."""

    error_for_others: str = UNFIT_PLAN_TEXT  # what every call without an error of its own is answered
    errors_by_call: Mapping[str, str] = field(default_factory=dict)  # {the plan's call id: what is wrong}
    asks_for_notice: bool = False  # the plan lacks a notice that its process wants
    model_calls: int = 0  # how many it took to find out


def build_ordered_plan(calls: Sequence[PlannedCall], task_id: str, number: int) -> WritePlan:
    """A plan of the calls in the order in which they are made: changes before notices. Raises ``UnfitPlan`` for a call
    that needs the answer of a later one, such as a notice's, or of none in the plan.
    """
    ordered = sorted(calls, key=lambda call: call.tool_class is ToolClass.NOTIFY)
    for place, call in enumerate(ordered):
        earlier_ids = {earlier.call_id for earlier in ordered[:place]}
        if any(ref not in earlier_ids for ref in referenced_calls(call.arguments)):
            later_ids = {later.call_id for later in ordered[place:]}.intersection(referenced_calls(call.arguments))
            whose = "a notice, which is sent after every change" if later_ids else "a call that is not of this plan"
            raise UnfitPlan(f"{call.tool} needs the answer of {whose}")
    return WritePlan(task_id=task_id, round=number, calls=tuple(ordered))


def with_read_backs(
    plan: WritePlan, toolbox: Toolbox, facts: Sequence[Fact], find_barring_rule: Callable[[str], str | None]
) -> WritePlan:
    """The plan with a read-back, which is the read to prove it, for each change that a read can prove, and with
    ``with_notice_sentences``. ``find_barring_rule``: gives the rule that forbids a read tool, or None.
    """

    def add_read_back(call: PlannedCall) -> PlannedCall:
        tool = toolbox.find_tool(call.connection_id, call.tool)
        if tool is None:
            return call
        read_back = choose_read_back(tool, call.arguments, toolbox, facts, call.call_id, find_barring_rule)
        undo = add_read_back(call.compensation) if call.compensation else None
        return call.model_copy(update={"read_back": read_back, "compensation": undo})

    calls = tuple(map(add_read_back, plan.calls))
    return with_notice_sentences(plan.model_copy(update={"calls": calls}), toolbox)


def with_compensations(plan: WritePlan, toolbox: Toolbox) -> WritePlan:
    """The plan in which each change has the call that takes it back, if the catalogue names one. If a later change of
    the same part fails, these calls are made.
    """
    calls: list[PlannedCall] = []
    for call in plan.calls:
        is_change = call.tool_class is ToolClass.CHANGE
        is_compensated = is_change and any(earlier.part == call.part and earlier.compensation for earlier in calls)
        undo = _build_compensation(call, toolbox) if is_change else None
        on_failure = "compensate" if is_compensated else call.on_failure
        calls.append(call.model_copy(update={"compensation": undo, "on_failure": on_failure}))
    return plan.model_copy(update={"calls": tuple(calls)})


def _build_compensation(call: PlannedCall, toolbox: Toolbox) -> PlannedCall | None:
    """The call that takes the change back; None if the catalogue names no tool that the server has and that changes."""
    tool = toolbox.find_tool(call.connection_id, call.tool)
    undo = toolbox.find_tool(call.connection_id, (tool.catalogue.compensated_by if tool else None) or "")
    if undo is None or undo.tool_class is not ToolClass.CHANGE:
        return None
    # What the call was given under the same names; what else is needed is what it answers with.
    arguments = {name: call.arguments[name] for name in undo.parameters if name in call.arguments}
    for name in sorted(undo.required - {find_idempotency_argument(undo)} - arguments.keys()):
        reference: JsonObject = {"$ref": f"{call.call_id}.{name}"}
        arguments[name] = build_made_id_reference(call.call_id, name) if is_identifying_name(name) else reference
    return PlannedCall(
        call_id=f"undo-{call.call_id}",
        connection_id=undo.connection_id,
        tool=undo.name,
        tool_class=undo.tool_class,
        arguments_json=dumps(arguments),
        part=call.part,
        origins=tuple(origin for origin in call.origins if origin.argument in arguments),
        idempotency_field=find_idempotency_argument(undo),
    )


def refuse_unprovable_sequence(template: ProcessTemplate, plan: WritePlan) -> None:
    """Raises ``Escalated`` for a plan that would stop halfway: no read can prove a change that others must follow."""
    unproved = [call for call in plan.changes[:-1] if call.read_back is None]
    if template.sequence and unproved:
        names = ", ".join(f"{call.call_id} {call.tool}" for call in unproved)
        raise Escalated(
            f"each change is made only after the one before it is proved, and no read can prove {names}; "
            "nothing was written"
        )
