"""What models are asked while a tool is made, and when they are believed.

No call sees another's reply: a function is believed when the cases of another call come out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Literal, TypeVar

from pydantic import BaseModel, JsonValue

from services.executor.core.budget.budget import BudgetSpent
from services.executor.core.dossier.endings import Failed
from services.executor.core.made_tools.code import BadCode, BadSpec, Spec, admit_code, check_spec
from services.executor.core.model.model_calls import BoundedModel, UnusableAnswer, ask, parse_reply, user
from services.executor.core.prompts import schemas
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import ModelRequest, Tier
from shared.contracts.made_tool import MadeCase
from shared.domain.exact_json import Json
from shared.domain.marks import marked_values

FEWEST, MOST = 3, 8
_FEWEST_PLACES, _FEWEST_DIGITS, _MOST_DIGITS = 2, 4, 24


class BadCases(ValueError):
    """They prove nothing; the message says why."""


def checked_cases(cases: Sequence[MadeCase], spec: Spec) -> tuple[MadeCase, ...]:
    """The cases if they can prove something: enough, all different, of figures that the function takes."""
    if not FEWEST <= len(cases) <= MOST:
        raise BadCases(f"{FEWEST} to {MOST} cases are needed, and there are {len(cases)}")
    fixed, repeats = len(spec.arguments), spec.arguments[-1].endswith("...")
    for case in cases:
        if len(case.inputs) < fixed or (len(case.inputs) > fixed and not repeats):
            raise BadCases(f"a case has {len(case.inputs)} figures, and {spec.name} takes {', '.join(spec.arguments)}")
        for text in (*case.inputs, case.expected):
            decimal(text)
    if len({tuple(map(decimal, case.inputs)) for case in cases}) < len(cases):
        raise BadCases("a case stands there twice")
    if len({decimal(case.expected) for case in cases}) < 2:
        raise BadCases("all cases come to the same, which any constant would")
    return tuple(cases)


def agrees(result: Decimal, expected: Decimal) -> bool:
    """Whether they are equal, or equal half up at the last place that the case states.

    Such a case states two places and four digits at least, so what may differ is at most a thousandth part: how much
    is ours to say, and not the model's.
    """
    if result == expected:
        return True
    _, digits, exponent = expected.as_tuple()
    if not isinstance(exponent, int) or -exponent < _FEWEST_PLACES or len(digits) < _FEWEST_DIGITS:
        return False
    with localcontext() as context:
        context.prec = 60
        return result.quantize(expected, rounding=ROUND_HALF_UP) == expected


def decimal(text: str) -> Decimal:
    """A plain decimal of at most 24 digits; raises ``BadCases``."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise BadCases(f"{text[:40]!r} is no decimal") from None
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or len(digits) > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
        raise BadCases(f"{text[:40]!r} is too long for a figure")
    return number


_GAP_SECONDS, _MAKE_SECONDS = 8.0, 10.0
_MOST_GAPS = 2
Shape = TypeVar("Shape", bound=BaseModel)


class NotMade(Exception):
    """No tool comes of it; the message says why."""


class _Gap(BaseModel):
    name: str
    purpose: str
    arguments: tuple[str, ...]
    result: Literal["money", "ratio"]


class _Gaps(BaseModel):
    gaps: tuple[_Gap, ...]


class _Function(BaseModel):
    code: str
    cannot: str = ""


class _MadeCase(BaseModel):
    inputs: tuple[str, ...]
    expected: str


class _Cases(BaseModel):
    cases: tuple[_MadeCase, ...]
    cannot: str = ""


async def asked_gaps(ctx: TurnContext, key: str, calculators: str, kept: list[Json]) -> tuple[Spec, ...]:
    """What a model says is missing, two at most; raises ``NotMade``."""
    sections: dict[str, Json] = {"task": ctx.task, "calculators": calculators, "made_tools": kept}
    request = _request(ctx, Tier.HAIKU, ctx.prompts.tool_gap, sections, schemas.TOOL_GAP, 600)
    found = await _ask_model(ctx, key, request, _GAP_SECONDS, _Gaps)
    try:
        return tuple(_general(gap, ctx.task) for gap in found.gaps[:_MOST_GAPS])
    except BadSpec as error:
        raise NotMade(str(error)) from error


async def asked_function(ctx: TurnContext, key: str, spec: Spec) -> str:
    """The code of a function, as it may be run; raises ``NotMade``."""
    sections: dict[str, Json] = {"tool_spec": spec.as_json()}
    request = _request(ctx, Tier.SONNET, ctx.prompts.make_tool, sections, schemas.MADE_FUNCTION, 1_200)
    found = await _ask_model(ctx, key, request, _MAKE_SECONDS, _Function)
    if found.cannot or not found.code.strip():
        raise NotMade(f"no function was written: {found.cannot[:200] or 'the answer is empty'}")
    try:
        return admit_code(found.code, spec)
    except BadCode as error:
        raise NotMade(f"the function is not one that may be run: {error}") from error


async def asked_cases(ctx: TurnContext, key: str, spec: Spec) -> tuple[MadeCase, ...]:
    """The cases that the function has to meet, by a model that has not seen it; raises ``NotMade``."""
    sections: dict[str, Json] = {"tool_spec": spec.as_json()}
    request = _request(ctx, Tier.HAIKU, ctx.prompts.tool_cases, sections, schemas.MADE_CASES, 1_200)
    found = await _ask_model(ctx, key, request, _MAKE_SECONDS, _Cases)
    if found.cannot:
        raise NotMade(f"no cases were given to judge it by: {found.cannot[:200]}")
    try:
        return checked_cases([MadeCase(inputs=case.inputs, expected=case.expected) for case in found.cases], spec)
    except BadCases as error:
        raise NotMade(f"the cases cannot be used: {error}") from error


def _general(gap: _Gap, task: str) -> Spec:
    """The gap as it may be told to later tasks: nothing of this one stands in it."""
    purpose = " ".join(gap.purpose.split())
    names = " ".join((gap.name, *gap.arguments))
    if marked_values(purpose) or _own(task) & _own(f"{purpose} {names}"):
        raise BadSpec(f"the purpose of {gap.name[:40]} speaks of the one task that it was found in")
    return check_spec(Spec(gap.name, purpose, gap.arguments, gap.result, by_words=False))


def _own(text: str) -> frozenset[str]:
    """Words of three or more characters with a digit: identifiers, amounts, dates."""
    words = (word.strip(".,:;()'\"").lower() for word in text.split())
    return frozenset(word for word in words if len(word) > 2 and any(mark.isdigit() for mark in word))


def _request(
    ctx: TurnContext, tier: Tier, prompt: str, sections: dict[str, Json], schema: Mapping[str, JsonValue], most: int
) -> ModelRequest:
    system, messages = (ctx.prompts.role, prompt), (user(render(sections)),)
    return ModelRequest(tier=tier, system=system, messages=messages, schema=schema, max_tokens=most)


async def _ask_model(ctx: TurnContext, key: str, request: ModelRequest, seconds: float, shape: type[Shape]) -> Shape:
    """The answer; ``NotMade`` if the model is late, down, not affordable or unusable: the run goes on without it."""
    patient = replace(ctx, ports=ctx.ports._replace(model=BoundedModel(ctx.ports.model, seconds)))
    try:
        return parse_reply(await ask(patient, key, request), shape)
    except UnusableAnswer as error:
        raise NotMade(f"the model's answer cannot be used: {error}") from error
    except Failed as error:
        if error.part != "model":
            raise
        ctx.journal.goes_on()
        raise NotMade(error.reason) from error
    except BudgetSpent as error:
        ctx.journal.goes_on()
        raise NotMade(error.reason) from error
