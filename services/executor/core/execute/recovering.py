"""A read whose tool is gone: asked of one that does the same, one by one, or as a model advises; else it is said."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.execute.advice import advised
from services.executor.core.execute.one_call import Sent, sent
from services.executor.core.execute.renaming import corrected
from services.executor.core.past_calls import has_tool_rules
from services.executor.core.tooling.failures import Failure, failure_of, has_failed
from services.executor.core.tooling.paginate_walk import PARTIAL
from services.executor.core.tooling.recover import Instead, may_be_proposed, singles, synonyms
from services.executor.ports.tools import Tool, ToolAnswer
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import ToolClass

_SHOWN = 120  # characters of each failure that are told


class Recovered(NamedTuple):
    """What came in the end; ``tool`` and ``arguments``: what was asked for it; ``note``: what is to be said of it."""

    sent: Sent
    tool: Tool
    arguments: JsonObject
    note: str = ""


async def recovered(ctx: TurnContext, key: str, tool: Tool, arguments: JsonObject, made: Sent) -> Recovered:
    """The answer as it came, unless its tool is gone and a read of the same server answers instead.

    Every call is a step of the journal. Where rules speak of tools nothing is replaced: they name what may be called.
    """
    kind = failure_of(made.answer)
    unchanged = Recovered(made, tool, arguments)
    if kind not in (Failure.TOOL_GONE, Failure.TOO_MUCH) or tool.tool_class is not ToolClass.READ:
        return unchanged
    tried: list[str] = []
    if not has_tool_rules(ctx.policies):
        others = tuple(ctx.toolbox.tools.values())
        gone = kind is Failure.TOOL_GONE
        found = await _by_synonym(ctx, key, tool, arguments, others, tried) if gone else None
        found = found or await _one_by_one(ctx, key, singles(tool, arguments, others), tried)
        found = found or (await _as_advised(ctx, key, tool, arguments, others, tried) if gone else None)
        if found is not None:
            return _told(ctx, tool, found)
    what = f"tried instead: {'; '.join(tried)}" if tried else "nothing could stand in for it"
    failed = made._replace(answer=made.answer._replace(is_error=True))
    return _told(ctx, tool, unchanged._replace(sent=failed, note=f"{tool.name} could not be read; {what}."))


async def _by_synonym(
    ctx: TurnContext, key: str, gone: Tool, arguments: JsonObject, others: Sequence[Tool], tried: list[str]
) -> Recovered | None:
    for number, instead in enumerate(synonyms(gone, arguments, others), 1):
        found = await _instead(ctx, f"{key}:instead{number}", gone, instead, tried)
        if found is not None:
            return found
    return None


async def _as_advised(
    ctx: TurnContext, key: str, gone: Tool, arguments: JsonObject, others: Sequence[Tool], tried: list[str]
) -> Recovered | None:
    """What a model proposes among the reads about the same kind of record, if there are any that were not tried."""
    before = [said.partition(":")[0] for said in tried]
    open_to_advice = [tool for tool in others if tool.name not in before and may_be_proposed(gone, tool)]
    instead = await advised(ctx, key, gone, arguments, open_to_advice) if open_to_advice else None
    return await _instead(ctx, f"{key}:advised", gone, instead, tried) if instead else None


async def _instead(ctx: TurnContext, step: str, gone: Tool, call: Instead, tried: list[str]) -> Recovered | None:
    tool, given = call
    made, _ = await corrected(ctx, step, tool, given, await sent(ctx, step, tool, given, {}))
    if not has_failed(made.answer):
        return Recovered(made, tool, given, f"{gone.name} is gone; {tool.name} answered instead.")
    tried.append(_failure(tool, made.answer))
    return None


async def _one_by_one(ctx: TurnContext, key: str, calls: Sequence[Instead], tried: list[str]) -> Recovered | None:
    """The rows of single reads, in the order of the ids; None if not one could be made."""
    rows: list[Json] = []
    missing: list[str] = []
    made: Sent | None = None
    for number, (tool, given) in enumerate(calls, 1):
        one = await sent(ctx, f"{key}:single{number}", tool, given, {})
        if has_failed(one.answer):
            missing.append(_failure(tool, one.answer))
        else:
            made = one
            rows.append(one.answer.content)
    if made is None:
        tried += missing[:1]
        return None
    tool, arguments = calls[0]
    note = f"Read one by one with {tool.name}: {len(rows)} of {len(calls)}."
    if missing:
        note = f"{PARTIAL}: {note} Not read: {'; '.join(missing[:3])}"
    return Recovered(made._replace(answer=ToolAnswer(rows)), tool, arguments, note)


def _told(ctx: TurnContext, asked: Tool, found: Recovered) -> Recovered:
    ctx.journal.tell("note", tool=asked.name, recovered=not found.sent.answer.is_error, how=found.note)
    return found


def _failure(tool: Tool, answer: ToolAnswer) -> str:
    return f"{tool.name}: {dumps(answer.content)[:_SHOWN]}"
