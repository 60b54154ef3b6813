"""EXECUTE: the conversation, plan by plan, to its answer, or to where it has to wait for a person or a time."""

from collections.abc import Sequence

from pydantic import JsonValue

from services.executor.core.authorize.approval import is_let_through, let_through
from services.executor.core.authorize.policy import (
    approval_needed,
    has_fresh_verdict,
    needs_person,
    persons_needed,
    renew_verdict,
    still_stands,
)
from services.executor.core.conversation.converse import (
    AnswerFound,
    Conversation,
    PlanClosed,
    begin_conversation,
    reads_key,
)
from services.executor.core.figures.calculator import CannotCalculate, MadeToolResults
from services.executor.core.figures.evaluate import recompute
from services.executor.core.model.made_tools import compute_with_tools
from services.executor.core.plan.closing import OUTDATED
from services.executor.core.plan.outcomes import answers_to, outcomes_of, parts_not_done
from services.executor.core.plan.sources import SourceFinder, known_figures, known_sources
from services.executor.core.process.figures import compute_figures, with_rows_left
from services.executor.core.reads.recovering import read_again
from services.executor.core.session.context import TurnContext, enter_state, in_state, is_practice, side_by_side
from services.executor.core.session.dossier import (
    AnsweredTask,
    Progress,
    Resting,
    StaleInputs,
    WaitsForDecision,
    answer_with_plan,
    is_dry_run,
)
from services.executor.core.session.ledger import has_begun, plan_entries
from services.executor.core.session.values import Fact, NamedValue, with_figures
from services.executor.core.states import machine
from services.executor.core.states.machine import Failed, ModelRests, Rejected
from services.executor.core.tools.record_tree import NoSuchPath
from services.executor.core.turn.waits import rest_for_model
from services.executor.core.write.agent_calls import AgentAtWork
from services.executor.core.write.mutations import send_plan_calls
from services.executor.core.write.notices import append_missing_notice, left_out_calls, not_made, quiet_rest
from services.executor.ports.turns import JournalEntry
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.domain.answer import as_list
from shared.domain.exact_json import Json, dumps, loads_object
from shared.domain.words import UNDECIDED, FsmState, ToolClass, WriteStatus


def with_insight(progress: Progress) -> Progress:
    """The progress with its insight: an event and a part of the outcome, stored with the end of the turn."""
    dossier = progress.dossier
    answered = dict.fromkeys(fact.tool for fact in dossier.facts if fact.ok)
    insight: dict[str, JsonValue] = {
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
    return progress.model_copy(update={"insight": {**progress.insight, **insight}})


_NOTHING = "Nothing was written."


async def execute_task(ctx: TurnContext, progress: Progress) -> AnsweredTask | WaitsForDecision | Resting:
    """Continues the task from where it stands. Whatever was said and done before is taken again from the journal.

    If the orchestrator that thinks first is not available before anything is planned, the next one listed begins.
    """
    while True:
        conversation = await begin_conversation(ctx, progress)
        try:
            return await _carry_conversation(conversation)
        except Failed as failed:
            following = await _pass_to_next(conversation, failed)
            if following is None:
                raise
            progress = following


async def _carry_conversation(conversation: Conversation) -> AnsweredTask | WaitsForDecision | Resting:
    """Lets the model speak, carries out each plan that closes, and tells the model what became of its calls."""
    ctx = conversation.ctx
    while True:
        try:
            event = await conversation.go_on()
        except ModelRests as away:
            if conversation.may_end_by_ledger:
                return await _answer_by_ledger(conversation)
            return await _begin_rest(conversation, away)
        if isinstance(event, AnswerFound):
            return await _complete_answer(conversation)
        if is_dry_run(ctx.record):
            return AnsweredTask(answer_with_plan(event.progress, approval_needed(ctx, event.progress)))
        outcomes = await _carry_closed_plan(conversation, event)
        if not isinstance(outcomes, dict):
            return outcomes
        await conversation.hear_outcomes(outcomes)
        if ctx.tenant.answer_from_ledger and conversation.may_end_by_ledger:
            return await _answer_by_ledger(conversation)


async def _carry_closed_plan(
    conversation: Conversation, closed: PlanClosed
) -> dict[str, Json] | WaitsForDecision | Resting:
    """Carries out the plan and returns what became of its calls, as a journal step, or how it waits."""
    ctx, key = conversation.ctx, f"plan:{closed.plan.round}:outcomes"
    stored = ctx.journal.of_earlier_attempt(key)
    if stored is not None:
        return loads_object(stored)
    carried = await carry_plan(ctx, closed.progress)
    if isinstance(carried, WaitsForDecision):
        return carried._replace(why=_why_asked_again(ctx, closed.plan))
    if isinstance(carried, Resting):
        return carried
    why = _why_outdated(ctx, carried, closed.plan) if isinstance(carried, StaleInputs) else ""
    conversation.progress = carried.progress if isinstance(carried, StaleInputs) else carried
    reasons = {one.call.call_id: one.why for one in left_out_calls(ctx, closed.plan)}
    outcomes = await outcomes_of(ctx, closed.plan, reasons, why)
    ctx.checkpoints.save(
        conversation.progress, f"carried{closed.plan.round}", (JournalEntry(key, "note", dumps(outcomes)),)
    )
    return outcomes


def _why_outdated(ctx: TurnContext, stale: StaleInputs, plan: WritePlan) -> str:
    ctx.journal.tell("note", plan=plan.round, outdated=stale.why)
    ctx.journal.decide_once(OUTDATED.format(plan.round), lambda: stale.why)
    return f"nothing of the plan was made: {stale.why}. Read again what it rests on, and propose what is right now"


def _why_asked_again(ctx: TurnContext, plan: WritePlan) -> tuple[str, ...]:
    """What changed, if the plan replaces one that was outdated when it was to be carried out; else empty."""
    why = ctx.journal.get(OUTDATED.format(plan.round - 1))
    return (why,) if why else ()


async def _begin_rest(conversation: Conversation, away: ModelRests) -> Resting:
    """The wait until the model is asked again; raises ``Failed`` in practice and past the deadline."""
    ctx = conversation.ctx
    pause = None if is_practice(ctx.record) else await rest_for_model(ctx, conversation.key, away)
    if pause is None:
        raise Failed(away.reason, "model") from away
    return Resting(conversation.progress, pause)


async def _pass_to_next(conversation: Conversation, failed: Failed) -> Progress | None:
    """The progress with which the next orchestrator begins; None if there is none, or something is planned."""
    ctx, progress = conversation.ctx, conversation.progress
    name = progress.orchestrator
    if len(progress.orchestrators) < 2 or failed.part != "model":
        return None
    if progress.dossier.plan is not None:
        return None
    key = f"passed-over:{name.value}"
    if ctx.journal.get(key) is None:
        ctx.journal.note_run_continues()
        ctx.journal.tell("note", orchestrator=name.value, not_available=failed.reason)
        made: Json = [loads_object(call.model_dump_json()) for call in conversation.reads_made]
        ctx.journal.add(reads_key(name.value), "note", dumps(made))
        ctx.journal.add(key, "note", failed.reason)
    passed_over = {**progress.passed_over, name.value: failed.reason}
    update = {"orchestrators": progress.orchestrators[1:], "passed_over": passed_over, "replies": 0}
    return progress.model_copy(update=update)


async def _answer_by_ledger(conversation: Conversation) -> AnsweredTask:
    """The task at its end, with each write and its status as the answer."""
    ledger, progress = await conversation.ctx.store.ledger(), conversation.progress
    written = sorted(ledger.values(), key=lambda entry: entry.call.call_id)
    lines = [f"{entry.call.tool}: {entry.status.value.replace('_', ' ')} ({entry.note})" for entry in written]
    ended = progress.move_to(progress.path[-1]).update_dossier(answer="\n".join(lines) or _NOTHING)
    conversation.progress = ended
    return await _complete_answer(conversation)


async def _complete_answer(conversation: Conversation) -> AnsweredTask:
    """The answered task, with the remarks below its answer, and the parts that were not done."""
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
    if not ledger and any(part.is_to_do for part, _ in left):
        _raise_if_text_forbids(progress)
    not_done = [f"part {part.number} ({part.quote[:120]}): {why}" for part, why in left]
    is_read_as_list = dossier.answer_format == "list" and ctx.record.request.solver is None
    if is_read_as_list and as_list(dossier.answer or "") is None:
        not_done.append("the answer is not the JSON list that was asked for")
    return AnsweredTask(said, "; ".join(not_done))


def _raise_if_text_forbids(progress: Progress) -> None:
    """Raises ``Rejected`` where the rules about the text forbid the task as it is written: no plan of it may pass."""
    found = progress.notes.get("text_policy")
    violations = found.get("violations") if isinstance(found, dict) else None
    if isinstance(violations, list) and violations:
        told = "; ".join(map(str, violations))
        raise Rejected(f"the policy forbids the task as it is written, so nothing was written: {told}")


def _is_open(entry: LedgerEntry) -> bool:
    """Whether it is not known, or nobody has decided, what became of a write: no answer can be given then."""
    waits_for_proof = entry.status is WriteStatus.SENT and entry.call.tool_class is ToolClass.CHANGE
    return waits_for_proof or entry.status in UNDECIDED


async def check_inputs_still_hold(ctx: TurnContext, progress: Progress) -> StaleInputs | None:
    """None if the plan may still be made, else why not; also raises ``Rejected``. Its inputs are read again only if a
    person has approved them.

    Once a write of the plan has begun, its inputs change by our own doing: then only the verdict is renewed, before
    each call that is sent (``renew_if_old``).
    """
    plan = progress.dossier.plan
    if plan is None or progress.dossier.verdict is None:
        raise Failed("there is no plan with a verdict; nothing was written")
    if any(has_begun(entry) for entry in (await plan_entries(ctx.store, plan)).values()):
        return None
    seen_by_person = progress.dossier.by_person or progress.confirmed
    if not seen_by_person and has_fresh_verdict(ctx, plan.hash):
        return None
    fresh = await _read_facts_again(ctx, progress) if seen_by_person else progress
    verdict = await renew_verdict(ctx, fresh)
    if strange := _without_source(ctx, fresh, await answers_to(ctx, progress.dossier.plans)):
        return StaleInputs(fresh, "what the plan rests on changed since it was approved: " + "; ".join(strange))
    if persons_needed(ctx, fresh) > persons_needed(ctx, progress):
        return StaleInputs(fresh, "what was read since then asks for more people than have approved")
    if not still_stands(ctx, progress, fresh, verdict):
        return StaleInputs(fresh, "the inputs or the rules changed since the plan was approved")
    return None


def _without_source(ctx: TurnContext, fresh: Progress, written: tuple[Fact, ...]) -> tuple[str, ...]:
    """Sentences on arguments that are no longer where they were taken from. ``written``: earlier answers."""
    dossier = fresh.dossier
    finder = SourceFinder(known_sources(ctx, (*dossier.facts, *written), dossier.values))
    calls = dossier.plan.every_call if dossier.plan else ()
    tools = [(call, ctx.toolbox.find(call.connection_id, call.tool)) for call in calls]
    return tuple(problem for call, tool in tools if tool for problem in finder.find(call, tool).problems)


async def _read_facts_again(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its facts read anew, and its values computed again from them; also in a resumed turn: what the
    journal holds may be from long before.
    """
    key = _name_anew(ctx, progress)
    facts = await side_by_side(read_again(ctx, f"{key}:{fact.ref}", fact, progress) for fact in progress.dossier.facts)
    values = with_figures(progress.dossier.values, compute_figures(progress.template, facts, ctx.task))
    if values:
        values = await _compute_again(ctx, progress, values, facts)
    return progress.update_dossier(facts=tuple(facts), values=values)


async def _compute_again(
    ctx: TurnContext, progress: Progress, values: Sequence[NamedValue], facts: Sequence[Fact]
) -> tuple[NamedValue, ...]:
    made, known = MadeToolResults(progress.dossier.made), known_figures(ctx, facts)
    try:
        return await compute_with_tools(ctx, _name_anew(ctx, progress), made, lambda: recompute(values, known, made))
    except (CannotCalculate, NoSuchPath) as error:
        raise Failed(f"the inputs changed so that the plan's figures cannot be computed again: {error}") from error


def _name_anew(ctx: TurnContext, progress: Progress) -> str:
    """Begins the names of the steps in which this attempt at the turn reads and computes anew."""
    return f"{progress.step}:again:{ctx.journal.began:%Y%m%dT%H%M%S.%f}"


async def carry_plan(ctx: TurnContext, progress: Progress) -> Progress | WaitsForDecision | Resting | StaleInputs:
    """Carries out the plan from where it stands, until it is done, a person has to decide, or a time has to come."""
    if progress.state not in machine.PLAN_STATES:
        progress = await enter_state(ctx, progress, machine.after_planning(progress.path))
    while not machine.is_end(progress.state):
        if progress.state in (FsmState.APPROVAL_GATE, FsmState.MUTATE):
            released = await _release_plan(ctx, progress)
            if not isinstance(released, Progress):
                return released
            progress = released
        if pause := await quiet_rest(ctx, progress):
            return Resting(progress, pause)
        try:
            with in_state(ctx, progress):
                progress = await _work_in_state(ctx, progress)
        except AgentAtWork as busy:
            return Resting(progress, busy.rest)
        following = machine.state_after(progress.path, progress.state)
        if machine.is_end(following):
            return progress
        progress = await enter_state(ctx, progress, following)
    return progress


async def _release_plan(ctx: TurnContext, progress: Progress) -> Progress | WaitsForDecision | StaleInputs:
    """The progress if the plan may be carried out, on inputs that still hold; else what it waits for, or what has
    changed.
    """
    if progress.dossier.verdict is None:
        raise Failed("there is no policy verdict on the plan; nothing was written")
    asks_person = not is_let_through(progress) and needs_person(ctx, progress)
    if asks_person and not progress.confirmed:  # none of the process's confirmations was given yet
        return WaitsForDecision(progress)
    if not asks_person and not is_let_through(progress):
        progress = let_through(progress, "automatic: no rule and no setting of the tenant asks for an approval")
    # Before a further confirmation is asked for, and before the first change: what was approved has to hold still.
    if (asks_person or progress.state is FsmState.MUTATE) and (stale := await check_inputs_still_hold(ctx, progress)):
        return stale
    return WaitsForDecision(progress) if asks_person else progress


async def _work_in_state(ctx: TurnContext, progress: Progress) -> Progress:
    match progress.state:
        case FsmState.MUTATE:
            return await _make_changes(ctx, progress)
        case FsmState.SCHEDULE_NOTIFY:
            await send_plan_calls(ctx, progress, FsmState.SCHEDULE_NOTIFY, (ToolClass.NOTIFY,))
            return _count_calls(progress, (ToolClass.NOTIFY,))
        case _:
            return progress


async def _make_changes(ctx: TurnContext, progress: Progress) -> Progress:
    """Makes the plan's changes; and its notices too, if the template has no state for them."""
    if not is_let_through(progress):
        raise Failed("the plan is not the one that was let through; nothing was written")
    await send_plan_calls(ctx, progress, FsmState.MUTATE, (ToolClass.CHANGE,))
    if FsmState.SCHEDULE_NOTIFY in progress.path:
        return _count_calls(progress, (ToolClass.CHANGE,))
    await send_plan_calls(ctx, progress, FsmState.MUTATE, (ToolClass.NOTIFY,))
    return _count_calls(progress, (ToolClass.CHANGE, ToolClass.NOTIFY))


def _count_calls(progress: Progress, classes: tuple[ToolClass, ...]) -> Progress:
    made = sum(call.tool_class in classes for call in progress.dossier.present_plan.calls)
    return progress.model_copy(update={"tool_calls": progress.tool_calls + made})
