"""A read that meets a renamed column or parameter: the name is looked up, and the call is made once more with it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from services.executor.core.reads.one_call import AnsweredCall, send_call
from services.executor.core.session.context import TurnContext
from services.executor.core.tools import schema_drift
from services.executor.core.tools.corrections import table_of
from services.executor.core.tools.drift_errors import UnknownName, table_in, unknown_name
from services.executor.core.tools.failures import has_failed
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.schema_drift import PARAMETER, TABLES, ColumnMatch
from services.executor.core.tools.validate import problems_with
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

_SAYING = frozenset("describe schema schemas column columns field fields introspect structure metadata".split())
_MOST = 4
_MOST_NAMES = 3  # how many renamed columns one call may meet; each is corrected once


class Inquiry(NamedTuple):
    tool: Tool
    arguments: JsonObject


class Corrected(NamedTuple):
    """What came in the end, and what it taught: new names by old ones."""

    sent: AnsweredCall
    learned: Mapping[str, str]


class _Columns(NamedTuple):
    """Names that a server has, and what it says of them."""

    names: tuple[str, ...] = ()
    described: Mapping[str, str] = schema_drift.NOTHING_SAID


def inquiries(tools: Iterable[Tool], asked: Tool, arguments: JsonObject, error: Json) -> list[Inquiry]:
    """Reads that may show the columns a failed call should have used, the likeliest first; only a few."""
    tables = list(dict.fromkeys(_tables(asked, arguments, error)))
    found = [
        Inquiry(tool, given)
        for tool in sorted(tools, key=_rank)
        if _describes(tool, asked)
        for given in _ways(tool, tables)
        if problems_with(given, tool) is None
    ]
    return found[:_MOST]


async def correct_names(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, first: AnsweredCall
) -> Corrected:
    """The answer under the names that the server has now, as far as these are plain; else the error as it came."""
    made, learned = first, dict[str, str]()
    for number in range(1, _MOST_NAMES + 1):
        found = await _new_name(ctx, f"{key}:columns", tool, arguments, made)
        if found is None:
            break
        old, new = found
        learned[old] = new.name
        kind = "renamed_parameter" if schema_drift.is_parameter(old) else "renamed_column"
        told = {kind: old.removeprefix(PARAMETER), "now_called": new.name, "found_by": new.tier}
        ctx.journal.tell("note", tool=tool.name, **told)
        made = await send_call(ctx, f"{key}:renamed{number}", tool, arguments, {**made.names, old: new.name})
    return Corrected(made, learned)


def _describes(tool: Tool, asked: Tool) -> bool:
    same = tool.connection_id == asked.connection_id and tool.name != asked.name
    return same and tool.tool_class is ToolClass.READ and bool(_SAYING.intersection(words_of(tool.name)))


def _rank(tool: Tool) -> tuple[bool, str]:
    return not {"describe", "schema", "columns"}.intersection(words_of(tool.name)), tool.name


def _tables(asked: Tool, arguments: JsonObject, error: Json) -> Iterator[str]:
    """What the table may be called: by the call, by the error, by the tool's own name."""
    for named in (table_of(arguments), table_in(error)):
        if named:
            yield named
    noun = words_of(asked.name)[1:]
    if noun:
        yield "_".join(noun)
        yield "_".join(noun) + "s"


def _ways(tool: Tool, tables: Iterable[str]) -> list[JsonObject]:
    parameter = _table_parameter(tool)
    return [{parameter: table} for table in tables] if parameter else [{}]


def _table_parameter(tool: Tool) -> str | None:
    """The parameter for the table: by its name, else the only one that is required."""
    properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
    names = [*properties] if isinstance(properties, dict) else []
    needed = [str(name) for name in required] if isinstance(required, list) else []
    known = [name for name in names if "_".join(words_of(name)) in TABLES]
    return next(iter([*known, *(needed if len(needed) == 1 else [])]), None)


async def _new_name(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, made: AnsweredCall
) -> tuple[str, ColumnMatch] | None:
    """The name that the server misses and what it is now, if that is plain and the call can be corrected."""
    unknown = unknown_name(made.answer.content) if has_failed(made.answer) else None
    if unknown is None:
        return None
    mark, old = PARAMETER if unknown.is_parameter else "", schema_drift.bare_name(unknown.name)
    asked = next((name for name, used in made.names.items() if used == old and name.startswith(mark)), mark + old)
    if schema_drift.rename_arguments(arguments, {asked: ""}) == arguments:
        return None
    known = await _known_columns(ctx, key, tool, arguments, made.answer.content, unknown)
    new = schema_drift.match(asked.removeprefix(PARAMETER), old, known.names, known.described)
    if new is None or _is_taken(new.name, asked, old, schema_drift.rename_arguments(arguments, made.names)):
        return None
    again = schema_drift.rename_arguments(arguments, {**made.names, asked: new.name})
    return None if problems_with(again, tool) else (asked, new)


def _is_taken(new: str, asked: str, old: str, arguments: JsonObject) -> bool:
    """Whether the call asks for that column already, under its own name or in the place of another."""
    return new != asked.removeprefix(PARAMETER) and new in {*schema_drift.names_in(arguments)} - {old}


async def _known_columns(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, error: Json, unknown: UnknownName
) -> _Columns:
    if not unknown.is_parameter:
        return await _columns(ctx, key, tool, arguments, error)
    declared = tool.input_schema.get("properties")
    free = (
        {name: said for name, said in declared.items() if name not in arguments} if isinstance(declared, dict) else {}
    )
    return _Columns(unknown.lacking or tuple(free), schema_drift.descriptions_in({"properties": free}))


async def _columns(ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, error: Json) -> _Columns:
    """The columns that there are, as the error itself, a describing tool or the tool's own schema lists them."""
    if listed := schema_drift.columns_in(error):
        return _Columns(listed, schema_drift.descriptions_in(error))
    for number, inquiry in enumerate(inquiries(ctx.toolbox.tools.values(), tool, arguments, error), 1):
        described = await send_call(ctx, f"{key}{number}", inquiry.tool, inquiry.arguments, {})
        listed = () if described.answer.is_error else schema_drift.columns_in(described.answer.content)
        if listed:
            return _Columns(listed, schema_drift.descriptions_in(described.answer.content))
    return _Columns(schema_drift.columns_declared(tool.input_schema))
