"""Chooses the reply to a request: the next turn of a task's conversation, or the answer to a short question about
it.
"""

from collections.abc import Callable, Mapping

from services.planner.core import checks, facts, general, improve, tool_making, translate
from services.planner.core.answer import compose_artifact
from services.planner.core.request import PlannerReply, Request
from services.planner.core.situation import observe_situation
from services.planner.core.turn import next_reply
from shared.domain.exact_json import JsonObject, dumps

_STRUCTURED: Mapping[str, Callable[[Request], JsonObject]] = {
    "COVERAGE": checks.find_uncovered_parts,
    "DOCUMENT": lambda request: improve.fill_document(request, observe_situation(request)),
    "FACTS": facts.extract_facts,
    "MAKE TOOL": tool_making.make_function,
    "NEW PROCESS": general.draft_process,
    "STAND IN": checks.find_substitute_read,
    "TOOL CASES": tool_making.make_cases,
    "TOOL GAP": tool_making.find_gaps,
    "TRANSLATE POLICY": translate.translate_policy,
}
_TEXTS: Mapping[str, Callable[[Request], str]] = {
    "ARTIFACT": compose_artifact,
    "IMPROVE": lambda request: improve.improve_answer(request, observe_situation(request)),
    "SUMMARIZE": general.summarize,
}


def reply(request: Request, heedless: bool = False) -> PlannerReply:
    """The planner's reply, which depends on the request alone. ``heedless``: as for ``next_reply``."""
    if request.state in _STRUCTURED:
        return PlannerReply(dumps(_STRUCTURED[request.state](request)))
    if request.state in _TEXTS:
        return PlannerReply(_TEXTS[request.state](request))
    if request.state or request.schema is not None:
        return PlannerReply(general.fill_schema(request))
    return next_reply(request, heedless)
