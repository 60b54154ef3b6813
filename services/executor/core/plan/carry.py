"""The machine over one frozen plan: from POLICY_CHECK to SCHEDULE_NOTIFY, a checkpoint on entering each state."""

from services.executor.core.authorize.approval import is_let_through, let_through
from services.executor.core.authorize.policy import (
    asks_now,
    has_fresh_verdict,
    needs_person,
    persons_needed,
    verdict_on,
)
from services.executor.core.authorize.verdicts import binding_hash, refuse_if_blocked, refuse_if_refused
from services.executor.core.dossier.dossier import Outdated, Progress, Resting, WaitsForDecision
from services.executor.core.dossier.endings import Failed
from services.executor.core.dossier.values import Fact, with_figures
from services.executor.core.figures.calculate.conditions import NoSuchPath
from services.executor.core.figures.calculate.evaluate import recompute
from services.executor.core.figures.made_formulas import MadeToolResults
from services.executor.core.finance.calculator import CannotCalculate
from services.executor.core.made_tools.make import compute_with_tools
from services.executor.core.plan.outcomes import answers_to
from services.executor.core.plan.sources import SourceFinder, known_figures, known_sources
from services.executor.core.process.figures import compute_figures
from services.executor.core.reads import gate
from services.executor.core.reads.recovering import known_corrections, read
from services.executor.core.session.context import TurnContext, enter_state, in_state
from services.executor.core.session.ledger import entries, has_begun
from services.executor.core.session.side_by_side import side_by_side
from services.executor.core.states import machine
from services.executor.core.write.mutations import carry_out
from services.executor.core.write.notices import hold_back, quiet_rest
from services.executor.core.write.skills import AgentAtWork
from shared.contracts.plan import WritePlan
from shared.contracts.policy import Verdict
from shared.domain.exact_json import dumps, loads_object
from shared.domain.words import FsmState, ToolClass


class Stale(Exception):
    """What was let through no longer holds. ``progress`` has the fresh inputs, ``why`` says what is different."""

    def __init__(self, progress: Progress, why: str) -> None:
        super().__init__(why)
        self.progress = progress
        self.why = why


async def still_true(ctx: TurnContext, progress: Progress) -> None:
    """Renew the verdict, on inputs read again if a person had approved them. Raises ``Stale`` on a difference.

    A plan that nobody had to look at goes on with the verdict on which it closed while that is fresh.
    Once a write of the plan has begun, its inputs change by our own doing: then only the verdict is renewed, before
    each call that goes out (``renew_if_old``).
    """
    plan = progress.dossier.plan
    if plan is None or progress.dossier.verdict is None:
        raise Failed("there is no plan with a verdict; nothing was written")
    if any(has_begun(entry) for entry in (await entries(ctx.store, plan)).values()):
        return
    seen_by_person = progress.dossier.by_person or progress.confirmed
    if not seen_by_person and has_fresh_verdict(ctx, plan.hash):
        return
    fresh = await _read_facts_again(ctx, progress) if seen_by_person else progress
    verdict = await verdict_on(ctx, fresh.template, fresh.dossier)
    refuse_if_blocked(verdict, fresh.dossier.plan)
    refuse_if_refused(verdict)
    _compare(ctx, progress, fresh, verdict, await answers_to(ctx, progress.dossier.plans))


def _compare(
    ctx: TurnContext, progress: Progress, fresh: Progress, verdict: Verdict, written: tuple[Fact, ...]
) -> None:
    strange = _without_source(ctx, fresh, written)
    if strange:
        raise Stale(fresh, "what the plan rests on changed since it was approved: " + "; ".join(strange))
    if persons_needed(fresh) > persons_needed(progress):
        raise Stale(fresh, "what was read since then asks for more people than have approved")
    before = progress.dossier.verdict
    same = before is None or binding_hash(verdict) == binding_hash(before)
    if same and not asks_now(ctx, progress, verdict):
        return
    if progress.dossier.approved_hash is None or needs_person(ctx, fresh.update_dossier(verdict=verdict)):
        raise Stale(fresh, "the inputs or the rules changed since the plan was approved")


def _without_source(ctx: TurnContext, fresh: Progress, written: tuple[Fact, ...]) -> tuple[str, ...]:
    """The arguments of the plan that no longer stand in what they were taken from. ``written``: earlier answers."""
    dossier = fresh.dossier
    finder = SourceFinder(known_sources(ctx, (*dossier.facts, *written), dossier.values))
    calls = dossier.plan.every_call if dossier.plan else ()
    tools = [(call, ctx.toolbox.find(call.connection_id, call.tool)) for call in calls]
    return tuple(problem for call, tool in tools if tool for problem in finder.find(call, tool).problems)


async def _read_facts_again(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress over facts read anew, its values computed again from them."""
    facts = await side_by_side(_read_again(ctx, progress, fact) for fact in progress.dossier.facts)
    try:
        own = with_figures(progress.dossier.values, compute_figures(progress.template, facts, ctx.task))
        made = MadeToolResults(progress.dossier.made)
        key = f"{progress.step}:again:{ctx.journal.began:%Y%m%dT%H%M%S.%f}"
        known = known_figures(ctx, facts)
        values = await compute_with_tools(ctx, key, made, lambda: recompute(own, known, made))
    except (CannotCalculate, NoSuchPath) as error:
        raise Failed(f"the inputs changed so that the plan's figures cannot be computed again: {error}") from error
    return progress.update_dossier(facts=tuple(facts), values=values)


async def _read_again(ctx: TurnContext, progress: Progress, fact: Fact) -> Fact:
    """The fact read anew. A resumed turn reads again: what the journal holds may be from long before."""
    tool = ctx.toolbox.find(fact.connection_id, fact.tool)
    if tool is None:
        raise Failed(f"the tool {fact.tool} is gone, so the approved inputs cannot be read again; nothing was written")
    try:
        gate.check(FsmState.APPROVAL_GATE, tool)  # MUTATE would let it pass, whatever it has become
    except gate.DispatchRefused as error:
        raise Failed(f"the approved inputs cannot be read again, so nothing was written: {error}") from error
    key, arguments = (
        f"{progress.step}:again:{ctx.journal.began:%Y%m%dT%H%M%S.%f}:{fact.ref}",
        loads_object(fact.arguments_json),
    )
    reading = await read(ctx, key, tool, arguments, known_corrections(ctx, progress))
    renewed = {"result_json": dumps(reading.answer.content), "ok": reading.tells, "note": reading.note}
    return fact.model_copy(update=renewed)


async def carry_plan(ctx: TurnContext, progress: Progress) -> Progress | WaitsForDecision | Resting | Outdated:
    """Go on from where the plan stands until it is carried out, a person has to decide, or a time has to come."""
    if progress.state not in machine.PLAN_STATES:
        progress = await enter_state(ctx, progress, machine.after_planning(progress.path))
    while not machine.is_end(progress.state):
        if progress.state in (FsmState.APPROVAL_GATE, FsmState.MUTATE):
            stands = await _let_through_or_waiting(ctx, progress)
            if not isinstance(stands, Progress):
                return stands
            progress = stands
        if progress.state is FsmState.SCHEDULE_NOTIFY:
            await hold_back(ctx, progress)
        if pause := await quiet_rest(ctx, progress):
            return Resting(progress, pause)
        try:
            with in_state(ctx, progress):
                progress = await _do_step(ctx, progress)
        except AgentAtWork as busy:
            return Resting(progress, busy.rest)
        following = machine.state_after(progress.path, progress.state)
        if machine.is_end(following):
            return progress
        progress = await enter_state(ctx, progress, following)
    return progress


async def _let_through_or_waiting(ctx: TurnContext, progress: Progress) -> Progress | WaitsForDecision | Outdated:
    """Whether the plan may be carried out, on inputs that still hold."""
    _verdict(progress)
    waits = not is_let_through(progress) and needs_person(ctx, progress)
    if waits and not progress.confirmed:
        return WaitsForDecision(progress)
    if not waits and not is_let_through(progress):
        progress = let_through(progress, "automatic: no rule and no setting of the tenant asks for an approval")
    if waits or progress.state is FsmState.MUTATE:
        try:
            await still_true(ctx, progress)
        except Stale as stale:
            return Outdated(stale.progress, stale.why)
    return WaitsForDecision(progress) if waits else progress


async def _do_step(ctx: TurnContext, progress: Progress) -> Progress:
    match progress.state:
        case FsmState.MUTATE:
            return await _mutate(ctx, progress)
        case FsmState.SCHEDULE_NOTIFY:
            await carry_out(ctx, progress, FsmState.SCHEDULE_NOTIFY, (ToolClass.NOTIFY,))
            return _count_calls(progress, (ToolClass.NOTIFY,))
        case _:
            return progress


async def _mutate(ctx: TurnContext, progress: Progress) -> Progress:
    """The changes; and the notices too, where the template has no state for them."""
    if not is_let_through(progress):
        raise Failed("the plan is not the one that was let through; nothing was written")
    if progress.dossier.audit_clean is False:
        raise Failed("an audit objects to the figures of the plan; nothing was written")
    await carry_out(ctx, progress, FsmState.MUTATE, (ToolClass.CHANGE,))
    if FsmState.SCHEDULE_NOTIFY in progress.path:
        return _count_calls(progress, (ToolClass.CHANGE,))
    await hold_back(ctx, progress)
    await carry_out(ctx, progress, FsmState.MUTATE, (ToolClass.NOTIFY,))
    return _count_calls(progress, (ToolClass.CHANGE, ToolClass.NOTIFY))


def _count_calls(progress: Progress, classes: tuple[ToolClass, ...]) -> Progress:
    made = sum(call.tool_class in classes for call in _plan(progress).calls)
    return progress.model_copy(update={"tool_calls": progress.tool_calls + made})


def _plan(progress: Progress) -> WritePlan:
    return progress.dossier.plan or WritePlan(task_id="")


def _verdict(progress: Progress) -> Verdict:
    if progress.dossier.verdict is None:
        raise Failed("there is no policy verdict on the plan; nothing was written")
    return progress.dossier.verdict
