"""One request as the planner sees it: its quoted sections, the tools, and every call so far; and the reply it gets."""

import re
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps, loads

UNDERSTAND = "understand"
CALCULATE = "calculate"
LOOK = "look"
LEAVE_PART = "leave_part"
FIND_TOOLS = "find_tools"
USE_TOOL = "use_tool"
LOCAL = frozenset({UNDERSTAND, CALCULATE, LOOK, LEAVE_PART, "what_would_policy_say", FIND_TOOLS, USE_TOOL})
CALL_NOTE = "_call"

_SECTION_PATTERN = re.compile(r"^<(?P<name>[a-z_]+)>\n?(?P<body>.*?)\n?</(?P=name)>$", re.M | re.S)
_STATE_PATTERN = re.compile(r"^# State: (?P<name>[A-Z _]+?)\s*$", re.M)
_NOTED_PATTERN = re.compile(r"^(?P<json>.*?)\s*\n\[(?P<ref>\w+)(?P<note>[^\n]*)\]\s*$", re.S)


class ToolSpec(NamedTuple):
    """A tool by name and schema. ``is_marked``: its schema has the object that only proposals carry."""

    name: str
    description: str
    properties: Mapping[str, JsonObject]
    required: tuple[str, ...]
    is_marked: bool = False


class Called(NamedTuple):
    """One call of the conversation and its result; ``turn`` counts the replies. ``result`` is text if it is no JSON.

    ``linked``: the arguments that the loop filled in itself, from answers of other calls.
    """

    tool: str
    arguments: JsonObject
    ref: str
    result: Json
    failed: bool = False
    note: str = ""
    turn: int = 0
    linked: frozenset[str] = frozenset()

    def has_asked(self, tool: str, arguments: JsonObject) -> bool:
        """Whether it is a call of that tool with these arguments, apart from those that the loop filled in."""
        own = {name: value for name, value in arguments.items() if name not in self.linked}
        return self.tool == tool and self.linked <= {*arguments} and self.arguments == own

    @property
    def key(self) -> str:
        return f"{self.tool} {dumps(self.arguments)}"


class Request(NamedTuple):
    """A request of the Messages API as the planner reads it. ``sections``: the last of each name. ``text``: the first
    message; ``said``: all messages.

    ``wrapped``: the tools among ``tools`` that must be called through ``use_tool``. ``has_lines``: whether the request
    has a line for each tool, so that tools are asked for by name.
    """

    state: str
    sections: Mapping[str, str]
    text: str
    tools: tuple[ToolSpec, ...]
    schema: JsonObject | None
    calls: tuple[Called, ...]
    turns: int = 0
    said: str = ""
    wrapped: frozenset[str] = frozenset()
    has_lines: bool = False

    @property
    def task(self) -> str:
        return self.sections.get("task", self.text)

    @property
    def loop_takes_proposals(self) -> bool:
        """Whether the executor holds this planner's writes as proposals until it releases them.

        It does if tools take the reserved argument ``_call``, or ``understand`` is offered; any other loop makes each
        call at once.
        """
        return any(tool.is_marked or tool.name == UNDERSTAND for tool in self.tools)

    def section(self, name: str) -> Json:
        """A section's JSON; None if it is absent or is not JSON."""
        try:
            return loads(self.sections[name]) if name in self.sections else None
        except ValueError:
            return None

    def has_called(self, tools: Sequence[ToolSpec]) -> bool:
        names = {tool.name for tool in tools}
        return any(call.tool in names for call in self.calls)

    def tool(self, name: str) -> ToolSpec | None:
        return next((tool for tool in self.tools if tool.name == name), None)


def now_of(request: Request) -> datetime | None:
    """The present time where the user is, as the loop tells it; None if it does not."""
    now_section = request.section("now")
    told = now_section.get("current_time") if isinstance(now_section, dict) else request.sections.get("now", "")
    return read_moment(str(told).strip(' "'))


def read_moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None


def objects(value: Json) -> list[JsonObject]:
    """The objects of a JSON list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def parse_request(body: JsonObject) -> Request:
    """Read a validated body of the Messages API."""
    messages = objects(body.get("messages"))
    texts = [_content_text(message.get("content")) for message in messages if message.get("role") == "user"]
    text = "\n".join(texts)
    state = _STATE_PATTERN.search(_content_text(body.get("system")))
    sections = {match["name"]: match["body"].replace("<\\/", "</") for match in _SECTION_PATTERN.finditer(text)}
    calls = (*_earlier_calls(sections.get("so_far", "")), *_read_calls(messages))
    listed = tuple(_parse_tool(tool) for tool in objects(body.get("tools")))
    lines = tuple(spec for tool in listed if tool.name == USE_TOOL for spec in read_tool_lines(tool.description))
    found_tools = _tools_found(calls, {tool.name for tool in listed})
    found_names = {tool.name for tool in found_tools}
    return Request(
        state=state["name"] if state else "",
        sections=sections,
        text=texts[0] if texts else "",
        tools=(*listed, *(tool for tool in lines if tool.name not in found_names), *found_tools),
        schema=_output_schema(body),
        calls=calls,
        turns=sum(message.get("role") == "assistant" for message in messages),
        said=text,
        wrapped=frozenset(tool.name for tool in (*lines, *found_tools)),
        has_lines=bool(lines),
    )


_LINE_PATTERN = re.compile(
    r"^(?P<writes>!?)(?P<name>[^\s()!:]+)(?:\((?P<arguments>[^()]*)\)(?:: (?P<said>.*))?)?$", re.M
)
_ARGUMENT_PATTERN = re.compile(r"(?P<name>[^?:]+)(?P<optional>\??)(?::(?P<type>.+))?")
_JSON_TYPES = frozenset("number integer boolean array object null".split())


def read_tool_lines(text: str) -> tuple[ToolSpec, ...]:
    """The tools that a text lists, one a line: ``!raise_fee(fee_id,amount:number,step:first|last,note?): ...``.

    A writing tool, marked ``!``, may have its name alone.
    """
    lines = (match for match in _LINE_PATTERN.finditer(text) if match["writes"] or match["arguments"] is not None)
    return tuple(map(_read_line, lines))


def _read_line(line: re.Match[str]) -> ToolSpec:
    argument_names = (line["arguments"] or "").split(",")
    arguments = [match for argument_name in argument_names if (match := _ARGUMENT_PATTERN.fullmatch(argument_name))]
    return ToolSpec(
        name=line["name"],
        description=line["said"] or "",
        properties={argument["name"]: _read_type(argument["type"] or "") for argument in arguments},
        required=tuple(argument["name"] for argument in arguments if not argument["optional"]),
        is_marked=bool(line["writes"]),
    )


def _read_type(type_text: str) -> JsonObject:
    if type_text in _JSON_TYPES:
        return {"type": type_text}
    if "|" in type_text:
        choices: list[Json] = [*type_text.split("|")]
        return {"type": "string", "enum": choices}
    return {"type": "string", "format": type_text} if type_text else {"type": "string"}


def _tools_found(calls: Sequence[Called], listed: Container[str]) -> tuple[ToolSpec, ...]:
    """The tools that searches have shown and that do not stand in the request, each once."""
    tool_objects = [tool for one in calls if one.tool == FIND_TOOLS and not one.failed for tool in objects(one.result)]
    specs = {spec.name: spec for spec in map(_parse_tool, tool_objects) if spec.name not in listed}
    return tuple(specs[name] for name in sorted(specs))


def _parse_tool(tool: JsonObject) -> ToolSpec:
    schema = as_object(tool.get("input_schema"))
    properties, required = as_object(schema.get("properties")), schema.get("required")
    fields = {name: field for name, field in properties.items() if isinstance(field, dict) and name != CALL_NOTE}
    needed = tuple(str(name) for name in required) if isinstance(required, list) else ()
    return ToolSpec(
        name=str(tool.get("name", "")),
        description=str(tool.get("description") or ""),
        properties=fields,
        required=tuple(name for name in needed if name in fields),
        is_marked=CALL_NOTE in properties,
    )


def _output_schema(body: JsonObject) -> JsonObject | None:
    form = as_object(as_object(body.get("output_config")).get("format"))
    schema = form.get("schema")
    return schema if isinstance(schema, dict) else None


def _content_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in objects(content) if block.get("type") == "text")


def _earlier_calls(so_far: str) -> list[Called]:
    """The calls that a new history is told of."""
    try:
        call_objects = objects(loads(so_far)) if so_far else []
    except ValueError:
        return []
    return [_read_section_call(call_object, number) for number, call_object in enumerate(call_objects, 1)]


def _read_section_call(call: JsonObject, number: int) -> Called:
    result, note = call.get("result"), ""
    if isinstance(result, str):
        result, _, note = _read_result(result)
    failed = call.get("is_error") is True or bool(call.get("error"))
    ref = str(call.get("ref") or f"f{number}")
    arguments = as_object(call.get("arguments"))
    return Called(
        str(call.get("tool")), _arguments(arguments), ref, result, failed, note, linked=_find_links(arguments)
    )


def _arguments(arguments: JsonObject) -> JsonObject:
    """A call's arguments without the loop's note and without references to results of earlier calls."""
    return {name: value for name, value in arguments.items() if name != CALL_NOTE and not _is_reference(value)}


def _find_links(arguments: JsonObject) -> frozenset[str]:
    noted = as_object(as_object(arguments.get(CALL_NOTE)).get("from"))
    return frozenset((*noted, *(name for name, value in arguments.items() if _is_reference(value))))


def _is_reference(value: Json) -> bool:
    return isinstance(value, dict) and [*value] == ["$ref"]


def _read_calls(messages: list[JsonObject]) -> list[Called]:
    blocks = [block for message in messages for block in objects(message.get("content"))]
    answers = {str(block.get("tool_use_id")): block for block in blocks if block.get("type") == "tool_result"}
    calls: list[Called] = []
    replies = [message for message in messages if message.get("role") == "assistant"]
    for turn, message in enumerate(replies, 1):
        for use in objects(message.get("content")):
            if use.get("type") == "tool_use" and str(use.get("id")) in answers:
                calls.append(_read_call(use, answers[str(use["id"])], turn, len(calls) + 1))
    return calls


def _read_call(use: JsonObject, answer: JsonObject, turn: int, place: int) -> Called:
    content = answer.get("content")
    result, ref, note = _read_result(content if isinstance(content, str) else _content_text(content))
    failed = answer.get("is_error") is True
    name, arguments = _unwrap_use_tool(str(use.get("name")), as_object(use.get("input")))
    own, linked = _arguments(arguments), _find_links(arguments)
    return Called(name, own, ref or f"f{place}", result, failed, note, turn, linked)


def _unwrap_use_tool(name: str, arguments: JsonObject) -> tuple[str, JsonObject]:
    """The tool's name and arguments of a call; of one by way of ``use_tool`` those of the tool that it names."""
    if name != USE_TOOL:
        return name, arguments
    note: JsonObject = {CALL_NOTE: arguments[CALL_NOTE]} if CALL_NOTE in arguments else {}
    return str(arguments.get("tool")), {**as_object(arguments.get("arguments")), **note}


def _read_result(text: str) -> tuple[Json, str, str]:
    """A result's JSON (its text, if it is none), its ref and the note behind it; both are empty if it has none."""
    noted = _NOTED_PATTERN.match(text)
    body, ref, note = (noted["json"], noted["ref"], noted["note"]) if noted else (text, "", "")
    try:
        return loads(body), ref, note
    except ValueError:
        return text, ref, note


Call = tuple[str, JsonObject]


class PlannerReply(NamedTuple):
    """The planner's reply: a text, or calls to make."""

    text: str = ""
    calls: tuple[Call, ...] = ()
