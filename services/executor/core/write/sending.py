"""Sending one call of a plan: what may be refused is refused first, then intent, call, answer (I3)."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple

from services.executor.core.records.references import resolve
from services.executor.core.session.context import TurnContext
from services.executor.core.session.endings import NotSent
from services.executor.core.session.ledger import entries, results, write_key
from services.executor.core.states.machine import DispatchRefused, require_permitted
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import as_sent, key_field, problems_with
from services.executor.core.write.notices import may_go_out, text_place, with_sentence
from services.executor.core.write.settling import (
    call_tool,
    read_state_before,
    store_answer,
    store_status,
    was_so_before,
)
from services.executor.ports.tools import Tool, ToolSilent, ToolUnreachable
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import FsmState, WriteStatus

_HELD_UP_SECONDS = 0.5  # between storing an intent and making its request, at the least
_CONNECT_PAUSES = (0.2, 0.5, 1.0)  # seconds between attempts of a call that provably was not sent


class Sending(NamedTuple):
    """One call that may go out now. ``known`` is what the ledger holds of it already, if it holds anything."""

    plan: WritePlan
    call: PlannedCall
    tool: Tool
    arguments: JsonObject
    before_json: str
    known: LedgerEntry | None
    compensates: str | None


async def prepare(
    ctx: TurnContext, plan: WritePlan, call: PlannedCall, state: FsmState, known: LedgerEntry | None
) -> Sending:
    """Everything that may be refused is refused here, before anything is stored or sent: raises ``NotSent``."""
    tool = ctx.toolbox.find(call.connection_id, call.tool)
    if tool is None:
        raise NotSent(f"{call.call_id}: the tool {call.tool} is gone; it was not called")
    try:
        require_permitted(state, tool)
        arguments = await _as_told(ctx, plan, call, tool, resolve(call.arguments, await results(ctx.store, plan)))
    except (DispatchRefused, NoSuchPath) as error:
        raise NotSent(f"{call.call_id}: {error}") from error
    problems = problems_with(arguments, tool)
    if problems:
        raise NotSent(f"{call.call_id}: {call.tool} was not called, its arguments do not fit: {problems}")
    undone = next((other.call_id for other in plan.calls if other.compensation == call), None)
    return Sending(plan, call, tool, arguments, await _state_before(ctx, plan, call, known), known, undone)


async def _as_told(
    ctx: TurnContext, plan: WritePlan, call: PlannedCall, tool: Tool, arguments: JsonObject
) -> JsonObject:
    """A notice's arguments with its frozen sentence, where a change that it tells of is only acknowledged."""
    if not call.if_acknowledged:
        return arguments
    going = may_go_out(call, plan, await entries(ctx.store, plan), after_proof=ctx.tenant.notices_after_proof)
    place = text_place(arguments, tool, going.sentence)
    if not going.allowed or (going.sentence and place is None):
        why = going.why_not or "its text has no room for the sentence that a change is not confirmed"
        raise NotSent(f"{call.call_id}: {call.tool} was not called: {why}")
    return with_sentence(arguments, place, going.sentence) if going.sentence and place else arguments


async def send(ctx: TurnContext, sending: Sending, still_allowed: Callable[[], Awaitable[None]]) -> LedgerEntry:
    """Store the intent, make the call, store what came. Repeated only while no connection could be made.

    ``still_allowed`` is asked right before: what was read for the proof may have taken its time.
    """
    for pause in (*_CONNECT_PAUSES, None):
        await ctx.journal.look()
        await still_allowed()
        opening = asyncio.get_running_loop().time()
        entry = await _open(ctx, sending)
        try:
            _refuse_if_held_up(ctx, opening)
            answer = await call_tool(ctx, sending.tool, as_sent(entry, sending.tool))
        except ToolUnreachable as error:
            sending = sending._replace(known=await _unsent(ctx, sending, entry, str(error), last=pause is None))
            if pause is None:
                return sending.known or entry
            await asyncio.sleep(pause)
        except ToolSilent as error:
            ctx.journal.tell("write", call=sending.call.call_id, tool=sending.tool.name, silent=str(error))
            return entry
        else:
            return await store_answer(ctx, entry, answer)
    raise AssertionError("the last attempt returns")


def _refuse_if_held_up(ctx: TurnContext, opening: float) -> None:
    """A process that was frozen after it stored the intent must not send it late: others may have judged it by then."""
    late = asyncio.get_running_loop().time() - opening
    if late > max(ctx.limits.settle_margin_seconds, _HELD_UP_SECONDS):
        raise ToolUnreachable(f"this process was held up for {late:.1f} s before the request, which was not made")


async def _unsent(ctx: TurnContext, sending: Sending, entry: LedgerEntry, why: str, *, last: bool) -> LedgerEntry:
    """Nothing went out this time. What an earlier sending came to is as open as before."""
    if not under_our_key(sending.known):
        return await store_status(ctx, entry, WriteStatus.UNSENT, f"no connection was made: {why}")
    status = WriteStatus.IN_DOUBT if last else WriteStatus.RESEND
    return await store_status(
        ctx, entry, status, f"no answer came, and it could not be sent again under the same key: {why}"
    )


def under_our_key(known: LedgerEntry | None) -> bool:
    """Whether a write that may be sent again relies on the server's honouring our key, and on nobody's word."""
    return known is not None and known.status is WriteStatus.RESEND and known.resolved is None


def same_key(known: LedgerEntry, tool: Tool) -> bool:
    """Whether a resend reaches a server that still takes our key where the first sending had it.

    To an agent only what it never had goes out again, or a person's answer for the first time.
    """
    return tool.is_skill or (known.idempotency_field is not None and known.idempotency_field == key_field(tool))


async def _state_before(ctx: TurnContext, plan: WritePlan, call: PlannedCall, known: LedgerEntry | None) -> str:
    """What is read before the call; a resend under our key keeps what was read before the first sending."""
    if known is not None and under_our_key(known) and known.before_json is not None:
        return known.before_json
    if call.read_back is not None:
        await ctx.journal.check()  # the plan and its state are stored before anything is asked for it
    return dumps(await read_state_before(ctx, plan, call))


async def _open(ctx: TurnContext, sending: Sending) -> LedgerEntry:
    hold = ctx.limits.tool_seconds + ctx.limits.settle_margin_seconds
    known = sending.known
    over = known is not None and bool(known.earlier) and known.earlier[-1].number == known.attempt
    entry = LedgerEntry(
        key=write_key(sending.plan, sending.call),
        call=sending.call,
        arguments_json=dumps(sending.arguments),
        plan_hash=sending.plan.hash,
        status=WriteStatus.SENDING,
        sending_at=ctx.journal.now,
        open_until=ctx.journal.now + timedelta(seconds=hold),
        before_json=sending.before_json,
        idempotency_field=key_field(sending.tool),
        decide_hours=ctx.tenant.approval_hours,
        compensates=sending.compensates,
        attempt=known.attempt + int(over) if known else 1,
        earlier=known.earlier if known else (),
        resolutions=known.resolutions if known else (),
        agent=known.agent if known else None,
    )
    entry = entry.model_copy(update={"shown_before": was_so_before(entry)})
    await ctx.journal.open_write(entry, hold)
    return entry
