"""A small model's advice on a read whose tool is gone: one of the tools it is shown, or none; it is checked."""

from collections.abc import Sequence

from services.executor.core.model.model_calls import UnusableAnswer
from services.executor.core.model.structured import Question, Unanswered, checked
from services.executor.core.prompts import schemas
from services.executor.core.session.context import TurnContext
from services.executor.core.tools.recover import Instead, proposed
from services.executor.ports.models import Tier
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.domain.exact_json import Json, JsonObject, loads_object

MOST_OFFERED = 30


class Advice(Contract):
    tool: str | None
    arguments_json: str
    why: str


async def advised(
    ctx: TurnContext, key: str, gone: Tool, arguments: JsonObject, offered: Sequence[Tool]
) -> Instead | None:
    """The call that the model proposes, if it may stand in; None where it knows none, or says nothing that counts."""
    shown = {tool.name: tool for tool in offered[:MOST_OFFERED]}
    question = Question(
        step=f"{key}:advice",
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.stand_in),
        sections={
            "task": ctx.task,
            "read_tools": [_listed(tool) for tool in shown.values()],
            "missing": {"tool": gone.name, "arguments": arguments},
        },
        schema=schemas.STAND_IN,
        max_tokens=512,
    )

    def call(advice: Advice) -> Instead | None:
        return _call(advice, gone, arguments, shown.get(advice.tool or ""))

    try:
        return (await checked(ctx, question, Advice, call)).value
    except Unanswered as none:
        ctx.journal.tell("note", tool=gone.name, problem=none.reason)
        return None


def _call(advice: Advice, gone: Tool, arguments: JsonObject, tool: Tool | None) -> Instead | None:
    if advice.tool is None:
        return None
    try:
        instead = proposed(gone, arguments, tool, loads_object(advice.arguments_json))
    except ValueError as error:
        raise UnusableAnswer(f"arguments_json is no JSON object: {error}") from error
    if instead is None:
        raise UnusableAnswer(
            "it names no tool of <read_tools>, or arguments that do not fit or are not those of <missing>"
        )
    return instead


def _listed(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
