"""Requests as a loop over the Messages API makes them, for tests of the planner's core."""

from collections.abc import Mapping

from services.planner.core.request import CALL_NOTE, PlannerReply, Request, parse_request
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, JsonObject, dumps

_TURNS = 8


def tool(name: str, /, **fields: str) -> JsonObject:
    """A tool whose fields are all required; ``amount="number"`` names a field and its JSON type."""
    return {
        "name": name,
        "description": "",
        "input_schema": {
            "type": "object",
            "properties": {field: {"type": kind} for field, kind in fields.items()},
            "required": list(fields),
        },
    }


def optional(made: JsonObject, *required: str) -> JsonObject:
    """The tool, of whose fields only these are required."""
    schema = made["input_schema"]
    assert isinstance(schema, dict)
    return {**made, "input_schema": {**schema, "required": [*required]}}


def writer(name: str, /, **fields: str) -> JsonObject:
    """The same with the object that a proposal carries."""
    return proposed(tool(name, **fields))


def proposed(made: JsonObject) -> JsonObject:
    schema = made["input_schema"]
    assert isinstance(schema, dict)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return {**made, "input_schema": {**schema, "properties": {**properties, CALL_NOTE: {"type": "object"}}}}


def fact(ref: str, name: str, arguments: JsonObject, result: Json) -> Json:
    return {"ref": ref, "tool": name, "arguments": arguments, "result": result}


def asked(sections: Mapping[str, Json], tools: list[Json] | None = None, state: str = "") -> Request:
    """One request, its history being a single user message; what was called before is told as ``so_far``."""
    system = f"Rules.\n# State: {state}\n" if state else "Rules."
    message: JsonObject = {"role": "user", "content": shown(sections)}
    return parse_request({"system": system, "messages": [message], "tools": tools or []})


def shown(sections: Mapping[str, Json]) -> str:
    """What a user message says."""
    return "\n\n".join(_section(name, value) for name, value in sections.items())


def _section(name: str, value: Json) -> str:
    text = value if isinstance(value, str) else dumps(value)
    defused = text.replace("</", "<\\/")
    return f"<{name}>\n{defused}\n</{name}>"


def said(sections: Mapping[str, Json], tools: list[Json] | None = None) -> PlannerReply:
    return reply(asked(sections, tools))


def planned(
    task: str, facts: list[Json], writers: list[Json], readers: list[Json] | None = None, **sections: Json
) -> PlannerReply:
    """The proposals for a task over facts, or the answer that says why there are none; a further read finds nothing."""
    names = {str(one["name"]) for one in readers or [] if isinstance(one, dict)}
    tools = [*(readers or []), *(proposed(one) for one in writers if isinstance(one, dict))]
    so_far = [*facts]
    for _ in range(_TURNS):
        answer = said({"task": task, **sections, "so_far": so_far}, tools)
        reads = [call for call in answer.calls if call[0] in names]
        if not reads:
            return answer
        so_far += [{"tool": name, "arguments": given, "result": "not found", "is_error": True} for name, given in reads]
    raise AssertionError("it goes on reading")


def calculated(task: str, facts: list[Json], *writers: Json) -> list[JsonObject]:
    """What is asked of ``calculate`` once the facts are known."""
    offered: list[Json] = [tool("calculate"), *(proposed(one) for one in writers if isinstance(one, dict))]
    return [given for name, given in said({"task": task, "so_far": facts}, offered).calls if name == "calculate"]


def calls(answer: PlannerReply) -> list[tuple[str, JsonObject]]:
    """What is proposed, without the note beside the arguments."""
    return [
        (name, {field: value for field, value in given.items() if field != CALL_NOTE}) for name, given in answer.calls
    ]


def links(answer: PlannerReply) -> list[Json]:
    """The notes of the proposals."""
    return [given.get(CALL_NOTE) for _, given in answer.calls]
