"""The moa strategy (seed 000, Mixture of Agents): two drafts at once, and a third opinion where they do not agree.

The drafts differ in framing and effort. The conclusions before the plan of writes are drafted so, and the answer;
reading, planning and writing are everybody's own. A draft whose model is down or not affordable is done without.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Escalated, RunEnds
from services.executor.core.execute import complete
from services.executor.core.execute.assess import assess
from services.executor.core.execute.decompose import decompose
from services.executor.core.execute.model_calls import ask
from services.executor.core.execute.strategies.away import Away, unless_away, why_away
from services.executor.core.execute.strategies.consensus import Consensus, consensus
from services.executor.core.execute.strategies.fallback import where_applicable
from services.executor.core.execute.strategies.synthesis import (
    Framing,
    Synthesis,
    comes_later,
    framed,
    learned,
    synthesized,
)
from services.executor.core.execute.strategies.thinking import Thinking
from services.executor.core.execute.structured import Answered, Question
from services.executor.core.execute.write_plan import make_plan
from services.executor.core.fsm.states import tier_of
from services.executor.core.making.made import Made
from services.executor.core.making.make import with_made
from services.executor.core.side_by_side import side_by_side
from services.executor.core.spend.affordable import affords_all
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import Effort, ModelReply, ModelRequest, Tier
from shared.domain.exact_json import Json
from shared.domain.words import FsmState


class Voice(NamedTuple):
    """One of the two that draft: its name in the journal, what it is told, and how thoroughly it is to think."""

    name: str
    framing: str
    effort: Effort


class _NoDraft(RunEnds):
    """A draft that could not be used; the other one may be."""


async def _decompose(ctx: TurnContext, progress: Progress) -> Progress:
    return await decompose(ctx, await where_applicable(ctx, progress))


async def _assess(ctx: TurnContext, progress: Progress) -> Progress:
    """The reads; the conclusions right after them where the template has no COMPUTE, or if an audit objects."""
    read = progress if progress.dossier.audit_issues else await assess(ctx, progress)
    return read if comes_later(read) else await _conclude(ctx, read)


async def _conclude(ctx: TurnContext, progress: Progress) -> Progress:
    """Values and findings on which both drafts agree, or what is made of both where they do not."""
    tier = tier_of(FsmState.COMPUTE, ctx.task)
    framings = [Framing(f"draft:{voice.name}", voice.framing, tier, voice.effort) for voice in _voices(ctx)]
    progress, made = await with_made(ctx, progress)
    questions = [framed(ctx, progress, framing, made=made) for framing in framings]
    if not await _both(ctx, progress, [one.request() for one in questions], Purse.READING):
        done = await synthesized(ctx, progress, questions[0], made=made)
        return learned(progress, done.value, done.model_calls, made)
    found = await side_by_side(_conclusion(ctx, progress, one, made) for one in questions)
    away = why_away(found)
    usable = [one for one in found if isinstance(one, Answered)]
    progress = _counting(progress, sum(one.model_calls for one in usable))
    drafts = [one.value for one in usable if one.value is not None]
    if not drafts:
        raise Escalated("no draft passed the audit of its figures")
    same = _same_conclusions(drafts)
    progress = _told(ctx, progress, "conclusions", same, away)
    if same.reached or away:
        return learned(progress, drafts[-1], 0, made)
    merge = Framing("merged", ctx.prompts.moa_merge)
    merged = framed(ctx, progress, merge, [draft.as_json() for draft in drafts], made)
    done = await synthesized(ctx, progress, merged, made=made)
    return learned(progress, done.value, done.model_calls, made)


async def _conclusion(
    ctx: TurnContext, progress: Progress, question: Question, made: Made
) -> Answered[Synthesis | None] | Away:
    async def draft() -> Answered[Synthesis | None]:
        try:
            done = await synthesized(ctx, progress, question, _NoDraft, made)
        except _NoDraft:
            return Answered(None, 0)
        return Answered(done.value, done.model_calls)

    return await unless_away(ctx, question.step, draft)


async def _answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The answer on which both drafts agree, as it was drafted; or one that is made of both (I9)."""
    given = await complete.material(ctx, progress)
    tier = tier_of(FsmState.COMPLETE, ctx.task)
    ways = [complete.Draft(tier, (voice.framing,), voice.effort) for voice in _voices(ctx)]
    requests = [complete.request(ctx, given, way) for way in ways]
    if not await _both(ctx, progress, requests, Purse.WHOLE):
        return await complete.drafted(ctx, progress, given, complete.Draft(tier))
    named = zip(_voices(ctx), requests, strict=True)
    found = await side_by_side(_text(ctx, f"{progress.step}:draft:{voice.name}", asked) for voice, asked in named)
    away = why_away(found)
    replies = [one for one in found if isinstance(one, ModelReply)]
    progress = _counting(progress, len(replies))
    texts = _usable(replies, progress)
    same = consensus(*texts) if len(texts) == len(found) else Consensus(0.0, "a draft could not be used")
    progress = _told(ctx, progress, "answer", same, away)
    if same.reached or (texts and away):
        return complete.answered(ctx, progress, texts[-1])
    both = {**given, "drafts": list[Json](texts)}
    return await complete.drafted(ctx, progress, both, complete.Draft(Tier.SONNET, (ctx.prompts.moa_merge,)))


async def _text(ctx: TurnContext, step: str, request: ModelRequest) -> ModelReply | Away:
    async def draft() -> ModelReply:
        return await ask(ctx, step, request, Purse.WHOLE)

    return await unless_away(ctx, step, draft)


def _voices(ctx: TurnContext) -> tuple[Voice, Voice]:
    """The one that thinks longer is the last: what both say is taken in its words."""
    return Voice("steady", ctx.prompts.moa_steady, "low"), Voice("doubting", ctx.prompts.moa_doubting, "high")


async def _both(ctx: TurnContext, progress: Progress, requests: Sequence[ModelRequest], purse: Purse) -> bool:
    """Whether the budget has room for two drafts; decided once, whoever goes on with the run."""

    async def decide() -> str:
        both = affords_all(ctx, requests, purse)
        if not both:
            ctx.journal.tell("note", problem="the budget has no room for two drafts; one is made")
        return "both" if both else "one"

    return await ctx.journal.once(f"{progress.step}:drafts", "note", decide) == "both"


def _same_conclusions(drafts: Sequence[Synthesis]) -> Consensus:
    """Their findings, and their figures however these are named."""
    if len(drafts) == 1:
        return Consensus(0.0, "one draft failed the audit of its figures")
    first, second = drafts
    one, other = (sorted(value.value for value in draft.values) for draft in (first, second))
    same = consensus(first.findings, second.findings)
    return same if one == other else Consensus(same.overlap, "they come to different figures")


def _usable(replies: Sequence[ModelReply], progress: Progress) -> list[str]:
    form = progress.dossier.answer_format
    return [complete.in_form(reply.text, form) for reply in replies if not complete.problem_with(reply, form)]


def _counting(progress: Progress, model_calls: int) -> Progress:
    return progress.model_copy(update={"model_calls": progress.model_calls + model_calls})


def _told(ctx: TurnContext, progress: Progress, what: str, same: Consensus, away: str) -> Progress:
    """Who watches is told what the drafts came to, and the outcome will say how often they agreed."""
    if away:
        return _missing(ctx, progress, what, away)
    overlap = round(same.overlap, 2)
    ctx.journal.tell("note", drafts_of=what, agreed=same.reached, overlap=overlap, differ_in=same.why or None)
    return progress.model_copy(update={"insight": {**progress.insight, f"{what}_agreed": same.reached}})


def _missing(ctx: TurnContext, progress: Progress, what: str, why: str) -> Progress:
    """That only one draft could be had says nothing of how often two agree; the task's metadata says it."""
    ctx.journal.tell("note", drafts_of=what, problem=f"only one draft could be had: {why}")
    noted = progress.notes.get("drafts_missing")
    missing: JsonValue = {**(noted if isinstance(noted, dict) else {}), what: why}
    return progress.model_copy(update={"notes": {**progress.notes, "drafts_missing": missing}})


MOA = Thinking(
    states={FsmState.DECOMPOSE: _decompose, FsmState.ASSESS: _assess, FsmState.COMPUTE: _conclude},
    plan=make_plan,
    answer=_answer,
)
