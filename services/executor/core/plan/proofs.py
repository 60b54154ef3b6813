"""How each call of a plan is proved and told of, chosen by code before the plan's hash is taken."""

from services.executor.core.reads.reader import TaskReader
from services.executor.core.records.read_backs import choose_read_back
from services.executor.core.tools.toolbox import Toolbox
from services.executor.core.write.notices import with_sentences
from shared.contracts.plan import PlannedCall, WritePlan


def with_proofs(plan: WritePlan, toolbox: Toolbox, reader: TaskReader) -> WritePlan:
    """The plan with a read-back for each change that some read can show, and the sentence that a notice may get."""
    proved = plan.model_copy(update={"calls": tuple(_add_read_back(call, toolbox, reader) for call in plan.calls)})
    return with_sentences(proved, {(tool.connection_id, tool.name): tool for tool in toolbox.tools.values()})


def _add_read_back(call: PlannedCall, toolbox: Toolbox, reader: TaskReader) -> PlannedCall:
    tool = toolbox.find(call.connection_id, call.tool)
    if tool is None:
        return call
    chosen = choose_read_back(tool, call.arguments, toolbox, reader.facts, call.call_id, reader.why_barred)
    undo = _add_read_back(call.compensation, toolbox, reader) if call.compensation else None
    return call.model_copy(update={"read_back": chosen, "compensation": undo})
