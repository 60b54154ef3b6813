"""What a refusal of the answer before asks for: what it names is left out, or the plan is given up, saying why."""

import re

from services.planner.core.request import Request, objects
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_CALL = re.compile(r"\b(c\d+)\b")
_AS_IT_WAS = re.compile(r"\bgive the plan as it was\b")  # a wish, which a plan may leave open


def computed(values: JsonObject, request: Request) -> JsonObject:
    """The values without those that the audit refused, nor those that rest on them."""
    refused = f"{request.sections.get('correction', '')} {request.sections.get('refused', '')}".strip()
    if not refused:
        return values
    kept: list[JsonObject] = []
    dropped: set[str] = set()
    for value in objects(values.get("values")):
        name, operands = str(value.get("name")), objects(value.get("operands"))
        if re.search(rf"\b{re.escape(name)}\b", refused) or any(one.get("ref") in dropped for one in operands):
            dropped.add(name)
        else:
            kept.append(value)
    return {**values, "values": [*kept]}


def planned(plan: JsonObject, request: Request) -> JsonObject:
    """The plan without the optional arguments that were refused; what cannot be mended so is not put again."""
    refused = request.sections.get("correction", "").strip()
    if not refused or not plan["calls"] or _AS_IT_WAS.search(refused):
        return plan
    named = {*_CALL.findall(refused)}
    calls = [_mended(call, refused, request) if call.get("call_id") in named else call for call in _calls(plan)]
    if named and calls != _calls(plan):
        return {**plan, "calls": [*calls]}
    return {**plan, "calls": [], "why_none": None, "cannot": f"The plan was refused and there is no other: {refused}"}


def _calls(plan: JsonObject) -> list[JsonObject]:
    return objects(plan["calls"])


def _mended(call: JsonObject, refused: str, request: Request) -> JsonObject:
    """A call without what the refusal speaks of, if it can do without: an optional argument, the read-back."""
    if f"{call['call_id']}.read_back" in refused:
        return {**call, "read_back": None}
    tool = next((one for one in request.listed_tools("write_tools") if one.name == call.get("tool")), None)
    given = loads_object(str(call["arguments_json"]))
    needed = tool.required if tool else tuple(given)
    kept: JsonObject = {
        name: value for name, value in given.items() if name in needed or not _spoken_of(name, value, refused)
    }
    origins: list[Json] = [one for one in objects(call.get("origins")) if one.get("argument") in kept]
    return call if kept == given else {**call, "arguments_json": dumps(kept), "origins": origins}


def _spoken_of(name: str, value: Json, refused: str) -> bool:
    words = {name, *re.findall(r"[\w.-]*\d[\w.-]*", value if isinstance(value, str) else dumps(value))}
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", refused) for word in words)
