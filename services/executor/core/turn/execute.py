"""EXECUTE: runs the conversation, plan by plan, until there is an answer or the run has to wait."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.authorize.persons import describe_needed_approval
from services.executor.core.conversation.converse import (
    Conversation,
    begin_conversation,
    build_lost_orchestrator_reads_key,
)
from services.executor.core.plan.notices import append_missing_notice_to_answer
from services.executor.core.plan.outcomes import describe_outcomes, list_parts_not_done
from services.executor.core.process.figures import append_rows_without_call
from services.executor.core.session.context import TurnContext, is_practice
from services.executor.core.session.dossier import (
    AnsweredTask,
    Progress,
    StaleInputs,
    WaitsForDecision,
    WaitsForTime,
    with_plan_as_answer,
)
from services.executor.core.session.left_out import OUTDATED_PLAN_KEY, list_calls_not_made, list_left_out_calls
from services.executor.core.states.machine import Failed, ModelTemporarilyUnavailable, Rejected
from services.executor.core.turn.waits import plan_wait_for_model
from services.executor.core.write.carry_plan import carry_out_plan
from services.executor.ports.turns import JournalEntry
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.domain.answer import parse_list_answer
from shared.domain.exact_json import Json, dumps, loads_object
from shared.domain.words import UNDECIDED_STATUSES, ToolClass, WriteStatus

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


def with_run_summary(progress: Progress) -> Progress:
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


async def with_ledger_answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress in its final state, with a list of all writes and their statuses as the answer."""
    written = sorted((await ctx.store.read_ledger()).values(), key=lambda entry: entry.call.call_id)
    lines = [f"{entry.call.tool}: {entry.status.value.replace('_', ' ')} ({entry.note})" for entry in written]
    return progress.move_to(progress.path[-1]).update_dossier(answer="\n".join(lines) or "Nothing was written.")


async def build_answered_task(
    ctx: TurnContext, progress: Progress, corrections: Mapping[int, str], unnamed_ids: Mapping[int, Sequence[str]]
) -> AnsweredTask:
    """The answered task, with the remarks below its answer and the parts that were not done.

    Both mappings are by part number. ``corrections``: what was wrong with calls that never entered a plan;
    ``unnamed_ids``: ids that a part lists and no call names. Raises ``Failed`` if there is no answer or a write is
    not settled, and ``Rejected`` if nothing was written and rules forbid the task's text.
    """
    if progress.dossier.answer is None:
        raise Failed("the conversation ended without an answer")
    final_progress = append_rows_without_call(
        await append_missing_notice_to_answer(ctx, with_run_summary(progress)), ctx.task, ctx.toolbox.keys
    )
    dossier, ledger = final_progress.dossier, await ctx.store.read_ledger()
    if any(_is_unsettled(entry) for entry in ledger.values()):
        raise Failed("the conversation ended before it was known what became of a write")
    reasons_by_call = {left_out.call.call_id: left_out.reason for left_out in list_calls_not_made(ctx, dossier)}
    parts_left = list_parts_not_done(dossier.parts, dossier.every_plan, ledger, reasons_by_call, corrections)
    parts_with_unnamed_ids = ((part, unnamed_ids[part.number]) for part in dossier.parts if part.number in unnamed_ids)
    parts_left += [(part, f"no call names {', '.join(ids)}") for part, ids in parts_with_unnamed_ids]
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
