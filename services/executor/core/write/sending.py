"""Sending one call of a plan: what may be refused is refused first, then come the read before it, intent, call and
answer (I3).
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple

from services.executor.core.reads.one_call import dispatch_call
from services.executor.core.records.references import resolve
from services.executor.core.session.context import TurnContext
from services.executor.core.session.endings import NotSent
from services.executor.core.session.ledger import plan_entries, plan_results, write_key
from services.executor.core.states.machine import DispatchRefused, require_permitted
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import arguments_to_send, key_field, problems_with
from services.executor.core.write.notices import may_go_out, text_place, with_sentence
from services.executor.core.write.settling import (
    read_state_before,
    store_answer,
    store_status,
    was_so_before,
)
from services.executor.ports.tools import PARTS, Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.task import FILE_ID
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import FsmState, WriteStatus

_HELD_UP_SECONDS = 0.5  # between storing an intent and making its request, at the least
_CONNECT_PAUSES = (0.2, 0.5, 1.0)  # seconds between attempts of a call that provably was not sent


class PreparedCall(NamedTuple):
    """One call that is ready to be sent. ``known`` is its ledger entry so far, if there is one."""

    plan: WritePlan
    call: PlannedCall
    tool: Tool
    arguments: JsonObject
    before_json: str
    known: LedgerEntry | None
    compensates: str | None


async def prepare(
    ctx: TurnContext, plan: WritePlan, call: PlannedCall, state: FsmState, known: LedgerEntry | None
) -> PreparedCall:
    """Checks the call, resolves its arguments and reads the state before it. Raises ``NotSent`` if it may not be made;
    nothing is stored or sent here.
    """
    tool = ctx.toolbox.find(call.connection_id, call.tool)
    if tool is None:
        raise NotSent(f"{call.call_id}: the tool {call.tool} is gone; it was not called")
    try:
        require_permitted(state, tool)
        arguments = await _with_notice_sentence(
            ctx, plan, call, tool, resolve(call.arguments, await plan_results(ctx.store, plan))
        )
    except (DispatchRefused, NoSuchPath) as error:
        raise NotSent(f"{call.call_id}: {error}") from error
    problems = problems_with(arguments, tool)
    if problems:
        raise NotSent(f"{call.call_id}: {call.tool} was not called, its arguments do not fit: {problems}")
    undone = next((other.call_id for other in plan.calls if other.compensation == call), None)
    return PreparedCall(plan, call, tool, arguments, await _state_before(ctx, plan, call, known), known, undone)


async def _with_notice_sentence(
    ctx: TurnContext, plan: WritePlan, call: PlannedCall, tool: Tool, arguments: JsonObject
) -> JsonObject:
    """A notice's arguments with its frozen sentence, if a change that it tells of is only acknowledged. Raises
    ``NotSent`` if it may not go out.
    """
    if not call.if_acknowledged:
        return arguments
    going = may_go_out(call, plan, await plan_entries(ctx.store, plan), after_proof=ctx.tenant.notices_after_proof)
    place = text_place(arguments, tool, going.sentence)
    if not going.allowed or (going.sentence and place is None):
        why = going.why_not or "its text has no room for the sentence that a change is not confirmed"
        raise NotSent(f"{call.call_id}: {call.tool} was not called: {why}")
    return with_sentence(arguments, place, going.sentence) if going.sentence and place else arguments


async def send(ctx: TurnContext, prepared: PreparedCall, still_allowed: Callable[[], Awaitable[None]]) -> LedgerEntry:
    """Stores the intent, makes the call and stores the answer.

    Repeats it only while no connection could be made. ``still_allowed`` is called right before each attempt, since the
    read before the call may have taken its time.
    """
    for pause in (*_CONNECT_PAUSES, None):
        await ctx.journal.check_may_go_on()
        await still_allowed()
        opening = asyncio.get_running_loop().time()
        entry = await _open(ctx, prepared)
        try:
            _refuse_if_held_up(ctx, opening)
            answer = await call_tool(ctx, prepared.tool, arguments_to_send(entry, prepared.tool))
        except ToolUnreachable as error:
            prepared = prepared._replace(
                known=await _store_unsent(ctx, prepared, entry, str(error), last=pause is None)
            )
            if pause is None:
                return prepared.known or entry
            await asyncio.sleep(pause)
        except ToolSilent as error:
            ctx.journal.tell("write", call=prepared.call.call_id, tool=prepared.tool.name, silent=str(error))
            return entry
        else:
            return await store_answer(ctx, entry, answer)
    raise AssertionError("the last attempt returns")


async def call_tool(ctx: TurnContext, tool: Tool, arguments: JsonObject) -> ToolAnswer:
    """Makes one call and never repeats it; raises ``ToolUnreachable`` or ``ToolSilent``."""
    return await dispatch_call(ctx, tool, await _with_contents(ctx, arguments), reads=False)


async def _with_contents(ctx: TurnContext, arguments: JsonObject) -> JsonObject:
    """The arguments with the bytes of the files in a person's answer to an agent, which no journal holds."""
    parts = arguments.get(PARTS)
    if not isinstance(parts, list):
        return arguments
    return {**arguments, PARTS: [await _with_bytes(ctx, part) for part in parts]}


async def _with_bytes(ctx: TurnContext, part: Json) -> Json:
    """The part with its file's bytes, or a text that names the file if it is no longer kept."""
    file_id = part.get(FILE_ID) if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(file_id, str):
        return part
    content = await ctx.ports.files.content(ctx.record.tenant, file_id)
    if content is None:
        return {"text": f"(The file {part.get('filename') or 'without a name'} is no longer kept.)"}
    others = {name: value for name, value in part.items() if name != FILE_ID}
    return {"raw": base64.b64encode(content).decode(), **others}


def _refuse_if_held_up(ctx: TurnContext, opening: float) -> None:
    """Raises ``ToolUnreachable`` if the process was frozen after it stored the intent: another may have judged the call
    by now.
    """
    late = asyncio.get_running_loop().time() - opening
    if late > max(ctx.limits.settle_margin_seconds, _HELD_UP_SECONDS):
        raise ToolUnreachable(f"this process was held up for {late:.1f} s before the request, which was not made")


async def _store_unsent(
    ctx: TurnContext, prepared: PreparedCall, entry: LedgerEntry, why: str, *, last: bool
) -> LedgerEntry:
    """Stores that nothing went out this time. What became of an earlier sending stays open."""
    if not under_our_key(prepared.known):
        return await store_status(ctx, entry, WriteStatus.UNSENT, f"no connection was made: {why}")
    status = WriteStatus.IN_DOUBT if last else WriteStatus.RESEND
    return await store_status(
        ctx, entry, status, f"no answer came, and it could not be sent again under the same key: {why}"
    )


def under_our_key(known: LedgerEntry | None) -> bool:
    """Whether the write may be sent again only because the server honours our idempotency key, and not on an operator's
    word.
    """
    return known is not None and known.status is WriteStatus.RESEND and known.resolved is None


def keeps_key(known: LedgerEntry, tool: Tool) -> bool:
    """Whether a resend carries our idempotency key where the first sending had it.

    To an agent only what it never had goes out again, or a person's answer for the first time.
    """
    return tool.is_skill or (known.idempotency_field is not None and known.idempotency_field == key_field(tool))


async def _state_before(ctx: TurnContext, plan: WritePlan, call: PlannedCall, known: LedgerEntry | None) -> str:
    """What the read-back shows before the call, as JSON; a resend under our key keeps what was read before the first
    sending.
    """
    if known is not None and under_our_key(known) and known.before_json is not None:
        return known.before_json
    if call.read_back is not None:
        await ctx.journal.store_then_check()  # the plan and its state are stored before anything is asked for it
    return dumps(await read_state_before(ctx, plan, call))


async def _open(ctx: TurnContext, prepared: PreparedCall) -> LedgerEntry:
    hold = ctx.limits.tool_seconds + ctx.limits.settle_margin_seconds
    known = prepared.known
    over = known is not None and bool(known.earlier) and known.earlier[-1].number == known.attempt
    entry = LedgerEntry(
        key=write_key(prepared.plan, prepared.call),
        call=prepared.call,
        arguments_json=dumps(prepared.arguments),
        plan_hash=prepared.plan.hash,
        status=WriteStatus.SENDING,
        sending_at=ctx.journal.now,
        open_until=ctx.journal.now + timedelta(seconds=hold),
        before_json=prepared.before_json,
        idempotency_field=key_field(prepared.tool),
        decide_hours=ctx.tenant.approval_hours,
        compensates=prepared.compensates,
        attempt=known.attempt + int(over) if known else 1,
        earlier=known.earlier if known else (),
        resolutions=known.resolutions if known else (),
        agent=known.agent if known else None,
    )
    entry = entry.model_copy(update={"shown_before": was_so_before(entry)})
    await ctx.journal.open_write(entry, hold)
    return entry
