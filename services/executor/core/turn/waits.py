"""How a turn ends that leaves its task waiting: for a decision, for an operator's word, or for a time."""

from pydantic import JsonValue

from services.executor.core.authorize import approval_gate
from services.executor.core.authorize.asking import persons_needed, why_process_asks
from services.executor.core.authorize.consent import confirmation_wanted
from services.executor.core.authorize.grounds import grounds
from services.executor.core.dossier.dossier import Progress, Rest
from services.executor.core.dossier.doubts import brief, deadline, open_doubts
from services.executor.core.dossier.endings import Failed
from services.executor.core.prime.prime import Opened
from services.executor.core.reflect.outcome import Ended
from services.executor.core.session.context import TurnContext
from services.executor.core.turn.decisions import StillWaiting
from services.executor.core.write.skills import question_timer
from shared.contracts.approval import Approval
from shared.contracts.ledger import LedgerEntry
from shared.domain.words import FsmState, TaskState


async def asks(ctx: TurnContext, progress: Progress, why: tuple[str, ...]) -> tuple[Ended, Approval]:
    """The question to a person: a new approval of the plan as it stands. ``why``: what changed since it was asked."""
    plan, verdict = progress.dossier.plan, progress.dossier.verdict
    if plan is None or verdict is None:
        raise Failed("there is no plan with a verdict to be approved; nothing was written")
    progress = _add_worked_time(progress, ctx)
    ctx.checkpoints.save(progress, f"asked:{ctx.turn.turn_id}")
    approval = approval_gate.ask(
        plan,
        verdict,
        requester_id=ctx.record.requester.id,
        now=ctx.journal.now,
        hours=ctx.tenant.approval_hours,
        needed=persons_needed(ctx, progress),
        why=(*why, *why_process_asks(ctx, progress)),
        confirmation=confirmation_wanted(progress),
        ladder=ctx.tenant.approval_ladder,
        grounds=grounds(progress, verdict, ctx.task),
        notices=ctx.tenant.notices,
    )
    ctx.journal.tell("approval", status="waiting", level=approval.level, **_question(approval))
    return _waiting(approval, progress, note=""), approval


def _question(approval: Approval) -> dict[str, JsonValue]:
    return {"deadline": approval.deadline.isoformat(), "approval_id": approval.approval_id}


async def goes_on_waiting(opened: Opened, waiting: StillWaiting) -> Ended:
    """The same question as before, with why the turn did not answer it."""
    return _waiting(waiting.approval, opened.checkpoints.latest, waiting.note)


async def waits_for_operator(opened: Opened, note: str = "") -> Ended:
    """The question to an operator, with what is known; the time that was worked is kept, waiting costs none."""
    ledger = tuple((await opened.store.ledger()).values())
    progress = opened.checkpoints.latest
    if progress is not None:
        progress = _add_worked_time(progress, opened)
        opened.checkpoints.save(progress, f"doubt:{opened.work.turn.turn_id}")
    doubts = open_doubts(ledger)
    named = ", ".join(f"{doubt.call.call_id} {doubt.call.tool}" for doubt in doubts)
    reason = "; ".join(
        part for part in (f"an operator has to say what became of a write in doubt: {named}", note) if part
    )
    opened.journal.tell("approval", status="waiting", doubts=[doubt.call.call_id for doubt in doubts])
    return Ended(
        TaskState.INPUT_REQUIRED, None, reason, brief(doubts), progress, ledger, escalated=True, timer=deadline(doubts)
    )


async def waits_for_reply(opened: Opened, entry: LedgerEntry) -> Ended:
    """The question of a remote agent to whoever asked for the task; the next message answers it."""
    progress = opened.checkpoints.latest
    if progress is not None:
        progress = _add_worked_time(progress, opened)
        opened.checkpoints.save(progress, f"question:{opened.work.turn.turn_id}")
    question = entry.agent.question if entry.agent else ""
    until = f" before {entry.decide_by:%Y-%m-%d %H:%M} UTC" if entry.decide_by else ""
    asked = f"The agent {entry.call.connection_id!r} asks, to go on with {entry.call.call_id} {entry.call.tool}:"
    text = f"{question}\n\nAnswer in this task{until}; after that the agent is told to stop."
    opened.journal.tell("approval", status="waiting", question=entry.call.call_id)
    ledger = tuple((await opened.store.ledger()).values())
    return Ended(TaskState.INPUT_REQUIRED, None, asked, text, progress, ledger, timer=question_timer(entry))


async def rests(ctx: TurnContext, progress: Progress, rest: Rest) -> Ended:
    """The task goes on by itself when the time has come; until then nobody holds it."""
    progress = _add_worked_time(progress, ctx)
    ctx.checkpoints.save(progress, f"rests:{ctx.turn.turn_id}")
    ctx.journal.tell("note", rests_until=rest.until.isoformat(), why=rest.why)
    writes = tuple((await ctx.store.ledger()).values())
    return Ended(TaskState.WORKING, None, rest.why, rest.why, progress, writes, timer=rest.timer)


def _add_worked_time(progress: Progress, at: TurnContext | Opened) -> Progress:
    """With the time that this turn was worked on."""
    return progress.model_copy(update={"worked_ms": progress.worked_ms + round(at.journal.worked_seconds * 1000)})


def _waiting(approval: Approval, progress: Progress | None, note: str) -> Ended:
    text = "\n\n".join(part for part in (note, approval_gate.brief(approval)) if part)
    asked = approval_gate.describe_approval(approval)
    return Ended(TaskState.INPUT_REQUIRED, FsmState.APPROVAL_GATE, text, text, progress, (), asked=asked)
