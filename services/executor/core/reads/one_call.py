"""One call of a read, journaled: what was sent under which names, and what came."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.dossier.endings import Failed
from services.executor.core.dossier.past_calls import has_tool_rules
from services.executor.core.reads.dispatched import dispatch_call
from services.executor.core.session.context import TurnContext
from services.executor.core.tools import schema_drift
from services.executor.core.tools.failures import Failure, failure_of
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.marks import MarkKind
from shared.domain.redaction import without_marks
from shared.domain.words import ToolClass

_TOLD = 200  # characters of the arguments that those who watch are told
_PAUSES = (0.5, 2.0)  # seconds before a read is made again that its server refused for the moment


class AnsweredCall(NamedTuple):
    answer: ToolAnswer
    names: Mapping[str, str]  # new names by the old ones that were asked for
    silent: bool = False  # no answer came at all


async def send_call(
    ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, names: Mapping[str, str]
) -> AnsweredCall:
    """What a server answered. A read that it could not serve at the moment is made again, a bounded number of times,
    and one that it was silent about a single time; not where rules speak of tools: one may be allowed a single time.

    A server that does not answer at all ends the run: what it would have said is not guessed.
    """
    repeats = tool.tool_class is ToolClass.READ and not has_tool_rules(ctx.policies)
    made = await _send_once(ctx, key, tool, arguments, names, may_be_silent=repeats)
    if made.silent:
        made = await _send_once(ctx, f"{key}:after_silence", tool, arguments, names)
    left = ctx.limits.tool_seconds if repeats else 0.0
    for number, pause in enumerate(_PAUSES, 1):
        left -= pause
        if left <= 0 or failure_of(made.answer) is not Failure.FOR_THE_MOMENT:
            break
        again = f"{key}:again{number}"
        if ctx.journal.get(again) is None:
            await asyncio.sleep(pause)
        made = await _send_once(ctx, again, tool, arguments, names)
    return made


def format_arguments(arguments: JsonObject, hidden: Mapping[str, MarkKind]) -> str:
    """The arguments for people who watch: marks are taken out first, since half of a number is marked no more."""
    return dumps(without_marks(arguments, hidden))[:_TOLD]


async def _send_once(
    ctx: TurnContext,
    key: str,
    tool: Tool,
    arguments: JsonObject,
    names: Mapping[str, str],
    *,
    may_be_silent: bool = False,
) -> AnsweredCall:
    async def call() -> str:
        answer = await _reach_server(
            ctx, tool, schema_drift.rename_arguments(arguments, names), may_be_silent=may_be_silent
        )
        if answer is None:
            ctx.journal.tell("note", tool=tool.name, problem="no answer came; it is asked once more")
            return dumps({"content": None, "is_error": True, "renamed": {**names}, "silent": True})
        said: dict[str, JsonValue] = {"renamed": {**names}} if names else {}
        asked = format_arguments(arguments, ctx.journal.hidden) if arguments else None
        known = {"tool": tool.name, "tool_class": tool.tool_class.value, "connection": tool.connection_id}
        ctx.journal.tell("tool", **known, asked=asked, ok=not answer.is_error, **said)
        return dumps({"content": answer.content, "is_error": answer.is_error, "renamed": {**names}})

    stored = loads_object(await ctx.journal.run_step(key, "tool", call))
    names_sent = cast("dict[str, str]", stored.get("renamed", {}))
    return AnsweredCall(
        ToolAnswer(stored["content"], bool(stored["is_error"])), names_sent, stored.get("silent") is True
    )


async def _reach_server(
    ctx: TurnContext, tool: Tool, arguments: JsonObject, *, may_be_silent: bool
) -> ToolAnswer | None:
    """None for a server that was silent where that is not the end."""
    try:
        return await dispatch_call(ctx, tool, arguments, reads=tool.tool_class is ToolClass.READ)
    except (ToolUnreachable, ToolSilent) as error:
        if may_be_silent and isinstance(error, ToolSilent):
            return None
        connection = ctx.toolbox.connection_of(tool)
        raise Failed(f"the tool server {connection.id!r} did not answer {tool.name}: {error}", "tool_server") from error
