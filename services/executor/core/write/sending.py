"""Sending one call of a plan: what may be refused is refused first, then come intent, call and answer (I3).

A call of an agent's skill may take its time: this file also asks what became of it, hears what it asks a person, and
stops it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple

from services.executor.core.records.references import resolve
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Rest
from services.executor.core.session.endings import NotSent
from services.executor.core.session.ledger import entries, results, with_attempt, write_key
from services.executor.core.states.machine import DispatchRefused, require_permitted
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import MOST_SENDINGS, as_sent, key_field, problems_with
from services.executor.core.write.notices import may_go_out, text_place, with_sentence
from services.executor.core.write.settling import (
    call_tool,
    read_state_before,
    settle_by_reading,
    store_answer,
    store_status,
    store_unfinished,
    wait_until_closed,
    was_so_before,
)
from services.executor.ports.tools import NEVER_TAKEN, Tool, ToolAnswer, ToolSilent, ToolUnreachable
from services.executor.ports.turns import Timer
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.task import TurnKind
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import FsmState, WriteStatus

_HELD_UP_SECONDS = 0.5  # between storing an intent and making its request, at the least
_CONNECT_PAUSES = (0.2, 0.5, 1.0)  # seconds between attempts of a call that provably was not sent


class Sending(NamedTuple):
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
) -> Sending:
    """Checks the call, resolves its arguments and reads the state before it. Raises ``NotSent`` if it may not be made;
    nothing is stored or sent here.
    """
    tool = ctx.toolbox.find(call.connection_id, call.tool)
    if tool is None:
        raise NotSent(f"{call.call_id}: the tool {call.tool} is gone; it was not called")
    try:
        require_permitted(state, tool)
        arguments = await _with_notice_sentence(
            ctx, plan, call, tool, resolve(call.arguments, await results(ctx.store, plan))
        )
    except (DispatchRefused, NoSuchPath) as error:
        raise NotSent(f"{call.call_id}: {error}") from error
    problems = problems_with(arguments, tool)
    if problems:
        raise NotSent(f"{call.call_id}: {call.tool} was not called, its arguments do not fit: {problems}")
    undone = next((other.call_id for other in plan.calls if other.compensation == call), None)
    return Sending(plan, call, tool, arguments, await _state_before(ctx, plan, call, known), known, undone)


async def _with_notice_sentence(
    ctx: TurnContext, plan: WritePlan, call: PlannedCall, tool: Tool, arguments: JsonObject
) -> JsonObject:
    """A notice's arguments with its frozen sentence, if a change that it tells of is only acknowledged. Raises
    ``NotSent`` if it may not go out.
    """
    if not call.if_acknowledged:
        return arguments
    going = may_go_out(call, plan, await entries(ctx.store, plan), after_proof=ctx.tenant.notices_after_proof)
    place = text_place(arguments, tool, going.sentence)
    if not going.allowed or (going.sentence and place is None):
        why = going.why_not or "its text has no room for the sentence that a change is not confirmed"
        raise NotSent(f"{call.call_id}: {call.tool} was not called: {why}")
    return with_sentence(arguments, place, going.sentence) if going.sentence and place else arguments


async def send(ctx: TurnContext, sending: Sending, still_allowed: Callable[[], Awaitable[None]]) -> LedgerEntry:
    """Stores the intent, makes the call and stores the answer.

    Repeats it only while no connection could be made. ``still_allowed`` is called right before each attempt, since the
    read before the call may have taken its time.
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
            sending = sending._replace(known=await _store_unsent(ctx, sending, entry, str(error), last=pause is None))
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
    """Raises ``ToolUnreachable`` if the process was frozen after it stored the intent: another may have judged the call
    by now.
    """
    late = asyncio.get_running_loop().time() - opening
    if late > max(ctx.limits.settle_margin_seconds, _HELD_UP_SECONDS):
        raise ToolUnreachable(f"this process was held up for {late:.1f} s before the request, which was not made")


async def _store_unsent(ctx: TurnContext, sending: Sending, entry: LedgerEntry, why: str, *, last: bool) -> LedgerEntry:
    """Stores that nothing went out this time. What became of an earlier sending stays open."""
    if not under_our_key(sending.known):
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


_SUBJECT = "question:"  # begins the subject of the timer that ends the wait for an answer
_FIRST_LOOK, _LONGEST_PAUSE = 2.0, 60.0  # seconds until an agent that is at work is looked at again


class AgentAsks(Exception):
    """The run cannot go on before a person has answered an agent's question."""

    def __init__(self, entry: LedgerEntry) -> None:
        super().__init__(entry.note)
        self.entry = entry


class AgentAtWork(Exception):
    """The agent has not finished; ``rest`` says until when the task waits before it looks again."""

    def __init__(self, rest: Rest) -> None:
        super().__init__(rest.why)
        self.rest = rest


def question_timer(entry: LedgerEntry) -> Timer | None:
    """The timer that ends the wait for an answer to the entry's question; None if it waits without end."""
    return Timer(entry.decide_by, f"{_SUBJECT}{entry.question_id}") if entry.decide_by else None


def is_with_agent(entry: LedgerEntry) -> bool:
    """Whether an agent has the call and has not finished it, or is about to be given a person's answer."""
    waits = entry.status is WriteStatus.RESEND and entry.agent is not None and entry.agent.reply is not None
    return entry.status is WriteStatus.ASKED or waits or _is_at_work(entry)


async def find_truth(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    """Settles what is open about a write, by its agent's word if it has one, else by reading, and returns its entry.

    Without ``may_resend`` nothing more is sent, and an agent that has not finished is told to stop. Raises
    ``AgentAtWork``.
    """
    tool = ctx.toolbox.find(entry.call.connection_id, entry.call.tool)
    is_open = entry.status is WriteStatus.SENDING or (is_with_agent(entry) and not may_resend)
    if is_open and tool is not None and tool.is_skill:
        await wait_until_closed(ctx.store, ctx.journal, entry)
        told = await _ask_outcome(ctx, entry, stop_agent=not may_resend)
        if told is not None:
            return told
        if entry.status is WriteStatus.ASKED:
            return await store_status(ctx, entry, WriteStatus.IN_DOUBT, "the agent could not be told to stop")
    return await settle_by_reading(ctx, entry, may_resend=may_resend)


async def hear_reply(ctx: TurnContext, entry: LedgerEntry) -> LedgerEntry:
    """The entry with this turn's answer, to be sent to the same task of the agent; ``AgentAsks`` while there is none.

    The turn in which the agent asked is no answer, also when it is tried again. Nobody but the requester answers.
    """
    turn, agent = ctx.turn, entry.agent
    if turn.kind is TurnKind.DEADLINE and turn.data.get("subject") == f"{_SUBJECT}{entry.question_id}":
        return await find_truth(ctx, entry, may_resend=False)
    is_said = turn.kind in (TurnKind.MESSAGE, TurnKind.DECISION) and bool(turn.text.strip())
    if agent is None or not is_said or turn.turn_id == agent.asked_in or turn.principal.id != ctx.record.requester.id:
        raise AgentAsks(entry)
    replied = agent.model_copy(update={"reply": turn.text, "reply_parts": turn.parts, "replies": agent.replies + 1})
    note = f"{turn.principal.id} answered what the agent asks"
    await store_status(ctx, entry.model_copy(update={"agent": replied}), WriteStatus.RESEND, note)
    return (await ctx.store.ledger())[entry.key]  # a replay knows already what came of it


async def _ask_outcome(ctx: TurnContext, entry: LedgerEntry, *, stop_agent: bool) -> LedgerEntry | None:
    """The entry by what its agent says of the call; None if it cannot be asked, or does not know."""
    tool = ctx.toolbox.find(entry.call.connection_id, entry.call.tool)
    if tool is None:
        return None
    # An agent has as long as a decision may take.
    now, hours = ctx.journal.now, timedelta(hours=ctx.tenant.approval_hours)
    is_over = _is_at_work(entry) and now >= (entry.sending_at or now) + hours
    connection, stop_agent = ctx.toolbox.connection_of(tool), stop_agent or is_over
    sent, seconds, session = as_sent(entry, tool), ctx.limits.tool_seconds, ctx.record.session_id
    try:
        answer = await ctx.ports.tools.ask_outcome(connection, sent, seconds, session, stop_agent=stop_agent)
    except (ToolUnreachable, ToolSilent) as error:
        ctx.journal.tell("note", call=entry.call.call_id, problem=f"the agent did not answer: {error}")
        if _is_at_work(entry) and not stop_agent:
            raise AgentAtWork(_next_look(ctx, entry)) from error
        return None
    return await _as_agent_says(ctx, entry, answer, stop_agent=stop_agent) if answer is not None else None


async def _as_agent_says(ctx: TurnContext, entry: LedgerEntry, answer: ToolAnswer, *, stop_agent: bool) -> LedgerEntry:
    if answer == NEVER_TAKEN:
        return await _settle_never_taken(ctx, entry, may_resend=not stop_agent)
    if answer.unfinished is None:
        return await store_answer(ctx, entry, answer)
    if stop_agent:
        return await store_status(ctx, entry, WriteStatus.IN_DOUBT, "the agent was told to stop, and did not")
    known = await store_unfinished(ctx, entry, answer.unfinished)
    if _is_at_work(known):
        raise AgentAtWork(_next_look(ctx, known))
    return known


async def _settle_never_taken(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    note = "no answer came, and the agent never took the message"
    if may_resend and entry.attempt < MOST_SENDINGS:
        once_more = with_attempt(entry, WriteStatus.ABSENT, note)
        return await store_status(ctx, once_more, WriteStatus.RESEND, f"{note}; it is sent again under the same name")
    return await store_status(ctx, entry, WriteStatus.REFUSED, note)


def _next_look(ctx: TurnContext, entry: LedgerEntry) -> Rest:
    """The wait until the agent is asked again, longer the longer it has been at work; it costs no working time."""
    now = ctx.journal.now
    worked = (now - (entry.sending_at or now)).total_seconds()
    until = now + timedelta(seconds=min(max(_FIRST_LOOK, worked / 4), _LONGEST_PAUSE))
    return Rest(until, f"the agent {entry.call.connection_id!r} is at work on {entry.call.call_id} {entry.call.tool}")


def _is_at_work(entry: LedgerEntry) -> bool:
    return entry.status is WriteStatus.SENDING and entry.agent is not None and entry.agent.at_work
