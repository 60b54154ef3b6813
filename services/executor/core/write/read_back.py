"""Reading back: what the planned read shows before and after a write, as evidence for its proof (I4)."""

from services.executor.core.figures.calculate.conditions import NoSuchPath
from services.executor.core.reads.dispatched import dispatch_call
from services.executor.core.records.refs import resolve
from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import results
from services.executor.core.tools.failures import failure_of, has_failed, says_absent
from services.executor.core.tools.paginate_walk import listing
from services.executor.core.tools.validate import problems_with
from services.executor.core.write.field_proof import WriteEvidence, shows_already
from services.executor.ports.tools import Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps, loads, loads_object
from shared.domain.words import ToolClass


async def call_tool(ctx: TurnContext, tool: Tool, arguments: JsonObject) -> ToolAnswer:
    """One call, never repeated here; raises ``ToolUnreachable`` or ``ToolSilent``."""
    return await dispatch_call(ctx, tool, arguments, reads=False)


async def read_state_before(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> Json:
    """What the read-back shows before the call; None where it cannot be asked yet (it needs the call's own result)."""
    if call.read_back is None:
        return None
    try:
        arguments = resolve(loads_object(call.read_back.arguments_json), await results(ctx.store, plan))
    except NoSuchPath:
        return None
    return await _read_state(ctx, call, arguments)


async def read_state_after(ctx: TurnContext, entry: LedgerEntry) -> Json:
    """What the read-back shows after the call; nothing (``[]``) where it says that there is no such record.

    None where it cannot be asked or does not answer.
    """
    read_back = entry.call.read_back
    own: dict[str, Json] = {entry.call.call_id: loads(entry.result_json)} if entry.result_json is not None else {}
    known = {e.call.call_id: loads(e.result_json) for e in (await ctx.store.ledger()).values() if e.result_json}
    try:
        arguments = resolve(loads_object(read_back.arguments_json if read_back else "{}"), {**known, **own})
    except NoSuchPath:
        return None
    return await _read_state(ctx, entry.call, arguments)


def evidence(entry: LedgerEntry, after: Json) -> WriteEvidence:
    """What is known of a write, for judging it."""
    call = entry.call
    return WriteEvidence(
        tool=call.tool,
        arguments=loads_object(entry.arguments_json),
        expect=loads_object(call.read_back.expect_json) if call.read_back else {},
        before=loads(entry.before_json or "null"),
        result=loads(entry.result_json or "null"),
        after=after,
        asked=loads_object(call.read_back.arguments_json) if call.read_back else {},
    )


def was_so_before(entry: LedgerEntry) -> bool:
    """Whether what was read before the call shows all that the call sets: it was so, or the call was made before."""
    return shows_already(evidence(entry, None))


async def _read_state(ctx: TurnContext, call: PlannedCall, arguments: JsonObject) -> Json:
    reader = ctx.toolbox.find(call.connection_id, call.read_back.tool) if call.read_back else None
    if reader is None or reader.tool_class is not ToolClass.READ:  # its class may have changed since the plan
        return None
    try:
        answer = await _read(ctx, reader, arguments)
        if failure_of(answer) is not None:
            return [] if says_absent(answer.content) else None
        return [] if answer.content is None else await _whole(ctx, call, reader, arguments, answer.content)
    except (ToolUnreachable, ToolSilent) as error:
        ctx.journal.tell("note", call=call.call_id, problem=f"the read-back did not answer: {error}")
        return None


async def _whole(ctx: TurnContext, call: PlannedCall, reader: Tool, arguments: JsonObject, first: Json) -> Json:
    """All rows of a list that comes in parts; None if not all can be had: a part proves neither yes nor no."""
    found = listing(reader, arguments, first, ctx.limits.lists)
    if found is None:
        return first
    while (following := found.following) is not None:
        problems = problems_with(following, reader)
        part = None if problems else await _read(ctx, reader, following)
        if part is None or has_failed(part):
            found.note_refusal(problems or dumps(part.content if part else None))
            break
        found.add(part.content)
    if found.why_partial:
        ctx.journal.tell("note", call=call.call_id, problem=f"the read-back came in part: {found.why_partial}")
        return None
    return found.merge_rows(first)


async def _read(ctx: TurnContext, reader: Tool, arguments: JsonObject) -> ToolAnswer:
    return await dispatch_call(ctx, reader, arguments, reads=True)
