"""The machine's walk: one state after the other along the template, a checkpoint on entering each.

In the states of thinking the chosen strategy works; verdict, gate and writes are the same for every strategy.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.dry_run import as_answer, stops_here
from services.executor.core.endings import Failed
from services.executor.core.execute.asking import needs_person, persons_needed, why_process_asks
from services.executor.core.execute.consent import is_let_through, let_through, start_over
from services.executor.core.execute.escalation import ends_escalated
from services.executor.core.execute.mutations import carry_out
from services.executor.core.execute.notices import hold_back, with_untold
from services.executor.core.execute.policy_check import (
    check_policy,
    reasons,
    refuse_if_refused,
    told,
)
from services.executor.core.execute.process_routes import with_rows_left
from services.executor.core.execute.quiet_hours import Rest, rest
from services.executor.core.execute.recheck import Stale, still_true
from services.executor.core.execute.second_audit import concluded_anew, heeding, second_audit
from services.executor.core.execute.strategies.chosen import thinking_of
from services.executor.core.execute.strategies.thinking import Step
from services.executor.core.execute.write_plan import without_repeats
from services.executor.core.fsm import machine
from shared.contracts.plan import WritePlan
from shared.contracts.policy import ToolRuleKind, Verdict
from shared.domain import span_names as names
from shared.domain.words import FsmState, ToolClass, decider
from shared.ports.tracing import Span


class Finished(NamedTuple):
    """The path is walked to its end; the dossier has the answer."""

    progress: Progress


class Waiting(NamedTuple):
    """A person has to decide on the plan; ``why`` says what changed, if this is asked again."""

    progress: Progress
    why: tuple[str, ...] = ()


class Resting(NamedTuple):
    """What is next has its time, which has not come."""

    progress: Progress
    rest: Rest


async def walk(ctx: TurnContext, progress: Progress) -> Finished | Waiting | Resting:
    """Go on from where ``progress`` stands until the answer is there, a person has to decide or a time has to come."""
    while True:
        if machine.is_end(progress.state):
            with _in_state(ctx, progress):
                answered = await thinking_of(progress).answer(ctx, progress)
            return Finished(with_rows_left(await with_untold(ctx, answered), ctx.task))
        if stops_here(ctx.record, progress):
            return Finished(as_answer(progress, _approval_needed(ctx, progress)))
        if progress.state in (FsmState.APPROVAL_GATE, FsmState.MUTATE):
            stands = await _let_through_or_waiting(ctx, progress)
            if isinstance(stands, Waiting):
                return stands
            progress = stands
        if progress.state is FsmState.SCHEDULE_NOTIFY:
            await hold_back(ctx, progress)
        if pause := await rest(ctx, progress):
            return Resting(progress, pause)
        with _in_state(ctx, progress):
            done = await _leave(ctx, await _step(progress)(heeding(ctx, progress), progress))
        progress = await _entered(ctx, done)


def _in_state(ctx: TurnContext, progress: Progress) -> AbstractContextManager[Span]:
    return ctx.ports.tracer.span(names.STATE.format(state=progress.state.value))


async def _let_through_or_waiting(ctx: TurnContext, progress: Progress) -> Progress | Waiting:
    """Whether the plan may be carried out, on inputs that still hold; a new plan goes back to the gate."""
    _verdict(progress)
    waits = not is_let_through(progress) and needs_person(ctx, progress)
    if waits and not progress.confirmed:
        return Waiting(progress)
    if not waits and not is_let_through(progress):
        progress = _automatic_pass(progress)
    if waits or progress.state is FsmState.MUTATE:
        try:
            await still_true(ctx, progress)
        except Stale as stale:
            progress = await _planned_anew(ctx, stale.progress)
            return Waiting(progress, (stale.why,)) if _plan(progress).calls else progress
    return Waiting(progress) if waits else progress


def _step(progress: Progress) -> Step:
    """What is done in the present state: the machine's own step, or else the strategy's."""
    return _MACHINE.get(progress.state) or thinking_of(progress).states[progress.state]


async def _planned_anew(ctx: TurnContext, progress: Progress) -> Progress:
    """Back at APPROVAL_GATE with a new plan on new inputs; nothing that people said of the old one counts."""
    back = await _entered(ctx, start_over(progress))
    planned = await _permitted(ctx, await thinking_of(back).plan(ctx, back))
    if not _plan(planned).calls:
        planned = planned.model_copy(update={"path": (FsmState.APPROVAL_GATE, FsmState.COMPLETE)})
    await ctx.checkpoints.save(planned, "replanned")
    return planned


def _approval_needed(ctx: TurnContext, progress: Progress) -> str | None:
    """Who would have to decide on the plan, and why; None if nobody."""
    verdict = _verdict(progress)
    if not needs_person(ctx, progress):
        return None
    level, count, steps = verdict.escalation_level, persons_needed(ctx, progress), progress.template.confirmations
    who = decider(level)
    asked = (*reasons(verdict), *why_process_asks(ctx, progress))
    asked = (*asked, *((f"{len(steps)} confirmations in sequence ({', '.join(steps)})",) if steps else ()))
    why = "; ".join(asked) or "the tenant asks for it where no rule speaks"
    return f"{who}{f' ({count} different people)' if count > 1 else ''}: {why}"


async def _leave(ctx: TurnContext, progress: Progress) -> Progress:
    """What happens on leaving a state: the plan is made, and the next state named."""
    path = progress.path
    if machine.plans_after(path, progress.state):
        progress = await thinking_of(progress).plan(ctx, progress)
        if not _plan(progress).calls:
            path = machine.without_writes(path)
        elif (progress := await second_audit(ctx, progress)).dossier.audit_issues:
            return concluded_anew(progress)
        elif FsmState.POLICY_CHECK not in path:
            progress = await _permitted(ctx, progress)
            path = progress.path
    if progress.dossier.verdict is not None and _plan(progress).calls:
        verdict = progress.dossier.verdict
        path = machine.with_gate(path) if needs_person(ctx, progress) else path
        path = machine.with_end(path, ends_escalated(progress.template, verdict))
    progress = progress.model_copy(update={"path": path})
    return progress.moved(machine.after(path, progress.state))


async def _entered(ctx: TurnContext, progress: Progress) -> Progress:
    await ctx.checkpoints.save(progress)
    return progress


def _automatic_pass(progress: Progress) -> Progress:
    return let_through(progress, "automatic: no rule and no setting of the tenant asks for an approval")


async def _permitted(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its verdict. A plan that breaks rules about tools is made once more, told which and why."""
    checked = await check_policy(ctx, progress)
    broken = _verdict(checked).refusals
    if not broken:
        return checked
    ctx.journal.tell("note", refused=[told(refusal) for refusal in broken])
    again = await thinking_of(checked).plan(ctx, checked, broken)
    path = again.path if _plan(again).calls else machine.without_writes(again.path)
    checked = await check_policy(ctx, again.model_copy(update={"path": path}))
    still = {refusal.call_id for refusal in _verdict(checked).refusals if refusal.kind == ToolRuleKind.AT_MOST}
    fewer = without_repeats(_plan(checked), still)
    if still and fewer.hash != _plan(checked).hash:  # a model that repeats itself, and once is what was wanted
        checked = await check_policy(ctx, checked.learned(plan=fewer))
    refuse_if_refused(_verdict(checked))
    return checked


async def _stay(_ctx: TurnContext, progress: Progress) -> Progress:
    return progress


async def _mutate(ctx: TurnContext, progress: Progress) -> Progress:
    """The changes; and the notices too, where the template has no state for them."""
    if not is_let_through(progress):
        raise Failed("the plan is not the one that was let through; nothing was written")
    later = FsmState.SCHEDULE_NOTIFY in progress.path
    if progress.dossier.audit_clean is False:
        raise Failed("an audit objects to the figures of the plan; nothing was written")
    plan = _plan(progress)
    await carry_out(ctx, progress, FsmState.MUTATE, (ToolClass.CHANGE,))
    if not later:
        await hold_back(ctx, progress)
        await carry_out(ctx, progress, FsmState.MUTATE, (ToolClass.NOTIFY,))
    return _counted(progress, plan, (ToolClass.CHANGE,) if later else (ToolClass.CHANGE, ToolClass.NOTIFY))


async def _notify(ctx: TurnContext, progress: Progress) -> Progress:
    plan = _plan(progress)
    await carry_out(ctx, progress, FsmState.SCHEDULE_NOTIFY, (ToolClass.NOTIFY,))
    return _counted(progress, plan, (ToolClass.NOTIFY,))


def _counted(progress: Progress, plan: WritePlan, classes: tuple[ToolClass, ...]) -> Progress:
    made = sum(call.tool_class in classes for call in plan.calls)
    return progress.model_copy(update={"tool_calls": progress.tool_calls + made})


def _plan(progress: Progress) -> WritePlan:
    if progress.dossier.plan is None:
        return WritePlan(task_id="")
    return progress.dossier.plan


def _verdict(progress: Progress) -> Verdict:
    if progress.dossier.verdict is None:
        raise Failed("there is no policy verdict on the plan; nothing was written")
    return progress.dossier.verdict


_MACHINE: Mapping[FsmState, Step] = {
    FsmState.POLICY_CHECK: _permitted,
    FsmState.APPROVAL_GATE: _stay,
    FsmState.MUTATE: _mutate,
    FsmState.SCHEDULE_NOTIFY: _notify,
}
