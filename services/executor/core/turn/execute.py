"""EXECUTE: runs the conversation, plan by plan, until there is an answer or the run has to wait."""

from typing import NamedTuple

from services.executor.core.authorize.persons import describe_needed_approval
from services.executor.core.conversation.completed import build_answered_task, with_ledger_answer
from services.executor.core.conversation.converse import (
    Conversation,
    begin_conversation,
    build_lost_orchestrator_reads_key,
)
from services.executor.core.plan.outcomes import describe_outcomes
from services.executor.core.session.context import TurnContext, is_practice
from services.executor.core.session.dossier import (
    AnsweredTask,
    Progress,
    StaleInputs,
    WaitsForDecision,
    WaitsForTime,
    with_plan_as_answer,
)
from services.executor.core.session.left_out import OUTDATED_PLAN_KEY, list_left_out_calls
from services.executor.core.states.machine import Failed, ModelTemporarilyUnavailable
from services.executor.core.turn.waits import plan_wait_for_model
from services.executor.core.write.carry_plan import carry_out_plan
from services.executor.ports.turns import JournalEntry
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json, dumps, loads_object

_OUTCOMES_KEY = "plan:{}:outcomes"  # the journal's name for what became of the calls of a plan


class _CarriedPlan(NamedTuple):
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
    """Lets the model continue, carries out each plan that closes, and tells the model the outcomes of its calls."""
    while True:
        try:
            plan = await conversation.run_until_plan_or_answer()
        except ModelTemporarilyUnavailable as away:
            if conversation.may_answer_from_ledger:
                return await _complete_from_ledger(conversation)
            return await _build_wait_for_model(conversation, away)
        ctx, progress = conversation.ctx, conversation.progress  # with the process that the model chose
        if plan is None:
            return await _complete_answer(conversation, progress)
        if ctx.record.request.is_dry_run:
            return AnsweredTask(with_plan_as_answer(progress, describe_needed_approval(ctx, progress)))
        carried = await _run_closed_plan(ctx, progress, plan)
        if not isinstance(carried, _CarriedPlan):
            return carried
        await conversation.add_outcomes(carried.progress, carried.outcomes)
        if ctx.tenant.answer_from_ledger and conversation.may_answer_from_ledger:
            return await _complete_from_ledger(conversation)


async def _complete_from_ledger(conversation: Conversation) -> AnsweredTask:
    return await _complete_answer(conversation, await with_ledger_answer(conversation.ctx, conversation.progress))


async def _complete_answer(conversation: Conversation, progress: Progress) -> AnsweredTask:
    return await build_answered_task(
        conversation.ctx, progress, conversation.draft.last_errors_by_part, conversation.unnamed_ids_by_part
    )


async def _run_closed_plan(
    ctx: TurnContext, progress: Progress, plan: WritePlan
) -> _CarriedPlan | WaitsForDecision | WaitsForTime:
    """Carries out the plan; returns the outcomes of its calls (a journal step), or what the run waits for."""
    stored = ctx.journal.get_from_earlier_attempt(_OUTCOMES_KEY.format(plan.round))
    if stored is not None:
        return _CarriedPlan(progress, loads_object(stored))
    match await carry_out_plan(ctx, progress):
        case WaitsForDecision() as waits:
            return waits._replace(changes=_list_reasons_asked_again(ctx, plan))
        case WaitsForTime() as resting:
            return resting
        case StaleInputs() as stale:
            return await _store_outcomes(ctx, plan, stale.progress, _record_outdated(ctx, plan, stale))
        case Progress() as carried_progress:
            return await _store_outcomes(ctx, plan, carried_progress)


async def _store_outcomes(ctx: TurnContext, plan: WritePlan, progress: Progress, outdated: str = "") -> _CarriedPlan:
    """Stores what became of the plan's calls. ``outdated``: why none was made, empty if the plan was carried out."""
    reasons = {left_out.call.call_id: left_out.reason for left_out in list_left_out_calls(ctx, plan)}
    outcomes = await describe_outcomes(ctx, plan, reasons, outdated)
    outcomes_entry = JournalEntry(_OUTCOMES_KEY.format(plan.round), "note", dumps(outcomes))
    ctx.journal.save_progress(progress, f"carried{plan.round}", (outcomes_entry,))
    return _CarriedPlan(progress, outcomes)


def _record_outdated(ctx: TurnContext, plan: WritePlan, stale: StaleInputs) -> str:
    """Notes that the plan was outdated; returns what the model is told of each of its calls."""
    ctx.journal.add_event("note", plan=plan.round, outdated=stale.reason)
    ctx.journal.decide_once(OUTDATED_PLAN_KEY.format(plan.round), lambda: stale.reason)
    return f"nothing of the plan was made: {stale.reason}. Read again what it rests on, and propose what is right now"


def _list_reasons_asked_again(ctx: TurnContext, plan: WritePlan) -> tuple[str, ...]:
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
    """The progress with which the next orchestrator begins."""
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
