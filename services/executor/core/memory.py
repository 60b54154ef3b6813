"""The conversation that a client brings along, kept within bounds: recent turns whole, older ones as a summary."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.context import TurnContext
from services.executor.core.execute.model_calls import ask, user
from services.executor.core.prompts.sections import render
from services.executor.ports.models import ModelRequest, Tier
from shared.contracts.task import PriorTurn
from shared.domain.exact_json import Json

TURNS_KEPT = 6
_LONG_TURNS = 8
_LONG_CHARACTERS = 4 * 8000  # 8,000 tokens
_SUMMARY_WORDS = 200
_STEP = "memory:summary"


class Split(NamedTuple):
    """``older`` is to be summarized, ``recent`` stays as it was said."""

    older: Sequence[PriorTurn]
    recent: Sequence[PriorTurn]


def split(history: Sequence[PriorTurn]) -> Split:
    """Nothing is older unless the history is long, by its turns or by its text (seed 001, MemoryCompressor)."""
    long = len(history) > _LONG_TURNS or sum(len(turn.content) for turn in history) > _LONG_CHARACTERS
    cut = max(0, len(history) - TURNS_KEPT) if long else 0
    return Split(history[:cut], history[cut:])


async def with_history(ctx: TurnContext) -> TurnContext:
    """The context with the conversation that came with the request, where one did; it is all the run remembers."""
    solver = ctx.record.request.solver
    if solver is None:
        return ctx
    older, recent = split(solver.history)
    summary = await _summary(ctx, older) if older else None
    turns: list[Json] = [{"role": turn.role, "text": turn.content} for turn in recent]
    if summary is not None:
        turns.insert(0, {"role": "summary", "text": f"[Prior context summary: {summary}]"})
    told: dict[str, JsonValue] = {"compressed": bool(older), "summary": summary}
    return replace(ctx, sections={**ctx.sections, "history": turns}, notes={**ctx.notes, "memory": told})


async def _summary(ctx: TurnContext, older: Sequence[PriorTurn]) -> str:
    turns: list[Json] = [{"role": turn.role, "text": turn.content} for turn in older]
    request = ModelRequest(
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.summarize),
        messages=(user(render({"history": turns})),),
        max_tokens=512,
    )
    reply = await ask(ctx, _STEP, request)
    return " ".join(reply.text.split()[:_SUMMARY_WORDS])
