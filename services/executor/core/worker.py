"""The AI worker: PRIME, EXECUTE, REFLECT, once for each turn of a task."""

import asyncio

from services.executor.core.checkpoints import Checkpoints, latest
from services.executor.core.context import Limits, Ports, TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Canceled, Failed, RunEnds
from services.executor.core.execute import approval_gate, decisions
from services.executor.core.execute.mutations import settle_open
from services.executor.core.execute.policy_check import binding_hash
from services.executor.core.execute.strategies.fsm_path import Finished, Waiting, let_through, walk
from services.executor.core.fsm.templates import TEMPLATES
from services.executor.core.journal import Journal
from services.executor.core.prime.prime import Opened, first_progress, prime
from services.executor.core.prompts.texts import Prompts
from services.executor.core.reflect.outcome import Ended
from services.executor.core.reflect.turn_end import nothing_new, turn_end
from services.executor.ports import TurnStore, Work
from shared.contracts.approval import Approval
from shared.contracts.task import TurnKind
from shared.domain.words import FsmState, Phase, TaskState


class Worker:
    """Carries out turns. It has no state of its own: everything that matters is in the turn's store."""

    def __init__(self, ports: Ports, limits: Limits, prompts: Prompts) -> None:
        self._ports = ports
        self._limits = limits
        self._prompts = prompts

    async def run(self, work: Work, store: TurnStore) -> None:
        """Take the turn to its end and store what it leaves. Raises ``LeaseLost`` if another owner has it now."""
        entries, pulse = await asyncio.gather(store.journal(), store.pulse())
        if _comes_too_late(work):
            return await store.finish(nothing_new(work, await store.session(), pulse.now))
        known = latest(entries)
        journal = Journal(
            store, entries, pulse.now, self._limits.task_seconds - (known.worked_ms / 1000 if known else 0)
        )
        opened = Opened(work, store, journal, Checkpoints(journal, entries))
        ended, approval = await self._ended(opened, known)
        return await self._reflect(opened, ended, approval)

    async def _ended(self, opened: Opened, known: Progress | None) -> tuple[Ended, Approval | None]:
        """How the turn ends, whichever way it does, and the approval as it stands then."""
        ctx: TurnContext | None = None
        try:
            ctx = await self._prime(opened)
            return await self._execute(ctx, known)
        except decisions.StillWaiting as waiting:
            return await _waits_on(opened, waiting), waiting.approval
        except RunEnds as early:
            if ctx is not None:
                await settle_open(ctx)
            return await _ends_early(opened, early), decisions.recorded(ctx) if ctx is not None else None

    async def _prime(self, opened: Opened) -> TurnContext:
        opened.journal.tell("phase", phase=Phase.PRIME.value)
        record = opened.work.record.model_copy(
            update={
                "state": TaskState.WORKING,
                "started_at": opened.work.record.started_at or opened.journal.now,
                "updated_at": opened.journal.now,
            }
        )
        opened.journal.noted(await opened.store.publish(record, opened.journal.untold()))
        return await prime(self._ports, self._limits, self._prompts, opened)

    async def _execute(self, ctx: TurnContext, known: Progress | None) -> tuple[Ended, Approval | None]:
        if ctx.turn.kind is TurnKind.CANCEL:
            raise Canceled(f"canceled by {ctx.turn.principal.id}")
        ctx.journal.tell("phase", phase=Phase.EXECUTE.value)
        progress = known or await _begun(ctx)
        progress, approval = await _past_the_gate(ctx, progress)
        match await walk(ctx, progress):
            case Finished(done):
                return await _completed(ctx, done), approval
            case Waiting(stopped, why):
                return await _asks(ctx, stopped, why)

    async def _reflect(self, opened: Opened, ended: Ended, approval: Approval | None) -> None:
        opened.journal.tell("phase", phase=Phase.REFLECT.value)
        session = await opened.store.session()
        now = opened.journal.now
        events = opened.journal.untold()
        await opened.store.finish(turn_end(opened.work, ended, session, approval, events, now))


def _comes_too_late(work: Work) -> bool:
    """Whether the turn can no longer change anything: its task ended, or it answers a question nobody asks."""
    if work.record.state.is_terminal:
        return True
    answers = work.turn.kind in (TurnKind.DECISION, TurnKind.DEADLINE)
    return answers and work.attempts == 1 and work.record.state is not TaskState.INPUT_REQUIRED


async def _begun(ctx: TurnContext) -> Progress:
    progress = first_progress(ctx)
    await ctx.checkpoints.save(progress)
    return progress


async def _past_the_gate(ctx: TurnContext, progress: Progress) -> tuple[Progress, Approval | None]:
    """The progress let through, if this turn brings the approval that it waits for."""
    approval = await ctx.store.approval()
    waits = progress.state is FsmState.APPROVAL_GATE and progress.dossier.approved_hash is None
    if approval is None or not waits or not _is_about(approval, progress):
        return progress, decisions.recorded(ctx)
    decided = await decisions.answer(ctx, approval)
    by = ", ".join(decision.by.id for decision in decided.decisions)
    passed = let_through(progress, f"approved by {by}")
    await ctx.checkpoints.save(passed, "approved")
    return passed, decided


def _is_about(approval: Approval, progress: Progress) -> bool:
    """Whether an approval was asked for exactly this plan on exactly these inputs and rules (I7)."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if plan is None or verdict is None:
        return False
    return (approval.plan_hash, approval.verdict_hash) == (plan.hash, binding_hash(verdict))


async def _completed(ctx: TurnContext, progress: Progress) -> Ended:
    written = tuple((await ctx.store.ledger()).values())
    return Ended(TaskState.COMPLETED, FsmState.COMPLETE, None, progress.dossier.answer or "", progress, written)


async def _asks(ctx: TurnContext, progress: Progress, why: tuple[str, ...]) -> tuple[Ended, Approval]:
    """The question to a person: a new approval of the plan as it stands."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if plan is None or verdict is None:
        raise Failed("there is no plan with a verdict to be approved; nothing was written")
    worked = progress.worked_ms + round(ctx.journal.worked_seconds * 1000)
    progress = progress.model_copy(update={"worked_ms": worked})
    await ctx.checkpoints.save(progress, f"asked:{ctx.turn.turn_id}")
    approval = approval_gate.ask(
        plan,
        verdict,
        requester_id=ctx.record.requester.id,
        now=ctx.journal.now,
        hours=ctx.tenant.approval_hours,
        needed=TEMPLATES[progress.process_type].approvers,
        why=why,
    )
    ctx.journal.tell("approval", status="waiting", level=approval.level, deadline=approval.deadline.isoformat())
    return _waiting(approval, progress, note=""), approval


async def _waits_on(opened: Opened, waiting: decisions.StillWaiting) -> Ended:
    return _waiting(waiting.approval, latest(await opened.store.journal()), waiting.note)


def _waiting(approval: Approval, progress: Progress | None, note: str) -> Ended:
    text = "\n\n".join(part for part in (note, approval_gate.brief(approval)) if part)
    return Ended(TaskState.INPUT_REQUIRED, FsmState.APPROVAL_GATE, text, text, progress, ())


async def _ends_early(opened: Opened, early: RunEnds) -> Ended:
    """The truth about a run that ended before its answer: the reason, and what took hold until then."""
    journal, ledger = await asyncio.gather(opened.store.journal(), opened.store.ledger())
    writes = tuple(ledger.values())
    return Ended(
        early.state, early.fsm_state, early.reason, early.reason, latest(journal), writes, escalated=early.escalated
    )
