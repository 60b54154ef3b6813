"""Builds the end of a run, or applies a turn to what its task waits for: an approval, an operator, or a time."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue

from services.executor.core.authorize.approval import (
    InvalidDecision,
    add_decision,
    build_approval_request,
    collect_approval_evidence,
    describe_approval,
    describe_refused_approval,
    escalate_approval,
    is_expired,
    write_approver_brief,
)
from services.executor.core.authorize.persons import (
    apply_approval,
    build_answer_with_escalation,
    count_persons_needed,
    is_approval_awaited,
    is_plan_released,
    next_confirmation,
    reasons_to_ask_a_person,
)
from services.executor.core.plan.outcomes import list_parts_not_done
from services.executor.core.prime.prime import OpenedTurn
from services.executor.core.process.rules import drop_unrealized_remainders
from services.executor.core.reflect.review import ReviewedRun
from services.executor.core.session.budget import BudgetSpent, Partial
from services.executor.core.session.context import IN_DOUBT_TEXT, NOBODY_APPROVES_TEXT, TurnContext, is_practice
from services.executor.core.session.dossier import (
    NO_PROGRESS,
    Progress,
    RunEnd,
    TimedWait,
    WaitsForDecision,
    WaitsForTime,
)
from services.executor.core.session.journal import Journal
from services.executor.core.session.ledger import (
    DOUBT_TIMER_PREFIX,
    GivenUp,
    WaitsForPerson,
    build_doubts_timer,
    find_write_taken_over,
    list_open_doubts,
    list_writes,
    move_attempt_to_earlier,
    write_operator_brief,
)
from services.executor.core.session.values import list_parts_to_do
from services.executor.core.states.machine import (
    Canceled,
    EarlyEnd,
    Failed,
    ModelTemporarilyUnavailable,
    Rejected,
    ends_timed_wait,
)
from services.executor.core.write.one_write import AgentNeedsAnswer, build_question_timer
from services.executor.ports.turns import TurnStore, TurnWork
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import DoubtResolution, LedgerEntry
from shared.contracts.task import Turn, TurnKind
from shared.domain import span_names as names
from shared.domain.answer import is_json_list
from shared.domain.words import (
    DONE_STATUSES,
    UNDECIDED_STATUSES,
    DoubtResolutionKind,
    FsmState,
    Role,
    TaskState,
    WriteStatus,
)


async def is_turn_too_late(work: TurnWork, store: TurnStore, approval: Approval | None) -> bool:
    """Whether the turn can no longer change anything: its task has ended, or what it decides is no longer open.

    ``approval``: the task's, if it has one. A decision on a doubt that an earlier attempt at the turn has stored is not
    too late, since its effects are still to come.
    """
    turn = work.turn
    if work.record.state.is_terminal:
        return True
    if _is_about_doubts(turn):
        ledger = await list_writes(store)
        is_stored = any(decision.turn_id == turn.turn_id for entry in ledger for decision in entry.resolutions)
        return not (list_open_doubts(ledger) or is_stored)
    if turn.kind not in (TurnKind.DECISION, TurnKind.DEADLINE) or ends_timed_wait(turn):
        return False
    if approval is not None and approval.status is ApprovalStatus.WAITING:
        return False
    return not any(entry.status is WriteStatus.ASKED for entry in await list_writes(store))


async def apply_turn_decision(opened: OpenedTurn, approval: Approval | None) -> None:
    """Applies the turn's decision to writes in doubt, and to the approval.

    A cancel decides neither. Raises ``StillInDoubt``, ``StillWaiting``, or the task's early end.

    No tool server is needed for this, so a refusal, an expiry or a question works while none is reachable.
    """
    work = opened.work
    journal = opened.journal
    progress_before = opened.journal.progress
    if work.turn.kind is TurnKind.CANCEL:
        return
    accepted_at = journal.began - timedelta(microseconds=max(0, work.waited_us))  # by the store's clock
    await _apply_doubt_decision(opened.store, journal, work.turn, accepted_at)
    if progress_before is not None and approval is not None and is_approval_awaited(approval, progress_before):
        decided_approval = await _apply_approval_decision(journal, work.turn, approval, accepted_at)
        progress = apply_approval(progress_before, decided_approval)
        opened.journal.save_progress(progress, "approved" if is_plan_released(progress) else "entered")


class StillWaiting(WaitsForPerson):
    """The task keeps waiting; the message says why. ``approval``: in its new state."""

    def __init__(self, approval: Approval, note: str) -> None:
        super().__init__(note)
        self.approval = approval
        self.note = note


async def _apply_approval_decision(journal: Journal, turn: Turn, approval: Approval, accepted_at: datetime) -> Approval:
    """The approval, fully given by this turn. Raises ``StillWaiting``, or ``Rejected`` for a refusal or expiry.

    A decision counts if it was accepted before the deadline, however late it is applied. It is journaled first, so
    that a second attempt decides alike.
    """
    decided_approval = await _decide_approval(journal, turn, approval, accepted_at)
    if decided_approval.status is ApprovalStatus.WAITING:
        raise StillWaiting(decided_approval, _describe_approval_state(decided_approval, turn))
    if decided_approval.status is not ApprovalStatus.APPROVED:
        raise Rejected(describe_refused_approval(decided_approval))
    return decided_approval


def get_recorded_approval(journal: Journal, turn: Turn) -> Approval | None:
    """The approval as this turn decided it; None if it has decided nothing."""
    stored = journal.get(_build_decision_key(turn))
    return Approval.model_validate_json(stored) if stored else None


async def _decide_approval(journal: Journal, turn: Turn, approval: Approval, accepted_at: datetime) -> Approval:
    """The approval after this turn, journaled; raises ``StillWaiting`` if the turn decides nothing."""
    recorded = get_recorded_approval(journal, turn)
    if recorded is not None:
        return recorded
    if turn.kind is TurnKind.DEADLINE:
        if not is_expired(approval, journal.now):
            raise StillWaiting(approval, "waiting for a decision")
        escalated = escalate_approval(approval, journal.now)
        decided_approval = escalated or approval.model_copy(update={"status": ApprovalStatus.EXPIRED})
    elif turn.kind is TurnKind.DECISION:
        try:
            decided_approval = add_decision(approval, turn, accepted_at)
        except InvalidDecision as refused:
            raise StillWaiting(approval, f"the decision does not count: {refused}") from refused
    else:
        raise StillWaiting(approval, "this task waits for a decision: answer with exactly 'approve' or 'reject'")
    status = "escalated" if _goes_to_next_level(decided_approval, turn) else decided_approval.status.value
    journal.add_event("approval", status=status, by=turn.principal.id, approval_id=decided_approval.approval_id)
    journal.add_entry(_build_decision_key(turn), "approval", decided_approval.model_dump_json())
    return decided_approval


def _goes_to_next_level(approval: Approval, turn: Turn) -> bool:
    return turn.kind is TurnKind.DEADLINE and approval.status is ApprovalStatus.WAITING


def _describe_approval_state(approval: Approval, turn: Turn) -> str:
    if _goes_to_next_level(approval, turn):
        return f"nobody decided in time, so it is for the next level now: {approval.level}"
    return f"{len(approval.decisions)} of {approval.needed} approvals are given"


def _build_decision_key(turn: Turn) -> str:
    return f"decision:{turn.turn_id}"


_STATUS_AFTER_RESOLUTION = {
    DoubtResolutionKind.RETRY: WriteStatus.RESEND,
    DoubtResolutionKind.SKIP: WriteStatus.SKIPPED,
    DoubtResolutionKind.DONE: WriteStatus.UNVERIFIED,
}
_RESOLUTION_TEXT = {
    DoubtResolutionKind.RETRY: "that it did not take hold and may be sent again",
    DoubtResolutionKind.SKIP: "that it is to be left undone",
    DoubtResolutionKind.DONE: "that it took hold",
    DoubtResolutionKind.TAKE_OVER: "that the task is taken over",
}


class StillInDoubt(WaitsForPerson):
    """The task keeps waiting for an operator; the message says why."""


async def _apply_doubt_decision(store: TurnStore, journal: Journal, turn: Turn, accepted_at: datetime) -> None:
    """Applies the turn's decision on writes in doubt; returns if none is left.

    A decision counts if it was accepted before the doubt's deadline, however late it is applied. It is stored in
    the ledger before it has any effect, so that a second attempt finds it. Raises ``StillInDoubt``, or ``GivenUp`` if
    an operator takes the task over or the time is up.
    """
    ledger = await list_writes(store)
    if taken_over := find_write_taken_over(ledger):
        raise _build_take_over_error(taken_over)
    doubts = list_open_doubts(ledger)
    if not doubts:
        return
    entry = _find_doubted_write(turn, doubts) or doubts[0]
    came_at = {TurnKind.RESOLUTION: accepted_at, TurnKind.DEADLINE: journal.now}.get(turn.kind)
    if came_at is not None and entry.decide_by is not None and came_at >= entry.decide_by:
        raise GivenUp(f"no operator said in time what became of a write. {write_operator_brief([entry])}")
    decision = _parse_operator_decision(turn, doubts, journal.now)
    await _store_doubt_resolution(journal, entry, decision)
    if decision.resolution is DoubtResolutionKind.TAKE_OVER:
        raise _build_take_over_error(entry.model_copy(update={"resolutions": (*entry.resolutions, decision)}))
    if remaining := list_open_doubts(await list_writes(store)):
        raise StillInDoubt(f"{remaining[0].call.call_id} is in doubt as well")


def _is_about_doubts(turn: Turn) -> bool:
    """Whether the turn is about a write in doubt: an operator's decision, or the deadline for one."""
    ends_wait = turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(DOUBT_TIMER_PREFIX)
    return ends_wait or turn.kind is TurnKind.RESOLUTION


def _parse_operator_decision(turn: Turn, doubts: Sequence[LedgerEntry], now: datetime) -> DoubtResolution:
    """The operator's decision in the turn; raises ``StillInDoubt`` if there is none that counts."""
    if turn.kind is not TurnKind.RESOLUTION:
        raise StillInDoubt(
            "" if turn.kind is TurnKind.DEADLINE else "this task waits for an operator's word on a write"
        )
    if Role.OPERATOR not in turn.principal.roles:
        raise StillInDoubt(f"the word does not count: {turn.principal.id} does not have the role operator")
    entry = _find_doubted_write(turn, doubts)
    if entry is None:
        raise StillInDoubt("the word does not count: it speaks of a write that is not in doubt, or no longer")
    try:
        resolution = DoubtResolutionKind(str(turn.data.get("resolution")))
    except ValueError:
        raise StillInDoubt(f"the word does not count: it must be one of {', '.join(DoubtResolutionKind)}") from None
    return DoubtResolution(
        doubt=entry.doubt_id,
        resolution=resolution,
        by=turn.principal,
        at=now,
        comment=str(turn.data.get("comment") or ""),
        turn_id=turn.turn_id,
    )


async def _store_doubt_resolution(journal: Journal, entry: LedgerEntry, decision: DoubtResolution) -> None:
    status = _STATUS_AFTER_RESOLUTION.get(decision.resolution, entry.status)
    note = f"{_describe_resolution(decision)}; before: {entry.note}"
    archived = move_attempt_to_earlier(entry, entry.status, entry.note) if status is WriteStatus.RESEND else entry
    resolutions = (*entry.resolutions, decision)
    settled_entry = archived.model_copy(update={"status": status, "note": note, "resolutions": resolutions})
    journal.add_event("write", call=entry.call.call_id, tool=entry.call.tool, status=status.value, note=note)
    await journal.settle_write(settled_entry, entry.status)


def _describe_resolution(decision: DoubtResolution) -> str:
    operator = decision.by.id if decision.by.verified else f"{decision.by.id} (unverified)"
    comment = f' ("{decision.comment}")' if decision.comment else ""
    text = _RESOLUTION_TEXT[decision.resolution]
    return f"operator {operator} said at {decision.at:%Y-%m-%d %H:%M:%S} UTC {text}{comment}"


def _build_take_over_error(entry: LedgerEntry) -> GivenUp:
    decision = entry.operator_decision
    reason = _describe_resolution(decision) if decision else "taken over"
    return GivenUp(f"{reason}. {entry.call.call_id} {entry.call.tool}: {entry.note}")


def _find_doubted_write(turn: Turn, doubts: Sequence[LedgerEntry]) -> LedgerEntry | None:
    """The doubt that an operator's turn names, or for which the turn is the timer; None if it is none of these."""
    name = str(turn.data.get("doubt", "")) or str(turn.data.get("subject", "")).removeprefix(DOUBT_TIMER_PREFIX)
    return next((entry for entry in doubts if entry.doubt_id == name), None)


_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 60.0


def compute_next_model_try(
    retry_after: float | None, tries: int, first_away_at: datetime, now: datetime, deadline_seconds: float
) -> datetime | None:
    """When to ask the model again after ``tries`` failures in a row; None if that would be past the deadline.

    5 s after the first failure, then doubled up to 60 s, and never sooner than ``retry_after``, which the endpoint
    named. The deadline counts from ``first_away_at``; the last try is made at the deadline.
    """
    latest = first_away_at + timedelta(seconds=deadline_seconds)
    least_seconds = retry_after or 0.0
    if now >= latest or not math.isfinite(least_seconds) or least_seconds > (latest - now).total_seconds():
        return None
    doublings = min(max(tries, 1) - 1, 10)
    pause = max(least_seconds, min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**doublings))
    return min(latest, now + timedelta(seconds=pause))


async def plan_wait_for_model(ctx: TurnContext, key: str, away: ModelTemporarilyUnavailable) -> TimedWait | None:
    """The wait until the model is asked again; None past the deadline. ``key``: the missing reply's journal key."""
    tries, first_away_at = 1, ctx.journal.now
    while (away_at := ctx.journal.get_from_earlier_attempt(f"{key}:away:{tries}")) is not None:
        first_away_at = datetime.fromisoformat(away_at) if tries == 1 else first_away_at
        tries += 1
    until = compute_next_model_try(away.retry_after, tries, first_away_at, ctx.journal.now, ctx.limits.rest_seconds)
    if until is None:
        return None
    ctx.journal.clear_early_end()
    ctx.journal.add_entry(f"{key}:away:{tries}", "note", ctx.journal.now.isoformat())
    return TimedWait(until, f"waiting for the model until {until:%Y-%m-%d %H:%M:%S} UTC: {away.reason}")


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
            _format_partial_answer(early.reason, progress or NO_PROGRESS, writes) if early.is_partial else early.reason
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


def _format_partial_answer(reason: str, progress: Progress, writes: Sequence[LedgerEntry]) -> str:
    """The answer of a partial result: why it is partial, and the figures known so far."""
    values = [f"- {value.name}: {value.value}" for value in drop_unrealized_remainders(progress, writes)]
    return "\n".join([f"Partial result: {reason}.", *(["Known until then:", *values] if values else [])])


def _write_cancel_answer(reason: str, progress: Progress, writes: Sequence[LedgerEntry]) -> str:
    """The answer of a canceled task: the reason, and the planned calls that are not among its ``writes``, which were
    begun.
    """
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
    progress = _store_progress_before_wait(ctx, waits.progress, f"rests:{ctx.turn.turn_id}")
    wait = waits.wait
    ctx.journal.add_event("note", rests_until=wait.until.isoformat(), why=wait.reason)
    writes = await list_writes(ctx.store)
    return RunEnd(TaskState.WORKING, None, wait.reason, wait.reason, progress, writes, timer=wait.timer)


async def _build_approval_end(
    store: TurnStore, approval: Approval, progress: Progress | None, note: str = ""
) -> RunEnd:
    """The end of a run that asks for an approval, with all writes so far. ``note`` stands above the question."""
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
    """Adds this turn's working time to the progress and stores it under ``label``; returns it.

    So waiting does not count as work.
    """
    worked_ms = progress.worked_ms + round(turn.journal.worked_seconds * 1000)
    progress = progress.model_copy(update={"worked_ms": worked_ms})
    turn.journal.save_progress(progress, label)
    return progress
