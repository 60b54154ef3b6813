"""BrainOS as a thinking: a conversation in place of the questions of a strategy (seed 002, worker_brain.py).

It reads, and asks for writes, in any number of rounds; what it asks for becomes the WritePlan, and everything from
there on is the machine's. It is told what became of each write, and gives the answer then.
"""

from collections.abc import Sequence
from typing import Literal

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.endings import Escalated, Failed
from services.executor.core.execute.complete import answered, problem_with, writes_as_json
from services.executor.core.execute.compute_audit import audit
from services.executor.core.execute.in_sequence import refuse_unprovable
from services.executor.core.execute.ledger import entries
from services.executor.core.execute.left_out import left_out
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.notices import notice_wanted
from services.executor.core.execute.orchestrate.conversation import begun, course
from services.executor.core.execute.orchestrate.conversing import MARK
from services.executor.core.execute.orchestrate.talking import Stretch, conversation_of, opening, stretch, talked
from services.executor.core.execute.orchestrate.wishes import proposal
from services.executor.core.execute.process_figures import figured, with_figures
from services.executor.core.execute.process_section import knowing_figures
from services.executor.core.execute.read_rules import read_rules
from services.executor.core.execute.reading import known_corrections
from services.executor.core.execute.strategies.thinking import Step, Thinking
from services.executor.core.execute.tool_loop import ToolFailed
from services.executor.core.execute.write_plan import checked_plan, refuse_barred
from services.executor.core.fsm.states import RULES
from services.executor.core.prompts.sections import render
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import (
    Message,
    ModelReply,
    TextBlock,
    ToolResult,
    ToolUse,
    Usage,
)
from shared.contracts.plan import WritePlan
from shared.contracts.policy import CallRefusal
from shared.domain.exact_json import Json, dumps
from shared.domain.words import FsmState

_ALL_OF_THEM = "Ask for every write anew that is to be made now; what you asked for before is dropped."
_PLANS = 3  # how often a plan that does not pass is asked for anew


async def begin(_ctx: TurnContext, progress: Progress) -> Progress:
    """DECOMPOSE: nothing is asked before it can read."""
    return progress


async def think(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with what it read, and with its wishes."""
    return await _thought(ctx, progress, progress.step)


async def _thought(ctx: TurnContext, progress: Progress, step: str) -> Progress:
    """The same, wherever it is done: the state that the machine is in says what may be read."""
    conversation, progress = begun(ctx), progress.learned(answer_format=_format_wanted(ctx))
    done = await stretch(ctx, progress, conversation, opening(ctx, progress), Stretch(step, Purse.READING))
    carried = f"the orchestrator {progress.orchestrator.value} carried it"
    return done.model_copy(update={"fell_back": carried, "insight": {"orchestrator": progress.orchestrator.value}})


async def compute(ctx: TurnContext, progress: Progress) -> Progress:
    """The process's own figures and those that it had calculated; there is no other way to a figure."""
    own = figured(progress.template, progress.dossier.facts, ctx.task)
    had = conversation_of(ctx, progress).values
    names = {value.name for value in had}
    others = (value for value in progress.dossier.values if value.name not in names)  # somebody else's before it
    values = with_figures((*others, *had), own)
    return progress.learned(values=values, audit_clean=not audit(values, progress.dossier.facts, ctx.task))


async def plan(ctx: TurnContext, progress: Progress, refused: Sequence[CallRefusal] = ()) -> Progress:
    """The progress with a plan of its wishes. Where they do not pass it is told why, and asks for all of them anew."""
    step = f"{len(progress.visited)}.WRITE PLAN"
    if progress.conversation is None:
        progress = await _thought(ctx, progress, f"{step}:{MARK}:first")
    rules = await read_rules(ctx, step, RULES[FsmState.ASSESS].permits)
    problem, usable = _since(progress, refused), list[Progress]()
    for attempt in range(_PLANS):
        if problem:
            name = f"{step}:{MARK}{':refused' if refused else ''}:try{attempt}"
            progress = await _anew(ctx, progress, problem, name)
        progress = knowing_figures(ctx, await compute(ctx, progress))
        try:
            made = _plan_of(ctx, progress)
            refuse_barred(made, rules)
            usable.append(_planned(progress, made))
        except UnusableAnswer as unusable:
            problem = str(unusable)
            ctx.journal.tell("note", step="WRITE PLAN", problem=problem)
            continue
        problem = "" if len(usable) > 1 else notice_wanted(ctx, progress, made)
        if not problem:
            break
    if not usable:
        raise Escalated(f"BrainOS gave no usable plan in {_PLANS} attempts: {problem}")
    return usable[-1]


def answering(drafting: Step) -> Step:
    """The answer that it gives once it knows what became of its wishes; ``drafting``: who answers where it cannot."""

    async def answer(ctx: TurnContext, progress: Progress) -> Progress:
        try:
            told = await _told(ctx, progress)
        except UnusableAnswer as unusable:
            update = {"passed_over": {**progress.passed_over, f"{MARK} (answer)": str(unusable)}}
            return await drafting(ctx, progress.model_copy(update=update))
        return answered(ctx, told, conversation_of(ctx, told).last)

    return answer


def brainos(local: Thinking) -> Thinking:
    """``local`` drafts the answer where BrainOS has none that can be used."""
    return Thinking(
        states={FsmState.DECOMPOSE: begin, FsmState.ASSESS: think, FsmState.COMPUTE: compute},
        plan=plan,
        answer=answering(local.answer),
    )


async def _told(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with a usable answer as its last word; raises ``UnusableAnswer``."""
    conversation = conversation_of(ctx, progress)
    made = progress.dossier.plan
    if made and made.calls:
        key = f"{progress.step}:{MARK}"
        noted = ctx.journal.get(key)
        if noted is not None:
            raise UnusableAnswer(noted)
        try:
            messages = (*course(conversation), await _outcomes(ctx, progress, made))
            progress = await talked(ctx, progress, messages, _nothing_more, Stretch(progress.step, Purse.WHOLE))
        except Failed as failed:
            if failed.part != "model":
                raise
            ctx.journal.goes_on()
            await ctx.journal.add(key, "note", failed.reason)
            raise UnusableAnswer(failed.reason) from failed
    problem = problem_with(_as_reply(conversation_of(ctx, progress).last), progress.dossier.answer_format)
    if problem:
        raise UnusableAnswer(problem)
    return progress


async def _anew(ctx: TurnContext, progress: Progress, problem: str, step: str) -> Progress:
    """What it asks for once it knows why the plan before does not do: all of its writes, not only what is different."""
    conversation = conversation_of(ctx, progress)
    told = Message("user", (TextBlock(render({"correction": f"{problem} {_ALL_OF_THEM}"})),))
    again = conversation.model_copy(update={"wanted": ()})
    return await stretch(ctx, progress, again, (*course(conversation), told), Stretch(step, Purse.WHOLE))


async def _nothing_more(_key: str, use: ToolUse) -> ToolResult:
    raise ToolFailed(f"{use.name!r} was not called: the plan is carried out. Give the answer.")


def _format_wanted(ctx: TurnContext) -> Literal["prose", "list"]:
    """What the caller parses, where it said so; elsewhere a list that is given passes untouched as it is (I9)."""
    solver = ctx.record.request.solver
    return "prose" if solver is None or solver.expected_format == "single" else "list"


def _plan_of(ctx: TurnContext, progress: Progress) -> WritePlan:
    """The plan that its wishes make; raises ``UnusableAnswer``."""
    dossier = progress.dossier
    if not dossier.audit_clean:
        raise UnusableAnswer("the audit of the figures is not clean")
    proposed = proposal(conversation_of(ctx, progress).wanted, dossier.facts, ctx.task)
    corrections = known_corrections(ctx, progress)
    made = checked_plan(proposed, ctx.toolbox, dossier, ctx.record.task_id, ctx.task, corrections)
    refuse_unprovable(progress.template, made)
    return made


def _planned(progress: Progress, made: WritePlan) -> Progress:
    conversation = progress.conversation
    known = conversation.model_copy(update={"planned": True}) if conversation else None
    return progress.model_copy(update={"conversation": known}).learned(plan=made)


def _since(progress: Progress, refused: Sequence[CallRefusal]) -> str:
    """Why the plan that was made of its wishes is not the one to carry out; empty before there is one."""
    if refused:
        return "policy refuses: " + "; ".join(f"{one.call_id} {one.tool}: {one.reason}" for one in refused)
    if progress.conversation is None or not progress.conversation.planned:
        return ""
    facts = dumps([fact.as_json() for fact in progress.dossier.facts])
    return f"what the plan was built on has changed since; it is now: {facts}"


async def _outcomes(ctx: TurnContext, progress: Progress, made: WritePlan) -> Message:
    """What became of each wish, as the ledger has it."""
    written = await entries(ctx, made)
    told: dict[str, Json] = {}
    for entry in written.values():
        told[entry.call.call_id] = writes_as_json([entry])[0]
    told |= {one.call.call_id: one.as_json() for one in left_out(ctx, made)}
    unsent: Json = {"status": "not made"}
    uses = [(one.use_id, told.get(one.call_id, unsent)) for one in conversation_of(ctx, progress).wanted]
    return Message("user", tuple(ToolResult(use_id, dumps(said)) for use_id, said in uses))


def _as_reply(text: str) -> ModelReply:
    return ModelReply((TextBlock(text),), "end_turn", Usage(), MARK)
