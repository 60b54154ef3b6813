"""One write of a plan, step by step: what may stop it, the read before it, intent, call, answer, proof (I3, I4).

``make_and_settle`` says which step follows from which status; below it the steps are in their order. Above it stand
the calls of an agent's skill, which take time: it asks for the outcome, passes on answers, tells the agent to stop.
"""

import asyncio
import base64
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import NamedTuple

from services.executor.core.authorize.persons import release_still_holds
from services.executor.core.authorize.policy import has_fresh_verdict, renew_verdict
from services.executor.core.plan.notices import append_sentence_to_notice, check_notice
from services.executor.core.reads.server_call import call_server_once
from services.executor.core.records.references import resolve_references
from services.executor.core.session import ledger
from services.executor.core.session.context import DispatchRefused, TurnContext, get_task_time, require_tool_permitted
from services.executor.core.session.dossier import Progress, TimedWait
from services.executor.core.states.machine import Escalated, Failed, Rejected
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import (
    MOST_SENDS_OF_A_WRITE,
    build_arguments_to_send,
    find_argument_problems,
    find_idempotency_argument,
)
from services.executor.core.write.settling import (
    is_resent_by_key,
    judge_before_resend,
    read_state_before,
    settle_by_reading,
    store_answer,
    store_status,
    store_unfinished_agent_call,
    wait_until_call_is_over,
    was_shown_before,
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
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import CallOutcome
from shared.contracts.task import FILE_ID_FIELD, TurnKind
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import (
    SENDABLE_STATUSES,
    STATUSES_WITHOUT_EFFECT,
    DoubtResolutionKind,
    FsmState,
    ToolClass,
    WriteStatus,
)
from shared.ports.archive import ArchiveUnavailable

_QUESTION_TIMER_PREFIX = "question:"  # begins the subject of the timer that ends the wait for an answer
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 2.0, 60.0  # seconds until an agent that is at work is looked at again


class AgentNeedsAnswer(ledger.WaitsForPerson):
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
    """Stores this turn's message as the answer to the agent's question, yet to be sent; returns the entry.

    Raises ``AgentNeedsAnswer`` if the turn brings none: only the requester may answer, and in a turn after the
    question.
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
    """The arguments with file contents, which no journal holds, in place of the file ids in their message parts.

    Raises ``ArchiveUnavailable``.
    """
    parts = arguments.get(PARTS_KEY)
    if not isinstance(parts, list):
        return arguments
    return {**arguments, PARTS_KEY: [await _with_file_bytes(ctx, part) for part in parts]}


async def _with_file_bytes(ctx: TurnContext, part: Json) -> Json:
    """The part with its file's bytes (``raw``, in base64), or a text part that says that the file is gone.

    Raises ``ArchiveUnavailable``.
    """
    file_id = part.get(FILE_ID_FIELD) if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(file_id, str):
        return part
    content = await ctx.ports.files.get_content(ctx.record.tenant, file_id)
    if content is None:
        return {"text": f"(The file {part.get('filename') or 'without a name'} is no longer kept.)"}
    other_fields = {name: value for name, value in part.items() if name != FILE_ID_FIELD}
    return {"raw": base64.b64encode(content).decode(), **other_fields}


async def _ask_outcome(ctx: TurnContext, skill: Tool, entry: LedgerEntry, *, stop_agent: bool) -> LedgerEntry | None:
    """The entry settled by what its agent says of the call; None if the agent cannot be asked, or does not know.

    Raises ``AgentAtWork`` if the agent, at work when last heard, does not answer, unless it is to be stopped: it is
    asked again later.
    """
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
    """Stores what the agent says of the call; returns the entry as stored.

    A call that goes on though it was to stop is in doubt. Raises ``AgentAtWork`` if the agent has not finished.
    """
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
        archived = ledger.move_attempt_to_earlier(entry, WriteStatus.ABSENT, note)
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


_SHORTEST_SEND_BOUND = 0.5  # seconds that may always pass between storing an intent and making its request
_RECONNECT_PAUSES = (0.2, 0.5, 1.0)  # seconds between attempts of a call that provably was not sent


class NotSent(Exception):
    """A call cannot be made as planned; the message says why. Nothing was sent, and the plan goes on without it."""


class PlannedWrite(NamedTuple):
    """One planned call that is to be made. ``state``: the state in which it is made."""

    ctx: TurnContext
    progress: Progress
    plan: WritePlan
    call: PlannedCall
    state: FsmState


class PreparedCall(NamedTuple):
    """A call that is ready to be sent, with what its read-back shows before it, and its entry, None at first."""

    write: PlannedWrite
    tool: Tool
    arguments: JsonObject
    before_json: str
    entry: LedgerEntry | None


async def make_and_settle(write: PlannedWrite) -> LedgerEntry:
    """Takes the call from its entry's status to a settled one and returns the entry; it is ``UNSENT`` if no connection
    could be made. Raises ``NotSent`` if the call may not be sent, ``WritesInDoubt`` for a write in doubt, and
    ``AgentAtWork`` if the agent that has the call works on.
    """
    ctx = write.ctx
    entry = (await ctx.store.read_ledger()).get(ledger.compute_ledger_key(write.plan, write.call))
    while True:
        match entry:
            case None | LedgerEntry(status=WriteStatus.UNSENT | WriteStatus.RESEND):
                entry = await _prepare_and_send(write, entry)
                if entry.status in SENDABLE_STATUSES:
                    return entry
            case LedgerEntry(status=WriteStatus.ASKED) if not is_answer_overdue(ctx, entry):
                entry = await apply_requester_answer(ctx, entry)
            case LedgerEntry(status=WriteStatus.ASKED):  # its agent is told to stop
                entry = await _settle_sent_call(ctx, entry, may_resend=False)
            case LedgerEntry(status=WriteStatus.SENDING | WriteStatus.DENIED) | LedgerEntry(waits_for_proof=True):
                entry = await _settle_sent_call(ctx, entry, may_resend=True)
            case LedgerEntry(status=WriteStatus.ABSENT | WriteStatus.IN_DOUBT):
                raise ledger.WritesInDoubt
            case _:
                return entry


async def _prepare_and_send(write: PlannedWrite, entry: LedgerEntry | None) -> LedgerEntry:
    """Sends the call, or settles an earlier sending in its place, and returns its entry.

    Raises ``NotSent`` if the call is refused; but a call that was sent before, and would be repeated by its key, is
    then in doubt.
    """
    ctx, call = write.ctx, write.call
    if call in write.plan.calls and await _is_being_compensated(ctx, write.plan):
        if entry is None:
            raise NotSent(f"{call.call_id}: {call.tool} could not be made, and is not made any more")
        return entry
    try:
        await _refuse_before_required_calls(write)
        await _refuse_out_of_sequence(write)
        prepared = await _prepare_call(write, entry)
    except NotSent as unprepared:
        if entry is None or not is_resent_by_key(entry):
            raise
        note = f"no answer came, and it cannot be sent again: {unprepared}"
        return await store_status(ctx.journal, entry, WriteStatus.IN_DOUBT, note)
    if entry is not None and (settled_entry := await _settle_without_sending(prepared, entry)):
        return settled_entry
    return await _send_until_connected(prepared)


async def _is_being_compensated(ctx: TurnContext, plan: WritePlan) -> bool:
    """Whether some attempt has begun to compensate the plan's calls; then none of its own calls is sent any more."""
    return any(entry.compensates is not None for entry in (await ledger.index_plan_entries(ctx.store, plan)).values())


async def _prepare_call(write: PlannedWrite, entry: LedgerEntry | None) -> PreparedCall:
    """Checks the call, resolves its arguments, reads the state before it; sends nothing. Raises ``NotSent``."""
    ctx, call = write.ctx, write.call
    tool = ctx.toolbox.find_tool(call.connection_id, call.tool)
    if tool is None:
        raise NotSent(f"{call.call_id}: the tool {call.tool} is gone; it was not called")
    try:
        require_tool_permitted(write.state, tool)
        arguments = resolve_references(call.arguments, await ledger.get_plan_results(ctx.store, write.plan))
    except (DispatchRefused, NoSuchPath) as error:
        raise NotSent(f"{call.call_id}: {error}") from error
    arguments = await _arguments_with_notice_sentence(write, tool, arguments)
    if problems := find_argument_problems(arguments, tool):
        raise NotSent(f"{call.call_id}: {call.tool} was not called, its arguments do not fit: {problems}")
    return PreparedCall(write, tool, arguments, await _read_state_before_json(write, entry), entry)


async def _arguments_with_notice_sentence(write: PlannedWrite, tool: Tool, arguments: JsonObject) -> JsonObject:
    """A notice's arguments, with the plan's sentence on unproved changes if one is unproved. Raises ``NotSent``."""
    ctx = write.ctx
    plan = write.plan
    call = write.call
    if not call.if_acknowledged:
        return arguments
    entries = await ledger.index_plan_entries(ctx.store, plan)
    release = check_notice(call, plan, entries, after_proof=ctx.tenant.notices_after_proof)
    extended = append_sentence_to_notice(arguments, tool, release.sentence) if release.sentence else arguments
    if release.why_not or extended is None:
        reason = release.why_not or "its text has no room for the sentence that a change is not confirmed"
        raise NotSent(f"{call.call_id}: {call.tool} was not called: {reason}")
    return extended


async def _read_state_before_json(write: PlannedWrite, entry: LedgerEntry | None) -> str:
    """What the read-back shows before the call, as JSON; for a repetition by key, what it showed the first time."""
    if entry is not None and is_resent_by_key(entry) and entry.before_json is not None:
        return entry.before_json
    if write.call.read_back is not None:
        await write.ctx.journal.store_then_raise_if_stopped()  # plan and state are stored before any question
    return dumps(await read_state_before(write.ctx, write.plan, write.call))


async def _settle_without_sending(prepared: PreparedCall, entry: LedgerEntry) -> LedgerEntry | None:
    """The settled entry of a write that was sent before and must not be sent again; None if it may be.

    A repetition needs the idempotency key of the first sending, except to an agent, which gets only messages that it
    never had. A repetition that an operator asked for is not made if the write took effect since.
    """
    ctx = prepared.write.ctx
    tool = prepared.tool
    shown_json = prepared.before_json
    has_key = tool.is_skill or (
        entry.idempotency_field is not None and entry.idempotency_field == find_idempotency_argument(tool)
    )
    if is_resent_by_key(entry) and not has_key:
        note = "no answer came, and the server no longer takes our key"
        return await store_status(ctx.journal, entry, WriteStatus.IN_DOUBT, note)
    judgement = judge_before_resend(entry, shown_json, get_task_time(ctx).tzinfo or UTC)
    if judgement is None:
        return None
    attempt = entry.attempt + int(judgement.status is WriteStatus.IN_DOUBT)  # another doubt, to be decided anew
    settled_entry = entry.model_copy(update={"proof_json": shown_json, "attempt": attempt})
    return await store_status(
        ctx.journal, settled_entry, judgement.status, f"it was not sent again: {judgement.note}; before: {entry.note}"
    )


async def _send_until_connected(prepared: PreparedCall) -> LedgerEntry:
    """Stores the intent, makes the call and stores the answer; returns the entry as stored.

    Repeats the call only while no connection can be made.
    """
    for pause in _RECONNECT_PAUSES:
        entry = await _attempt_sending(prepared, is_last=False)
        if entry.status not in SENDABLE_STATUSES:
            return entry
        await asyncio.sleep(pause)
        prepared = prepared._replace(entry=entry)
    return await _attempt_sending(prepared, is_last=True)


async def _attempt_sending(prepared: PreparedCall, *, is_last: bool) -> LedgerEntry:
    """Makes one attempt at the call, after renewing an old verdict; returns its entry, ``SENDING`` if no answer came.

    ``is_last``: no further attempt is made.
    """
    ctx, tool = prepared.write.ctx, prepared.tool
    await ctx.journal.raise_if_stopped()
    await _renew_old_verdict(prepared.write)
    opened_at = asyncio.get_running_loop().time()
    entry = await _store_intent(prepared)
    try:
        arguments = await with_file_contents(ctx, build_arguments_to_send(entry, tool))
        _refuse_if_delayed(ctx, opened_at)
        answer = await call_server_once(ctx, tool, arguments, is_read=False)
    except (ToolUnreachable, ArchiveUnavailable) as error:
        return await _store_unsent(prepared, entry, str(error), is_last=is_last)
    except ToolSilent as error:
        ctx.journal.add_event("write", call=entry.call.call_id, tool=tool.name, silent=str(error))
        return entry
    return await store_answer(ctx, entry, answer)


async def _renew_old_verdict(write: PlannedWrite) -> None:
    """Renews the verdict before an intent is stored, unless the last one came within ``verdict_seconds`` (I2).

    Raises ``Escalated`` if the plan may not go on and a part of it is done, else ``Failed`` or ``Rejected``.
    """
    ctx, progress = write.ctx, write.progress
    if has_fresh_verdict(ctx, write.plan.hash):
        return
    try:
        if not release_still_holds(ctx, progress, progress, await renew_verdict(ctx, progress)):
            raise Failed("the rules changed since the plan was let through")
    except (Failed, Rejected) as error:
        entries = await ledger.index_plan_entries(ctx.store, write.plan)
        if not any(map(ledger.has_begun, entries.values())):
            raise
        reason = error.reason.replace(", so nothing was written", "")
        raise Escalated(f"the plan is half done, and its remaining calls were not sent: {reason}") from error


async def _store_intent(prepared: PreparedCall) -> LedgerEntry:
    """Stores the call's entry as ``SENDING`` before it is sent; returns it.

    What is known of earlier attempts stays in it.
    """
    ctx, plan, call = prepared.write.ctx, prepared.write.plan, prepared.write.call
    open_seconds = ctx.limits.tool_seconds + ctx.limits.settle_margin_seconds
    entry_before = prepared.entry
    earlier_numbers = [attempt.number for attempt in entry_before.earlier] if entry_before else []
    entry = LedgerEntry(
        key=ledger.compute_ledger_key(plan, call),
        call=call,
        arguments_json=dumps(prepared.arguments),
        plan_hash=plan.hash,
        status=WriteStatus.SENDING,
        sending_at=ctx.journal.now,
        open_until=ctx.journal.now + timedelta(seconds=open_seconds),
        before_json=prepared.before_json,
        idempotency_field=find_idempotency_argument(prepared.tool),
        decide_hours=ctx.tenant.approval_hours,
        is_replanned=_was_tool_planned_before(prepared.write),
        compensates=next((other.call_id for other in plan.calls if other.compensation == call), None),
        attempt=entry_before.attempt + int(entry_before.attempt in earlier_numbers[-1:]) if entry_before else 1,
        earlier=entry_before.earlier if entry_before else (),
        resolutions=entry_before.resolutions if entry_before else (),
        agent=entry_before.agent if entry_before else None,
    )
    zone = get_task_time(ctx).tzinfo or UTC
    await ctx.journal.open_write(entry, open_seconds, lambda: was_shown_before(entry, zone))
    return entry


def _was_tool_planned_before(write: PlannedWrite) -> bool:
    """Whether an earlier plan of the task has a call of the same tool; each plan sends under keys of its own."""
    earlier_plans = [plan for plan in write.progress.dossier.every_plan if plan.round < write.plan.round]
    tool = (write.call.connection_id, write.call.tool)
    return any((planned.connection_id, planned.tool) == tool for plan in earlier_plans for planned in plan.every_call)


def _refuse_if_delayed(ctx: TurnContext, opened_at: float) -> None:
    """Raises ``ToolUnreachable`` if this process stood still since the intent: another may have settled the call."""
    delay = asyncio.get_running_loop().time() - opened_at
    if delay > max(ctx.limits.settle_margin_seconds, _SHORTEST_SEND_BOUND):
        raise ToolUnreachable(f"this process was held up for {delay:.1f} s before the request, which was not made")


async def _store_unsent(prepared: PreparedCall, entry: LedgerEntry, reason: str, *, is_last: bool) -> LedgerEntry:
    """Stores that nothing was sent this time; returns the entry as stored.

    The outcome of an earlier sending stays open; after the last attempt (``is_last``) the write is in doubt.
    """
    ctx = prepared.write.ctx
    if not is_resent_by_key(prepared.entry):
        return await store_status(ctx.journal, entry, WriteStatus.UNSENT, f"no connection was made: {reason}")
    status = WriteStatus.IN_DOUBT if is_last else WriteStatus.RESEND
    note = f"no answer came, and it could not be sent again under the same key: {reason}"
    return await store_status(ctx.journal, entry, status, note)


async def _settle_sent_call(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    """Settles a call that was sent: by what its agent says, if an agent has it, else by reading, which is the proof of
    an ordinary write. Returns its entry. Without ``may_resend`` nothing more is sent.
    """
    tool = ctx.toolbox.find_tool(entry.call.connection_id, entry.call.tool)
    skill = tool if tool is not None and tool.is_skill else None
    settled_entry = await settle_by_agent(ctx, skill, entry, may_resend=may_resend) if skill else None
    if settled_entry is None and entry.status is WriteStatus.ASKED:
        return await store_status(ctx.journal, entry, WriteStatus.IN_DOUBT, "the agent could not be told to stop")
    return settled_entry or await settle_by_reading(ctx, entry, may_resend=may_resend)


async def settle_open_writes(ctx: TurnContext, *, task_ends: bool = True) -> None:
    """Settles every write that is still in flight, so that none is left undecided whatever happens to the task.

    If ``task_ends``, an agent that is at work or waits for an answer is told to stop.
    """
    for entry in await ledger.list_writes(ctx.store):
        if task_ends or not is_with_agent(entry):
            await _settle_sent_call(ctx, entry, may_resend=False)


async def _refuse_before_required_calls(write: PlannedWrite) -> None:
    """Raises ``NotSent``, naming the rule, if a call that a rule requires before this one did not succeed."""
    call, verdict = write.call, write.progress.dossier.verdict
    needs = [need for need in verdict.needs if need.call_id == call.call_id] if verdict else []
    if not needs:
        return
    entries = await ledger.index_plan_entries(write.ctx.store, write.plan)
    succeeded = {
        call_id for call_id, entry in entries.items() if ledger.get_call_outcome(entry) is CallOutcome.SUCCEEDED
    }
    for need in needs:
        if succeeded.isdisjoint(need.any_of):
            raise NotSent(f"{call.call_id}: {call.tool} was not called: {need.rule_id}: {need.reason}")


async def _refuse_out_of_sequence(write: PlannedWrite) -> None:
    """In a process with ``sequence``: raises ``NotSent`` if a change before this one, of this or an earlier plan, is
    not proved, and no operator let the plan continue.

    A change without effect may be made good: the same change, proposed again, takes its place.
    """
    call = write.call
    if not write.progress.template.sequence or call.tool_class is not ToolClass.CHANGE:
        return
    for change, entry in await _find_unproved_before(write):
        if _did_nothing(entry) and _subject_of_change(change) == _subject_of_change(call):
            return
        standing = f"{entry.status.value.replace('_', ' ')} ({entry.note})" if entry else "not made"
        reason = f"this process goes step by step, and {change.call_id} {change.tool} before it is {standing}"
        raise NotSent(f"{call.call_id}: {call.tool} was not called: {reason}")


async def _find_unproved_before(write: PlannedWrite) -> Sequence[tuple[PlannedCall, LedgerEntry | None]]:
    """The changes of all the task's plans before the call that let no later one be made, each with its ledger entry if
    it was begun; empty for a compensation, which is a change of no plan.
    """
    unproved: list[tuple[PlannedCall, LedgerEntry | None]] = []
    for plan in write.progress.dossier.every_plan:
        entries = await ledger.index_plan_entries(write.ctx.store, plan)
        for change in plan.changes:
            if change == write.call:
                return unproved
            entry, subject = entries.get(change.call_id), _subject_of_change(change)
            if not _lets_plan_continue(entry):
                unproved.append((change, entry))
                continue
            unproved = [
                (earlier, its_entry)
                for earlier, its_entry in unproved
                if not _did_nothing(its_entry) or _subject_of_change(earlier) != subject
            ]
    return []


def _lets_plan_continue(entry: LedgerEntry | None) -> bool:
    """Whether a change is proved, or an operator confirmed it or let the plan continue without it."""
    word = entry.operator_decision if entry else None
    return ledger.is_verified_or_declared_done(entry) or (
        word is not None and word.resolution is DoubtResolutionKind.SKIP
    )


def _did_nothing(entry: LedgerEntry | None) -> bool:
    return entry is None or entry.status in STATUSES_WITHOUT_EFFECT


def _subject_of_change(call: PlannedCall) -> tuple[object, ...]:
    """Equal for a change and its repetition: same tool, part and record, perhaps with other details."""
    ids: JsonObject = {
        name: value for name, value in call.arguments.items() if is_identifying_name(name) and value is not None
    }
    return (call.connection_id, call.tool, call.part, dumps(ids))
