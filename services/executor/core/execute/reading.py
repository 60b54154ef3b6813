"""One read, journaled; and the same with the names that the server's columns have now (seed 002, schema_adapter.py)."""

from collections.abc import Mapping
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Failed
from services.executor.core.tooling import schema_drift
from services.executor.core.tooling.corrections import Corrections
from services.executor.core.tooling.describing import inquiries
from services.executor.core.tooling.echo import is_echo
from services.executor.core.tooling.paginate_walk import listing, report
from services.executor.core.tooling.validate import problems_with
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import ToolClass

_MOST_NAMES = 3  # how many renamed columns one call may meet; each is corrected once


class Reading(NamedTuple):
    """What a read gave, and what it taught of renamed columns: new names by old ones."""

    answer: ToolAnswer
    learned: Mapping[str, str]
    echoes: bool = False
    note: str = ""  # of a list that came in parts: how many, and whether all rows are there

    @property
    def tells(self) -> bool:
        """Whether it is a source: a refusal is none, nor is an answer that only repeats the call."""
        return not (self.answer.is_error or self.echoes)


class _Sent(NamedTuple):
    answer: ToolAnswer
    names: Mapping[str, str]  # new names by the old ones that were asked for


def known_corrections(ctx: TurnContext, progress: Progress) -> Corrections:
    """What the session knew when the turn began, and what this task has learned since."""
    return Corrections({**ctx.session.corrections, **progress.corrections})


async def read(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, known: Corrections | None = None
) -> Reading:
    """One journaled read. A server that does not answer ends the run: what it would have said is not guessed.

    Where the server knows a column by another name, the call is corrected and made once more for that column. The
    result then shows the column under the name that was asked for, too.
    """
    names = known.for_call(tool, arguments) if known else {}
    sent = await _sent(ctx, key, tool, arguments, names)
    learned: dict[str, str] = {}
    for number in range(1, _MOST_NAMES + 1):
        found = await _new_name(ctx, f"{key}:columns", tool, arguments, sent)
        if found is None:
            break
        old, new = found
        learned[old] = new.name
        ctx.journal.tell("note", tool=tool.name, renamed_column=old, now_called=new.name, found_by=new.tier)
        sent = await _sent(ctx, f"{key}:renamed{number}", tool, arguments, {**sent.names, old: new.name})
    sent, note = await _whole(ctx, key, tool, arguments, sent)
    content = schema_drift.under_both_names(sent.answer.content, sent.names)
    return Reading(sent.answer._replace(content=content), learned, is_echo(tool.name, content), note)


async def _whole(ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, sent: _Sent) -> tuple[_Sent, str]:
    """The answer with all rows of the list that it is the first part of, and what is to be said of it.

    Every part is a step of the journal, and what is asked next follows from the answers alone.
    """
    found = None if _failed(sent.answer) else listing(tool, arguments, sent.answer.content, ctx.limits.lists)
    if found is None:
        return sent, ""
    while (following := found.following) is not None:
        problems = problems_with(following, tool)
        if problems:
            found.refused(problems)
            break
        part = await _sent(ctx, f"{key}:page{found.pages + 1}", tool, following, sent.names)
        if _failed(part.answer):
            found.refused(dumps(part.answer.content))
        else:
            found.add(part.answer.content)
    note = report(found)
    if note:
        ctx.journal.tell("note", tool=tool.name, pages=found.pages, rows=found.total, partial=found.why_partial)
        sent = sent._replace(answer=sent.answer._replace(content=found.merged(sent.answer.content)))
    return sent, note


async def _sent(ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, names: Mapping[str, str]) -> _Sent:
    async def call() -> str:
        answer = await _reached(ctx, tool, schema_drift.renamed(arguments, names))
        said: dict[str, JsonValue] = {"renamed": {**names}} if names else {}
        ctx.journal.tell("tool", tool=tool.name, tool_class=tool.tool_class.value, ok=not answer.is_error, **said)
        return dumps({"content": answer.content, "is_error": answer.is_error, "renamed": {**names}})

    stored = loads_object(await ctx.journal.once(key, "tool", call))
    names_sent = cast("dict[str, str]", stored.get("renamed", {}))
    return _Sent(ToolAnswer(stored["content"], bool(stored["is_error"])), names_sent)


async def _new_name(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, sent: _Sent
) -> tuple[str, schema_drift.Match] | None:
    """The column that the server misses and what it is called now, if that is plain and the call can be corrected."""
    missing = schema_drift.missing_column(sent.answer.content) if _failed(sent.answer) else None
    if missing is None:
        return None
    old = schema_drift.bare_name(missing)
    asked = next((asked for asked, used in sent.names.items() if used == old), old)
    if schema_drift.renamed(arguments, {asked: ""}) == arguments:
        return None
    new = schema_drift.match(asked, old, await _columns(ctx, key, tool, arguments, sent.answer.content))
    if new is None:
        return None
    corrected = schema_drift.renamed(arguments, {**sent.names, asked: new.name})
    return None if problems_with(corrected, tool) else (asked, new)


def _failed(answer: ToolAnswer) -> bool:
    """Whether an answer says that the call failed, in whichever way."""
    return answer.is_error or (isinstance(answer.content, dict) and bool(answer.content.get("error")))


async def _columns(ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, error: Json) -> tuple[str, ...]:
    """The columns that there are, as the error itself or a describing tool lists them."""
    listed = schema_drift.columns_in(error)
    if listed:
        return listed
    for number, inquiry in enumerate(inquiries(ctx.toolbox.tools.values(), tool, arguments, error), 1):
        described = await _sent(ctx, f"{key}{number}", inquiry.tool, inquiry.arguments, {})
        listed = () if described.answer.is_error else schema_drift.columns_in(described.answer.content)
        if listed:
            return listed
    return ()


async def _reached(ctx: TurnContext, tool: Tool, arguments: JsonObject) -> ToolAnswer:
    connection = ctx.toolbox.connection_of(tool)
    ask = ctx.ports.tools.read if tool.tool_class is ToolClass.READ else ctx.ports.tools.call
    try:
        return await ask(connection, tool.name, arguments, ctx.limits.tool_seconds, ctx.record.session_id)
    except (ToolUnreachable, ToolSilent) as error:
        raise Failed(f"the tool server {connection.id!r} did not answer {tool.name}: {error}", "tool_server") from error
