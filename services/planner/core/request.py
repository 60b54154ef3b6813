"""One request as the planner sees it: the state, the quoted sections, the tools, and what tools answered so far."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, loads

_SECTION = re.compile(r"^<(?P<name>[a-z_]+)>\n(?P<body>.*?)\n</(?P=name)>$", re.M | re.S)
_NOT_USED = frozenset({"fetch_all_matching"})  # shows part of what another tool reads; all of it is understood here
_STATE = re.compile(r"^# State: (?P<name>[A-Z _]+?)\s*$", re.M)


class ToolSpec(NamedTuple):
    """A tool by name and schema. ``connection`` is empty for a tool that is offered for calling."""

    name: str
    description: str
    schema: JsonObject
    connection: str = ""

    @property
    def properties(self) -> dict[str, JsonObject]:
        given = self.schema.get("properties")
        fields = given if isinstance(given, dict) else {}
        return {name: schema for name, schema in fields.items() if isinstance(schema, dict)}

    @property
    def required(self) -> tuple[str, ...]:
        given = self.schema.get("required")
        return tuple(str(name) for name in given) if isinstance(given, list) else ()


class Called(NamedTuple):
    """A call made earlier in this conversation and what it gave."""

    tool: str
    arguments: JsonObject
    content: str
    failed: bool


class Request(NamedTuple):
    state: str
    sections: Mapping[str, str]
    text: str
    tools: tuple[ToolSpec, ...]
    schema: JsonObject | None
    calls: tuple[Called, ...]

    @property
    def task(self) -> str:
        return self.sections.get("task", self.text)

    def section(self, name: str) -> Json:
        """A section's JSON; None if it is absent or is not JSON."""
        try:
            return loads(self.sections[name]) if name in self.sections else None
        except ValueError:
            return None

    def listed_tools(self, name: str) -> tuple[ToolSpec, ...]:
        return tuple(_spec(tool) for tool in objects(self.section(name)))


def objects(value: Json) -> list[JsonObject]:
    """The objects of a JSON list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def parse(body: JsonObject) -> Request:
    """Read a validated body of the Messages API."""
    messages = objects(body.get("messages"))
    text = "\n".join(_text(message.get("content")) for message in messages if message.get("role") == "user")
    state = _STATE.search(_text(body.get("system")))
    return Request(
        state=state["name"] if state else "",
        sections={match["name"]: match["body"].replace("<\\/", "</") for match in _SECTION.finditer(text)},
        text=text,
        tools=tuple(_spec(tool) for tool in objects(body.get("tools")) if tool.get("name") not in _NOT_USED),
        schema=_schema(body),
        calls=_calls(messages),
    )


def _spec(tool: JsonObject) -> ToolSpec:
    schema = tool.get("input_schema")
    return ToolSpec(
        name=str(tool.get("name", "")),
        description=str(tool.get("description") or ""),
        schema=schema if isinstance(schema, dict) else {},
        connection=str(tool.get("connection") or ""),
    )


def _schema(body: JsonObject) -> JsonObject | None:
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    schema = form.get("schema") if isinstance(form, dict) else None
    return schema if isinstance(schema, dict) else None


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in objects(content) if block.get("type") == "text")


def _calls(messages: list[JsonObject]) -> tuple[Called, ...]:
    blocks = [block for message in messages for block in objects(message.get("content"))]
    answers = {str(block.get("tool_use_id")): block for block in blocks if block.get("type") == "tool_result"}
    uses = [block for block in blocks if block.get("type") == "tool_use" and str(block.get("id")) in answers]
    return tuple(_called(use, answers[str(use["id"])]) for use in uses)


def _called(use: JsonObject, answer: JsonObject) -> Called:
    arguments = use.get("input")
    return Called(
        tool=str(use.get("name")),
        arguments=arguments if isinstance(arguments, dict) else {},
        content=_text(answer.get("content")),
        failed=answer.get("is_error") is True,
    )
