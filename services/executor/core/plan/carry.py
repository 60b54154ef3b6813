"""The machine over one frozen plan: from POLICY_CHECK to SCHEDULE_NOTIFY, a checkpoint on entering each state."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.authorize.asking import needs_person
from services.executor.core.authorize.consent import is_let_through, let_through
from services.executor.core.authorize.escalation import ends_escalated
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Failed
from services.executor.core.plan.recheck import Stale, still_true
from services.executor.core.session.context import TurnContext
from services.executor.core.states import machine
from services.executor.core.write.mutations import carry_out
from services.executor.core.write.quiet_hours import Rest, rest
from services.executor.core.write.sent_notices import hold_back
from shared.contracts.plan import WritePlan
from shared.contracts.policy import Verdict
from shared.domain import span_names as names
from shared.domain.words import FsmState, ToolClass
from shared.ports.tracing import Span


class WaitsForDecision(NamedTuple):
    """A person has to decide on the plan; ``why`` says what changed, if this is asked again."""

    progress: Progress
    why: tuple[str, ...] = ()


class Resting(NamedTuple):
    """What is next has its time, which has not come."""

    progress: Progress
    rest: Rest


class Outdated(NamedTuple):
    """Nothing was written: what the plan was let through on is no longer so. ``progress`` has what was read anew."""

    progress: Progress
    why: str


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
        if pause := await rest(ctx, progress):
            return Resting(progress, pause)
        with in_state(ctx, progress):
            progress = await _do_step(ctx, progress)
        following = machine.state_after(progress.path, progress.state)
        if machine.is_end(following):
            return progress
        progress = await enter_state(ctx, progress, following)
    return progress


async def enter_state(
    ctx: TurnContext, progress: Progress, state: FsmState, verdicts: Sequence[Mapping[str, JsonValue]] = ()
) -> Progress:
    moved = progress.move_to(state)
    ctx.checkpoints.save(moved, verdicts=verdicts)
    return moved


def in_state(ctx: TurnContext, progress: Progress) -> AbstractContextManager[Span]:
    return ctx.ports.tracer.span(names.STATE.format(state=progress.state.value))


def path_for(ctx: TurnContext, progress: Progress) -> tuple[FsmState, ...]:
    """The path of the plan in hand: with the gate where a person is asked, and to the end that its verdict leads to."""
    verdict = progress.dossier.verdict
    path = machine.with_gate(progress.path) if needs_person(ctx, progress) else progress.path
    return machine.with_end(path, verdict is not None and ends_escalated(progress.template, verdict))


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
