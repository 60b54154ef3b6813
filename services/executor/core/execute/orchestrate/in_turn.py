"""The list ORCHESTRATORS: the first one thinks, or the next where it is not available before anything is planned."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Fact, Progress
from services.executor.core.endings import Failed
from services.executor.core.execute.orchestrate.conversing import MARK
from services.executor.core.execute.orchestrate.talking import BrokenOff
from services.executor.core.execute.orchestrate.thinking import brainos
from services.executor.core.execute.orchestrate.wishes import with_earlier
from services.executor.core.execute.strategies.thinking import Step, Thinking
from services.executor.ports.orchestrators import Orchestrating
from shared.contracts.base import Contract
from shared.contracts.policy import CallRefusal
from shared.domain.words import FsmState

Makes: TypeAlias = Callable[[Progress], Awaitable[Progress]]


def in_turn(local: Thinking) -> Thinking:
    """One thinking of all that are listed; ``local``: that of the strategy."""
    minds = {Orchestrating.LOCAL: local, Orchestrating.BRAINOS: brainos(local)}

    def step(state: FsmState) -> Step:
        async def do(ctx: TurnContext, progress: Progress) -> Progress:
            async def make(now: Progress) -> Progress:
                for one in _missed(now, progress, state):
                    now = await minds[now.orchestrator].states[one](ctx, now)
                done = await minds[now.orchestrator].states[state](ctx, now)
                return with_earlier(done, now.dossier.facts)

            return await _first_available(ctx, progress, progress.step, make)

        return do

    async def plan(ctx: TurnContext, progress: Progress, refused: Sequence[CallRefusal] = ()) -> Progress:
        async def make(now: Progress) -> Progress:
            return await minds[now.orchestrator].plan(ctx, now, refused)

        if progress.dossier.plan is not None:
            return await make(progress)
        return await _first_available(ctx, progress, f"{len(progress.visited)}.WRITE PLAN", make)

    async def answer(ctx: TurnContext, progress: Progress) -> Progress:
        return await minds[progress.orchestrator].answer(ctx, progress)

    return Thinking(states={state: step(state) for state in local.states}, plan=plan, answer=answer)


class _Absence(Contract):
    """Who was not available, and what had been read by then: it counts for rules about reads, and stays known."""

    why: str
    facts: tuple[Fact, ...] = ()


def _missed(now: Progress, before: Progress, state: FsmState) -> tuple[FsmState, ...]:
    """What the strategy does in states before this one, where another one was to think until now."""
    came_to_it = now.orchestrator is not before.orchestrator and now.orchestrator is Orchestrating.LOCAL
    return (FsmState.DECOMPOSE,) if came_to_it and state is FsmState.ASSESS else ()


async def _first_available(ctx: TurnContext, progress: Progress, step: str, make: Makes) -> Progress:
    """``step``: how the journal's names of what is done here begin. Who was not available is noted under it."""
    while len(progress.orchestrators) > 1:
        noted = f"{step}:{MARK}" if progress.orchestrator is Orchestrating.BRAINOS else step
        known = ctx.journal.get(noted)
        if known is None:
            try:
                return await make(progress)
            except Failed as failed:
                if failed.part != "model":
                    raise
                facts = failed.facts if isinstance(failed, BrokenOff) else progress.dossier.facts
                known = _Absence(why=failed.reason, facts=facts).model_dump_json()
            ctx.journal.goes_on()
            await ctx.journal.add(noted, "note", known)
        progress = _passed_over(ctx, progress, _Absence.model_validate_json(known))
    return await make(progress)


def _passed_over(ctx: TurnContext, progress: Progress, absence: _Absence) -> Progress:
    name = progress.orchestrator.value
    ctx.journal.tell("note", orchestrator=name, not_available=absence.why)
    update = {
        "orchestrators": progress.orchestrators[1:],
        "passed_over": {**progress.passed_over, name: absence.why},
        "conversation": None,
    }
    return progress.model_copy(update=update).learned(facts=absence.facts, findings="", findings_about="")
