"""The tools of one run: their unambiguous names, how a model is offered them, and what their arguments must be."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, cast

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue
from pydantic_core import SchemaError as BadPattern, SchemaValidator, core_schema
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from services.executor.core.tools.name_similarity import singular, stems_of, words_of
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, RecordKeys, map_objects
from services.executor.ports.tools import CALL_ID_KEY, MESSAGE_KEY, PARTS_KEY, TASK_ID_KEY, Tool
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Policy
from shared.contracts.tenant import Connection, RecordKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, to_builtins, to_exact, walk_json
from shared.domain.identity_cache import IdentityCache, InternedTuples, cached_by_identity
from shared.domain.words import ToolClass
from shared.ports.models import ToolDefinition, ToolUse

_NO_RECORD_KINDS: Mapping[str, RecordKind] = MappingProxyType({})
MOST_CACHED_TOOLS = 4_096  # tools of which is kept what was worked out once


class Toolbox(NamedTuple):
    """Tools by the name that a model uses: the tool's own, or ``connection__tool`` where two servers have the same
    name. ``keys``: the key fields of the records that tools take and show.
    """

    tools: Mapping[str, Tool]
    connections: Mapping[str, Connection]
    keys: RecordKeys = NO_RECORD_KEYS

    @property
    def names(self) -> frozenset[str]:
        """The names that rules may use for the tools; the empty name stands for any tool."""
        return _collect_names(self.tools)

    def find_tool(self, connection_id: str, name: str) -> Tool | None:
        """The tool of that connection and name; None if there is none."""
        return next((tool for tool in self.find_tools_named(name) if tool.connection_id == connection_id), None)

    def find_tools_named(self, name: str) -> Sequence[Tool]:
        """The tools that servers list under this name, of whatever connection."""
        return _index_tools_by_own_name(self.tools).get(name, ())


def build_toolbox(
    discovered: Iterable[tuple[Connection, Iterable[Tool]]], records: Mapping[str, RecordKind] = _NO_RECORD_KINDS
) -> Toolbox:
    """A toolbox of all servers' tools, sorted by name, then connection. ``records``: as the tenant declares them."""
    connections: dict[str, Connection] = {}
    all_tools: list[Tool] = []
    for connection, tools in discovered:
        connections[connection.id] = connection
        all_tools += tools
    tools_by_name = _assign_unique_names(_intern_tools(tuple(all_tools)))
    return Toolbox(tools_by_name, connections, build_record_keys(records, tools_by_name))


def build_record_keys(records: Mapping[str, RecordKind], tools: Mapping[str, Tool]) -> RecordKeys:
    """The key fields of the kinds of records that a tenant declares (``records``, by kind), and the tools that read."""
    kinds = [(tuple(map(singular, words_of(kind))), record_kind) for kind, record_kind in records.items()]
    return RecordKeys(
        tuple((key, kind) for kind, record_kind in kinds for key in record_kind.keys_by_name),
        tuple((tool, kind) for kind, record_kind in kinds for tool in record_kind.reads),
        _list_names_of_readers(tools),
        tuple(names for _, record_kind in kinds for names in record_kind.keys_by_name.items()),
    )


# A read tool that needs more than one argument may be no read at all.
_list_names_of_readers = IdentityCache[Mapping[str, Tool], frozenset[str]](
    lambda tools: frozenset(t.name for t in tools.values() if t.tool_class is ToolClass.READ and len(t.required) <= 1),
    64,
)


@cached_by_identity(64)  # by tools that were listed together: the same mapping for many tasks
def _assign_unique_names(tools: tuple[Tool, ...]) -> Mapping[str, Tool]:
    ordered = sorted(tools, key=lambda tool: (tool.name, tool.connection_id))
    counts = Counter(tool.name for tool in ordered)
    names = [f"{tool.connection_id}__{tool.name}" if counts[tool.name] > 1 else tool.name for tool in ordered]
    return MappingProxyType(dict(zip(names, ordered, strict=True)))


_collect_names = IdentityCache[Mapping[str, Tool], frozenset[str]](
    lambda tools: frozenset(tools).union(("",), (tool.name for tool in tools.values())), 64
)


@cached_by_identity(64)
def _index_tools_by_own_name(tools: Mapping[str, Tool]) -> Mapping[str, Sequence[Tool]]:
    by_name: dict[str, list[Tool]] = {}
    for tool in tools.values():
        by_name.setdefault(tool.name, []).append(tool)
    return by_name


_intern_tools = InternedTuples[Tool](64)
# The schema as a library takes it; the same object for the same tool.
_convert_schema: IdentityCache[Tool, Mapping[str, JsonValue]] = IdentityCache(
    lambda tool: cast("Mapping[str, JsonValue]", to_builtins(tool.input_schema)), MOST_CACHED_TOOLS
)
WRITE_CLASSES = (ToolClass.CHANGE, ToolClass.NOTIFY)
MOST_SENDS_OF_A_WRITE = 3  # of one write, the first included; then a person is asked
_DECIMAL_REPR_PATTERN = re.compile(r"Decimal\('([^']*)'\)")


def find_idempotency_argument(tool: Tool) -> str | None:
    """The argument for the executor's idempotency key, if the catalogue names one that the tool has; else None."""
    name = tool.catalogue.idempotency_field
    return name if name and name in tool.parameters else None


def build_arguments_to_send(entry: LedgerEntry, tool: Tool) -> JsonObject:
    """The arguments to send: the planned ones, with the executor's idempotency key.

    For a skill the key is the id of the message. A person's answer to an agent is sent in place of the planned
    arguments, to the agent's task that asked, with an id of its own.
    """
    arguments = loads_object(entry.arguments_json)
    if not tool.is_skill:
        return {**arguments, entry.idempotency_field: entry.key} if entry.idempotency_field else arguments
    agent = entry.agent
    if agent is None:
        return {**arguments, CALL_ID_KEY: entry.key}
    if agent.reply is None:
        return {**arguments, CALL_ID_KEY: entry.key, TASK_ID_KEY: agent.task}
    parts: JsonObject = {PARTS_KEY: [to_exact(part) for part in agent.reply_parts]} if agent.reply_parts else {}
    return {MESSAGE_KEY: agent.reply, **parts, CALL_ID_KEY: f"{entry.key}-{agent.replies}", TASK_ID_KEY: agent.task}


def find_argument_problems(arguments: JsonObject, tool: Tool) -> str | None:
    """What is wrong with the arguments, naming each field; None if they fit. Numbers are compared exactly (I8).

    A write may have no argument that its tool does not declare, unless the schema permits others: rules would not see
    it. The server will judge what passes: everything, if its schema is invalid, endless or refers to something outside
    itself; a text with a pattern that takes more than one look at each character; a field that a pattern of names may
    allow. What a schema refers to is never fetched. The executor's idempotency key counts as given.
    """
    if (key := find_idempotency_argument(tool)) and key not in arguments:
        arguments = {**arguments, key: "key"}
    _followed_references.set(0)
    try:
        validator = _compile_validator(tool)
        errors = validator.iter_errors(cast("Mapping[str, str]", arguments)) if validator else ()
        ordered = sorted(errors, key=lambda error: (error.json_path, error.message))  # a replay knows another order
    except (Unresolvable, RecursionError):
        return None
    text = "; ".join(f"{error.json_path}: {error.message}" for error in ordered)
    return _DECIMAL_REPR_PATTERN.sub(r"\1", text) or None


def _is_integer(_checker: TypeChecker, value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


@lru_cache(maxsize=MOST_CACHED_TOOLS)
def _compile_pattern(pattern: str) -> SchemaValidator | None:
    """A validator of texts by a pattern, in time that grows with the text's length alone, unlike ``re``.

    None for a pattern that looks around.
    """
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except BadPattern:
        return None


def _check_pattern(_: Validator, pattern: str, text: object, _schema: JsonObject) -> Iterator[ValidationError]:
    matcher = _compile_pattern(pattern) if isinstance(text, str) else None
    if matcher is not None and not matcher.isinstance_python(text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


def _follow_reference(
    validator: Validator, reference: str, value: object, schema: JsonObject
) -> Iterator[ValidationError]:
    """Yields the errors of a value by the schema that a ``$ref`` names.

    Raises ``RecursionError`` after too many references, since a few nested ones can multiply endlessly.
    """
    _followed_references.set(count := _followed_references.get() + 1)
    if count > _MOST_REFERENCES:
        raise RecursionError
    yield from Draft202012Validator.VALIDATORS["$ref"](validator, reference, value, schema)


_MOST_REFERENCES = 10_000  # of one check of arguments
_followed_references: ContextVar[int] = ContextVar("followed_references", default=0)
_TYPE_CHECKER = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
_ExactValidator = extend(  # type: ignore[no-untyped-call]  # the library types it not
    Draft202012Validator, {"pattern": _check_pattern, "$ref": _follow_reference}, type_checker=_TYPE_CHECKER
)


@cached_by_identity(MOST_CACHED_TOOLS)
def _compile_validator(tool: Tool) -> Validator | None:
    """The validator of the tool's arguments; None if its schema is invalid."""
    try:
        Draft202012Validator.check_schema(tool.input_schema)
    except (SchemaError, Unresolvable, RecursionError):
        return None
    schema = cast(JsonObject, map_objects(tool.input_schema, _allow_any_field_for_patterns))
    schema = _close_schema(schema) if tool.tool_class in WRITE_CLASSES else schema
    return cast(Validator, _ExactValidator(schema, registry=EMPTY_REGISTRY))


# What says of an object's other fields: then nothing is added to it.
_KEYWORDS_OF_UNDECLARED_FIELDS = ("additionalProperties", "unevaluatedProperties", "$ref")
# of the same object:
_COMPOSING_KEYWORDS = ("allOf", "$ref", "$dynamicRef", "if", "then", "else", "dependentSchemas", "dependencies")
_CHOICE_KEYWORDS = ("anyOf", "oneOf")
_NAMED_SCHEMAS_KEYWORDS = ("properties", "$defs", "definitions")


def _allow_any_field_for_patterns(schema: JsonObject) -> JsonObject:
    """The schema; if patterns of names say which undeclared fields it allows, one that allows any."""
    if "patternProperties" not in schema:
        return schema
    replaced = ("patternProperties", "unevaluatedProperties")
    return {name: value for name, value in schema.items() if name not in replaced} | {"additionalProperties": True}


def _close_schema(schema: JsonObject) -> JsonObject:
    """The schema, closed to undeclared fields; unchanged where an object is composed of several schemas."""
    if any(isinstance(part, dict) and _is_composed(part) for _, part in walk_json(schema)):
        return schema
    closed = _close_objects(schema)
    takes_nothing = schema.get("properties") == {} and closed == schema
    return {**closed, "additionalProperties": False} if takes_nothing else closed


def _is_composed(schema: JsonObject) -> bool:
    """Whether further fields of the same object are declared elsewhere in the schema."""
    all_of = schema.get("allOf")
    is_declared_elsewhere = (
        any(name in schema for name in _COMPOSING_KEYWORDS)
        or _count_alternatives_with_properties(schema.get("oneOf")) > 0
    )
    return ("properties" in schema and is_declared_elsewhere) or (isinstance(all_of, list) and len(all_of) > 1)


def _close_objects(schema: JsonObject) -> JsonObject:
    closed: JsonObject = {}
    closing: tuple[str, ...] = ("items", "prefixItems", "additionalProperties")
    choices_with_fields = sum(_count_alternatives_with_properties(schema.get(name)) for name in _CHOICE_KEYWORDS)
    has_fields = bool(schema.get("properties"))
    if choices_with_fields == 1 and not has_fields:
        closing = (*closing, *_CHOICE_KEYWORDS)
    for name, inner in schema.items():
        if name in _NAMED_SCHEMAS_KEYWORDS and isinstance(inner, dict):
            closed[name] = {key: _close_nested(definition) for key, definition in inner.items()}
        else:
            closed[name] = _close_nested(inner) if name in closing else inner
    is_open = any(name in schema for name in _KEYWORDS_OF_UNDECLARED_FIELDS) or choices_with_fields > 0
    return closed if is_open or not has_fields else {**closed, "additionalProperties": False}


def _count_alternatives_with_properties(alternatives: Json) -> int:
    """How many alternatives of a schema's ``anyOf`` or ``oneOf`` declare properties, or refer to a schema that may; 0
    for anything that is no list.
    """
    items = alternatives if isinstance(alternatives, list) else []
    return sum(isinstance(item, dict) and ("properties" in item or "$ref" in item) for item in items)


def _close_nested(value: Json) -> Json:
    if isinstance(value, list):
        return [_close_nested(part) for part in value]
    return _close_objects(value) if isinstance(value, dict) else value


RESERVED_ARGUMENT = "_call"  # the one argument of a write that is ours
_MOST_CHARACTERS_OF_DEFINITIONS = 30_000  # characters of all definitions; beyond that each tool stands in a line
_MOST_CHARACTERS_OF_LINES = 10_000  # characters of all lines; beyond that the tools are searched
_MOST_CHARACTERS_FOR_ORCHESTRATOR = 150_000  # of all definitions, for who is sent them once a task
_MOST_DESCRIPTION_CHARACTERS = 2_000
_MOST_EXTRA_WORDS = 4  # in a tool's line, besides its name and arguments
_WORD_PATTERN = re.compile(r"\w[\w'’-]*")
_FILLER_WORDS = frozenset(
    "a an the of for to in on at by with from and or but if is are was were be been it its this that these those their "
    "his her all any each other another one as not no than then what which whose who into has have given only once "
    "page can they them".split()
)
_MOST_CHOICE_CHARACTERS = 100  # characters of the words of which an argument takes one
_UNQUOTED_CHOICE_PATTERN = re.compile(r"[\w./+-]+(?: [\w./+-]+)*")
_MOST_FOUND_TOOLS = 8
# The rules say once for all writes what stands in it.
_RESERVED_ARGUMENT_SCHEMA: dict[str, JsonValue] = {"type": "object"}


def define_local_tool(
    name: str, description: str, properties: Mapping[str, JsonValue], *required: str, strict: bool = True
) -> ToolDefinition:
    """A tool of the executor itself, which takes these arguments and no others. ``strict`` as in ``ToolDefinition``."""
    schema: dict[str, JsonValue] = {"type": "object", "properties": dict(properties), "required": [*required]}
    return ToolDefinition(name, description, {**schema, "additionalProperties": False}, strict)


WHAT_WOULD_POLICY_SAY_DEFINITION = define_local_tool(
    "what_would_policy_say",
    "What the rules would say of a call that is not made: would it pass, be blocked, or wait for a person, and why.",
    {"tool": {"type": "string"}, "arguments": {"type": "object"}},
    "tool",
    "arguments",
)
LEAVE_PART_DEFINITION = define_local_tool(
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
FIND_TOOLS_DEFINITION = define_local_tool(
    "find_tools",
    "Whole definitions of the servers' tools, by their names or by words.",
    {"words": {"type": "string"}},
    "words",
)
USE_TOOL_DEFINITION = define_local_tool(
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


def list_offered_tools(
    toolbox: Toolbox, local: Sequence[ToolDefinition], *, outlines_writes: bool = False, is_remote: bool = False
) -> tuple[ToolDefinition, ...]:
    """The local tools, then the servers' tools in a fixed order, or ``find_tools`` and ``use_tool`` if these are long.

    ``outlines_writes``: no write can be proposed, so writes are shown with only the names of their arguments, or only
    by name. ``is_remote``: the model is an orchestrator, which is sent the tools once and remembers them.
    """
    tools = toolbox.tools
    most_characters = _MOST_CHARACTERS_FOR_ORCHESTRATOR if is_remote else _MOST_CHARACTERS_OF_DEFINITIONS
    if _measure_definitions(tools) > most_characters:
        define_use_tool = _define_outlined_use_tool_for if outlines_writes else _define_use_tool_for
        return _intern_definitions((*local, FIND_TOOLS_DEFINITION, define_use_tool(tools)))
    return _intern_definitions((*local, *(_build_outlines if outlines_writes else _get_definitions)(tools)))


def _define_use_tool(tools: Mapping[str, Tool], *, outlines_writes: bool) -> ToolDefinition:
    """``use_tool`` with a line for each tool, and words of its description if they fit; without lines if not.

    ``outlines_writes``: no write can be proposed, so the lines of writes have only their names.
    """
    signatures = {name: _format_tool_signature(name, tool, outlines_writes) for name, tool in tools.items()}
    lines = dict(signatures)
    for name, tool in tools.items():
        if not (outlines_writes and tool.tool_class in WRITE_CLASSES):
            lines[name] += _select_extra_words(tool)
    for text in ("\n".join(lines.values()), "\n".join(signatures.values())):
        if len(text) <= _MOST_CHARACTERS_OF_LINES:
            return USE_TOOL_DEFINITION._replace(description=_LIST_HEADING + text)
    return USE_TOOL_DEFINITION


def _format_tool_signature(name: str, tool: Tool, outlines_writes: bool) -> str:
    """A tool's signature, ``!raise_fee(fee_id,amount:number,note?)``; only the name if it cannot be proposed."""
    is_write = tool.tool_class in WRITE_CLASSES
    schema = _get_definition(name, tool).input_schema
    properties, required = schema.get("properties"), schema.get("required")
    fields = properties if isinstance(properties, dict) else {}
    first = [str(field) for field in required] if isinstance(required, list) else []
    arguments = [
        f"{_join_into_one_line(field)}{'' if field in first else '?'}{_format_argument_type(fields[field])}"
        for field in dict.fromkeys((*first, *sorted(fields)))  # a stored schema has no order of its fields
        if field in fields and field != RESERVED_ARGUMENT
    ]
    argument_list = "" if is_write and outlines_writes else f"({','.join(arguments)})"
    return f"{'!' if is_write else ''}{_join_into_one_line(name)}{argument_list}"


def _format_argument_type(field: JsonValue) -> str:
    """The type of an argument in a signature, empty for plain text; of several alternatives the first."""
    schema = field if isinstance(field, dict) else {}
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(alternatives, list) and alternatives:
        return _format_argument_type(alternatives[0])
    choices = schema.get("enum")
    words = [str(choice) for choice in choices] if isinstance(choices, list) else []
    are_plain = all(map(_UNQUOTED_CHOICE_PATTERN.fullmatch, words))
    if words and are_plain and sum(map(len, words)) <= _MOST_CHOICE_CHARACTERS:
        return f":{'|'.join(words)}"
    kind = schema.get("type")
    if kind == "string":
        return f":{_join_into_one_line(schema['format'])}" if schema.get("format") else ""
    return f":{kind}" if isinstance(kind, str) else ""


def _select_extra_words(tool: Tool) -> str:
    """A colon and the first few words of the description that the name and arguments do not have; empty if none."""
    sentence = re.split(r"(?<=[.!?])\s", _join_into_one_line(tool.description), maxsplit=1)[0]
    known_stems = stems_of(tool.name).union(*map(stems_of, tool.parameters))
    words = [
        word
        for word in _WORD_PATTERN.findall(sentence)
        if word.lower() not in _FILLER_WORDS and not stems_of(word) <= known_stems
    ]
    text = " ".join([*dict.fromkeys(words)][:_MOST_EXTRA_WORDS])
    return f": {text}" if text else ""


def _join_into_one_line(text: object) -> str:
    """The text in one line, so that no server's words can look like a line of their own."""
    return " ".join(str(text).split())


def find_tools(words: str, toolbox: Toolbox) -> list[Json]:
    """At most eight tools that the words name, else those with most of the words; each with its definition."""
    query_words, query_stems = words.replace(",", " ").split(), stems_of(words)
    names = [name for name in toolbox.tools if name in query_words]
    if not names:
        scores = {
            name: 3 * len(query_stems & stems_of(name)) + len(query_stems & stems_of(tool.description))
            for name, tool in toolbox.tools.items()
        }
        names = sorted((name for name in scores if scores[name] > 0), key=lambda name: (-scores[name], name))
    shown_tools = [_get_definition(name, toolbox.tools[name]) for name in names[:_MOST_FOUND_TOOLS]]
    return [
        {"name": tool.name, "description": tool.description, "input_schema": cast(Json, dict(tool.input_schema))}
        for tool in shown_tools
    ]


def unwrap_use_tool(use: ToolUse) -> ToolUse:
    """The call itself; a call of ``use_tool`` as the call of the tool that it names."""
    if use.name != USE_TOOL_DEFINITION.name:
        return use
    inner = use.input.get("arguments")
    arguments: JsonObject = dict(inner) if isinstance(inner, dict) else {}
    if RESERVED_ARGUMENT in use.input:
        arguments[RESERVED_ARGUMENT] = use.input[RESERVED_ARGUMENT]
    return ToolUse(use.id, str(use.input.get("tool", "")), arguments)


def _get_definition(name: str, tool: Tool) -> ToolDefinition:
    """The definition of a tool under a name, the same object each time."""
    by_name = _cached_definitions_by_name(tool)
    if name not in by_name:
        schema = _with_reserved_argument(tool) if tool.tool_class in WRITE_CLASSES else _convert_schema(tool)
        by_name[name] = ToolDefinition(name, tool.description[:_MOST_DESCRIPTION_CHARACTERS], schema)
    return by_name[name]


def _build_outline(name: str, tool: Tool) -> ToolDefinition:
    """A write's definition without the types of its arguments, for a task that can write nothing; a read's in full."""
    definition = _get_definition(name, tool)
    if tool.tool_class not in WRITE_CLASSES:
        return definition
    properties = definition.input_schema.get("properties")
    untyped: dict[str, JsonValue] = {name: {} for name in properties} if isinstance(properties, dict) else {}
    schema: dict[str, JsonValue] = {"type": "object", "properties": untyped}
    if required := definition.input_schema.get("required"):
        schema["required"] = required
    return definition._replace(input_schema=schema)


def _with_reserved_argument(tool: Tool) -> Mapping[str, JsonValue]:
    """A write's schema with the reserved argument, and without the idempotency key, which the executor fills."""
    schema = dict(_convert_schema(tool))
    properties = schema.get("properties")
    fields = dict(properties) if isinstance(properties, dict) else {}
    if key := find_idempotency_argument(tool):
        fields.pop(key, None)
        required = schema.get("required")
        schema["required"] = [name for name in required if name != key] if isinstance(required, list) else []
    return {
        **schema,
        "type": "object",
        "properties": {**fields, RESERVED_ARGUMENT: cast(JsonValue, _RESERVED_ARGUMENT_SCHEMA)},
    }


# A listing is compiled to one toolbox, which many tasks have in common.
_measure_definitions: IdentityCache[Mapping[str, Tool], int] = IdentityCache(
    lambda tools: sum(
        len(tool.name) + min(len(tool.description), _MOST_DESCRIPTION_CHARACTERS) + len(dumps(tool.input_schema))
        for tool in tools.values()
    ),
    64,
)
_get_definitions: IdentityCache[Mapping[str, Tool], tuple[ToolDefinition, ...]] = IdentityCache(
    lambda tools: tuple(_get_definition(name, tool) for name, tool in tools.items()), 64
)
_build_outlines: IdentityCache[Mapping[str, Tool], tuple[ToolDefinition, ...]] = IdentityCache(
    lambda tools: tuple(_build_outline(name, tool) for name, tool in tools.items()), 64
)
# What requests need of all tools together is worked out once for many tasks.
_intern_definitions = InternedTuples[ToolDefinition](32)
_define_use_tool_for: IdentityCache[Mapping[str, Tool], ToolDefinition] = IdentityCache(
    lambda tools: _define_use_tool(tools, outlines_writes=False), 64
)
_define_outlined_use_tool_for: IdentityCache[Mapping[str, Tool], ToolDefinition] = IdentityCache(
    lambda tools: _define_use_tool(tools, outlines_writes=True), 64
)
_cached_definitions_by_name: IdentityCache[Tool, dict[str, ToolDefinition]] = IdentityCache(
    lambda _: {}, MOST_CACHED_TOOLS
)


_TOOL_EQUALS_PATTERN = re.compile(r"\btool\s*==\s*([\"'])(?P<name>.+?)\1")
_TOOL_LIST_PATTERN = re.compile(r"\btool\s+in\s+\[(?P<names>[^\]]*)\]")
NEGATION_PATTERN = re.compile(r"!(?!=)|\btool\s*!=|!=\s*tool\b|\)\s*!=|\bnot\b")
# A quote that nothing closes ends with the condition, so that each character is looked at once.
QUOTED_TEXT_PATTERN = re.compile(r"\"(?:\\.|[^\"\\])*+\"?|'(?:\\.|[^'\\])*+'?", re.DOTALL)
_LEADING_TOOL_CONDITION_PATTERN = re.compile(rf"\s*{_TOOL_EQUALS_PATTERN.pattern}\s*(?:&&|$)")
_OR_SIGN = "||"
_QUOTED_NAME_PATTERN = re.compile(r"([\"'])(.+?)\1")


def list_tools_in_rules(policies: Iterable[Policy]) -> tuple[str, ...]:
    """The names and name patterns of tools in the policies' rules about tools, each once."""
    rules = [rule for policy in policies for rule in policy.tool_rules]
    return tuple(dict.fromkeys(name for rule in rules for name in (rule.tool, *rule.after)))


def describe_rules_about_unknown_tools(policies: Iterable[Policy], tools: Iterable[str]) -> list[str]:
    """A sentence for each rule whose tool is not offered, since a misspelt name would silently forbid nothing."""
    offered = frozenset(tools)
    mentions = [(policy.id, rule.id, rule.tool.strip()) for policy in policies for rule in policy.tool_rules]
    mentions += [
        (policy.id, rule.id, tool)
        for policy in policies
        for rule in policy.rules
        if (tool := find_tool_of_condition(rule.condition))
    ]
    return [
        f"rule {rule_id} of {policy_id} is about {tool!r}, and no such tool is offered"
        for policy_id, rule_id, tool in mentions
        if tool not in offered and not any(fnmatchcase(name, tool) for name in offered)
    ]


def find_tool_of_condition(condition: str) -> str:
    """The tool of a condition such as ``tool == "pay" && amount > 5``, without ``||``; empty for any other one."""
    equality = _LEADING_TOOL_CONDITION_PATTERN.match(condition)
    return equality["name"] if equality and _OR_SIGN not in without_quoted_texts(condition) else ""


def without_quoted_texts(condition: str) -> str:
    """The condition with a space in place of each quoted text: what is left are names, numbers and signs."""
    return QUOTED_TEXT_PATTERN.sub(" ", condition)


def has_tool_rules(policies: Iterable[Policy]) -> bool:
    """Whether a policy has rules about tools, or refuses tools that no rule admits."""
    return any(policy.tool_rules or policy.tool_default != "allow" for policy in policies)


@lru_cache(maxsize=4096)
def _find_tools_of_condition(condition: str) -> frozenset[str]:
    name_lists = [tool_list["names"] for tool_list in _TOOL_LIST_PATTERN.finditer(condition)]
    listed_names = (name[2] for names in name_lists for name in _QUOTED_NAME_PATTERN.finditer(names))
    return frozenset((*(equality["name"] for equality in _TOOL_EQUALS_PATTERN.finditer(condition)), *listed_names))


def mark_ruled_reads_as_changes(toolbox: Toolbox, policies: Iterable[Policy]) -> Toolbox:
    """The toolbox in which a read tool counts as a change if a rule's condition names it and it requires more than one
    argument: its calls are then planned and judged first. Conditions with a negation (``tool != "x"``) mark no tool.
    """
    rules = [rule for policy in policies for rule in policy.rules if not (rule.report_only or rule.if_known)]
    conditions = [rule.condition for rule in rules if not NEGATION_PATTERN.search(without_quoted_texts(rule.condition))]
    names = frozenset[str]().union(*map(_find_tools_of_condition, conditions))
    ruled_reads = {
        name: tool._replace(tool_class=ToolClass.CHANGE, why_class="a rule names it")
        for name, tool in toolbox.tools.items()
        if tool.name in names and tool.tool_class in (ToolClass.READ, ToolClass.COMPUTE) and len(tool.required) > 1
    }
    return toolbox._replace(tools={**toolbox.tools, **ruled_reads}) if ruled_reads else toolbox
