"""Builds the end of a run: answered, ended early, or waiting for a person or a time."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from services.executor.core.authorize.approval import (
    build_approval_request,
    collect_approval_evidence,
    describe_approval,
    write_approver_brief,
)
from services.executor.core.authorize.persons import (
    build_answer_with_escalation,
    count_persons_needed,
    next_confirmation,
    reasons_to_ask_a_person,
)
from services.executor.core.plan.outcomes import list_parts_not_done
from services.executor.core.prime.prime import OpenedTurn
from services.executor.core.process.rules import drop_unrealized_remainders
from services.executor.core.reflect.review import ReviewedRun
from services.executor.core.session.budget import BudgetSpent, Partial
from services.executor.core.session.context import IN_DOUBT_TEXT, NOBODY_APPROVES_TEXT, TurnContext, is_practice
from services.executor.core.session.dossier import NO_PROGRESS, Progress, RunEnd, WaitsForDecision, WaitsForTime
from services.executor.core.session.ledger import (
    GivenUp,
    WaitsForPerson,
    build_doubts_timer,
    list_open_doubts,
    list_writes,
    write_operator_brief,
)
from services.executor.core.session.values import list_parts_to_do
from services.executor.core.states.machine import Canceled, EarlyEnd, Failed, Rejected
from services.executor.core.turn.waits import StillInDoubt, StillWaiting
from services.executor.core.write.agent_calls import AgentNeedsAnswer, build_question_timer
from services.executor.ports.turns import TurnStore
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.domain import span_names as names
from shared.domain.answer import is_json_list
from shared.domain.words import DONE_STATUSES, UNDECIDED_STATUSES, FsmState, TaskState


async def build_answered_task_end(ctx: TurnContext, reviewed: ReviewedRun, not_done: str) -> RunEnd:
    """The end of an answered task: completed, or failed if ``not_done`` says that a part was not done."""
    progress, answer = reviewed.progress, build_answer_with_escalation(reviewed.progress)
    if not_done and not is_json_list(answer):
        answer = "\n\n".join(filter(None, (answer, f"Not done: {not_done.rstrip('.')}.")))
    return RunEnd(
        TaskState.FAILED if not_done else TaskState.COMPLETED,
        FsmState.FAILED if not_done else progress.state,
        not_done or None,
        answer,
        progress,
        await list_writes(ctx.store),
        is_escalated=progress.state is FsmState.ESCALATE,
        documents=reviewed.documents,
        review=reviewed.notes,
    )


async def build_early_task_end(opened: OpenedTurn, early: EarlyEnd) -> RunEnd:
    """The end of a run without an answer. While a write is in doubt the task waits, unless it was given up."""
    writes, progress = await list_writes(opened.store), opened.journal.progress
    early.correct_reason(writes)
    if list_open_doubts(writes) and not is_practice(opened.work.record) and not isinstance(early, Canceled | GivenUp):
        return await _build_doubts_end(opened, "" if early.reason == IN_DOUBT_TEXT else early.reason)
    answer = early.reason
    if isinstance(early, BudgetSpent):
        early = choose_end_without_budget(early, progress or NO_PROGRESS, await opened.store.read_ledger())
        answer = (
            _write_partial_answer(early.reason, progress or NO_PROGRESS, writes) if early.is_partial else early.reason
        )
    elif isinstance(early, Canceled):
        answer = _write_cancel_answer(early.reason, progress or NO_PROGRESS, writes)
    return RunEnd(
        early.state,
        early.fsm_state,
        early.reason,
        answer,
        progress,
        writes,
        is_escalated=early.is_escalated,
        failed_part=early.failed_component,
        is_partial=early.is_partial,
    )


def choose_end_without_budget(spent: BudgetSpent, progress: Progress, ledger: Mapping[str, LedgerEntry]) -> EarlyEnd:
    """``Partial`` if something is known, no write is open and no planned call left undone; else ``Failed``."""
    dossier, plan = progress.dossier, progress.dossier.present_plan
    done_calls = {(entry.plan_hash, entry.call.call_id) for entry in ledger.values() if entry.status in DONE_STATUSES}
    if undone_tools := [call.tool for call in plan.calls if (plan.hash, call.call_id) not in done_calls]:
        return Failed(f"{spent.reason}; planned and not done: {', '.join(undone_tools)}")
    if undone_parts := list_parts_not_done(list_parts_to_do(dossier.parts), dossier.every_plan, ledger):
        return Failed(f"{spent.reason}; not done: {'; '.join(part.quote[:120] for part, _ in undone_parts)}")
    if any(entry.status in UNDECIDED_STATUSES for entry in ledger.values()):
        return Failed(spent.reason)
    if not (done_calls or dossier.values):
        return Failed(f"{spent.reason}; nothing was found or done until then")
    return Partial(spent.reason)


def _write_partial_answer(reason: str, progress: Progress, writes: Sequence[LedgerEntry]) -> str:
    """The answer of a partial result: why it is partial, and the figures known so far."""
    values = [f"- {value.name}: {value.value}" for value in drop_unrealized_remainders(progress, writes)]
    return "\n".join([f"Partial result: {reason}.", *(["Known until then:", *values] if values else [])])


def _write_cancel_answer(reason: str, progress: Progress, writes: Sequence[LedgerEntry]) -> str:
    """The answer of a cancelled task: the reason, and the planned calls that were never begun."""
    plan = progress.dossier.present_plan
    begun_calls = {(entry.plan_hash, entry.call.call_id) for entry in writes}
    unbegun = [call for call in plan.calls if (plan.hash, call.call_id) not in begun_calls]
    lines = [f"- {call.tool} {call.arguments_json}" for call in unbegun]
    return "\n".join([f"{reason}.", "Left out:", *lines]) if lines else reason


async def build_waiting_for_person_end(opened: OpenedTurn, waiting: WaitsForPerson) -> RunEnd:
    """The end of a run whose task waits, or keeps waiting, for a person."""
    match waiting:
        case StillWaiting():  # for the answer to the same question as before
            return await _build_approval_end(opened.store, waiting.approval, opened.journal.progress, waiting.note)
        case StillInDoubt():
            return await _build_doubts_end(opened, str(waiting))
        case AgentNeedsAnswer():
            return await _build_agent_question_end(opened, waiting.entry)
        case _:  # ``WritesInDoubt``, of this turn; in practice, where nobody decides, the task fails
            return await build_early_task_end(opened, Failed(IN_DOUBT_TEXT))


async def build_approval_request_end(ctx: TurnContext, waits: WaitsForDecision) -> RunEnd:
    """The end of a run that asks a person to approve its plan; raises ``Rejected`` in practice."""
    if is_practice(ctx.record):
        raise Rejected(NOBODY_APPROVES_TEXT)
    ctx.ports.tracer.current_span().add_event(names.APPROVAL_WAITS)
    plan, verdict = waits.progress.dossier.plan, waits.progress.dossier.verdict
    if plan is None or verdict is None:
        raise Failed("there is no plan with a verdict to be approved; nothing was written")
    progress = _store_progress_before_wait(ctx, waits.progress, f"asked:{ctx.turn.turn_id}")
    approval = build_approval_request(
        plan,
        verdict,
        requester_id=ctx.record.requester.id,
        now=ctx.journal.now,
        hours=ctx.tenant.approval_hours,
        needed=count_persons_needed(ctx, progress),
        reasons=(*waits.changes, *reasons_to_ask_a_person(ctx, progress)),
        confirmation=next_confirmation(progress),
        ladder=ctx.tenant.approval_ladder,
        grounds=collect_approval_evidence(progress, verdict, ctx.task, ctx.toolbox.keys),
        notices=ctx.tenant.notices,
    )
    details: dict[str, JsonValue] = {"deadline": approval.deadline.isoformat(), "approval_id": approval.approval_id}
    ctx.journal.add_event("approval", status="waiting", level=approval.level, **details)
    return await _build_approval_end(ctx.store, approval, progress)


async def build_timed_wait_end(ctx: TurnContext, waits: WaitsForTime) -> RunEnd:
    """The end of a run that continues at a later time. No lease is held until then."""
    ctx.ports.tracer.current_span().add_event(names.TASK_RESTS)
    progress, wait = _store_progress_before_wait(ctx, waits.progress, f"rests:{ctx.turn.turn_id}"), waits.wait
    ctx.journal.add_event("note", rests_until=wait.until.isoformat(), why=wait.reason)
    writes = await list_writes(ctx.store)
    return RunEnd(TaskState.WORKING, None, wait.reason, wait.reason, progress, writes, timer=wait.timer)


async def _build_approval_end(
    store: TurnStore, approval: Approval, progress: Progress | None, note: str = ""
) -> RunEnd:
    """The end of a run that asks for an approval. Earlier plans of the task may have written something."""
    text = "\n\n".join(paragraph for paragraph in (note, write_approver_brief(approval)) if paragraph)
    return RunEnd(
        TaskState.INPUT_REQUIRED,
        FsmState.APPROVAL_GATE,
        text,
        text,
        progress,
        await list_writes(store),
        approval=approval,
        question=describe_approval(approval),
    )


async def _build_doubts_end(opened: OpenedTurn, note: str) -> RunEnd:
    """The end of a run that waits for an operator's decision on writes in doubt."""
    writes = await list_writes(opened.store)
    doubts = list_open_doubts(writes)
    doubt_names = ", ".join(f"{doubt.call.call_id} {doubt.call.tool}" for doubt in doubts)
    reason = f"an operator has to say what became of a write in doubt: {doubt_names}"
    opened.journal.add_event("approval", status="waiting", doubts=[doubt.call.call_id for doubt in doubts])
    return RunEnd(
        TaskState.INPUT_REQUIRED,
        None,
        f"{reason}; {note}" if note else reason,
        write_operator_brief(doubts),
        _store_latest_progress(opened, "doubt"),
        writes,
        is_escalated=True,
        timer=build_doubts_timer(doubts),
    )


async def _build_agent_question_end(opened: OpenedTurn, entry: LedgerEntry) -> RunEnd:
    """The end of a run that passes a remote agent's question on to the requester, whose next message is the answer."""
    question = entry.agent.question if entry.agent else ""
    until = f" before {entry.decide_by:%Y-%m-%d %H:%M} UTC" if entry.decide_by else ""
    reason = f"The agent {entry.call.connection_id!r} asks, to go on with {entry.call.call_id} {entry.call.tool}:"
    text = f"{question}\n\nAnswer in this task{until}; after that the agent is told to stop."
    progress, writes = _store_latest_progress(opened, "question"), await list_writes(opened.store)
    opened.journal.add_event("approval", status="waiting", question=entry.call.call_id)
    return RunEnd(TaskState.INPUT_REQUIRED, None, reason, text, progress, writes, timer=build_question_timer(entry))


def _store_latest_progress(opened: OpenedTurn, label: str) -> Progress | None:
    """Stores the latest progress under ``label`` before a wait and returns it; None if the run had none yet."""
    progress = opened.journal.progress
    return _store_progress_before_wait(opened, progress, f"{label}:{opened.work.turn.turn_id}") if progress else None


def _store_progress_before_wait(turn: TurnContext | OpenedTurn, progress: Progress, label: str) -> Progress:
    """Stores the progress under ``label`` with this turn's working time added, since waiting does not count as work."""
    worked_ms = progress.worked_ms + round(turn.journal.worked_seconds * 1000)
    progress = progress.model_copy(update={"worked_ms": worked_ms})
    turn.journal.save_progress(progress, label)
    return progress
