"""What rules about tools refused in the plan before: moved, left out, or a reason to give the plan up."""

from services.planner.core.request import Request, objects
from shared.domain.exact_json import Json, JsonObject


def heeded(plan: JsonObject, request: Request) -> JsonObject:
    """The plan without the repetitions that were refused, and with what came too early at its end."""
    refused = {str(one.get("call_id")): one for one in objects(request.section("refused"))}
    calls = objects(plan["calls"])
    kept: list[JsonObject] = []
    later: list[JsonObject] = []
    for call in calls:
        refusal = refused.get(str(call.get("call_id")))
        if refusal is None:
            kept.append(call)
        elif refusal.get("kind") == "only_after":
            later.append(call)
        elif not _repeats(call, kept):
            return _given_up(plan, refusal)
    if later and not kept:
        return _given_up(plan, refused[str(later[0].get("call_id"))])
    ordered: list[Json] = [*kept, *later]
    return {**plan, "calls": ordered}


def _repeats(call: JsonObject, earlier: list[JsonObject]) -> bool:
    return any((one["tool"], one["arguments_json"]) == (call["tool"], call["arguments_json"]) for one in earlier)


def _given_up(plan: JsonObject, refusal: JsonObject) -> JsonObject:
    why = f"{refusal.get('tool')} is refused by rule {refusal.get('rule')}: {refusal.get('reason')}"
    return {**plan, "calls": [], "why_none": None, "cannot": why}
