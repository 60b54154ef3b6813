"""The tools of one run: their unambiguous names, how a model is offered them, and what their arguments must be."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple, cast

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from services.executor.core.tools.name_similarity import singular, stems_of, words_of
from services.executor.core.tools.record_tree import NO_KEYS, RecordKeys
from services.executor.ports.tools import AGENT_TASK, CALL_ID, MESSAGE, PARTS, Tool
from shared.contracts.ledger import LedgerEntry
from shared.contracts.tenant import Connection, RecordKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, to_builtins, to_exact, walk_json
from shared.domain.identity_cache import IdentityCache, InternedTuples, cached_by_identity
from shared.domain.words import ToolClass
from shared.ports.models import ToolDefinition, ToolUse

_NONE_DECLARED: Mapping[str, RecordKind] = MappingProxyType({})
MOST_COMPILED = 4_096  # tools of which is kept what was worked out once


class Toolbox(NamedTuple):
    """Tools by the name that a model uses: the tool's own, or ``connection__tool`` where two servers have the same
    name.

    ``keys``: the key fields of the records that tools take and show.
    """

    tools: Mapping[str, Tool]
    connections: Mapping[str, Connection]
    keys: RecordKeys = NO_KEYS

    @property
    def names(self) -> frozenset[str]:
        """The names that rules may use for the tools; the empty name stands for any tool."""
        return _names_of(self.tools)

    def is_read_tool(self, name: str) -> bool:
        """Whether a call of this name is made at once: the tool is known, and changes nothing."""
        tool = self.tools.get(name)
        return tool is not None and tool.tool_class in (ToolClass.READ, ToolClass.COMPUTE)

    def find_tool(self, connection_id: str, name: str) -> Tool | None:
        """The tool of that connection; without a connection, the only tool of that name. None if there is none."""
        found = [
            tool for tool in self.tools.values() if tool.name == name and connection_id in ("", tool.connection_id)
        ]
        return found[0] if len(found) == 1 else None

    def connection_of(self, tool: Tool) -> Connection:
        return self.connections[tool.connection_id]


def build_toolbox(
    discovered: Iterable[tuple[Connection, Iterable[Tool]]], records: Mapping[str, RecordKind] = _NONE_DECLARED
) -> Toolbox:
    """A toolbox of all servers' tools, sorted by name, then connection. ``records``: as the tenant declares them."""
    connections: dict[str, Connection] = {}
    everything: list[Tool] = []
    for connection, tools in discovered:
        connections[connection.id] = connection
        everything += tools
    named = _assign_unique_names(_same_tools(tuple(everything)))
    return Toolbox(named, connections, build_record_keys(records, named))


def build_record_keys(records: Mapping[str, RecordKind], tools: Mapping[str, Tool]) -> RecordKeys:
    """The key fields that a tenant declares, with the words for each kind, and the tools that read."""
    kinds = [(tuple(map(singular, words_of(kind))), one) for kind, one in records.items()]
    return RecordKeys(
        tuple((key, kind) for kind, one in kinds for key in one.keys_by_name),
        tuple((tool, kind) for kind, one in kinds for tool in one.reads),
        _names_of_readers(tools),
        tuple(names for _, one in kinds for names in one.keys_by_name.items()),
    )


def _reads_by_a_key(tool: Tool) -> bool:
    """Whether a read tool needs nothing but a key. One that needs more may be no read at all."""
    return tool.tool_class is ToolClass.READ and len(tool.required) <= 1


_names_of_readers = IdentityCache[Mapping[str, Tool], frozenset[str]](
    lambda tools: frozenset(tool.name for tool in tools.values() if _reads_by_a_key(tool)), 64
)


@cached_by_identity(64)  # by tools that were listed together: the same mapping for many tasks
def _assign_unique_names(tools: tuple[Tool, ...]) -> Mapping[str, Tool]:
    ordered = sorted(tools, key=lambda tool: (tool.name, tool.connection_id))
    times = Counter(tool.name for tool in ordered)
    names = [f"{tool.connection_id}__{tool.name}" if times[tool.name] > 1 else tool.name for tool in ordered]
    return MappingProxyType(dict(zip(names, ordered, strict=True)))


_names_of = IdentityCache[Mapping[str, Tool], frozenset[str]](
    lambda tools: frozenset(tools).union(("",), (tool.name for tool in tools.values())), 64
)
_same_tools = InternedTuples[Tool](64)
# The schema as a library takes it; the same object for the same tool.
_wire_schema: IdentityCache[Tool, Mapping[str, JsonValue]] = IdentityCache(
    lambda tool: cast("Mapping[str, JsonValue]", to_builtins(tool.input_schema)), MOST_COMPILED
)
WRITES = (ToolClass.CHANGE, ToolClass.NOTIFY)
MOST_SENDINGS = 3  # of one write, the first included; then a person is asked
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


def key_argument(tool: Tool) -> str | None:
    """The argument for the executor's idempotency key, if the catalogue names one that the tool has; else None."""
    name = tool.catalogue.idempotency_field
    return name if name and name in tool.parameters else None


def arguments_to_send(entry: LedgerEntry, tool: Tool) -> JsonObject:
    """The arguments to send: the planned ones, with the executor's idempotency key.

    For a skill the key is the id of the message. A person's answer to an agent is sent in place of the planned
    arguments, to the agent's task that asked, with an id of its own.
    """
    arguments = loads_object(entry.arguments_json)
    if not tool.is_skill:
        return {**arguments, entry.idempotency_field: entry.key} if entry.idempotency_field else arguments
    agent = entry.agent
    if agent is None:
        return {**arguments, CALL_ID: entry.key}
    if agent.reply is None:
        return {**arguments, CALL_ID: entry.key, AGENT_TASK: agent.task}
    parts: JsonObject = {PARTS: [to_exact(part) for part in agent.reply_parts]} if agent.reply_parts else {}
    return {MESSAGE: agent.reply, **parts, CALL_ID: f"{entry.key}-{agent.replies}", AGENT_TASK: agent.task}


def problems_with(arguments: JsonObject, tool: Tool) -> str | None:
    """What is wrong with the arguments, naming each field; None if they fit. Numbers are compared exactly (I8).

    A write may have no argument that its tool does not declare, unless the schema permits others: rules would not see
    it. A schema that is invalid, endless or refers to something outside itself lets everything pass: the server will
    judge. What a schema refers to is never fetched. The executor's idempotency key counts as given.
    """
    if (key := key_argument(tool)) and key not in arguments:
        arguments = {**arguments, key: "key"}
    try:
        validator = _validator_of(tool)
        found = validator.iter_errors(cast("Mapping[str, str]", arguments)) if validator else ()
        errors = sorted(found, key=lambda error: (error.json_path, error.message))  # a replay knows another order
    except (Unresolvable, RecursionError):
        return None
    said = "; ".join(f"{error.json_path}: {error.message}" for error in errors)
    return _DECIMAL.sub(r"\1", said) or None


def _is_integer(_checker: TypeChecker, value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
_Exact = extend(Draft202012Validator, type_checker=_TYPES)  # type: ignore[no-untyped-call]  # the library types it not


@cached_by_identity(MOST_COMPILED)
def _validator_of(tool: Tool) -> Validator | None:
    """The validator of the tool's arguments; None if its schema is invalid."""
    try:
        Draft202012Validator.check_schema(tool.input_schema)
    except (SchemaError, Unresolvable, RecursionError):
        return None
    schema = _close_schema(tool.input_schema) if tool.tool_class in WRITES else tool.input_schema
    return cast(Validator, _Exact(schema, registry=EMPTY_REGISTRY))


# What says of an object's other fields: then nothing is added to it.
_OPEN_KEYWORDS = ("additionalProperties", "patternProperties", "unevaluatedProperties", "$ref")
# of the same object:
_MORE_KEYWORDS = ("allOf", "$ref", "$dynamicRef", "if", "then", "else", "dependentSchemas", "dependencies")
_CHOICES = ("anyOf", "oneOf")
_UNDER_NAMES = ("properties", "$defs", "definitions")


def _close_schema(schema: JsonObject) -> JsonObject:
    """The schema, closed to undeclared fields in each object that declares some; unchanged where it composes an object
    from several schemas.
    """
    if any(isinstance(one, dict) and _is_composed(one) for _, one in walk_json(schema)):
        return schema
    closed = _close_objects(schema)
    takes_nothing = schema.get("properties") == {} and closed == schema
    return {**closed, "additionalProperties": False} if takes_nothing else closed


def _is_composed(schema: JsonObject) -> bool:
    """Whether further fields of the same object are declared elsewhere in the schema."""
    every = schema.get("allOf")
    beside = any(name in schema for name in _MORE_KEYWORDS) or _count_with_fields(schema.get("oneOf")) > 0
    return ("properties" in schema and beside) or (isinstance(every, list) and len(every) > 1)


def _close_objects(schema: JsonObject) -> JsonObject:
    closed: JsonObject = {}
    closing: tuple[str, ...] = ("items", "prefixItems", "additionalProperties")
    declaring = sum(_count_with_fields(schema.get(name)) for name in _CHOICES)
    has_own = bool(schema.get("properties"))
    if declaring == 1 and not has_own:
        closing = (*closing, *_CHOICES)
    for name, inner in schema.items():
        if name in _UNDER_NAMES and isinstance(inner, dict):
            closed[name] = {key: _close_nested(one) for key, one in inner.items()}
        else:
            closed[name] = _close_nested(inner) if name in closing else inner
    is_open = any(name in schema for name in _OPEN_KEYWORDS) or declaring > 0
    return closed if is_open or not has_own else {**closed, "additionalProperties": False}


def _count_with_fields(choices: Json) -> int:
    """How many of an object's alternatives declare fields, or may."""
    items = choices if isinstance(choices, list) else []
    return sum(isinstance(one, dict) and ("properties" in one or "$ref" in one) for one in items)


def _close_nested(value: Json) -> Json:
    if isinstance(value, list):
        return [_close_nested(item) for item in value]
    return _close_objects(value) if isinstance(value, dict) else value


RESERVED_ARGUMENT = "_call"  # the one argument of a write that is ours
_MOST_WHOLE = 30_000  # characters of all definitions; beyond that each tool stands in a line
_MOST_LISTED = 10_000  # characters of all lines; beyond that the tools are searched
_MOST_REMOTE = 150_000  # characters of all definitions for who is sent them once a task, and not with each request
_DESCRIPTION_MOST = 2_000
_WORDS_MOST = 4  # that a line says of a tool besides its name and arguments
_WORD = re.compile(r"\w[\w'’-]*")
_FILLER = frozenset(
    "a an the of for to in on at by with from and or but if is are was were be been it its this that these those their "
    "his her all any each other another one as not no than then what which whose who into has have given only once "
    "page can they them".split()
)
_CHOICES_MOST = 100  # characters of the words of which an argument takes one
_CHOICE = re.compile(r"[\w./+-]+(?: [\w./+-]+)*")
_FOUND_MOST = 8
# The rules say once for all writes what stands in it.
_RESERVED_ARGUMENT_SCHEMA: dict[str, JsonValue] = {"type": "object"}


def define_local_tool(
    name: str, description: str, properties: Mapping[str, JsonValue], *required: str, strict: bool = True
) -> ToolDefinition:
    """A tool of the executor itself, which takes these arguments and no others."""
    schema: dict[str, JsonValue] = {"type": "object", "properties": dict(properties), "required": [*required]}
    return ToolDefinition(name, description, {**schema, "additionalProperties": False}, strict)


WHAT_WOULD_POLICY_SAY = define_local_tool(
    "what_would_policy_say",
    "What the rules would say of a call that is not made: would it pass, be blocked, or wait for a person, and why.",
    {"tool": {"type": "string"}, "arguments": {"type": "object"}},
    "tool",
    "arguments",
)
LEAVE_PART = define_local_tool(
    "leave_part",
    "Leave a part undone because a condition that the task itself sets for it is not met, as a result shows; or a part "
    "to find out that has no answer.",
    {
        "part": {"type": "integer"},
        "because": {"type": "string", "description": "the condition and what the result says, or what is missing"},
        "ref": {"type": "string", "description": "of a condition: the result that shows it, such as r2"},
    },
    "part",
    "because",
    strict=False,
)
FIND_TOOLS = define_local_tool(
    "find_tools",
    "Whole definitions of the servers' tools, by their names or by words.",
    {"words": {"type": "string"}},
    "words",
)
USE_TOOL = define_local_tool(
    "use_tool",
    "Call a tool that `find_tools` has shown, as if it stood here itself.",
    {
        "tool": {"type": "string"},
        "arguments": {"type": "object"},
        RESERVED_ARGUMENT: cast(JsonValue, _RESERVED_ARGUMENT_SCHEMA),
    },
    "tool",
    "arguments",
)
_LIST_HEADING = """\
Call a tool of the servers by its line: name(arguments): words of its description. "!": it writes, and takes `_call`. \
"?": may be left out. Without a type it is a text. `find_tools` shows more.
"""


def offered_tools(
    toolbox: Toolbox, local: Sequence[ToolDefinition], *, is_asked_only: bool = False, is_remote: bool = False
) -> tuple[ToolDefinition, ...]:
    """The local tools, then the servers' tools in a fixed order, or two tools that stand for all of them if they are
    long.

    ``is_asked_only``: no write can be proposed, so writes are shown with only the names of their arguments, or only by
    name. ``is_remote``: the model is an orchestrator, which is sent the tools once and remembers them.
    """
    tools = toolbox.tools
    if _length(tools) > (_MOST_REMOTE if is_remote else _MOST_WHOLE):
        return _same_definitions(
            (*local, FIND_TOOLS, (_use_tool_in_outline_of if is_asked_only else _use_tool_of)(tools))
        )
    return _same_definitions((*local, *(_outlines_of if is_asked_only else _definitions_of)(tools)))


def _define_use_tool(tools: Mapping[str, Tool], *, is_asked_only: bool) -> ToolDefinition:
    """``use_tool`` with a line for each tool, and words of its description if they fit; without lines if not."""
    calls = {name: _write_signature(name, tool, is_asked_only) for name, tool in tools.items()}
    told = {
        name: call
        if is_asked_only and tools[name].tool_class in WRITES
        else f"{call}{_words_beyond_signature(tools[name])}"
        for name, call in calls.items()
    }
    texts = ("\n".join(lines.values()) for lines in (told, calls))
    fitting = next((text for text in texts if len(text) <= _MOST_LISTED), None)
    return USE_TOOL if fitting is None else USE_TOOL._replace(description=_LIST_HEADING + fitting)


def _write_signature(name: str, tool: Tool, is_asked_only: bool) -> str:
    """A tool's signature, ``!raise_fee(fee_id,amount:number,note?)``; only the name if it cannot be proposed."""
    writes = tool.tool_class in WRITES
    schema = _get_definition(name, tool).input_schema
    properties, required = schema.get("properties"), schema.get("required")
    given = properties if isinstance(properties, dict) else {}
    needed = [str(one) for one in required] if isinstance(required, list) else []
    ordered = dict.fromkeys((*needed, *sorted(given)))  # the fields of a schema have no order where it was stored
    arguments = [
        f"{_in_one_line(one)}{'' if one in needed else '?'}{_write_type(given[one])}"
        for one in ordered
        if one in given and one != RESERVED_ARGUMENT
    ]
    called = "" if writes and is_asked_only else f"({','.join(arguments)})"
    return f"{'!' if writes else ''}{_in_one_line(name)}{called}"


def _write_type(field: JsonValue) -> str:
    """The type of an argument in a signature, empty for plain text; of several alternatives the first."""
    known = field if isinstance(field, dict) else {}
    either = known.get("anyOf") or known.get("oneOf")
    if isinstance(either, list) and either:
        return _write_type(either[0])
    choices = known.get("enum")
    words = [str(one) for one in choices] if isinstance(choices, list) else []
    if words and all(map(_CHOICE.fullmatch, words)) and sum(map(len, words)) <= _CHOICES_MOST:
        return f":{'|'.join(words)}"
    kind = known.get("type")
    if kind == "string":
        return f":{_in_one_line(known['format'])}" if known.get("format") else ""
    return f":{kind}" if isinstance(kind, str) else ""


def _words_beyond_signature(tool: Tool) -> str:
    """The words of a description's first sentence that the name and arguments do not have, without filler words."""
    sentence = re.split(r"(?<=[.!?])\s", _in_one_line(tool.description), maxsplit=1)[0]
    known = stems_of(tool.name).union(*map(stems_of, tool.parameters))
    words = [word for word in _WORD.findall(sentence) if word.lower() not in _FILLER and not stems_of(word) <= known]
    told = " ".join([*dict.fromkeys(words)][:_WORDS_MOST])
    return f": {told}" if told else ""


def _in_one_line(text: object) -> str:
    """The text in one line, so that no server's words can look like a line of their own."""
    return " ".join(str(text).split())


def find_tools(words: str, toolbox: Toolbox) -> list[Json]:
    """The tools that the words name, else those with the most of the words in name and description, best first."""
    said = frozenset(words.replace(",", " ").split())
    named = [name for name in toolbox.tools if name in said]
    wanted = stems_of(words)
    scored = [
        (3 * len(wanted & stems_of(name)) + len(wanted & stems_of(tool.description)), name)
        for name, tool in (toolbox.tools.items() if not named else ())
    ]
    best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    found = (named or [name for _, name in best])[:_FOUND_MOST]
    shown = [_get_definition(name, toolbox.tools[name]) for name in found]
    return [
        {"name": one.name, "description": one.description, "input_schema": cast(Json, dict(one.input_schema))}
        for one in shown
    ]


def unwrap_use_tool(use: ToolUse) -> ToolUse:
    """The call itself; a call of ``use_tool`` as the call of the tool that it names."""
    if use.name != USE_TOOL.name:
        return use
    given = use.input.get("arguments")
    arguments: JsonObject = dict(given) if isinstance(given, dict) else {}
    if RESERVED_ARGUMENT in use.input:
        arguments[RESERVED_ARGUMENT] = use.input[RESERVED_ARGUMENT]
    return ToolUse(use.id, str(use.input.get("tool", "")), arguments)


def _get_definition(name: str, tool: Tool) -> ToolDefinition:
    """The definition of a tool under a name, the same object each time."""
    made = _definitions(tool)
    if name not in made:
        made[name] = _build_definition(name, tool)
    return made[name]


def _build_definition(name: str, tool: Tool) -> ToolDefinition:
    description = tool.description[:_DESCRIPTION_MOST]
    return ToolDefinition(
        name, description, _with_reserved_argument(tool) if tool.tool_class in WRITES else _wire_schema(tool)
    )


def _build_outline(name: str, tool: Tool) -> ToolDefinition:
    """The definition of a write without the types of its arguments, for a task that can write nothing."""
    whole = _get_definition(name, tool)
    if tool.tool_class not in WRITES:
        return whole
    properties = whole.input_schema.get("properties")
    named: dict[str, JsonValue] = {one: {} for one in properties} if isinstance(properties, dict) else {}
    schema: dict[str, JsonValue] = {"type": "object", "properties": named}
    if required := whole.input_schema.get("required"):
        schema["required"] = required
    return whole._replace(input_schema=schema)


def _with_reserved_argument(tool: Tool) -> Mapping[str, JsonValue]:
    """A write's schema with the reserved argument, and without the idempotency key, which the executor fills."""
    schema = dict(_wire_schema(tool))
    properties = schema.get("properties")
    own = dict(properties) if isinstance(properties, dict) else {}
    if key := key_argument(tool):
        own.pop(key, None)
        required = schema.get("required")
        schema["required"] = [name for name in required if name != key] if isinstance(required, list) else []
    return {
        **schema,
        "type": "object",
        "properties": {**own, RESERVED_ARGUMENT: cast(JsonValue, _RESERVED_ARGUMENT_SCHEMA)},
    }


# A listing is compiled to one toolbox, which many tasks have in common.
_length: IdentityCache[Mapping[str, Tool], int] = IdentityCache(
    lambda tools: sum(
        len(tool.name) + min(len(tool.description), _DESCRIPTION_MOST) + len(dumps(tool.input_schema))
        for tool in tools.values()
    ),
    64,
)
_definitions_of: IdentityCache[Mapping[str, Tool], tuple[ToolDefinition, ...]] = IdentityCache(
    lambda tools: tuple(_get_definition(name, tool) for name, tool in tools.items()), 64
)
_outlines_of: IdentityCache[Mapping[str, Tool], tuple[ToolDefinition, ...]] = IdentityCache(
    lambda tools: tuple(_build_outline(name, tool) for name, tool in tools.items()), 64
)
# What requests need of all tools together is worked out once for many tasks.
_same_definitions = InternedTuples[ToolDefinition](32)
_use_tool_of: IdentityCache[Mapping[str, Tool], ToolDefinition] = IdentityCache(
    lambda tools: _define_use_tool(tools, is_asked_only=False), 64
)
_use_tool_in_outline_of: IdentityCache[Mapping[str, Tool], ToolDefinition] = IdentityCache(
    lambda tools: _define_use_tool(tools, is_asked_only=True), 64
)
_definitions: IdentityCache[Tool, dict[str, ToolDefinition]] = IdentityCache(lambda _: {}, MOST_COMPILED)
