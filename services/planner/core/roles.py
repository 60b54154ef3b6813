"""One reply for one request: the next turn of a task's conversation, or the answer to a short question beside it."""

from collections.abc import Callable, Mapping

from services.planner.core import (
    checks,
    document,
    facts,
    general,
    improve,
    new_process,
    summarize,
    tool_making,
    translate,
)
from services.planner.core.answer import artifact
from services.planner.core.request import PlannerReply, Request
from services.planner.core.situation import observe
from services.planner.core.turn import next_reply
from shared.domain.exact_json import JsonObject, dumps

_STRUCTURED: Mapping[str, Callable[[Request], JsonObject]] = {
    "COVERAGE": checks.find_uncovered_parts,
    "DOCUMENT": lambda request: document.document(request, observe(request)),
    "FACTS": facts.facts,
    "MAKE TOOL": tool_making.function,
    "NEW PROCESS": new_process.new_process,
    "STAND IN": checks.stand_in,
    "TOOL CASES": tool_making.cases,
    "TOOL GAP": tool_making.gaps,
    "TRANSLATE POLICY": translate.translate,
}
_TEXTS: Mapping[str, Callable[[Request], str]] = {
    "ARTIFACT": artifact,
    "IMPROVE": lambda request: improve.improve(request, observe(request)),
    "SUMMARIZE": summarize.summary,
}


def reply(request: Request, heedless: bool = False, hasty: bool = False) -> PlannerReply:
    """The planner's reply; it depends on the request alone. The faults are those of ``next_reply``."""
    if request.state in _STRUCTURED:
        return PlannerReply(dumps(_STRUCTURED[request.state](request)))
    if request.state in _TEXTS:
        return PlannerReply(_TEXTS[request.state](request))
    if request.state or request.schema is not None:
        return PlannerReply(general.fill(request))
    return next_reply(request, heedless, hasty)
