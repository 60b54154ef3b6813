"""The AI worker: PRIME, EXECUTE, REFLECT, once for each turn of a task."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

import structlog

from services.executor.core.authorize.approval import (
    apply_approval,
    approval_notices,
    ended_approval,
    is_let_through,
    waits_for,
)
from services.executor.core.authorize.policy import answer_with_escalation
from services.executor.core.prime.known import compress_session, with_history, with_thresholds
from services.executor.core.prime.prime import OpenedTurn, first_progress, prime
from services.executor.core.prime.privacy import refuse_protected
from services.executor.core.prime.prose import with_prose
from services.executor.core.reflect.review import ReviewedRun, review_answer, with_documents
from services.executor.core.reflect.turn_end import (
    FinishedRun,
    budget_ending,
    known_so_far,
    say_left_out,
    turn_end,
    unchanged_end,
)
from services.executor.core.session.budget import BudgetSpent, Settlement, settlements_of_turn
from services.executor.core.session.context import (
    IN_DOUBT,
    NOBODY_APPROVES,
    Limits,
    Ports,
    TurnContext,
    is_practice,
    note_files,
    own_memory,
    run_together,
)
from services.executor.core.session.dossier import Finished, Progress, Resting, WaitsForDecision
from services.executor.core.session.journal import Checkpoints, Journal, JournalLimits, TurnCounts, latest
from services.executor.core.session.ledger import Doubtful, GivenUp, open_doubts
from services.executor.core.states.machine import (
    TEMPLATES,
    Canceled,
    Failed,
    Processes,
    Rejected,
    RunEnds,
    TenantStopped,
    ends_rest,
    is_end,
)
from services.executor.core.states.prompts import Prompts
from services.executor.core.turn.recording import (
    note_ending,
    note_session,
    note_turn,
    record_inputs,
    tell_beginning,
    tell_end,
    turn_span,
)
from services.executor.core.turn.waits import (
    StillInDoubt,
    StillWaiting,
    acceptance_time,
    answer_approval,
    answer_doubts,
    end_in_doubt,
    end_resting,
    end_still_waiting,
    end_with_agent_question,
    end_with_question,
    is_heeded,
    recorded_approval,
    speaks_of_doubts,
)
from services.executor.core.write.agent_calls import AgentAsks
from services.executor.core.write.mutations import settle_open
from services.executor.core.write.settling import settle_without_reading
from services.executor.ports.sessions import Work
from services.executor.ports.turns import DayCharges, JournalEntry, LeaseLost, TurnStore
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, Turn, TurnKind
from shared.domain import span_names as names
from shared.domain.answer import is_exact_match
from shared.domain.marks import marked_values
from shared.domain.redaction import without_marks
from shared.domain.words import FsmState, Phase, TaskState, WriteStatus
from shared.ports.store import StoreUnavailable

ExecutesTask: TypeAlias = Callable[[TurnContext, Progress], Awaitable[Finished | WaitsForDecision | Resting]]
MakesJournal: TypeAlias = Callable[[TurnStore, Sequence[JournalEntry], datetime, float, JournalLimits], Journal]
log = structlog.get_logger()


class Worker:
    """Carries out turns. It has no state of its own: everything that matters is in the turn's store."""

    def __init__(
        self,
        ports: Ports,
        limits: Limits,
        prompts: Prompts,
        execute_task: ExecutesTask,
        journal: MakesJournal = Journal,
        processes: Processes = TEMPLATES,
    ) -> None:
        """``execute_task`` is that of ``turn/execute.py``: whoever builds the worker hands it in (decision 81).

        ``processes``: what a task can be carried out as, by name; ``general`` is always among them."""
        self._execute_task, self._processes = execute_task, processes
        self._ports = ports
        self._limits = limits
        self._prompts = prompts
        self._journal = journal

    async def run(self, work: Work, store: TurnStore) -> None:
        """Runs the turn to its end and stores what it leaves. Raises ``LeaseLost`` if another owner has it now."""
        counts, waited = TurnCounts(self._ports.meter), work.waited_us if work.attempts == 1 else None
        with counts.count_turn(work.turn.kind, waited), turn_span(self._ports.tracer, work) as span:
            tell_beginning(span, work)
            await self._run_counted(work, store, counts)

    async def _run_counted(self, work: Work, store: TurnStore, counts: TurnCounts) -> None:
        entries, pulse, approval = await run_together(store.journal(), store.pulse(), store.approval())
        if await _comes_too_late(work, store, approval) or await _says_nothing_new(work, store):
            end = unchanged_end(work, await store.session(), pulse.now)
            await store.finish(end)
            return counts.count_end(end, approval)
        known = latest(entries)
        left = self._limits.task_seconds - (known.worked_ms / 1000 if known else 0)
        journal = self._journal(store, entries, pulse.now, left, self._limits.journal)
        journal.counts = counts
        journal.hide(marked_values(work.record.request.text))
        note_turn(journal, work.turn, await store.ledger() if entries else {}, self._limits)
        opened = OpenedTurn(work, store, journal, Checkpoints(journal, known))
        try:
            ended, now_asked = await self._run_phases(opened, known, approval)
            charges = _list_charges(work, entries, journal.spending.uncounted)
            await self._store_end(opened, ended, now_asked, approval, charges)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:  # whoever tries again finds what was paid for
            await journal.flush()
            raise

    async def _count_spending(self, work: Work, earlier: Sequence[JournalEntry]) -> None:
        """Adds what the attempts at a turn that is given up cost to the tenant's days."""
        try:
            for day, charges in _list_charges(work, earlier):
                await self._ports.daily.settle(work.record.tenant, day, charges)
        except StoreUnavailable as error:  # the writes are to be settled all the same
            log.warning("spending_not_counted", task=work.record.task_id, error=str(error))

    async def settle_open_writes(self, work: Work, store: TurnStore) -> None:
        """Settles by reading the open writes of a turn that is given up; does nothing else of it.

        Any error may be raised: what broke the turn may break this too.
        """
        entries, pulse = await run_together(store.journal(), store.pulse())
        await self._count_spending(work, entries)
        journal = self._journal(store, entries, pulse.now, self._limits.task_seconds, self._limits.journal)
        journal.counts = TurnCounts(self._ports.meter)
        journal.hide(marked_values(work.record.request.text))
        opened = OpenedTurn(work, store, journal, Checkpoints(journal, latest(entries)))
        await settle_open(await prime(self._ports, self._limits, self._prompts, opened))

    async def _run_phases(
        self, opened: OpenedTurn, known: Progress | None, asked: Approval | None
    ) -> tuple[FinishedRun, Approval | None]:
        """PRIME and EXECUTE, with the answer's review; returns how the turn ends, early or not, and the approval as it
        stands then.
        """
        ctx: TurnContext | None = None
        try:
            _begin(opened)
            if known is None:
                refuse_protected(opened.work.record.request.text)
            if not _cancellation(opened.work.turn):  # this needs no tool server
                accepted = acceptance_time(opened.work, opened.journal)
                await answer_doubts(opened.store, opened.journal, opened.work.turn, accepted)
            progress = await _resolve_approval(opened, known, asked)
            with opened.journal.counts.time_span(Phase.PRIME, self._ports.tracer.span(names.PRIME)):
                ctx = await self._prime_turn(opened, progress)
            return await self._execute_turn(ctx, progress)
        except (StillWaiting, StillInDoubt, AgentAsks, Doubtful) as waiting:
            return await _end_waiting(opened, waiting)
        except TenantStopped as stopped:
            if ctx is not None:
                await settle_open(ctx, ends=False)
            await _hand_back(opened, stopped)
            raise
        except RunEnds as early:
            note_ending(opened.journal, early)
            if ctx is not None:
                await settle_open(ctx)
            else:
                await settle_without_reading(opened.store, opened.journal, early.reason)
            return await _end_or_wait(opened, _cancellation(opened.work.turn) or early), _decided_approval(opened)

    async def _prime_turn(self, opened: OpenedTurn, progress: Progress | None) -> TurnContext:
        over = progress is not None and is_end(progress.state)
        ports = record_inputs(self._ports, opened.journal, calls_no_more=over)
        primed = await prime(ports, self._limits, self._prompts, opened, self._processes, progress)
        note_session(opened.journal, primed.session)
        return with_thresholds(await with_history(await with_prose(with_documents(primed))))

    async def _execute_turn(self, ctx: TurnContext, known: Progress | None) -> tuple[FinishedRun, Approval | None]:
        """EXECUTE, and the review of its answer; returns how the turn ends, and the approval as it stands then."""
        if canceled := _cancellation(ctx.turn):
            raise canceled
        ctx.journal.enter_phase(Phase.EXECUTE)
        tracer = self._ports.tracer
        with ctx.journal.counts.time_span(Phase.EXECUTE, tracer.span(names.EXECUTE)):
            if known is not None:  # with notes on all files of the task, also those of later messages
                progress = known.note(**note_files(ctx.files))
            else:
                progress = first_progress(ctx)
                ctx.checkpoints.save(progress)
            executed = await self._execute_task(ctx, progress)
        match executed:
            case Finished(done, not_done):
                ctx.journal.enter_phase(Phase.REFLECT)
                with ctx.journal.counts.time_span(Phase.REFLECT, tracer.span(names.REFLECT)):
                    ended = await _complete_task(ctx, await review_answer(ctx, done), not_done)
                return ended, recorded_approval(ctx.journal, ctx.turn)
            case WaitsForDecision() if is_practice(ctx.record):
                raise Rejected(NOBODY_APPROVES)
            case WaitsForDecision(stopped, why):
                tracer.current_span().event(names.APPROVAL_WAITS)
                return await end_with_question(ctx, stopped, why)
            case Resting(stopped, rest):
                tracer.current_span().event(names.RESTS)
                return await end_resting(ctx, stopped, rest), recorded_approval(ctx.journal, ctx.turn)

    async def _store_end(
        self,
        opened: OpenedTurn,
        ended: FinishedRun,
        asked_now: Approval | None,
        asked_before: Approval | None,
        charges: Sequence[DayCharges],
    ) -> None:
        """Stores what the turn leaves: record, answer, events, approval, timer and outcome, in one step.

        ``asked_before`` and ``asked_now``: the task's approval as the turn found it, and as it leaves it. One that was
        asked for before and is not any more is stored as it ended.
        """
        if ended.state.is_terminal:
            opened.journal.enter_phase(Phase.REFLECT)
        session = own_memory(await opened.store.session(), opened.work.record)
        session = compress_session(session, opened.journal, opened.work.turn)
        ended = ended._replace(spend=opened.journal.spending.as_json(self._limits.ceilings))
        now = opened.journal.now
        entries, events, _ = opened.journal.take_unstored()
        hidden, rules = opened.journal.hidden, self._limits.answers
        written = {entry.plan_hash for entry in (await opened.store.ledger()).values()} if asked_before else ()
        over = ended_approval(asked_before, _decided_approval(opened), asked_now, written)
        end = turn_end(_as_begun(opened), ended, session, asked_now, events, now, hidden, rules, over)
        tell_end(self._ports.tracer.current_span(), ended)
        with self._ports.tracer.span(names.STORE):
            end = end._replace(entries=entries, settled=over, notices=approval_notices(asked_before, asked_now, over))
            await opened.store.finish(end._replace(charges=tuple(charges)))
        opened.journal.counts.count_end(end, asked_before)


def _list_charges(
    work: Work, earlier: Sequence[JournalEntry], new: Sequence[Settlement] = ()
) -> tuple[DayCharges, ...]:
    """What a turn cost by the tenant's days, its earlier attempts included."""
    settlements = sorted((*settlements_of_turn(earlier, work.turn.turn_id), *new), key=attrgetter("day"))
    return tuple(
        DayCharges(day, tuple(one.charge(work.record.task_id) for one in ones))
        for day, ones in groupby(settlements, key=attrgetter("day"))
    )


async def _comes_too_late(work: Work, store: TurnStore, asked: Approval | None) -> bool:
    """Whether the turn can no longer change anything: its task has ended, or its question is no longer open."""
    if work.record.state.is_terminal:
        return True
    answers = work.turn.kind in (TurnKind.DECISION, TurnKind.DEADLINE) and not (
        speaks_of_doubts(work.turn) or ends_rest(work.turn)
    )
    if not answers or (asked is not None and asked.status is ApprovalStatus.WAITING):
        return False
    return not any(entry.status is WriteStatus.ASKED for entry in (await store.ledger()).values())


async def _says_nothing_new(work: Work, store: TurnStore) -> bool:
    """Whether the turn decides on doubts that do not exist, and no attempt before a crash heeded it."""
    if not speaks_of_doubts(work.turn):
        return False
    ledger = tuple((await store.ledger()).values())
    return not (open_doubts(ledger) or is_heeded(work.turn, ledger))


def _begin(opened: OpenedTurn) -> None:
    """Tells that the task is worked on, and has its record say so."""
    opened.journal.enter_phase(Phase.PRIME)
    record, now = opened.work.record, opened.journal.now
    update = {"state": TaskState.WORKING, "reason": None, "started_at": record.started_at or now, "updated_at": now}
    opened.journal.keep_record(record.model_copy(update=update))


def _as_begun(opened: OpenedTurn) -> Work:
    """The turn's work, with the time at which its task was begun."""
    record = opened.work.record
    started = record.started_at or opened.journal.began
    return opened.work._replace(record=record.model_copy(update={"started_at": started}))


async def _hand_back(opened: OpenedTurn, stopped: TenantStopped) -> None:
    """Stores that the task waits again. Whoever takes it up continues from the journal."""
    update = {"state": TaskState.SUBMITTED, "reason": f"the tenant is stopped: {stopped.reason}"}
    record = opened.work.record.model_copy(update={**update, "updated_at": opened.journal.now})
    told = without_marks({"state": record.state.value, "reason": record.reason}, opened.journal.hidden)
    status = TaskEvent(kind="status", at=record.updated_at, data=told)
    entries, events, _ = opened.journal.take_unstored()
    await opened.store.append(entries, (*events, status), record)


async def _resolve_approval(opened: OpenedTurn, known: Progress | None, asked: Approval | None) -> Progress | None:
    """The progress, let through if this turn brings the approval that it waits for.

    This needs no tool server: a refusal, an expiry or a question is answered although none can be reached.
    """
    if known is None or asked is None or not waits_for(asked, known) or _cancellation(opened.work.turn):
        return known
    accepted = acceptance_time(opened.work, opened.journal)
    decided = await answer_approval(opened.journal, opened.work.turn, asked, accepted)
    passed = apply_approval(known, decided)
    opened.checkpoints.save(passed, "approved" if is_let_through(passed) else "entered")
    return passed


def _cancellation(turn: Turn) -> Canceled | None:
    return Canceled(f"canceled by {turn.principal.id}") if turn.kind is TurnKind.CANCEL else None


def _decided_approval(opened: OpenedTurn) -> Approval | None:
    return recorded_approval(opened.journal, opened.work.turn)


async def _complete_task(ctx: TurnContext, done: ReviewedRun, not_done: str) -> FinishedRun:
    """The end of an answered task: completed, or failed if a part of it was not done."""
    written, progress = tuple((await ctx.store.ledger()).values()), done.progress
    answer = answer_with_escalation(progress)
    if not_done and not is_exact_match(answer):
        answer = "\n\n".join(filter(None, (answer, f"Not done: {not_done.rstrip('.')}.")))
    return FinishedRun(
        TaskState.FAILED if not_done else TaskState.COMPLETED,
        FsmState.FAILED if not_done else progress.state,
        not_done or None,
        answer,
        progress,
        written,
        escalated=progress.state is FsmState.ESCALATE,
        documents=done.documents,
        review=done.notes,
    )


async def _end_waiting(
    opened: OpenedTurn, waiting: StillWaiting | StillInDoubt | AgentAsks | Doubtful
) -> tuple[FinishedRun, Approval | None]:
    """The end of a turn that leaves its task waiting for a person, and the approval as it stands then."""
    match waiting:
        case StillWaiting():
            return await end_still_waiting(opened, waiting), waiting.approval
        case StillInDoubt():
            ended = await end_in_doubt(opened, waiting.note)
        case AgentAsks():
            ended = await end_with_agent_question(opened, waiting.entry)
        case Doubtful():
            ended = await _end_or_wait(opened, Failed(IN_DOUBT))
    return ended, _decided_approval(opened)


async def _end_or_wait(opened: OpenedTurn, early: RunEnds) -> FinishedRun:
    """The end of a run that ended early; an open doubt keeps the task waiting, unless somebody gave it up."""
    ledger = await opened.store.ledger()
    early.correct_reason(ledger.values())
    doubts = open_doubts(ledger.values())
    if doubts and not is_practice(opened.work.record) and not isinstance(early, Canceled | GivenUp):
        note = "" if early.reason == IN_DOUBT else early.reason
        return await end_in_doubt(opened, note)
    return _end_early(opened, early, ledger)


def _end_early(opened: OpenedTurn, early: RunEnds, ledger: Mapping[str, LedgerEntry]) -> FinishedRun:
    """The end of a run that ended before its answer: the reason, and what took hold until then."""
    progress, answer = opened.checkpoints.latest, early.reason
    if isinstance(early, BudgetSpent):
        early = budget_ending(early, progress, ledger)
        answer = known_so_far(early.reason, progress) if early.partial else early.reason
    elif isinstance(early, Canceled):
        answer = say_left_out(early.reason, progress, tuple(ledger.values()))
    return FinishedRun(
        early.state,
        early.fsm_state,
        early.reason,
        answer,
        progress,
        tuple(ledger.values()),
        escalated=early.escalated,
        failed_part=early.part,
        partial=early.partial,
    )
