"""Calls of an agent's skill, which take time: asks for the outcome, passes on answers, tells the agent to stop."""

import base64
from datetime import timedelta

from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import TimedWait
from services.executor.core.session.ledger import WaitsForPerson, move_attempt_to_earlier
from services.executor.core.tools.toolbox import MOST_SENDS_OF_A_WRITE, build_arguments_to_send
from services.executor.core.write.settling import (
    store_answer,
    store_status,
    store_unfinished_agent_call,
    wait_until_call_is_over,
)
from services.executor.ports.tools import (
    AGENT_NEVER_GOT_MESSAGE,
    PARTS_KEY,
    Tool,
    ToolAnswer,
    ToolSilent,
    ToolUnreachable,
)
from services.executor.ports.turns import Timer
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import FILE_ID_FIELD, TurnKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import WriteStatus

_QUESTION_TIMER_PREFIX = "question:"  # begins the subject of the timer that ends the wait for an answer
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 2.0, 60.0  # seconds until an agent that is at work is looked at again


class AgentNeedsAnswer(WaitsForPerson):
    """The run cannot go on before a person has answered an agent's question."""

    def __init__(self, entry: LedgerEntry) -> None:
        super().__init__(entry.note)
        self.entry = entry


class AgentAtWork(Exception):
    """The agent has not finished; ``wait``: until when the task waits before it asks the agent again."""

    def __init__(self, wait: TimedWait) -> None:
        super().__init__(wait.reason)
        self.wait = wait


def build_question_timer(entry: LedgerEntry) -> Timer | None:
    """The timer that ends the wait for an answer to the entry's question; None if the wait has no end."""
    return Timer(entry.decide_by, f"{_QUESTION_TIMER_PREFIX}{entry.question_id}") if entry.decide_by else None


def is_with_agent(entry: LedgerEntry) -> bool:
    """Whether an agent has the call and has not finished it: it works, asks, or is about to get the answer."""
    has_reply = entry.status is WriteStatus.RESEND and entry.agent is not None and entry.agent.reply is not None
    return entry.status is WriteStatus.ASKED or has_reply or _is_agent_at_work(entry)


async def settle_by_agent(ctx: TurnContext, skill: Tool, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry | None:
    """Asks the agent what came of the call of its skill, and returns the entry with that; None if it cannot tell.

    With ``may_resend`` only a ``SENDING`` entry is asked about (else None), and ``AgentAtWork`` is raised while the
    agent works. Without it nothing more is sent: an agent that has not finished is told to stop.
    """
    if entry.status is not WriteStatus.SENDING and (may_resend or not is_with_agent(entry)):
        return None
    await wait_until_call_is_over(ctx.store, ctx.journal, entry)
    return await _ask_outcome(ctx, skill, entry, stop_agent=not may_resend)


def is_answer_overdue(ctx: TurnContext, entry: LedgerEntry) -> bool:
    """Whether this turn is the timer that ends the wait for an answer to the entry's question."""
    is_timer = ctx.turn.kind is TurnKind.DEADLINE
    return is_timer and ctx.turn.data.get("subject") == f"{_QUESTION_TIMER_PREFIX}{entry.question_id}"


async def apply_requester_answer(ctx: TurnContext, entry: LedgerEntry) -> LedgerEntry:
    """Stores this turn's message as the answer to the agent's question, yet to be sent; returns the entry. Raises
    ``AgentNeedsAnswer`` if it is none: only the requester may answer, and not in the turn in which the agent asked.
    """
    turn, agent = ctx.turn, entry.agent
    is_text = turn.kind in (TurnKind.MESSAGE, TurnKind.DECISION) and bool(turn.text.strip())
    if agent is None or not is_text or turn.turn_id == agent.asked_in or turn.principal.id != ctx.record.requester.id:
        raise AgentNeedsAnswer(entry)
    reply = {"reply": turn.text, "reply_parts": turn.parts, "replies": agent.replies + 1}
    note = f"{turn.principal.id} answered what the agent asks"
    await store_status(
        ctx.journal, entry.model_copy(update={"agent": agent.model_copy(update=reply)}), WriteStatus.RESEND, note
    )
    return (await ctx.store.read_ledger())[entry.key]  # a replay knows already what came of it


async def with_file_contents(ctx: TurnContext, arguments: JsonObject) -> JsonObject:
    """The arguments with file contents, which no journal holds, in place of the file ids in their message parts."""
    parts = arguments.get(PARTS_KEY)
    if not isinstance(parts, list):
        return arguments
    return {**arguments, PARTS_KEY: [await _with_file_bytes(ctx, part) for part in parts]}


async def _with_file_bytes(ctx: TurnContext, part: Json) -> Json:
    """The part with its file's bytes (``raw``, in base64), or a text part that says that the file is gone."""
    file_id = part.get(FILE_ID_FIELD) if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(file_id, str):
        return part
    content = await ctx.ports.files.get_content(ctx.record.tenant, file_id)
    if content is None:
        return {"text": f"(The file {part.get('filename') or 'without a name'} is no longer kept.)"}
    other_fields = {name: value for name, value in part.items() if name != FILE_ID_FIELD}
    return {"raw": base64.b64encode(content).decode(), **other_fields}


async def _ask_outcome(ctx: TurnContext, skill: Tool, entry: LedgerEntry, *, stop_agent: bool) -> LedgerEntry | None:
    """The entry settled by what its agent says of the call; None if the agent cannot be asked, or does not know."""
    # An agent has as long as a decision may take.
    now, hours = ctx.journal.now, timedelta(hours=ctx.tenant.approval_hours)
    is_over = _is_agent_at_work(entry) and now >= (entry.sending_at or now) + hours
    connection, stop_agent = ctx.toolbox.connections[skill.connection_id], stop_agent or is_over
    arguments, seconds = build_arguments_to_send(entry, skill), ctx.limits.tool_seconds
    session = connection.session_id_for(ctx.record.tenant, ctx.record.session_id)
    try:
        answer = await ctx.ports.tools.ask_outcome(connection, arguments, seconds, session, stop_agent=stop_agent)
    except (ToolUnreachable, ToolSilent) as error:
        ctx.journal.add_event("note", call=entry.call.call_id, problem=f"the agent did not answer: {error}")
        if _is_agent_at_work(entry) and not stop_agent:
            raise AgentAtWork(_wait_for_next_check(ctx, entry)) from error
        return None
    return await _settle_by_answer(ctx, entry, answer, stop_agent=stop_agent) if answer is not None else None


async def _settle_by_answer(
    ctx: TurnContext, entry: LedgerEntry, answer: ToolAnswer, *, stop_agent: bool
) -> LedgerEntry:
    """Stores what the agent says; a call that it was told to stop and did not is in doubt. Raises ``AgentAtWork``."""
    if answer == AGENT_NEVER_GOT_MESSAGE:
        return await _settle_undelivered_call(ctx, entry, may_resend=not stop_agent)
    if answer.unfinished is None:
        return await store_answer(ctx, entry, answer)
    if stop_agent:
        return await store_status(ctx.journal, entry, WriteStatus.IN_DOUBT, "the agent was told to stop, and did not")
    stored = await store_unfinished_agent_call(ctx, entry, answer.unfinished)
    if _is_agent_at_work(stored):
        raise AgentAtWork(_wait_for_next_check(ctx, stored))
    return stored


async def _settle_undelivered_call(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    note = "no answer came, and the agent never took the message"
    if may_resend and entry.attempt < MOST_SENDS_OF_A_WRITE:
        archived = move_attempt_to_earlier(entry, WriteStatus.ABSENT, note)
        return await store_status(
            ctx.journal, archived, WriteStatus.RESEND, f"{note}; it is sent again under the same name"
        )
    return await store_status(ctx.journal, entry, WriteStatus.REFUSED, note)


def _wait_for_next_check(ctx: TurnContext, entry: LedgerEntry) -> TimedWait:
    """The wait until the agent is asked again: a quarter of the time that it has worked, but 2 to 60 seconds."""
    now = ctx.journal.now
    worked_seconds = (now - (entry.sending_at or now)).total_seconds()
    until = now + timedelta(seconds=min(max(_FIRST_PAUSE_SECONDS, worked_seconds / 4), _LONGEST_PAUSE_SECONDS))
    return TimedWait(
        until, f"the agent {entry.call.connection_id!r} is at work on {entry.call.call_id} {entry.call.tool}"
    )


def _is_agent_at_work(entry: LedgerEntry) -> bool:
    return entry.status is WriteStatus.SENDING and entry.agent is not None and entry.agent.at_work
