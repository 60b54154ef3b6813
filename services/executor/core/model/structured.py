"""A question with a structured answer, put again with what was wrong, at most once more."""

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel, JsonValue

from services.executor.core.budget.budget import BudgetShare
from services.executor.core.dossier.endings import RunEnds
from services.executor.core.model.model_calls import UnusableAnswer, ask, parse_reply, sections_message
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import Effort, ModelRequest, Tier
from shared.domain.exact_json import Json

T = TypeVar("T")
Shape = TypeVar("Shape", bound=BaseModel)
ATTEMPTS = 2


class ModelQuestion(NamedTuple):
    """What is asked; ``sections`` become the user message, ``schema`` the form of the answer."""

    step: str
    tier: Tier
    system: tuple[str, ...]
    sections: dict[str, Json]
    schema: Mapping[str, JsonValue]
    max_tokens: int = 2048
    purse: BudgetShare = BudgetShare.READING
    effort: Effort | None = None

    def request(self, problem: str = "") -> ModelRequest:
        """The question as it is put; ``problem``: what is wrong with the answer before."""
        return ModelRequest(
            self.tier,
            self.system,
            (sections_message({**self.sections, "correction": problem}),),
            (),
            self.schema,
            self.max_tokens,
            self.effort,
        )


class StructuredAnswer(NamedTuple, Generic[T]):
    value: T
    model_calls: int


class Unanswered(RunEnds):
    """The model could not give a usable answer."""


async def ask_structured(ctx: TurnContext, question: ModelQuestion, shape: type[Shape]) -> StructuredAnswer[Shape]:
    """The answer as ``shape``; ends the run if it cannot be had in two attempts."""
    return await ask_checked(ctx, question, shape, lambda value: value)


async def ask_checked(
    ctx: TurnContext,
    question: ModelQuestion,
    shape: type[Shape],
    check: Callable[[Shape], T],
    giving_up: type[RunEnds] = Unanswered,
) -> StructuredAnswer[T]:
    """What ``check`` makes of the answer. It raises ``UnusableAnswer`` to have the question put once more, with why.

    After two attempts the run ends with ``giving_up``.
    """
    problem = ""
    for attempt in range(ATTEMPTS):
        request = question.request(problem)
        reply = await ask(ctx, f"{question.step}:try{attempt}:model", request, question.purse)
        try:
            return StructuredAnswer(check(parse_reply(reply, shape)), attempt + 1)
        except UnusableAnswer as error:
            problem = str(error)
        ctx.journal.tell("note", step=question.step, problem=problem)
    raise giving_up(f"{question.step.split('.')[-1]} gave no usable answer in {ATTEMPTS} attempts: {problem}")
