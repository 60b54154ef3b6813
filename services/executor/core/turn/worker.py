"""The AI worker: runs PRIME, EXECUTE and REFLECT for each turn of a task."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import structlog
from pydantic import JsonValue
from typing_extensions import override

from services.executor.core.authorize.approval import finalize_approval, find_approval_notices
from services.executor.core.authorize.persons import describe_needed_approval
from services.executor.core.conversation.converse import (
    Conversation,
    begin_conversation,
    build_lost_orchestrator_reads_key,
)
from services.executor.core.plan.notices import append_missing_notice_to_answer
from services.executor.core.plan.outcomes import describe_outcomes, list_parts_not_done
from services.executor.core.prime.known import compress_session, with_history, with_thresholds
from services.executor.core.prime.prime import OpenedTurn, WorkerDependencies, build_first_progress, prime
from services.executor.core.prime.privacy import refuse_protected_request
from services.executor.core.prime.prose import with_translated_rules
from services.executor.core.process.figures import append_rows_without_call_to_answer
from services.executor.core.reflect.dry_run import with_plan_as_answer
from services.executor.core.reflect.review import review_answer, with_announced_documents
from services.executor.core.reflect.turn_end import build_turn_end, build_unchanged_end
from services.executor.core.session.budget import Settlement, list_settlements_of_turn
from services.executor.core.session.context import (
    OUTDATED_PLAN_KEY,
    Limits,
    Ports,
    TurnContext,
    build_file_notes,
    get_session_for_task,
    is_practice,
    list_calls_not_made,
    list_left_out_calls,
)
from services.executor.core.session.dossier import (
    AnsweredTask,
    Progress,
    RunEnd,
    StaleInputs,
    WaitsForDecision,
    WaitsForTime,
)
from services.executor.core.session.journal import Journal, MakeJournal, TurnCounts, restore_latest_progress
from services.executor.core.session.ledger import WaitsForPerson, list_writes
from services.executor.core.states.machine import (
    BUILT_IN_TEMPLATES,
    Canceled,
    EarlyEnd,
    Failed,
    ModelTemporarilyUnavailable,
    Processes,
    Rejected,
    TenantStopped,
)
from services.executor.core.states.prompts import Prompts
from services.executor.core.turn import recording
from services.executor.core.turn.ends import (
    apply_turn_decision,
    build_answered_task_end,
    build_approval_request_end,
    build_early_task_end,
    build_timed_wait_end,
    build_waiting_for_person_end,
    get_recorded_approval,
    is_turn_too_late,
    plan_wait_for_model,
)
from services.executor.core.write.carry_plan import carry_out_plan
from services.executor.core.write.one_write import settle_open_writes
from services.executor.core.write.settling import settle_without_reading
from services.executor.ports.turns import DayCharges, JournalEntry, LeaseLost, TurnRunner, TurnStore, TurnWork
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.contracts.task import TurnKind
from shared.domain import span_names as names
from shared.domain.answer import parse_list_answer
from shared.domain.exact_json import Json, dumps, loads_object
from shared.domain.protected_values import find_protected_values
from shared.domain.words import UNDECIDED_STATUSES, TaskState, ToolClass, TurnPhase, WriteStatus
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


class Worker(TurnRunner):
    """Runs turns. It has no state of its own; all state is in the turn's store."""

    def __init__(
        self,
        ports: Ports,
        limits: Limits,
        prompts: Prompts,
        journal: MakeJournal = Journal,
        processes: Processes = BUILT_IN_TEMPLATES,
    ) -> None:
        """``processes``: the process templates by name, to which ``general`` is added."""
        self._dependencies = WorkerDependencies(ports, limits, prompts, processes)
        self._ports = ports
        self._limits = limits
        self._journal = journal

    @override
    async def run(self, work: TurnWork, store: TurnStore) -> None:
        """Runs the turn and stores its end. Raises ``LeaseLost`` if another executor owns the session."""
        counts = TurnCounts(self._ports.meter)
        waited = work.waited_us if work.attempts == 1 else None
        with counts.count_turn(work.turn.kind, waited), recording.open_turn_span(self._ports.tracer, work) as span:
            recording.set_start_attributes(span, work)
            await self._run_and_count(work, store, counts)

    async def _run_and_count(self, work: TurnWork, store: TurnStore, counts: TurnCounts) -> None:
        entries = await store.read_journal()
        approval = await store.read_approval()
        stop_state = await store.get_stop_state()
        if await is_turn_too_late(work, store, approval):
            end = build_unchanged_end(work, await store.read_session(), stop_state.now)
            await store.finish(end)
            return counts.count_end(end, approval)
        opened = self._open_turn(work, store, entries, stop_state.now, counts)
        ledger = await store.read_ledger() if entries else {}
        recording.record_attempt_start(opened.journal, work.turn, ledger, self._limits)
        try:
            ended = await self._run_phases(opened, approval)
            charges = _sum_charges_by_day(work, entries, opened.journal.spending.uncounted)
            await self._store_end(opened, ended, approval, charges)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:  # the next attempt finds the replies that were paid for
            await opened.journal.flush()
            raise

    def _open_turn(
        self,
        work: TurnWork,
        store: TurnStore,
        entries: Sequence[JournalEntry],
        now: datetime,
        counts: TurnCounts,
        *,
        is_given_up: bool = False,
    ) -> OpenedTurn:
        """Loads the turn's journal; with ``is_given_up`` without progress, whose end or used-up time forbids reads."""
        progress = None if is_given_up else restore_latest_progress(entries)
        worked_seconds = progress.worked_ms / 1000 if progress else 0.0
        journal = self._journal(store, entries, now, self._limits.task_seconds - worked_seconds, self._limits.journal)
        journal.counts = counts
        journal.redact_from_now_on(find_protected_values(work.record.request.text))
        journal.progress = progress
        return OpenedTurn(work, store, journal)

    async def _run_phases(self, opened: OpenedTurn, approval: Approval | None) -> RunEnd:
        """Runs PRIME, EXECUTE and REFLECT; returns the end of the run.

        An early end is raised, from any depth. A cancellation of the process and a lost lease are not caught: the next
        attempt settles what is open.
        """
        ctx, turn = None, opened.work.turn
        canceled = Canceled(f"canceled by {turn.principal.id}") if turn.kind is TurnKind.CANCEL else None
        try:
            _mark_working_or_refuse(opened)
            await apply_turn_decision(opened, approval)
            ctx = await self._prime_turn(opened)
            if canceled is not None:
                raise canceled
            executed = await self._execute_turn(ctx)
            return await self._reflect_on(ctx, executed)
        except WaitsForPerson as waiting:
            return await build_waiting_for_person_end(opened, waiting)
        except TenantStopped as stopped:
            if ctx is not None:
                await settle_open_writes(ctx, task_ends=False)
            await _store_pause_for_tenant_stop(opened, stopped)
            raise
        except EarlyEnd as early:
            recording.record_early_end(opened.journal, early)
            if ctx is not None:
                await settle_open_writes(ctx)
            else:
                await settle_without_reading(opened.store, opened.journal, early.reason)
            return await build_early_task_end(opened, canceled or early)

    async def _prime_turn(self, opened: OpenedTurn) -> TurnContext:
        """The turn's context, with documents, prose policies, earlier conversation and limits added."""
        with opened.journal.counts.measure_span(TurnPhase.PRIME, self._ports.tracer.open_span(names.PRIME)):
            primed = await prime(self._dependencies, opened)
            recording.record_session(opened.journal, primed.session)
            return with_thresholds(await with_history(await with_translated_rules(with_announced_documents(primed))))

    async def _execute_turn(self, ctx: TurnContext) -> AnsweredTask | WaitsForDecision | WaitsForTime:
        ctx.journal.enter_phase(TurnPhase.EXECUTE)
        with ctx.journal.counts.measure_span(TurnPhase.EXECUTE, self._ports.tracer.open_span(names.EXECUTE)):
            if (earlier := ctx.journal.progress) is None:
                progress = build_first_progress(ctx)
                ctx.journal.save_progress(progress)
            else:  # with notes on all files of the task, also those of later messages
                progress = earlier.add_notes(**build_file_notes(ctx.files))
            return await execute_task(ctx, progress)

    async def _reflect_on(self, ctx: TurnContext, executed: AnsweredTask | WaitsForDecision | WaitsForTime) -> RunEnd:
        """Runs REFLECT if there is an answer; returns the end of the run."""
        match executed:
            case AnsweredTask(progress, not_done):
                ctx.journal.enter_phase(TurnPhase.REFLECT)
                with ctx.journal.counts.measure_span(TurnPhase.REFLECT, self._ports.tracer.open_span(names.REFLECT)):
                    return await build_answered_task_end(ctx, await review_answer(ctx, progress), not_done)
            case WaitsForDecision():
                return await build_approval_request_end(ctx, executed)
            case WaitsForTime():
                return await build_timed_wait_end(ctx, executed)

    async def _store_end(
        self, opened: OpenedTurn, ended: RunEnd, approval_before: Approval | None, charges: tuple[DayCharges, ...]
    ) -> None:
        """Stores the record, answer, events, approval, timer and outcome of the turn in one step.

        ``approval_before``: the one that waited before the turn. If it no longer waits, its final state is stored.
        """
        work, store, journal = opened
        if ended.state.is_terminal:
            journal.enter_phase(TurnPhase.REFLECT)
        session = compress_session(get_session_for_task(await store.read_session(), work.record), journal, work.turn)
        decided = get_recorded_approval(journal, work.turn)
        approval = ended.approval or decided
        written_hashes = {entry.plan_hash for entry in await list_writes(store)} if approval_before else ()
        final_approval = finalize_approval(approval_before, decided, approval, written_hashes)
        spend = journal.spending.as_json(self._limits.ceilings)
        ended = ended._replace(approval=approval, settled_approval=final_approval, spend=spend)
        end = build_turn_end(work, ended, session, journal, self._limits.answers)
        recording.set_end_attributes(self._ports.tracer.current_span(), ended)
        with self._ports.tracer.open_span(names.STORE):
            notices = tuple(find_approval_notices(approval_before, approval, final_approval))
            await store.finish(end._replace(notices=notices, charges=charges))
        journal.counts.count_end(end, approval_before)

    @override
    async def settle_open_writes(self, work: TurnWork, store: TurnStore) -> None:
        """Settles, by reading, the open writes of a turn that is given up. It may fail like the turn itself."""
        entries, stop_state = await store.read_journal(), await store.get_stop_state()
        await self._count_spending(work, entries)
        opened = self._open_turn(work, store, entries, stop_state.now, TurnCounts(self._ports.meter), is_given_up=True)
        await settle_open_writes(await prime(self._dependencies, opened))

    async def _count_spending(self, work: TurnWork, entries: Sequence[JournalEntry]) -> None:
        """Counts the cost of a given-up turn's attempts in the tenant's days."""
        try:
            for day, charges in _sum_charges_by_day(work, entries):
                await self._ports.daily.settle_charges(work.record.tenant, day, charges)
        except StoreUnavailable as error:  # the writes are to be settled all the same
            log.warning("spending_not_counted", task=work.record.task_id, error=str(error))


def _sum_charges_by_day(
    work: TurnWork, entries: Sequence[JournalEntry], uncounted: Sequence[Settlement] = ()
) -> tuple[DayCharges, ...]:
    """What the turn has cost, its earlier attempts included, by day of the tenant's budget. ``entries``: the task's
    journal; ``uncounted``: costs that are not in it yet.
    """
    settlements = sorted((*list_settlements_of_turn(entries, work.turn.turn_id), *uncounted), key=attrgetter("day"))
    return tuple(
        DayCharges(day, tuple(settlement.as_charge(work.record.task_id) for settlement in settlements_of_day))
        for day, settlements_of_day in groupby(settlements, key=attrgetter("day"))
    )


def _mark_working_or_refuse(opened: OpenedTurn) -> None:
    """Queues the task's record as being worked on. Raises ``Rejected`` if a new task asks for protected data."""
    opened.journal.enter_phase(TurnPhase.PRIME)
    record, now = opened.work.record, opened.journal.now
    update = {"state": TaskState.WORKING, "reason": None, "started_at": record.started_at or now, "updated_at": now}
    opened.journal.queue_record(record.model_copy(update=update))
    if opened.journal.progress is None:
        refuse_protected_request(record.request.text)


async def _store_pause_for_tenant_stop(opened: OpenedTurn, stopped: TenantStopped) -> None:
    """Stores that the task waits again. The next attempt continues from the journal."""
    update = {"state": TaskState.SUBMITTED, "reason": f"the tenant is stopped: {stopped}"}
    record = opened.work.record.model_copy(update={**update, "updated_at": opened.journal.now})
    opened.journal.add_event("status", state=record.state.value, reason=record.reason)
    opened.journal.queue_record(record)
    await opened.journal.flush()


_OUTCOMES_KEY = "plan:{}:outcomes"  # the journal's name for what became of the calls of a plan


class _CarriedOutPlan(NamedTuple):
    """A plan that was carried out, or outdated before that. ``outcomes``: what the model is told, by call id."""

    progress: Progress
    outcomes: dict[str, Json]


async def execute_task(ctx: TurnContext, progress: Progress) -> AnsweredTask | WaitsForDecision | WaitsForTime:
    """Continues the task until it is answered or waits. Earlier replies and results come from the journal.

    If the first orchestrator is unavailable before anything is planned, the next one in the list takes over.
    """
    while True:
        conversation = await begin_conversation(ctx, progress)
        try:
            return await _run_conversation(conversation)
        except Failed as failed:
            progress = conversation.progress
            may_pass_on = len(progress.orchestrators) > 1 and progress.dossier.plan is None
            if not may_pass_on or failed.failed_component != "model":
                raise
            progress = _pass_to_next_orchestrator(conversation, failed)


async def _run_conversation(conversation: Conversation) -> AnsweredTask | WaitsForDecision | WaitsForTime:
    """Lets the model continue, carries out each plan that closes, and tells the model the outcomes of its calls, until
    it answers or has to wait. In a dry run the first plan is the answer.
    """
    while True:
        try:
            plan = await conversation.run_until_plan_or_answer()
        except ModelTemporarilyUnavailable as away:
            if conversation.may_answer_from_ledger:
                return await _finish_with_ledger_answer(conversation)
            return await _build_wait_for_model(conversation, away)
        ctx, progress = conversation.ctx, conversation.progress  # with the process that the model chose
        if plan is None:
            return await _finish_answered_task(conversation, progress)
        if ctx.record.request.is_dry_run:
            approvers = describe_needed_approval(ctx, progress)
            omissions = conversation.list_omissions()
            return AnsweredTask(with_plan_as_answer(progress, approvers, omissions))
        carried = await _run_closed_plan(ctx, progress, plan)
        if not isinstance(carried, _CarriedOutPlan):
            return carried
        await conversation.add_outcomes(carried.progress, carried.outcomes)
        if ctx.tenant.answer_from_ledger and conversation.may_answer_from_ledger:
            return await _finish_with_ledger_answer(conversation)


async def _finish_with_ledger_answer(conversation: Conversation) -> AnsweredTask:
    return await _finish_answered_task(conversation, await _with_ledger_answer(conversation.ctx, conversation.progress))


async def _finish_answered_task(conversation: Conversation, progress: Progress) -> AnsweredTask:
    return await _build_answered_task(
        conversation.ctx, progress, conversation.draft.last_errors_by_part, conversation.ids_without_call_by_part
    )


async def _run_closed_plan(
    ctx: TurnContext, progress: Progress, plan: WritePlan
) -> _CarriedOutPlan | WaitsForDecision | WaitsForTime:
    """Carries out the plan; returns the outcomes of its calls (a journal step), or what the run waits for."""
    stored = ctx.journal.get_from_earlier_attempt(_OUTCOMES_KEY.format(plan.round))
    if stored is not None:
        return _CarriedOutPlan(progress, loads_object(stored))
    match await carry_out_plan(ctx, progress):
        case WaitsForDecision() as waits:
            return waits._replace(changes=_list_changes_since_outdated_plan(ctx, plan))
        case WaitsForTime() as resting:
            return resting
        case StaleInputs() as stale:
            return await _store_outcomes(ctx, plan, stale.progress, _record_outdated_plan(ctx, plan, stale))
        case Progress() as carried_progress:
            return await _store_outcomes(ctx, plan, carried_progress)


async def _store_outcomes(ctx: TurnContext, plan: WritePlan, progress: Progress, outdated: str = "") -> _CarriedOutPlan:
    """Stores what became of the plan's calls. ``outdated``: why none was made, empty if the plan was carried out."""
    reasons = {left_out.call.call_id: left_out.reason for left_out in list_left_out_calls(ctx, plan)}
    outcomes = await describe_outcomes(ctx, plan, reasons, outdated)
    outcomes_entry = JournalEntry(_OUTCOMES_KEY.format(plan.round), "note", dumps(outcomes))
    ctx.journal.save_progress(progress, f"carried{plan.round}", (outcomes_entry,))
    return _CarriedOutPlan(progress, outcomes)


def _record_outdated_plan(ctx: TurnContext, plan: WritePlan, stale: StaleInputs) -> str:
    """Notes that the plan was outdated; returns what the model is told of each of its calls."""
    ctx.journal.add_event("note", plan=plan.round, outdated=stale.reason)
    ctx.journal.decide_once(OUTDATED_PLAN_KEY.format(plan.round), lambda: stale.reason)
    return f"nothing of the plan was made: {stale.reason}. Read again what it rests on, and propose what is right now"


def _list_changes_since_outdated_plan(ctx: TurnContext, plan: WritePlan) -> tuple[str, ...]:
    """What has changed, if the plan replaces one that was outdated when it was to be carried out; else empty."""
    reason = ctx.journal.get(OUTDATED_PLAN_KEY.format(plan.round - 1))
    return (reason,) if reason else ()


async def _build_wait_for_model(conversation: Conversation, away: ModelTemporarilyUnavailable) -> WaitsForTime:
    """The wait until the model is asked again; raises ``Failed`` in practice and past the deadline."""
    ctx = conversation.ctx
    pause = None if is_practice(ctx.record) else await plan_wait_for_model(ctx, conversation.reply_key, away)
    if pause is None:
        raise Failed(away.reason, "model") from away
    return WaitsForTime(conversation.progress, pause)


def _pass_to_next_orchestrator(conversation: Conversation, failed: Failed) -> Progress:
    """Journals why this orchestrator failed and what it read; returns the progress with which the next one begins."""
    ctx, progress = conversation.ctx, conversation.progress
    name = progress.orchestrator
    key = f"passed-over:{name.value}"
    if ctx.journal.get(key) is None:
        ctx.journal.clear_early_end()
        ctx.journal.add_event("note", orchestrator=name.value, not_available=failed.reason)
        reads: Json = [loads_object(call.model_dump_json()) for call in conversation.reader.calls_made]
        ctx.journal.add_entry(build_lost_orchestrator_reads_key(name.value), "note", dumps(reads))
        ctx.journal.add_entry(key, "note", failed.reason)
    passed_over = {**progress.passed_over, name.value: failed.reason}
    update = {"orchestrators": progress.orchestrators[1:], "passed_over": passed_over, "replies": 0}
    return progress.model_copy(update=update)


def _with_run_summary(progress: Progress) -> Progress:
    """The progress with a summary of the run (tools, parts, calls), which becomes an event and part of the outcome."""
    dossier = progress.dossier
    helpful_tools = dict.fromkeys(fact.tool for fact in dossier.facts if fact.ok)
    insight: dict[str, JsonValue] = {
        "strategy": progress.strategy.value,
        "parts": len(dossier.parts),
        "plans": len(dossier.every_plan),
        "reads": len(dossier.facts),
        "helpful_tools": list(helpful_tools),
        "unhelpful_tools": list(dict.fromkeys(fact.tool for fact in dossier.facts if fact.tool not in helpful_tools)),
        "figures": len(dossier.values),
        "writes": [call.tool for plan in dossier.every_plan for call in plan.calls],
        "model_calls": progress.model_calls,
    }
    return progress.model_copy(update={"insight": {**progress.insight, **insight}})


async def _with_ledger_answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress in its final state, with a list of all writes and their statuses as the answer."""
    written = sorted((await ctx.store.read_ledger()).values(), key=lambda entry: entry.call.call_id)
    lines = [f"{entry.call.tool}: {entry.status.value.replace('_', ' ')} ({entry.note})" for entry in written]
    return progress.move_to(progress.path[-1]).update_dossier(answer="\n".join(lines) or "Nothing was written.")


async def _build_answered_task(
    ctx: TurnContext, progress: Progress, corrections: Mapping[int, str], ids_without_call: Mapping[int, Sequence[str]]
) -> AnsweredTask:
    """The answered task, with the remarks below its answer and the parts that were not done.

    Both mappings are by part number. ``corrections``: what was wrong with calls that never entered a plan;
    ``ids_without_call``: ids that a part lists and no call names. Raises ``Failed`` if there is no answer or a write is
    not settled, and ``Rejected`` if nothing was written and rules forbid the task's text.
    """
    if progress.dossier.answer is None:
        raise Failed("the conversation ended without an answer")
    final_progress = append_rows_without_call_to_answer(
        await append_missing_notice_to_answer(ctx, _with_run_summary(progress)), ctx.task, ctx.toolbox.keys
    )
    dossier, ledger = final_progress.dossier, await ctx.store.read_ledger()
    if any(_is_unsettled(entry) for entry in ledger.values()):
        raise Failed("the conversation ended before it was known what became of a write")
    reasons_by_call = {left_out.call.call_id: left_out.reason for left_out in list_calls_not_made(ctx, dossier)}
    parts_left = list_parts_not_done(dossier.parts, dossier.every_plan, ledger, reasons_by_call, corrections)
    parts_with_such_ids = (
        (part, ids_without_call[part.number]) for part in dossier.parts if part.number in ids_without_call
    )
    parts_left += [(part, f"no call names {', '.join(ids)}") for part, ids in parts_with_such_ids]
    if not ledger and any(part.is_to_do for part, _ in parts_left):
        _refuse_forbidden_text(progress)
    not_done = [f"part {part.number} ({part.quote[:120]}): {reason}" for part, reason in parts_left]
    is_read_as_list = dossier.answer_format == "list" and ctx.record.request.solver is None
    if is_read_as_list and parse_list_answer(dossier.answer or "") is None:
        not_done.append("the answer is not the JSON list that was asked for")
    return AnsweredTask(final_progress, "; ".join(not_done))


def _refuse_forbidden_text(progress: Progress) -> None:
    """Raises ``Rejected`` if rules about the task's text forbid it, because then no plan of the task may pass."""
    text_policy = progress.notes.get("text_policy")
    violations = text_policy.get("violations") if isinstance(text_policy, dict) else None
    if isinstance(violations, list) and violations:
        sentences = "; ".join(map(str, violations))
        raise Rejected(f"the policy forbids the task as it is written, so nothing was written: {sentences}")


def _is_unsettled(entry: LedgerEntry) -> bool:
    """Whether the outcome of a write is unknown or undecided, so that no answer can be given yet."""
    waits_for_proof = entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE
    return waits_for_proof or entry.status in UNDECIDED_STATUSES
