"""Which tools of a server say what columns a table has, and how they are to be asked."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from services.executor.core.tools.corrections import table_of
from services.executor.core.tools.drift_errors import table_in
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.schema_drift import TABLES
from services.executor.core.tools.validate import problems_with
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

_SAYING = frozenset("describe schema schemas column columns field fields introspect structure metadata".split())
_MOST = 4


class Inquiry(NamedTuple):
    tool: Tool
    arguments: JsonObject


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
