"""EXECUTE: the conversation, plan by plan, to its answer, or to where a person or a time has to come."""

from pydantic import JsonValue

from services.executor.core.authorize.policy import approval_needed
from services.executor.core.conversation.converse import (
    AnswerFound,
    Conversation,
    PlanClosed,
    begin_conversation,
    reads_key,
)
from services.executor.core.dossier.dossier import (
    Finished,
    Outdated,
    Progress,
    Resting,
    WaitsForDecision,
    as_answer,
    is_dry_run,
)
from services.executor.core.dossier.endings import UNDECIDED, Failed, ModelRests
from services.executor.core.dossier.practice import is_practice
from services.executor.core.plan.carry import carry_plan
from services.executor.core.plan.outcomes import outcomes_of, parts_not_done
from services.executor.core.process.routes import with_rows_left
from services.executor.core.session.context import TurnContext
from services.executor.core.turn.waits import rest_for_model
from services.executor.core.write.notices import append_missing_notice, not_made
from services.executor.ports.turns import JournalEntry
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.domain.answer import as_list
from shared.domain.exact_json import Json, dumps, loads_object
from shared.domain.words import ToolClass, WriteStatus


def with_insight(progress: Progress) -> Progress:
    """The progress with its insight: an event and a part of the outcome, stored with the end of the turn."""
    return progress.model_copy(update={"insight": {**progress.insight, **_insight_of(progress)}})


def _insight_of(progress: Progress) -> dict[str, JsonValue]:
    dossier = progress.dossier
    answered = dict.fromkeys(fact.tool for fact in dossier.facts if fact.ok)
    return {
        "strategy": progress.strategy.value,
        "parts": len(dossier.parts),
        "plans": len(dossier.every_plan),
        "reads": len(dossier.facts),
        "helpful_tools": list(answered),
        "unhelpful_tools": list(dict.fromkeys(fact.tool for fact in dossier.facts if fact.tool not in answered)),
        "figures": len(dossier.values),
        "writes": [call.tool for plan in dossier.every_plan for call in plan.calls],
        "model_calls": progress.model_calls,
    }


_NOTHING = "Nothing was written."


async def ledger_answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress at its end, with each write and its status as the answer."""
    entries = sorted((await ctx.store.ledger()).values(), key=lambda entry: entry.call.call_id)
    lines = [f"{entry.call.tool}: {entry.status.value.replace('_', ' ')} ({entry.note})" for entry in entries]
    return progress.move_to(progress.path[-1]).update_dossier(answer="\n".join(lines) or _NOTHING)


_OUTDATED = "plan:{}:outdated"


async def walk(ctx: TurnContext, progress: Progress) -> Finished | WaitsForDecision | Resting:
    """Go on from where the task stands. Whatever was said and done before is walked again over the journal.

    Where the orchestrator that thinks first is not available before anything is planned, the next one listed begins.
    """
    while True:
        conversation = await begin_conversation(ctx, progress)
        try:
            return await _walk_on(conversation)
        except Failed as failed:
            following = await _pass_to_next(conversation, failed)
            if following is None:
                raise
            progress = following


async def _walk_on(conversation: Conversation) -> Finished | WaitsForDecision | Resting:
    ctx = conversation.ctx
    while True:
        try:
            event = await conversation.go_on()
        except ModelRests as away:
            if conversation.may_end_by_ledger:
                return await _finished_by_ledger(conversation)
            return await _rest(conversation, away)
        if isinstance(event, AnswerFound):
            return await _finish(conversation)
        if is_dry_run(ctx.record):
            return Finished(as_answer(event.progress, approval_needed(ctx, event.progress)))
        told = await _carry_out(conversation, event)
        if not isinstance(told, dict):
            return told
        await conversation.hear_outcomes(told)
        if ctx.tenant.answer_from_ledger and conversation.may_end_by_ledger:
            return await _finished_by_ledger(conversation)


async def _carry_out(conversation: Conversation, closed: PlanClosed) -> dict[str, Json] | WaitsForDecision | Resting:
    """What became of the plan's calls, once it is carried out: a step of the journal."""
    ctx, key = conversation.ctx, f"plan:{closed.plan.round}:outcomes"
    stored = ctx.journal.of_earlier_attempt(key)
    if stored is not None:
        return loads_object(stored)
    carried = await carry_plan(ctx, closed.progress)
    if isinstance(carried, WaitsForDecision):
        return carried._replace(why=_why_asked_again(ctx, closed.plan))
    if isinstance(carried, Resting):
        return carried
    why = _why_outdated(ctx, carried, closed.plan) if isinstance(carried, Outdated) else ""
    conversation.progress = carried.progress if isinstance(carried, Outdated) else carried
    outcomes = await outcomes_of(ctx, closed.plan, why)
    ctx.checkpoints.save(
        conversation.progress, f"carried{closed.plan.round}", (JournalEntry(key, "note", dumps(outcomes)),)
    )
    return outcomes


def _why_outdated(ctx: TurnContext, outdated: Outdated, plan: WritePlan) -> str:
    ctx.journal.tell("note", plan=plan.round, outdated=outdated.why)
    ctx.journal.decide_once(_OUTDATED.format(plan.round), lambda: outdated.why)
    return f"nothing of the plan was made: {outdated.why}. Read again what it rests on, and propose what is right now"


def _why_asked_again(ctx: TurnContext, plan: WritePlan) -> tuple[str, ...]:
    """What changed, where the plan stands in the place of one that was outdated when it was to be made."""
    why = ctx.journal.get(_OUTDATED.format(plan.round - 1))
    return (why,) if why else ()


async def _rest(conversation: Conversation, away: ModelRests) -> Resting:
    """A wait for the model; in practice, and past the deadline, the task ends instead."""
    ctx = conversation.ctx
    pause = None if is_practice(ctx.record) else await rest_for_model(ctx, conversation.key, away)
    if pause is None:
        raise Failed(away.reason, "model") from away
    return Resting(conversation.progress, pause)


async def _pass_to_next(conversation: Conversation, failed: Failed) -> Progress | None:
    """The progress with which the next orchestrator begins; None where there is none, or something is planned."""
    ctx, progress = conversation.ctx, conversation.progress
    name = progress.orchestrator
    if len(progress.orchestrators) < 2 or failed.part != "model":
        return None
    if progress.dossier.plan is not None:
        return None
    key = f"passed-over:{name.value}"
    if ctx.journal.get(key) is None:
        ctx.journal.goes_on()
        ctx.journal.tell("note", orchestrator=name.value, not_available=failed.reason)
        made: Json = [loads_object(call.model_dump_json()) for call in conversation.reads_made]
        ctx.journal.add(reads_key(name.value), "note", dumps(made))
        ctx.journal.add(key, "note", failed.reason)
    return pass_over(progress, failed.reason)


def pass_over(progress: Progress, why: str) -> Progress:
    """The progress for the next orchestrator, which begins its own conversation."""
    name = progress.orchestrator.value
    update = {
        "orchestrators": progress.orchestrators[1:],
        "passed_over": {**progress.passed_over, name: why},
        "replies": 0,
    }
    return progress.model_copy(update=update)


async def _finished_by_ledger(conversation: Conversation) -> Finished:
    conversation.progress = await ledger_answer(conversation.ctx, conversation.progress)
    return await _finish(conversation)


async def _finish(conversation: Conversation) -> Finished:
    """The answered task, with what has to be said under its answer, and the parts that were not done."""
    ctx, progress = conversation.ctx, conversation.progress
    if progress.dossier.answer is None:
        raise Failed("the conversation ended without an answer")
    said = with_rows_left(await append_missing_notice(ctx, with_insight(progress)), ctx.task)
    dossier, ledger = said.dossier, await ctx.store.ledger()
    if any(_is_open(entry) for entry in ledger.values()):
        raise Failed("the conversation ended before it was known what became of a write")
    reasons = {one.call.call_id: one.why for one in not_made(ctx, dossier)}
    left = parts_not_done(dossier.parts, dossier.every_plan, ledger, reasons, conversation.corrected)
    unnamed = {number: f"no call names {', '.join(ids)}" for number, ids in conversation.unnamed.items()}
    left += [(part, unnamed[part.number]) for part in dossier.parts if part.number in unnamed]
    not_done = [f"part {part.number} ({part.quote[:120]}): {why}" for part, why in left]
    if dossier.answer_format == "list" and as_list(dossier.answer or "") is None:
        not_done.append("the answer is not the JSON list that was asked for")
    return Finished(said, "; ".join(not_done))


def _is_open(entry: LedgerEntry) -> bool:
    """Whether it is not known, or nobody has said, what became of a write: no answer can be given then."""
    waits_for_proof = entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE
    return waits_for_proof or entry.status in UNDECIDED
