"""A read that meets a renamed column or parameter: the name is looked up, and the call is made once more with it."""

from collections.abc import Mapping
from typing import NamedTuple

from services.executor.core.reads.one_call import Sent, sent
from services.executor.core.session.context import TurnContext
from services.executor.core.tools import schema_drift
from services.executor.core.tools.describing import inquiries
from services.executor.core.tools.drift_errors import Unknown, unknown_name
from services.executor.core.tools.failures import has_failed
from services.executor.core.tools.schema_drift import PARAMETER, Match
from services.executor.core.tools.validate import problems_with
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject

_MOST_NAMES = 3  # how many renamed columns one call may meet; each is corrected once


class Corrected(NamedTuple):
    """What came in the end, and what it taught: new names by old ones."""

    sent: Sent
    learned: Mapping[str, str]


async def corrected(ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, first: Sent) -> Corrected:
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
        made = await sent(ctx, f"{key}:renamed{number}", tool, arguments, {**made.names, old: new.name})
    return Corrected(made, learned)


async def _new_name(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, made: Sent
) -> tuple[str, Match] | None:
    """The name that the server misses and what it is now, if that is plain and the call can be corrected."""
    unknown = unknown_name(made.answer.content) if has_failed(made.answer) else None
    if unknown is None:
        return None
    mark, old = PARAMETER if unknown.is_parameter else "", schema_drift.bare_name(unknown.name)
    asked = next((name for name, used in made.names.items() if used == old and name.startswith(mark)), mark + old)
    if schema_drift.renamed(arguments, {asked: ""}) == arguments:
        return None
    known = await _known(ctx, key, tool, arguments, made.answer.content, unknown)
    new = schema_drift.match(asked.removeprefix(PARAMETER), old, known.names, known.described)
    if new is None or _is_taken(new.name, asked, old, schema_drift.renamed(arguments, made.names)):
        return None
    again = schema_drift.renamed(arguments, {**made.names, asked: new.name})
    return None if problems_with(again, tool) else (asked, new)


def _is_taken(new: str, asked: str, old: str, arguments: JsonObject) -> bool:
    """Whether the call asks for that column already, under its own name or in the place of another."""
    return new != asked.removeprefix(PARAMETER) and new in {*schema_drift.names_in(arguments)} - {old}


class _Columns(NamedTuple):
    """Names that a server has, and what it says of them."""

    names: tuple[str, ...] = ()
    described: Mapping[str, str] = schema_drift.NOTHING_SAID


async def _known(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, error: Json, unknown: Unknown
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
        described = await sent(ctx, f"{key}{number}", inquiry.tool, inquiry.arguments, {})
        listed = () if described.answer.is_error else schema_drift.columns_in(described.answer.content)
        if listed:
            return _Columns(listed, schema_drift.descriptions_in(described.answer.content))
    return _Columns(schema_drift.columns_declared(tool.input_schema))
