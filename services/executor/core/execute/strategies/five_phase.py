"""The five_phase strategy (seed 000): PLAN, GATHER, SYNTHESIZE, ARTIFACT, INSIGHT.

PLAN names the reads with the tools and their schemas before it, GATHER makes them at once, SYNTHESIZE draws figures and
findings from them. The plan of writes is everybody's own; ARTIFACT drafts the answer, INSIGHT tells what came of it.
"""

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.execute.complete import complete
from services.executor.core.execute.decompose import decompose
from services.executor.core.execute.strategies.fallback import fallen_back, where_applicable
from services.executor.core.execute.strategies.gather import gather
from services.executor.core.execute.strategies.insight import with_insight
from services.executor.core.execute.strategies.read_plan import NoReadPlan, ReadPlan, plan_reads, question
from services.executor.core.execute.strategies.synthesis import comes_later, framed, learned, synthesized
from services.executor.core.execute.strategies.thinking import Thinking
from services.executor.core.execute.write_plan import make_plan
from services.executor.core.making.make import with_made
from shared.domain.words import FsmState


async def _plan(ctx: TurnContext, progress: Progress) -> Progress:
    """PLAN. Where there can be none, or no usable one, the fsm strategy carries the task from here on."""
    first = question(ctx, progress).request()
    progress = await where_applicable(ctx, progress, first, first)  # it may have to look again
    if progress.fell_back:
        return await decompose(ctx, progress)
    try:
        planned = await plan_reads(ctx, progress)
    except NoReadPlan as unusable:
        return await decompose(ctx, fallen_back(ctx, progress, unusable.reason))
    counted = progress.model_copy(update={"model_calls": progress.model_calls + planned.model_calls})
    return _noted(counted, planned.value)


async def _gather(ctx: TurnContext, progress: Progress) -> Progress:
    """GATHER, and SYNTHESIZE right after it where the template has no COMPUTE; alone, if an audit objects to it."""
    gathered = progress if progress.dossier.audit_issues else await gather(ctx, progress)
    return gathered if comes_later(gathered) else await _synthesize(ctx, gathered)


async def _synthesize(ctx: TurnContext, progress: Progress) -> Progress:
    progress, made = await with_made(ctx, progress)
    done = await synthesized(ctx, progress, framed(ctx, progress, made=made), made=made)
    return learned(progress, done.value, done.model_calls, made)


async def _artifact(ctx: TurnContext, progress: Progress) -> Progress:
    return with_insight(await complete(ctx, progress))


def _noted(progress: Progress, planned: ReadPlan) -> Progress:
    return progress.learned(
        needs=tuple(read.need for read in planned.reads),
        reads=planned.reads,
        look_again=planned.look_again,
        answer_format=planned.answer_format,
    )


FIVE_PHASE = Thinking(
    states={FsmState.DECOMPOSE: _plan, FsmState.ASSESS: _gather, FsmState.COMPUTE: _synthesize},
    plan=make_plan,
    answer=_artifact,
)
