"""The conversation with an orchestrator, stretch by stretch: what is said, and what its calls gave."""

from typing import NamedTuple

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Conversation, Fact, Progress
from services.executor.core.endings import Failed, Part
from services.executor.core.execute.matching import offered as fetching
from services.executor.core.execute.orchestrate.calculating import CALCULATE
from services.executor.core.execute.orchestrate.conversation import begun, packed
from services.executor.core.execute.orchestrate.conversing import MARK, asking
from services.executor.core.execute.orchestrate.wishes import WRITES, Wishes, may_write
from services.executor.core.execute.process_section import process_section
from services.executor.core.execute.read_rules import read_rules
from services.executor.core.execute.tool_loop import Dispatch, Talk, talk
from services.executor.core.fsm.states import RULES
from services.executor.core.prompts.sections import render
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import Message, ModelRequest, TextBlock, Tier, ToolDefinition
from shared.domain.exact_json import Json
from shared.domain.words import FsmState


class BrokenOff(Failed):
    """The orchestrator is not available any more; ``facts``: all that the task has read by then."""

    def __init__(self, reason: str, part: Part | None = "model", facts: tuple[Fact, ...] = ()) -> None:
        super().__init__(reason, part)
        self.facts = facts


class Stretch(NamedTuple):
    """A part of the conversation: its name in the journal, and how much of the budget it may use."""

    step: str
    purse: Purse


async def stretch(
    ctx: TurnContext, progress: Progress, conversation: Conversation, messages: tuple[Message, ...], part: Stretch
) -> Progress:
    """One stretch in which it may read and ask for writes; the progress with what came of it."""
    rules = await read_rules(ctx, part.step, RULES[FsmState.ASSESS].permits)
    wishes = Wishes(ctx, progress, rules, conversation)
    progress = progress.model_copy(update={"conversation": conversation})
    try:
        done = await talked(ctx, progress, messages, wishes, part)
    except Failed as failed:
        if failed.part != "model":
            raise
        raise BrokenOff(failed.reason, facts=wishes.facts) from failed
    known = conversation_of(ctx, done).model_copy(
        update={"wanted": tuple(wishes.wanted), "values": tuple(wishes.values), "planned": False}
    )
    reader = wishes.reader
    counted = done.model_copy(
        update={
            "conversation": known,
            "tool_calls": done.tool_calls + len(reader.facts),
            "repeated_calls": done.repeated_calls + reader.repeated,
            "corrections": dict(reader.corrections.names),
        }
    )
    learned = counted.learned(facts=wishes.facts, findings=known.last)
    return learned.learned(findings_about=learned.dossier.facts_digest)


async def talked(
    ctx: TurnContext, progress: Progress, messages: tuple[Message, ...], dispatch: Dispatch, part: Stretch
) -> Progress:
    """The progress with the conversation gone on; ends as unavailable where it comes to no end of its own."""
    conversation = conversation_of(ctx, progress)
    request = ModelRequest(Tier.HAIKU, (ctx.prompts.role, ctx.prompts.orchestrate), messages, _offered(ctx), None, 2048)
    done = await talk(asking(ctx, conversation.id), f"{part.step}:{MARK}", request, dispatch, part.purse)
    if done.reply.tool_uses:
        raise Failed(f"BrainOS came to no end within {ctx.limits.iterations} rounds", "model")
    said = conversation.model_copy(update={"said_json": packed(_course_of(done)), "last": done.reply.text})
    return progress.model_copy(update={"conversation": said, "model_calls": progress.model_calls + done.model_calls})


def _course_of(done: Talk) -> tuple[Message, ...]:
    return (*done.before, Message("assistant", done.reply.blocks))


def opening(ctx: TurnContext, progress: Progress) -> tuple[Message, ...]:
    sections: dict[str, Json] = {
        **{name: section for name, section in ctx.sections.items() if name != "task"},
        "process": process_section(ctx, progress, *progress.path),
        "facts": [fact.as_json() for fact in progress.dossier.facts],
        "write_tools": _writing(ctx) if may_write(progress) else [],
        "answer_format": progress.dossier.answer_format,
    }
    return (Message("user", (TextBlock(ctx.task), TextBlock(render(sections)))),)


def _offered(ctx: TurnContext) -> tuple[ToolDefinition, ...]:
    """The tools that read, and the one that calculates; those that write are listed beside them."""
    permitted = RULES[FsmState.ASSESS].permits
    return (*ctx.toolbox.of_classes(permitted), *fetching(ctx.toolbox, permitted), CALCULATE)


def _writing(ctx: TurnContext) -> list[Json]:
    """The tools that write, each under the name by which it is asked for."""
    names = [name for name, tool in ctx.toolbox.tools.items() if tool.tool_class in WRITES]
    listed = zip(names, ctx.toolbox.listing(WRITES), strict=True)
    return [{**tool, "name": name} for name, tool in listed if isinstance(tool, dict)]


def conversation_of(ctx: TurnContext, progress: Progress) -> Conversation:
    return progress.conversation or begun(ctx)
