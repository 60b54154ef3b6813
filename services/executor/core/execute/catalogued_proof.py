"""A plan's read-backs as the operator's catalogue wants them: a pair that it names goes before the model's choice."""

from collections.abc import Callable

from services.executor.core.execute.partners import partner
from services.executor.core.execute.refs import references
from services.executor.core.tooling.toolbox import Toolbox
from services.executor.core.tooling.validate import problems_with
from shared.contracts.plan import PlannedCall, ReadBack, WritePlan
from shared.domain.exact_json import dumps, plain


def as_catalogued(plan: WritePlan, toolbox: Toolbox, barred: Callable[[str], str | None]) -> WritePlan:
    """The plan with each write proved by the read that the catalogue names, where it can be asked and is not barred."""
    return plan.model_copy(update={"calls": tuple(_whole(call, toolbox, barred) for call in plan.calls)})


def _whole(call: PlannedCall, toolbox: Toolbox, barred: Callable[[str], str | None]) -> PlannedCall:
    undo = _proved(call.compensation, toolbox, barred) if call.compensation else None
    return _proved(call, toolbox, barred).model_copy(update={"compensation": undo})


def _proved(call: PlannedCall, toolbox: Toolbox, barred: Callable[[str], str | None]) -> PlannedCall:
    """The model's own read-back stays where it asks that very tool: it may know better with which arguments."""
    tool = toolbox.find(call.connection_id, call.tool)
    found = partner(tool, toolbox.tools.values()) if tool and tool.catalogue.read_back else None
    if tool is None or found is None or barred(found.reader.name):
        return call
    expect = dumps(plain(tool.catalogue.expect))
    if call.read_back and call.read_back.tool == found.reader.name:
        known = call.read_back.expect_json != "{}"
        own = call.read_back if known else call.read_back.model_copy(update={"expect_json": expect})
        return call.model_copy(update={"read_back": own})
    asked = found.asked_with(call.arguments, call.call_id)
    if asked is None or (not any(references(asked)) and problems_with(asked, found.reader)):
        return call
    shown = ReadBack(tool=found.reader.name, arguments_json=dumps(asked), expect_json=expect)
    return call.model_copy(update={"read_back": shown})
