"""The tools of a request: our own first, then the servers' as they describe them; the same array for the whole task."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.toolbox import MOST_COMPILED, Toolbox, schema_of
from services.executor.core.tools.validate import key_field
from services.executor.ports.models import ToolDefinition, ToolUse
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.identity_cache import IdentityCache, SameTuples
from shared.domain.keywords import stem
from shared.domain.words import ToolClass

CALL = "_call"  # the one argument of a write that is ours
WRITES = (ToolClass.CHANGE, ToolClass.NOTIFY)
_MOST_SHOWN = 150_000  # characters of all definitions; beyond that they are searched
_DESCRIPTION_MOST = 2_000
_FOUND_MOST = 8
_CALL_SCHEMA: dict[str, JsonValue] = {"type": "object"}  # the rules say once for all writes what stands in it
WHAT_WOULD_POLICY_SAY = ToolDefinition(
    "what_would_policy_say",
    "What the rules would say of a call that is not made: would it pass, be blocked, or wait for a person, and why.",
    {
        "type": "object",
        "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    },
)
LEAVE_PART = ToolDefinition(
    "leave_part",
    "Leave a part undone because a condition that the task itself sets for it is not met, as a result shows (one over "
    "figures is better worked out with `calculate`, naming the part); or a part to find out that has no answer. The "
    "answer tells it, too.",
    {
        "type": "object",
        "properties": {
            "part": {"type": "integer"},
            "because": {"type": "string", "description": "the condition and what the result says, or what is missing"},
            "ref": {"type": "string", "description": "of a condition: the result that shows it, such as r2"},
        },
        "required": ["part", "because"],
        "additionalProperties": False,
    },
    strict=False,
)
FIND_TOOLS = ToolDefinition(
    "find_tools",
    "The servers have too many tools to list here. Search them by words; the result has names, descriptions, schemas.",
    {
        "type": "object",
        "properties": {"words": {"type": "string"}},
        "required": ["words"],
        "additionalProperties": False,
    },
)
USE_TOOL = ToolDefinition(
    "use_tool",
    "Call a tool that `find_tools` has shown, as if it stood here itself.",
    {
        "type": "object",
        "properties": {
            "tool": {"type": "string"},
            "arguments": {"type": "object"},
            CALL: cast(JsonValue, _CALL_SCHEMA),
        },
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    },
)


def offered_tools(
    toolbox: Toolbox, local: Sequence[ToolDefinition], *, is_asked_only: bool = False
) -> tuple[ToolDefinition, ...]:
    """The local tools, then every tool of the servers in one fixed order; or a search over them where they are many.

    ``is_asked_only``: nothing can be proposed, so tools that write have their arguments by name alone.
    """
    if is_wide(toolbox):
        return _same((*local, USE_TOOL))  # ``find_tools`` is among the local ones
    return _same((*local, *(_outlines_of if is_asked_only else _definitions_of)(toolbox.tools)))


def is_wide(toolbox: Toolbox) -> bool:
    """Whether the servers' tools are too many to stand in every request."""
    return _length(toolbox.tools) > _MOST_SHOWN


def find_tools(words: str, toolbox: Toolbox) -> list[Json]:
    """The tools whose names and descriptions have the most of the words, the best first."""
    wanted = _stems(words)
    scored = [(_score(name, tool, wanted), name) for name, tool in toolbox.tools.items()]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))[:_FOUND_MOST]
    return [_as_data(_definition(name, toolbox.tools[name])) for _, name in best]


def unwrap(use: ToolUse) -> ToolUse:
    """A call that came by ``use_tool``, as the call of the tool that it names."""
    if use.name != USE_TOOL.name:
        return use
    given = use.input.get("arguments")
    arguments: JsonObject = dict(given) if isinstance(given, dict) else {}
    if CALL in use.input:
        arguments[CALL] = use.input[CALL]
    return ToolUse(use.id, str(use.input.get("tool", "")), arguments)


def _definition(name: str, tool: Tool) -> ToolDefinition:
    """The same object for the same tool and name, so that what follows from it is worked out once."""
    made = _definitions(tool)
    if name not in made:
        made[name] = _define(name, tool)
    return made[name]


def _define(name: str, tool: Tool) -> ToolDefinition:
    description = tool.description[:_DESCRIPTION_MOST]
    return ToolDefinition(name, description, _with_call(tool) if tool.tool_class in WRITES else schema_of(tool))


def _outline(name: str, tool: Tool) -> ToolDefinition:
    """A tool as who can write nothing has to know it: a write without what its arguments have to be."""
    whole = _definition(name, tool)
    if tool.tool_class not in WRITES:
        return whole
    properties = whole.input_schema.get("properties")
    named: dict[str, JsonValue] = {one: {} for one in properties} if isinstance(properties, dict) else {}
    schema: dict[str, JsonValue] = {"type": "object", "properties": named}
    if required := whole.input_schema.get("required"):
        schema["required"] = required
    return whole._replace(input_schema=schema)


def _with_call(tool: Tool) -> Mapping[str, JsonValue]:
    """A write's schema with our argument, and without the one that is ours to fill: the idempotency key."""
    schema = dict(schema_of(tool))
    properties = schema.get("properties")
    own = dict(properties) if isinstance(properties, dict) else {}
    if key := key_field(tool):
        own.pop(key, None)
        required = schema.get("required")
        schema["required"] = [name for name in required if name != key] if isinstance(required, list) else []
    return {**schema, "type": "object", "properties": {**own, CALL: cast(JsonValue, _CALL_SCHEMA)}}


def _as_data(tool: ToolDefinition) -> Json:
    schema = cast(Json, dict(tool.input_schema))
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _measure(tool: Tool) -> int:
    return len(tool.name) + min(len(tool.description), _DESCRIPTION_MOST) + len(dumps(tool.input_schema))


# A listing is compiled to one toolbox, which many tasks have in common.
_length: IdentityCache[Mapping[str, Tool], int] = IdentityCache(lambda tools: sum(map(_measure, tools.values())), 64)
_definitions_of: IdentityCache[Mapping[str, Tool], tuple[ToolDefinition, ...]] = IdentityCache(
    lambda tools: tuple(_definition(name, tool) for name, tool in tools.items()), 64
)
_outlines_of: IdentityCache[Mapping[str, Tool], tuple[ToolDefinition, ...]] = IdentityCache(
    lambda tools: tuple(_outline(name, tool) for name, tool in tools.items()), 64
)
_same = SameTuples[ToolDefinition](32)  # what requests need of all tools together is worked out once for many tasks
_definitions: IdentityCache[Tool, dict[str, ToolDefinition]] = IdentityCache(lambda _: {}, MOST_COMPILED)


def _score(name: str, tool: Tool, wanted: frozenset[str]) -> int:
    return 3 * len(wanted & _stems(name)) + len(wanted & _stems(tool.description))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(text))


def names_of(tools: Iterable[ToolDefinition]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools)
