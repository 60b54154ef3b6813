"""Parts of a task that have nothing to do, as their own condition is not met: the loop is told so."""

from collections.abc import Sequence

from services.planner.core.compute import subject_of
from services.planner.core.intents import Intent
from services.planner.core.parts_of_task import number_of
from services.planner.core.request import LEAVE_PART, Request
from services.planner.core.situation import Situation
from services.planner.core.toolset import Toolset
from services.planner.core.writes import WriteStep
from shared.domain.exact_json import JsonObject


def departures(
    request: Request, situation: Situation, steps: Sequence[WriteStep], toolset: Toolset
) -> tuple[tuple[str, JsonObject], ...]:
    """A call for each part whose condition a result shows not to be met; none again, none where something is done."""
    if not toolset.has(LEAVE_PART):
        return ()
    told = {call.arguments.get("part") for call in request.calls if call.tool == LEAVE_PART}
    busy = {number_of(step.intent, request, situation, toolset.writers) for step in steps if step.calls}
    found: dict[int, JsonObject] = {}
    for step in steps:
        intent = step.intent
        if step.calls or not (step.reason.settled and intent.condition):
            continue
        part, ref = number_of(intent, request, situation, toolset.writers), _find_shown_by(intent, situation)
        if ref and part not in told | busy:
            found.setdefault(part, {"part": part, "because": f"{intent.condition}: {step.reason.why}", "ref": ref})
    return tuple((LEAVE_PART, given) for given in found.values())


def _find_shown_by(intent: Intent, situation: Situation) -> str:
    """The result that the condition was judged by: that of the record which the action is about, else the last."""
    record = subject_of(f"{intent.clause} {intent.condition}", situation)
    if record is not None:
        return record.fact.ref
    return situation.facts[-1].ref if situation.facts else ""
