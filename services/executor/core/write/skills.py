"""Calls of an agent's skill that take their time: what became of one, what it asks a person, and how it is stopped."""

from datetime import datetime, timedelta

from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Rest
from services.executor.core.session.ledger import with_attempt
from services.executor.core.tools.toolbox import MOST_SENDINGS, as_sent
from services.executor.core.write.settling import (
    settle_by_reading,
    store_answer,
    store_status,
    store_unfinished,
    wait_until_closed,
)
from services.executor.ports.tools import NEVER_TAKEN, ToolAnswer, ToolSilent, ToolUnreachable
from services.executor.ports.turns import Timer
from shared.contracts.ledger import AgentCall, LedgerEntry
from shared.contracts.task import Turn, TurnKind
from shared.domain.words import WriteStatus

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
    """What ends the wait for an answer to the entry's question."""
    return Timer(entry.decide_by, f"{_SUBJECT}{entry.question_id}") if entry.decide_by else None


def is_with_agent(entry: LedgerEntry) -> bool:
    """Whether an agent has the call and has not finished it, or is about to be given a person's answer."""
    waits = entry.status is WriteStatus.RESEND and entry.agent is not None and entry.agent.reply is not None
    return entry.status is WriteStatus.ASKED or waits or _is_at_work(entry)


async def find_truth(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    """The entry once what is open about it is settled, by its agent's word where it has one, else by reading.

    Without ``may_resend`` nothing more is sent, and an agent that has not finished is told to stop. Raises
    ``AgentAtWork``.
    """
    is_open = entry.status is WriteStatus.SENDING or (is_with_agent(entry) and not may_resend)
    if is_open and _is_skill(ctx, entry):
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
    if agent is None or not _answers(turn, agent) or turn.principal.id != ctx.record.requester.id:
        raise AgentAsks(entry)
    replied = agent.model_copy(update={"reply": turn.text, "reply_parts": turn.parts, "replies": agent.replies + 1})
    note = f"{turn.principal.id} answered what the agent asks"
    await store_status(ctx, entry.model_copy(update={"agent": replied}), WriteStatus.RESEND, note)
    return (await ctx.store.ledger())[entry.key]  # a replay knows already what came of it


async def _ask_outcome(ctx: TurnContext, entry: LedgerEntry, *, stop_agent: bool) -> LedgerEntry | None:
    """The entry as its agent says that it stands; None where it cannot be asked, or does not know."""
    tool = ctx.toolbox.find(entry.call.connection_id, entry.call.tool)
    if tool is None:
        return None
    connection, stop_agent = ctx.toolbox.connection_of(tool), stop_agent or _is_over(ctx, entry)
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
    """Later the longer the agent has been at work; the wait costs no working time."""
    now = ctx.journal.now
    worked = (now - _sending_time(entry, now)).total_seconds()
    until = now + timedelta(seconds=min(max(_FIRST_LOOK, worked / 4), _LONGEST_PAUSE))
    return Rest(until, f"the agent {entry.call.connection_id!r} is at work on {entry.call.call_id} {entry.call.tool}")


def _is_over(ctx: TurnContext, entry: LedgerEntry) -> bool:
    """Whether the agent has had as long as a decision may take."""
    now = ctx.journal.now
    return _is_at_work(entry) and now >= _sending_time(entry, now) + timedelta(hours=ctx.tenant.approval_hours)


def _sending_time(entry: LedgerEntry, now: datetime) -> datetime:
    return entry.sending_at or now


def _is_at_work(entry: LedgerEntry) -> bool:
    return entry.status is WriteStatus.SENDING and entry.agent is not None and entry.agent.at_work


def _is_skill(ctx: TurnContext, entry: LedgerEntry) -> bool:
    tool = ctx.toolbox.find(entry.call.connection_id, entry.call.tool)
    return tool is not None and tool.is_skill


def _answers(turn: Turn, agent: AgentCall) -> bool:
    is_said = turn.kind in (TurnKind.MESSAGE, TurnKind.DECISION) and bool(turn.text.strip())
    return is_said and turn.turn_id != agent.asked_in
