"""MUTATE and SCHEDULE_NOTIFY: a plan's calls in order, each through what may refuse it, the read before it, intent,
call, result and proof (I3, I4). The way of one write:

    send_plan_calls        the plan's calls in order, and what a failure stops or takes back
      _carry_out_call      one call, made or left out
        _make_and_settle   from one status of its entry to the next, until that is settled
          _send_call       the verdict renewed; refuse_too_early, refuse_out_of_turn and prepare may refuse it
            send           _open stores the intent, call_tool makes the request, store_answer keeps the answer
          settle_open_call the agent's word, or settle_by_reading: the proof
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from services.executor.core.authorize.policy import has_fresh_verdict, renew_verdict, still_stands
from services.executor.core.reads.one_call import dispatch_call
from services.executor.core.records.references import references, resolve
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import (
    Doubtful,
    has_begun,
    outcome_of,
    plan_entries,
    plan_results,
    took_hold,
    write_key,
)
from services.executor.core.states.machine import Escalated, Failed, Rejected, RunEnds
from services.executor.core.tools.classes import identifies
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.tools.toolbox import (
    DispatchRefused,
    arguments_to_send,
    key_field,
    problems_with,
    require_permitted,
)
from services.executor.core.write.agent_calls import hear_reply, is_answer_overdue, is_with_agent, settle_by_agent
from services.executor.core.write.notices import (
    is_left_out,
    leave_out,
    may_go_out,
    text_place,
    why_not_told,
    with_sentence,
)
from services.executor.core.write.settling import (
    effect_since,
    is_found_done,
    read_state_before,
    settle_by_reading,
    store_answer,
    store_status,
    was_so_before,
)
from services.executor.ports.tools import PARTS, Tool, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import CallOutcome
from shared.contracts.task import FILE_ID
from shared.domain import span_names as names
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import DID_NOTHING, DONE, DOUBTS, SENDABLE, FsmState, Resolution, ToolClass, WriteStatus

_HELD_UP_SECONDS = 0.5  # between storing an intent and making its request, at the least
_CONNECT_PAUSES = (0.2, 0.5, 1.0)  # seconds between attempts of a call that provably was not sent


class NotSent(Exception):
    """A call cannot be made as it was planned. Nothing was sent, and the plan goes on without it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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


class PlannedWrite(NamedTuple):
    """One planned call that is to be made. ``state``: the state in which it is made."""

    ctx: TurnContext
    progress: Progress
    plan: WritePlan
    call: PlannedCall
    state: FsmState


_SETTLED = (
    WriteStatus.VERIFIED,
    WriteStatus.UNVERIFIED,
    WriteStatus.REFUSED,
    WriteStatus.ABSENT,
    WriteStatus.IN_DOUBT,
    WriteStatus.SKIPPED,
)


async def renew_if_old(ctx: TurnContext, progress: Progress) -> None:
    """Asks for the verdict again before a call is sent, unless this attempt had it within ``verdict_seconds``.

    Raises if the plan may not go on: ``Escalated`` if a part of it is done already, else ``Failed`` or ``Rejected``.
    """
    plan = progress.dossier.plan
    if plan is None or has_fresh_verdict(ctx, plan.hash):
        return
    try:
        if not still_stands(ctx, progress, progress, await renew_verdict(ctx, progress)):
            raise Failed("the rules changed since the plan was let through")
    except (Failed, Rejected) as error:
        if not any(has_begun(entry) for entry in (await plan_entries(ctx.store, plan)).values()):
            raise
        why = error.reason.replace(", so nothing was written", "")
        raise Escalated(f"the plan is half done, and its remaining calls were not sent: {why}") from error


async def send_plan_calls(ctx: TurnContext, progress: Progress, state: FsmState, classes: Iterable[ToolClass]) -> None:
    """Carry out the plan's calls of some classes in order, each at most once, whoever began it.

    A call that fails for good stops those after it that share its part of the task or need its answer, unless the plan
    says "continue"; where it says "compensate", what the calls before it did is taken back, and the run ends. A write
    in doubt raises ``Doubtful``.
    """
    wanted, plan = frozenset(classes), progress.dossier.plan
    for call in plan.calls if plan else ():
        if plan is None or call.tool_class not in wanted or is_left_out(ctx, plan, call):
            continue
        if why := await _why_stopped(ctx, plan, call):
            await leave_out(ctx, plan, call, why)
            continue
        write = PlannedWrite(ctx, progress, plan, call, state)
        failure = await _carry_out_call(write)
        if failure is not None and call.on_failure == "compensate":
            raise await _take_back(write, failure)


async def settle_open(ctx: TurnContext, *, ends: bool = True) -> None:
    """Settles every write that is still in flight, so that none is left undecided whatever happens to the task.

    An agent that is at work or asks is told to stop where the task ``ends``.
    """
    for entry in (await ctx.store.ledger()).values():
        if ends or not is_with_agent(entry):
            await settle_open_call(ctx, entry, may_resend=False)


async def _why_stopped(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> str:
    """Why a call that was not made is left out: it tells of a change that may not be done, or an earlier call failed
    that shares its part of the task or whose answer it needs. Empty if it may go out.
    """
    known = await plan_entries(ctx.store, plan)
    if call.call_id in known and known[call.call_id].status not in SENDABLE:
        return ""
    if call.tool_class is ToolClass.NOTIFY and (untold := why_not_told(ctx, call, plan, known)):
        return untold
    needed = frozenset(references(call.arguments))
    for one in plan.calls[: plan.calls.index(call)]:
        failed = is_left_out(ctx, plan, one) or (one.call_id in known and known[one.call_id].status in DID_NOTHING)
        if failed and (one.call_id in needed or (one.part == call.part and one.on_failure != "continue")):
            return f"{one.tool} before it was not carried out"
    return ""


async def _carry_out_call(write: PlannedWrite) -> Failed | None:
    """Makes the call, unless it was made, and settles it. Returns the failure if the call failed, else None."""
    ctx, call = write.ctx, write.call
    try:
        with ctx.ports.tracer.span(names.WRITE.format(tool=call.tool)) as span:
            entry = await _make_and_settle(write)
            span.note({names.WRITE_STATUS: entry.status.value})
    except NotSent as unprepared:
        if call.on_failure == "compensate":
            return Failed(unprepared.reason)
        await leave_out(ctx, write.plan, call, unprepared.reason)
        return None
    return Failed(f"{call.call_id} {call.tool}: {entry.note}") if entry.status in DID_NOTHING else None


async def _make_compensation(write: PlannedWrite, call: PlannedCall) -> str:
    """Makes a compensation, once, like any write. Returns why it did not take hold; empty if it did."""
    try:
        entry = await _make_and_settle(write._replace(call=call, state=FsmState.MUTATE))
    except (NotSent, Failed, Escalated, Rejected) as error:
        return f" ({error.reason})"
    return "" if took_hold(entry) else f" ({entry.call.call_id} {entry.call.tool}: {entry.note})"


async def _make_and_settle(write: PlannedWrite) -> LedgerEntry:
    """Takes the call from its entry's status to one that is settled, step by step; returns its entry.

    - no entry, ``unsent``, ``resend``: it is sent, which ends as ``sent``, ``denied``, ``asked`` or ``unsent``;
    - ``asked``: a person's answer goes to the agent (``resend``);
    - ``sent``, ``denied``, ``sending``: it is settled by its agent's word or by reading: here a write is proved.

    A notice that was ``sent`` needs no proof. Raises ``Doubtful`` for a write in doubt.
    """
    ctx, plan, call = write.ctx, write.plan, write.call
    known = (await ctx.store.ledger()).get(write_key(plan, call))
    while known is None or known.status not in _SETTLED:
        if known is None or known.status in SENDABLE:
            if call in plan.calls and await is_being_taken_back(ctx, plan):
                if known is None:
                    raise NotSent(f"{call.call_id}: {call.tool} could not be made, and is not made any more")
                return known
            known = await _send_call(write, known)
            if known.status is WriteStatus.UNSENT:
                break
        elif known.status is WriteStatus.ASKED and not is_answer_overdue(ctx, known):
            known = await hear_reply(ctx, known)
        else:
            known = await settle_open_call(ctx, known, may_resend=known.status is not WriteStatus.ASKED)
        if known.status is WriteStatus.SENT and call.tool_class is not ToolClass.CHANGE:
            break
    if known.status in DOUBTS:
        raise Doubtful
    return known


async def settle_open_call(ctx: TurnContext, entry: LedgerEntry, *, may_resend: bool) -> LedgerEntry:
    """Settles what is open about a call that was sent: by its agent's word if an agent has it, else by reading, which
    is the proof of an ordinary write. Returns its entry. Without ``may_resend`` nothing more is sent.
    """
    tool = ctx.toolbox.find(entry.call.connection_id, entry.call.tool)
    if tool is not None and tool.is_skill:
        settled = await settle_by_agent(ctx, entry, may_resend=may_resend)
        if settled is not None:
            return settled
    return await settle_by_reading(ctx, entry, may_resend=may_resend)


async def _send_call(write: PlannedWrite, known: LedgerEntry | None) -> LedgerEntry:
    """Sends the call on a fresh verdict, unless a read shows that it must not be sent again; returns its entry."""
    ctx, progress, plan, call = write.ctx, write.progress, write.plan, write.call
    await renew_if_old(ctx, progress)
    try:
        await refuse_too_early(ctx, progress, call)
        await refuse_out_of_turn(ctx, progress, call)
        prepared = await prepare(ctx, plan, call, write.state, known)
    except NotSent as unprepared:
        if known is None or not under_our_key(known):
            raise
        note = f"no answer came, and it cannot be sent again: {unprepared.reason}"
        return await store_status(ctx, known, WriteStatus.IN_DOUBT, note)
    if known is not None and under_our_key(known) and not keeps_key(known, prepared.tool):
        return await store_status(
            ctx, known, WriteStatus.IN_DOUBT, "no answer came, and the server no longer takes our key"
        )
    if known is not None and (shown := effect_since(known, prepared.before_json)) is not None:
        proved = known.model_copy(update={"proof_json": prepared.before_json})
        return await store_status(
            ctx, proved, WriteStatus.VERIFIED, f"it was not sent again: {shown}; before: {known.note}"
        )
    if known is not None and is_found_done(known, prepared.before_json):
        anew = known.model_copy(update={"proof_json": prepared.before_json, "attempt": known.attempt + 1})
        why = "a read shows it by now, and none had an answer when the operator spoke"
        return await store_status(
            ctx, anew, WriteStatus.IN_DOUBT, f"it was not sent again: {why}; before: {known.note}"
        )
    return await send(ctx, prepared, partial(renew_if_old, ctx, progress))


async def _take_back(write: PlannedWrite, failure: Failed) -> RunEnds:
    """Compensates what the calls of its part before the failed one did, the latest first, and returns how the run ends.

    Only what was proved, or what an operator said, counts as done: an unproved write is never taken back blindly. Stops
    at the first compensation that fails: a person decides about the rest.
    """
    ctx, plan, failed = write.ctx, write.plan, write.call
    before = [call for call in plan.calls[: plan.calls.index(failed)] if call.part == failed.part]
    known, done, problem = await plan_entries(ctx.store, plan), list[str](), ""
    for call in reversed(before):
        if call.compensation is None or not took_hold(known.get(call.call_id)):
            continue
        if problem := await _make_compensation(write, call.compensation):
            break
        done.append(f"{call.call_id} {call.tool}")
    known = await plan_entries(ctx.store, plan)
    undone = {entry.compensates for entry in known.values() if entry.compensates and took_hold(entry)}
    left = [
        f"{call.call_id} {call.tool} ({known[call.call_id].status.value})"
        for call in before
        if call.call_id in known and known[call.call_id].status in DONE and call.call_id not in undone
    ]
    taken_back = f"taken back: {', '.join(done)}" if done else "nothing was taken back"
    standing = f"; still standing: {', '.join(left)}" if left else ""
    reason = f"{failure.reason}; {taken_back}{standing}{problem}"
    return Escalated(reason) if left or problem else Failed(reason)


async def is_being_taken_back(ctx: TurnContext, plan: WritePlan) -> bool:
    """Whether an attempt has begun to take back what the plan did: then nothing of the plan itself is sent."""
    return any(entry.compensates is not None for entry in (await plan_entries(ctx.store, plan)).values())


async def refuse_too_early(ctx: TurnContext, progress: Progress, call: PlannedCall) -> None:
    """Raises ``NotSent``, naming the rule, if a call that a rule wants made first did not succeed."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    needs = [need for need in verdict.needs if need.call_id == call.call_id] if verdict else []
    if plan is None or not needs:
        return
    known = await plan_entries(ctx.store, plan)
    done = {call_id for call_id, entry in known.items() if outcome_of(entry) is CallOutcome.SUCCEEDED}
    for need in needs:
        if done.isdisjoint(need.any_of):
            raise NotSent(f"{call.call_id}: {call.tool} was not called: {need.rule_id}: {need.reason}")


class _Change(NamedTuple):
    """A change of any plan of the task, with its ledger entry if it was begun."""

    call: PlannedCall
    entry: LedgerEntry | None

    @property
    def lets_go_on(self) -> bool:
        """Whether it is proved, or an operator said that the plan goes on without it."""
        word = self.entry.resolved if self.entry else None
        return took_hold(self.entry) or (word is not None and word.resolution is Resolution.SKIP)

    @property
    def did_nothing(self) -> bool:
        return self.entry is None or self.entry.status in DID_NOTHING


async def refuse_out_of_turn(ctx: TurnContext, progress: Progress, call: PlannedCall) -> None:
    """Raises ``NotSent`` if a change before this one is not verified, and no operator said that it may go on.

    The change before may stand in an earlier plan. What did nothing there may be made good: the same change, proposed
    again, takes its place.
    """
    if not progress.template.sequence or call.tool_class is not ToolClass.CHANGE:
        return
    before = await _changes_before(ctx, progress, call)
    place = next((at for at, one in enumerate(before) if one.did_nothing and _makes_good(call, one.call)), len(before))
    open_one = next((one for at, one in enumerate(before[:place]) if not _is_done(one, before[at + 1 :])), None)
    if open_one is not None:
        entry, failed = open_one.entry, open_one.call
        known = f"{entry.status.value.replace('_', ' ')} ({entry.note})" if entry else "not made"
        told = f"{failed.call_id} {failed.tool} before it is {known}"
        raise NotSent(f"{call.call_id}: {call.tool} was not called: this process goes step by step, and {told}")


async def _changes_before(ctx: TurnContext, progress: Progress, call: PlannedCall) -> list[_Change]:
    """The changes of all the task's plans up to the call; empty for a compensation, which stands in none of them."""
    found: list[_Change] = []
    for plan in progress.dossier.every_plan:
        known = await plan_entries(ctx.store, plan)
        for one in (one for one in plan.calls if one.tool_class is ToolClass.CHANGE):
            if one == call:
                return found
            found.append(_Change(one, known.get(one.call_id)))
    return []


def _is_done(change: _Change, later: Sequence[_Change]) -> bool:
    """Whether the change lets what follows go out, or a later one that does makes it good."""
    made_good = (one.lets_go_on for one in later if _makes_good(one.call, change.call))
    return change.lets_go_on or (change.did_nothing and any(made_good))


def _makes_good(call: PlannedCall, failed: PlannedCall) -> bool:
    """Whether the call is the failed change made once more: same tool, part and record, perhaps with other details."""
    if (call.connection_id, call.tool, call.part) != (failed.connection_id, failed.tool, failed.part):
        return False
    named = {name for name in (*call.arguments, *failed.arguments) if identifies(name)}
    return all(call.arguments.get(name) == failed.arguments.get(name) for name in named)
