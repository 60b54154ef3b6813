"""The AI worker: runs PRIME, EXECUTE and REFLECT for each turn of a task."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

import structlog
from typing_extensions import override

from services.executor.core.authorize.approval import finalize_approval, find_approval_notices
from services.executor.core.prime.known import compress_session, with_history, with_thresholds
from services.executor.core.prime.prime import OpenedTurn, WorkerDependencies, build_first_progress, prime
from services.executor.core.prime.privacy import refuse_protected_request
from services.executor.core.prime.prose import with_translated_rules
from services.executor.core.reflect.review import review_answer, with_documents
from services.executor.core.reflect.turn_end import build_turn_end, build_unchanged_end
from services.executor.core.session.budget import Settlement, list_settlements_of_turn
from services.executor.core.session.context import (
    Limits,
    Ports,
    TurnContext,
    build_file_notes,
    get_session_for_task,
)
from services.executor.core.session.dossier import AnsweredTask, RunEnd, WaitsForDecision, WaitsForTime
from services.executor.core.session.journal import Journal, MakeJournal, TurnCounts, restore_latest_progress
from services.executor.core.session.ledger import WaitsForPerson, list_writes
from services.executor.core.states.machine import BUILT_IN_TEMPLATES, Canceled, EarlyEnd, Processes, TenantStopped
from services.executor.core.states.prompts import Prompts
from services.executor.core.turn import recording
from services.executor.core.turn.ends import (
    build_answered_task_end,
    build_approval_request_end,
    build_early_task_end,
    build_timed_wait_end,
    build_waiting_for_person_end,
)
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.waits import apply_turn_decision, get_recorded_approval, is_turn_too_late
from services.executor.core.write.one_write import settle_open_writes
from services.executor.core.write.settling import settle_without_reading
from services.executor.ports.sessions import TurnRunner, TurnWork
from services.executor.ports.turns import DayCharges, JournalEntry, LeaseLost, TurnStore
from shared.contracts.approval import Approval
from shared.contracts.task import TurnKind
from shared.domain import span_names as names
from shared.domain.protected_values import find_protected_values
from shared.domain.words import Phase, TaskState
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
        counts, waited = TurnCounts(self._ports.meter), work.waited_us if work.attempts == 1 else None
        with counts.count_turn(work.turn.kind, waited), recording.open_turn_span(self._ports.tracer, work) as span:
            recording.put_start_on_span(span, work)
            await self._run_and_count(work, store, counts)

    async def _run_and_count(self, work: TurnWork, store: TurnStore, counts: TurnCounts) -> None:
        entries, approval, pulse = await store.read_journal(), await store.read_approval(), await store.get_pulse()
        if await is_turn_too_late(work, store, approval):
            end = build_unchanged_end(work, await store.read_session(), pulse.now)
            await store.finish(end)
            return counts.count_end(end, approval)
        opened = self._open_turn(work, store, entries, pulse.now, counts)
        ledger = await store.read_ledger() if entries else {}
        recording.record_attempt_start(opened.journal, work.turn, ledger, self._limits)
        try:
            ended = await self._run_phases(opened, approval)
            charges = _sum_charges_by_day(work, entries, opened.journal.spending.uncounted)
            await self._store_end(opened, ended, approval, charges)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:  # whoever tries again finds what was paid for
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
        """Loads the turn's journal. ``is_given_up``: its writes may be read whatever earlier attempts decided."""
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
        with opened.journal.counts.measure_span(Phase.PRIME, self._ports.tracer.open_span(names.PRIME)):
            primed = await prime(self._dependencies, opened)
            recording.record_session(opened.journal, primed.session)
            return with_thresholds(await with_history(await with_translated_rules(with_documents(primed))))

    async def _execute_turn(self, ctx: TurnContext) -> AnsweredTask | WaitsForDecision | WaitsForTime:
        ctx.journal.enter_phase(Phase.EXECUTE)
        with ctx.journal.counts.measure_span(Phase.EXECUTE, self._ports.tracer.open_span(names.EXECUTE)):
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
                ctx.journal.enter_phase(Phase.REFLECT)
                with ctx.journal.counts.measure_span(Phase.REFLECT, self._ports.tracer.open_span(names.REFLECT)):
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
            journal.enter_phase(Phase.REFLECT)
        session = compress_session(get_session_for_task(await store.read_session(), work.record), journal, work.turn)
        decided = get_recorded_approval(journal, work.turn)
        approval = ended.approval or decided
        written_hashes = {entry.plan_hash for entry in await list_writes(store)} if approval_before else ()
        final_approval = finalize_approval(approval_before, decided, approval, written_hashes)
        spend = journal.spending.as_json(self._limits.ceilings)
        ended = ended._replace(approval=approval, settled_approval=final_approval, spend=spend)
        end = build_turn_end(work, ended, session, journal, self._limits.answers)
        recording.put_end_on_span(self._ports.tracer.current_span(), ended)
        with self._ports.tracer.open_span(names.STORE):
            notices = tuple(find_approval_notices(approval_before, approval, final_approval))
            await store.finish(end._replace(notices=notices, charges=charges))
        journal.counts.count_end(end, approval_before)

    @override
    async def settle_open_writes(self, work: TurnWork, store: TurnStore) -> None:
        """Settles, by reading, the open writes of a turn that is given up. It may fail like the turn itself."""
        entries, pulse = await store.read_journal(), await store.get_pulse()
        await self._count_spending(work, entries)
        opened = self._open_turn(work, store, entries, pulse.now, TurnCounts(self._ports.meter), is_given_up=True)
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
    """The cost of a turn by the tenant's days, including its earlier attempts."""
    settlements = sorted((*list_settlements_of_turn(entries, work.turn.turn_id), *uncounted), key=attrgetter("day"))
    return tuple(
        DayCharges(day, tuple(settlement.as_charge(work.record.task_id) for settlement in settlements_of_day))
        for day, settlements_of_day in groupby(settlements, key=attrgetter("day"))
    )


def _mark_working_or_refuse(opened: OpenedTurn) -> None:
    """Notes that the task is being worked on. Raises ``Rejected`` if it asks for protected data."""
    opened.journal.enter_phase(Phase.PRIME)
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
