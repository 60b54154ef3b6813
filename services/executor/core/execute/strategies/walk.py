"""The machine's walk: one state after the other along the template, a checkpoint on entering each.

In the states of thinking the chosen strategy works; verdict, gate and writes are the same for every strategy.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.dry_run import as_answer, stops_here
from services.executor.core.endings import Failed
from services.executor.core.execute.asking import needs_person
from services.executor.core.execute.escalation import ends_escalated
from services.executor.core.execute.mutations import carry_out
from services.executor.core.execute.policy_check import (
    check_policy,
    reasons,
    refuse_if_refused,
    told,
)
from services.executor.core.execute.recheck import Stale, still_true
from services.executor.core.execute.strategies.chosen import thinking_of
from services.executor.core.execute.strategies.thinking import Step
from services.executor.core.execute.write_plan import without_repeats
from services.executor.core.fsm import machine
from shared.contracts.plan import WritePlan
from shared.contracts.policy import ToolRuleKind, Verdict
from shared.domain.words import FsmState, ToolClass


class Finished(NamedTuple):
    """The path is walked to its end; the dossier has the answer."""

    progress: Progress


class Waiting(NamedTuple):
    """A person has to decide on the plan; ``why`` says what changed, if this is asked again."""

    progress: Progress
    why: tuple[str, ...] = ()


async def walk(ctx: TurnContext, progress: Progress) -> Finished | Waiting:
    """Go on from where ``progress`` stands until the answer is there or a person has to decide."""
    while True:
        if machine.is_end(progress.state):
            return Finished(await thinking_of(progress).answer(ctx, progress))
        if stops_here(ctx.record, progress):
            return Finished(as_answer(progress, _approval_needed(ctx, progress)))
        if progress.state in (FsmState.APPROVAL_GATE, FsmState.MUTATE) and not _is_let_through(progress):
            if needs_person(_verdict(progress), ctx.tenant, progress.template):
                return Waiting(progress)
            progress = _automatic_pass(progress)
        if progress.state is FsmState.MUTATE:
            try:
                await still_true(ctx, progress, partial(needs_person, template=progress.template))
            except Stale as stale:
                progress = await reopen_approval_gate(ctx, stale.progress)
                if _plan(progress).calls:
                    return Waiting(progress, (stale.why,))
        done = await _step(progress)(ctx, progress)
        progress = await _entered(ctx, await _leave(ctx, done))


def _step(progress: Progress) -> Step:
    """What is done in the present state: the machine's own step, or else the strategy's."""
    return _MACHINE.get(progress.state) or thinking_of(progress).states[progress.state]


async def reopen_approval_gate(ctx: TurnContext, progress: Progress) -> Progress:
    """Back to APPROVAL_GATE with a new plan on new inputs; what was let through before no longer counts."""
    gated = progress.model_copy(update={"path": machine.with_gate(progress.path)})
    back = await _entered(ctx, gated.moved(FsmState.APPROVAL_GATE).learned(approved_hash=None, approval_note=None))
    planned = await _permitted(ctx, await thinking_of(back).plan(ctx, back))
    if not _plan(planned).calls:
        planned = planned.model_copy(update={"path": (FsmState.APPROVAL_GATE, FsmState.COMPLETE)})
    await ctx.checkpoints.save(planned, "replanned")
    return planned


def _approval_needed(ctx: TurnContext, progress: Progress) -> str | None:
    """Who would have to decide on the plan, and why; None if nobody."""
    verdict = _verdict(progress)
    if not needs_person(verdict, ctx.tenant, progress.template):
        return None
    level, count = verdict.escalation_level, progress.template.approvers
    who = f"a {level}" if level else "an approver"
    why = "; ".join(reasons(verdict)) or "the tenant asks for it where no rule speaks"
    return f"{who}{f' ({count} different people)' if count > 1 else ''}: {why}"


def let_through(progress: Progress, note: str, *, by_person: bool = False, level: str | None = None) -> Progress:
    """The progress whose plan, exactly as it stands, may be carried out."""
    approved = _plan(progress).hash
    return progress.learned(approved_hash=approved, approval_note=note, by_person=by_person, approved_level=level)


async def _leave(ctx: TurnContext, progress: Progress) -> Progress:
    """What happens on leaving a state: the plan is made, and the next state named."""
    path = progress.path
    if machine.plans_after(path, progress.state):
        progress = await thinking_of(progress).plan(ctx, progress)
        if not _plan(progress).calls:
            path = machine.without_writes(path)
        elif FsmState.POLICY_CHECK not in path:
            progress = await _permitted(ctx, progress)
            path = progress.path
    if progress.dossier.verdict is not None and _plan(progress).calls:
        verdict = progress.dossier.verdict
        path = machine.with_gate(path) if needs_person(verdict, ctx.tenant, progress.template) else path
        path = machine.with_end(path, ends_escalated(progress.template, verdict))
    progress = progress.model_copy(update={"path": path})
    return progress.moved(machine.after(path, progress.state))


async def _entered(ctx: TurnContext, progress: Progress) -> Progress:
    await ctx.checkpoints.save(progress)
    return progress


def _automatic_pass(progress: Progress) -> Progress:
    return let_through(progress, "automatic: no rule and no setting of the tenant asks for an approval")


def _is_let_through(progress: Progress) -> bool:
    return progress.dossier.approved_hash == _plan(progress).hash


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
    if not _is_let_through(progress):
        raise Failed("the plan is not the one that was let through; nothing was written")
    later = FsmState.SCHEDULE_NOTIFY in progress.path
    plan = _plan(progress)
    await carry_out(ctx, progress, FsmState.MUTATE, (ToolClass.CHANGE,))
    if not later:
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
