"""Requests as the executor makes them, for tests of the planner's core."""

from collections.abc import Mapping

from services.executor.core.prompts.sections import render
from services.executor.core.prompts.texts import load
from services.planner.core.request import Request, parse
from services.planner.core.roles import Reply, reply
from shared.domain.exact_json import Json, JsonObject, loads_object

_PROMPTS = load()
_STATES = {
    "DECOMPOSE": _PROMPTS.decompose,
    "ASSESS": _PROMPTS.assess,
    "COMPUTE": _PROMPTS.compute,
    "WRITE PLAN": _PROMPTS.plan,
    "PLAN": _PROMPTS.plan_reads,
    "COMPLETE": _PROMPTS.complete,
}


def tool(name: str, connection: str = "", **fields: str) -> JsonObject:
    """A tool whose fields are all required; ``amount="number"`` names a field and its JSON type."""
    return {
        "name": name,
        "description": "",
        "connection": connection,
        "input_schema": {
            "type": "object",
            "properties": {field: {"type": kind} for field, kind in fields.items()},
            "required": list(fields),
        },
    }


def fact(ref: str, name: str, arguments: JsonObject, result: Json) -> Json:
    return {"ref": ref, "tool": name, "arguments": arguments, "result": result}


def asked(state: str, sections: Mapping[str, Json], tools: list[Json] | None = None) -> Request:
    """One request of a state, its message history being a single user message."""
    body: JsonObject = {
        "system": [{"type": "text", "text": _PROMPTS.role}, {"type": "text", "text": _STATES[state]}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": render(sections)}]}],
        "tools": tools or [],
    }
    return parse(body)


def said(state: str, sections: Mapping[str, Json], tools: list[Json] | None = None) -> Reply:
    return reply(asked(state, sections, tools))


def answered(state: str, sections: Mapping[str, Json]) -> JsonObject:
    """The structured answer of a state."""
    return loads_object(said(state, sections).text)


def planned(task: str, facts: list[Json], writers: list[Json], readers: list[Json] | None = None) -> JsonObject:
    """The plan for a task over facts, the values computed first as the executor has it."""
    sections: dict[str, Json] = {"task": task, "facts": facts}
    values = answered("COMPUTE", sections)["values"]
    return answered("WRITE PLAN", {**sections, "values": values, "write_tools": writers, "read_tools": readers or []})


def calls(plan: JsonObject) -> list[tuple[str, JsonObject]]:
    found = plan["calls"]
    listed = [call for call in found if isinstance(call, dict)] if isinstance(found, list) else []
    return [(str(call["tool"]), loads_object(str(call["arguments_json"]))) for call in listed]
