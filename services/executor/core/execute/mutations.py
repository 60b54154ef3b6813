"""MUTATE and SCHEDULE_NOTIFY: a plan's calls, each through intent, call, result and proof (I3, I4)."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.endings import Escalated, Failed
from services.executor.core.execute import gate
from services.executor.core.execute.paths import NoSuchPath
from services.executor.core.execute.proof import Evidence, Judgement, judge, judge_lost, judge_refused
from services.executor.core.execute.refs import resolve
from services.executor.core.tooling.validate import problems_with
from services.executor.ports import Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads, loads_object
from shared.domain.words import FsmState, ToolClass, WriteStatus

_CONNECT_PAUSES = (0.2, 0.5, 1.0)  # seconds between attempts of a call that provably was not sent
_DOUBTS = (WriteStatus.ABSENT, WriteStatus.IN_DOUBT)


class Sending(NamedTuple):
    """One call that may go out now: its tool, resolved arguments, and what the read-back shows beforehand."""

    call: PlannedCall
    tool: Tool
    arguments: JsonObject
    before: Json


async def carry_out(ctx: TurnContext, plan: WritePlan, state: FsmState, classes: Iterable[ToolClass]) -> None:
    """Carry out the plan's calls of some classes in order, each at most once, whoever began it.

    Ends the run when a call fails and the plan does not say "continue", and always when one is in doubt.
    """
    wanted = frozenset(classes)
    for call in plan.calls:
        if call.tool_class in wanted:
            entry = await _settled(ctx, plan, call, state)
            _go_on_or_end(entry)


async def settle_open(ctx: TurnContext) -> None:
    """Settle what is still in flight, whatever else happens to the task: a write is never left without its truth."""
    for entry in (await ctx.store.ledger()).values():
        if entry.status is WriteStatus.SENDING:
            await _settle_lost(ctx, entry)
        elif entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE:
            await _prove(ctx, entry)


async def entries(ctx: TurnContext, plan: WritePlan) -> dict[str, LedgerEntry]:
    """The ledger's entries of a plan by call id."""
    return {entry.call.call_id: entry for entry in (await ctx.store.ledger()).values() if entry.plan_hash == plan.hash}


def write_key(plan: WritePlan, call: PlannedCall) -> str:
    """The name of one intended write for good: the same in whichever process and attempt it is computed."""
    return digest([plan.task_id, plan.round, plan.hash, call.call_id])[:32]


async def _settled(ctx: TurnContext, plan: WritePlan, call: PlannedCall, state: FsmState) -> LedgerEntry:
    known = (await ctx.store.ledger()).get(write_key(plan, call))
    if known is None or known.status is WriteStatus.UNSENT:
        known = await _send(ctx, plan, await _prepare(ctx, plan, call, state))
    if known.status is WriteStatus.SENDING:
        known = await _settle_lost(ctx, known)
    if known.status is WriteStatus.SENT and call.tool_class is ToolClass.CHANGE:
        known = await _prove(ctx, known)
    return known


async def _prepare(ctx: TurnContext, plan: WritePlan, call: PlannedCall, state: FsmState) -> Sending:
    """Everything that may be refused is refused here, before anything is stored or sent."""
    tool = ctx.toolbox.find(call.connection_id, call.tool)
    if tool is None:
        raise Failed(f"{call.call_id}: the tool {call.tool} is gone; it was not called")
    try:
        gate.check(state, tool)
        arguments = resolve(call.arguments, await _results(ctx, plan))
    except (gate.Refused, NoSuchPath) as error:
        raise Failed(f"{call.call_id}: {error}") from error
    problems = problems_with(arguments, tool)
    if problems:
        raise Failed(f"{call.call_id}: {call.tool} was not called, its arguments do not fit: {problems}")
    return Sending(call, tool, arguments, await _read_back(ctx, plan, call))


async def _send(ctx: TurnContext, plan: WritePlan, sending: Sending) -> LedgerEntry:
    """Store the intent, make the call, store what came. Repeated only while no connection could be made."""
    for pause in (*_CONNECT_PAUSES, None):
        await ctx.journal.check()
        entry = await _open(ctx, plan, sending)
        try:
            answer = await _call(ctx, sending.tool, sending.arguments)
        except ToolUnreachable as error:
            unsent = await _settle(ctx, entry, WriteStatus.UNSENT, f"no connection was made: {error}")
            if pause is None:
                return unsent
            await asyncio.sleep(pause)
        except ToolSilent as error:
            ctx.journal.tell("write", call=sending.call.call_id, tool=sending.tool.name, silent=str(error))
            return entry
        else:
            return await _answered(ctx, entry, answer)
    raise AssertionError("the last attempt returns")


async def _open(ctx: TurnContext, plan: WritePlan, sending: Sending) -> LedgerEntry:
    hold = ctx.limits.tool_seconds + ctx.limits.settle_margin_seconds
    entry = LedgerEntry(
        key=write_key(plan, sending.call),
        call=sending.call,
        arguments_json=dumps(sending.arguments),
        plan_hash=plan.hash,
        status=WriteStatus.SENDING,
        sending_at=ctx.journal.now,
        open_until=ctx.journal.now + timedelta(seconds=hold),
        before_json=dumps(sending.before),
    )
    ctx.journal.noted(await ctx.store.open_write(entry, hold))
    return entry


async def _call(ctx: TurnContext, tool: Tool, arguments: JsonObject) -> ToolAnswer:
    connection = ctx.toolbox.connection_of(tool)
    return await ctx.ports.tools.call(connection, tool.name, arguments, ctx.limits.tool_seconds, ctx.record.session_id)


async def _answered(ctx: TurnContext, entry: LedgerEntry, answer: ToolAnswer) -> LedgerEntry:
    if answer.is_error:
        return await _refused(ctx, entry, _told(answer.content))
    sent = entry.model_copy(update={"result_json": dumps(answer.content)})
    return await _settle(ctx, sent, WriteStatus.SENT, "the server answered")


async def _refused(ctx: TurnContext, entry: LedgerEntry, said: str) -> LedgerEntry:
    """Read back a write that was answered with an error: a server may have written all the same."""
    if entry.call.tool_class is not ToolClass.CHANGE or entry.call.read_back is None:
        return await _settle(ctx, entry, WriteStatus.REFUSED, f"the server refused: {said}")
    after = await _read_back_of(ctx, entry)
    judgement = judge_refused(_evidence(entry, after), said)
    return await _settle(ctx, _with_proof(entry, after), judgement.status, judgement.note)


async def _prove(ctx: TurnContext, entry: LedgerEntry) -> LedgerEntry:
    """Read back a write that was answered, and say what the read shows."""
    if entry.call.read_back is None:
        return await _settle(ctx, entry, WriteStatus.UNVERIFIED, "no read tool can show it")
    after = await _read_back_of(ctx, entry)
    judgement = judge(_evidence(entry, after))
    return await _settle(ctx, _with_proof(entry, after), judgement.status, judgement.note)


async def _settle_lost(ctx: TurnContext, entry: LedgerEntry) -> LedgerEntry:
    """Settle a call whose answer never came, after its time has passed: by reading, never by sending again."""
    await _wait_until_closed(ctx, entry)
    if entry.call.tool_class is not ToolClass.CHANGE or entry.call.read_back is None:
        return await _settle(ctx, entry, WriteStatus.IN_DOUBT, "no answer came, and no read tool can show it")
    after = await _read_back_of(ctx, entry)
    evidence = _evidence(entry, after)
    judgement = judge_lost(evidence) if evidence.before is not None else _undecided()
    return await _settle(ctx, _with_proof(entry, after), judgement.status, judgement.note)


async def _wait_until_closed(ctx: TurnContext, entry: LedgerEntry) -> None:
    """Until the call's time has passed by the store's clock; the lease is kept alive by its heartbeat meanwhile."""
    ctx.journal.noted(await ctx.store.pulse())
    if entry.open_until is not None:
        await asyncio.sleep(max(0.0, (entry.open_until - ctx.journal.now).total_seconds()))
    ctx.journal.noted(await ctx.store.pulse())


async def _settle(ctx: TurnContext, entry: LedgerEntry, status: WriteStatus, note: str) -> LedgerEntry:
    settled = entry.model_copy(update={"status": status, "note": note})
    ctx.journal.tell("write", call=entry.call.call_id, tool=entry.call.tool, status=status.value, note=note)
    ctx.journal.noted(await ctx.store.settle_write(settled, entry.status, ctx.journal.untold()))
    return settled


async def _results(ctx: TurnContext, plan: WritePlan) -> dict[str, Json]:
    known = await entries(ctx, plan)
    return {call_id: loads(entry.result_json) for call_id, entry in known.items() if entry.result_json is not None}


async def _read_back(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> Json:
    """What the read-back shows before the call; None where it cannot be asked yet (it needs the call's own result)."""
    if call.read_back is None:
        return None
    try:
        arguments = resolve(loads_object(call.read_back.arguments_json), await _results(ctx, plan))
    except NoSuchPath:
        return None
    return await _shown(ctx, call, arguments)


async def _read_back_of(ctx: TurnContext, entry: LedgerEntry) -> Json:
    """What the read-back shows after the call; None where it cannot be asked or does not answer."""
    read_back = entry.call.read_back
    own: dict[str, Json] = {entry.call.call_id: loads(entry.result_json)} if entry.result_json is not None else {}
    known = {e.call.call_id: loads(e.result_json) for e in (await ctx.store.ledger()).values() if e.result_json}
    try:
        arguments = resolve(loads_object(read_back.arguments_json if read_back else "{}"), {**known, **own})
    except NoSuchPath:
        return None
    return await _shown(ctx, entry.call, arguments)


async def _shown(ctx: TurnContext, call: PlannedCall, arguments: JsonObject) -> Json:
    reader = ctx.toolbox.find(call.connection_id, call.read_back.tool) if call.read_back else None
    if reader is None or reader.tool_class is not ToolClass.READ:  # its class may have changed since the plan
        return None
    try:
        answer = await _call(ctx, reader, arguments)
    except (ToolUnreachable, ToolSilent) as error:
        ctx.journal.tell("note", call=call.call_id, problem=f"the read-back did not answer: {error}")
        return None
    return None if answer.is_error else answer.content


def _evidence(entry: LedgerEntry, after: Json) -> Evidence:
    call = entry.call
    return Evidence(
        tool=call.tool,
        arguments=loads_object(entry.arguments_json),
        expect=loads_object(call.read_back.expect_json) if call.read_back else {},
        before=loads(entry.before_json or "null"),
        result=loads(entry.result_json or "null"),
        after=after,
        asked=frozenset(loads_object(call.read_back.arguments_json)) if call.read_back else frozenset(),
    )


def _undecided() -> Judgement:
    return Judgement(WriteStatus.IN_DOUBT, "no answer came, and nothing is known of the state before the call")


def _with_proof(entry: LedgerEntry, after: Json) -> LedgerEntry:
    return entry.model_copy(update={"proof_json": dumps(after)})


def _go_on_or_end(entry: LedgerEntry) -> None:
    """A doubt always ends the run; a failure does unless the plan says otherwise."""
    what = f"{entry.call.call_id} {entry.call.tool}: {entry.note}"
    if entry.status in _DOUBTS:
        raise Escalated(f"a write is {entry.status.value.replace('_', ' ')} and was not repeated: {what}")
    if entry.status in (WriteStatus.REFUSED, WriteStatus.UNSENT) and entry.call.on_failure != "continue":
        raise Failed(what)


def _told(content: Json) -> str:
    return content if isinstance(content, str) else dumps(content)
