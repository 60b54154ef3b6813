"""DECOMPOSE: what must be known, and in which form the answer is wanted."""

from typing import Literal

from pydantic import BaseModel

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.execute.process_section import process_section
from services.executor.core.execute.structured import Question, answered
from services.executor.core.fsm.states import tier_of
from services.executor.core.prompts import schemas
from shared.domain.words import FsmState


class Entity(BaseModel):
    kind: str
    value: str


class Decomposition(BaseModel):
    needs: tuple[str, ...]
    entities: tuple[Entity, ...]
    answer_format: Literal["prose", "list"]


async def decompose(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with its data needs and the form of answer."""
    question = Question(
        step=progress.step,
        tier=tier_of(FsmState.DECOMPOSE, ctx.task),
        system=(ctx.prompts.role, ctx.prompts.decompose),
        sections={**ctx.sections, "process": process_section(ctx, progress, FsmState.DECOMPOSE)},
        schema=schemas.DECOMPOSITION,
    )
    done = await answered(ctx, question, Decomposition)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + done.model_calls})
    return counted.learned(needs=done.value.needs, answer_format=done.value.answer_format)
