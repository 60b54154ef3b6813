"""Completes a conversation: the answer with its remarks, and the parts that were not done."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from services.executor.core.plan.notices import append_missing_notice_to_answer
from services.executor.core.plan.outcomes import list_parts_not_done
from services.executor.core.process.figures import append_rows_without_call
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import AnsweredTask, Progress
from services.executor.core.session.left_out import list_calls_not_made
from services.executor.core.states.machine import Failed, Rejected
from shared.contracts.ledger import LedgerEntry
from shared.domain.answer import parse_list_answer
from shared.domain.words import UNDECIDED_STATUSES, ToolClass, WriteStatus


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
