"""Whether a plan does what the parts of the task ask: one question to the small model, which sees no tool's output.

It can only object: what rules or sources refuse it cannot let pass. It is asked where a wrong write would be bad.
"""

from collections.abc import Container, Mapping
from functools import partial
from typing import NamedTuple

from pydantic import BaseModel

from services.executor.core.budget.budget import BudgetShare
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Failed
from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_checked
from services.executor.core.prompts import schemas
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import Tier
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json

_RISKS = ("medium", "high")


class Objection(BaseModel):
    part: int
    why: str


class Coverage(BaseModel):
    agrees: bool
    problems: tuple[Objection, ...] = ()


class Objections(NamedTuple):
    """``by_call``: by the id of the call, what does not agree with its part. ``model_calls``: what it took to ask."""

    by_call: Mapping[str, str] = {}
    model_calls: int = 0


async def objections_to(ctx: TurnContext, progress: Progress, plan: WritePlan, key: str) -> Objections:
    """None where nothing is objected to, or nobody was asked.

    Raises ``Failed`` where the model that would be asked is not to be had: a risky plan is not made unchecked.
    """
    if not ctx.limits.audits_values or progress.template.risk not in _RISKS:
        return Objections()
    try:
        known = frozenset(part.number for part in progress.dossier.parts)
        question = _question(ctx, progress, plan, key)
        answer = await ask_checked(ctx, question, Coverage, partial(_consistent, known))
    except Unanswered as unusable:
        reason = f"whether the plan does what the task asks was not judged, so nothing was written: {unusable.reason}"
        raise Failed(reason, "model") from unusable
    wrong = {one.part: one.why for one in answer.value.problems}
    if wrong:
        ctx.journal.tell("note", coverage=[f"{part}: {why}" for part, why in wrong.items()])
    by_call = {
        call.call_id: f"it does not do what part {call.part} asks: {wrong[call.part]}"
        for call in plan.calls
        if call.part in wrong
    }
    return Objections(by_call, answer.model_calls)


def _consistent(parts: Container[int], said: Coverage) -> Coverage:
    """Who agrees names no problem, and who does not says with which part: anything else is no judgement."""
    if said.agrees is bool(said.problems):
        raise UnusableAnswer("problems: name one for each part that the calls do not carry out, and none if you agree")
    if strange := [one.part for one in said.problems if one.part not in parts]:
        raise UnusableAnswer(f"problems: there is no part {strange[0]}")
    return said


def _question(ctx: TurnContext, progress: Progress, plan: WritePlan, key: str) -> ModelQuestion:
    parts: list[Json] = [part.as_json() for part in progress.dossier.parts]
    calls: list[Json] = [{"part": call.part, "tool": call.tool, "arguments": call.arguments} for call in plan.calls]
    values: list[Json] = [
        {"name": value.name, "operation": value.operation, "value": value.value} for value in progress.dossier.values
    ]
    return ModelQuestion(
        step=key,
        tier=Tier.HAIKU,
        system=(ctx.prompts.coverage,),
        sections={"task": ctx.task, "now": ctx.sections.get("now"), "parts": parts, "values": values, "calls": calls},
        schema=schemas.COVERAGE,
        max_tokens=512,
        purse=BudgetShare.WHOLE,
    )
