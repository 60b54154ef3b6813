"""One reply for one request: what each state asks, and a general answer for any other role."""

from typing import NamedTuple

from services.planner.core import (
    answer,
    audit,
    classify,
    compute,
    corrected,
    decompose,
    document,
    facts,
    general,
    improve,
    known_formulas,
    new_process,
    next_turn,
    plan,
    process,
    read_plan,
    reads,
    refused,
    summarize,
    tending_roles,
    tool_making,
    translate,
)
from services.planner.core.request import Request, objects
from services.planner.core.situation import Situation, observe
from shared.domain.exact_json import Json, JsonObject, dumps


class Reply(NamedTuple):
    """Text, or calls to make."""

    text: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()


def reply(request: Request, ignores_policy: bool = False) -> Reply:
    """The planner's reply; it depends on the request alone. ``ignores_policy`` is a fault: no condition is heeded."""
    match request.state:
        case "DECOMPOSE":
            return Reply(dumps(decompose.decompose(observe(request))))
        case "ASSESS":
            return _assess(request)
        case "COMPUTE":
            return _with_made(request, _compute(observe(request)))
        case "AUDIT":
            return Reply(dumps(audit.audit(request)))
        case "WRITE PLAN":
            return Reply(dumps(_plan(request, ignores_policy)))
        case "PLAN":
            return Reply(dumps(read_plan.read_plan(request, observe(request))))
        case "CONCLUDE":
            return _with_made(request, _conclude(request))
        case "COMPLETE":
            situation = observe(request)
            if tending_roles.now_of(request):
                return Reply(tending_roles.account(request, situation))
            return Reply(improve.with_outputs(request, situation, answer.answer(request, situation)))
        case "TRANSLATE POLICY":
            return Reply(dumps(translate.translate(request)))
        case "CLASSIFY":
            return Reply(dumps(classify.classify(request)))
        case "NEW PROCESS":
            return Reply(dumps(new_process.new_process(request)))
        case "TOOL GAP":
            return Reply(dumps(tool_making.gaps(request)))
        case "MAKE TOOL":
            return Reply(dumps(tool_making.function(request)))
        case "TOOL CASES":
            return Reply(dumps(tool_making.cases(request)))
        case "NEXT TURN":
            return Reply(dumps(next_turn.next_turn(request)))
        case "IMPROVE":
            return Reply(improve.improve(request, observe(request)))
        case "DOCUMENT":
            return Reply(dumps(document.document(request, observe(request))))
        case "FACTS":
            return Reply(dumps(facts.facts(request)))
        case "SUMMARIZE":
            return Reply(summarize.summary(request))
        case _:
            return Reply(general.fill(request))


def _conclude(request: Request) -> JsonObject:
    situation = observe(request)
    return {**_compute(situation), "findings": _findings(situation)}


def _with_made(request: Request, concluded: JsonObject) -> Reply:
    """The figures, and those of calculators that were made for the task, once these have answered."""
    situation = observe(request)
    made_here = tool_making.calculations(request, situation)
    own = {one["operation"] for one in made_here}
    known = [one for one in known_formulas.calculations(request, situation) if one["operation"] not in own]
    asked = [*made_here, *known]
    if calls := tool_making.unasked(request, asked):
        return Reply(calls=calls)
    made = tool_making.answered(request, asked)
    names = {str(value["name"]) for value in objects(made)}
    others = [value for value in objects(concluded.get("values")) if value.get("name") not in names]
    return Reply(dumps(corrected.computed({**concluded, "values": [*made, *others]}, request)))


def _assess(request: Request) -> Reply:
    situation = observe(request)
    tends = tending_roles.now_of(request) is not None
    found = tending_roles.lists_to_read(request, situation) if tends else reads.next_reads(request, situation)
    if found:
        return Reply(calls=tuple((bound.tool.name, bound.arguments) for bound in found))
    return Reply(_findings(situation))


def _findings(situation: Situation) -> str:
    if not situation.facts:
        return "Nothing could be read: no read tool fits what the task names."
    tools = sorted({fact.tool for fact in situation.facts})
    empty = sorted({fact.tool for fact in situation.facts if not any(r.fact == fact for r in situation.records)})
    missing = f" Nothing was found by {', '.join(empty)}." if empty else ""
    return f"Read {len(situation.records)} records with {', '.join(tools)}.{missing}"


def _compute(situation: Situation) -> JsonObject:
    values: list[Json] = [figure.as_json() for figure in compute.figures(situation)]
    return {"values": values}


def _plan(request: Request, ignores_policy: bool) -> JsonObject:
    situation = _heedless(observe(request)) if ignores_policy else observe(request)
    writers, readers = request.listed_tools("write_tools"), request.listed_tools("read_tools")
    if now := tending_roles.now_of(request):
        return refused.heeded(corrected.planned(tending_roles.plan_of_turn(situation, writers, now), request), request)
    found = plan.plan(situation, writers, readers)
    told = process.with_notice(situation, process.process_of(request))
    if told is not situation and found.calls:
        found = plan.plan(told, writers, readers)
    planned = plan.as_json(found, situation, readers)
    return refused.heeded(corrected.planned(planned, request), request)


def _heedless(situation: Situation) -> Situation:
    reading = situation.reading
    actions = tuple(intent._replace(condition="") for intent in reading.actions)
    return situation._replace(reading=reading._replace(actions=actions, forbidden=()))
