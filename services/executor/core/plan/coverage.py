"""Whether a plan does what the parts of the task ask: one question to the small model, which sees no tool's output.

It can only object: what rules or sources refuse it cannot let pass. It is asked where a wrong write would be bad.
"""

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pydantic import BaseModel

from services.executor.core.budget.budget import BudgetShare
from services.executor.core.dossier.dossier import Dossier, Progress
from services.executor.core.dossier.endings import Failed
from services.executor.core.dossier.parts import fold_words
from services.executor.core.dossier.values import PartOfTask
from services.executor.core.figures.identifiers import find_codes, identifier_key
from services.executor.core.model.model_calls import ModelQuestion, Unanswered, UnusableAnswer, ask_checked
from services.executor.core.prompts import schemas
from services.executor.core.records.tool_words import words_of_tool
from services.executor.core.session.context import TurnContext
from services.executor.core.tools import classes
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


_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


_WORD = re.compile(r"[^\W_]+(?:[-_.'/][^\W_]+)*")


_LEADING = frozenset("please then also and next finally afterwards now but kindly".split())


_VERBS = classes.READ | classes.COMPUTE | classes.NOTIFY | classes.DELIVER | classes.RECORD | classes.CHANGE


_MORE_VERBS = frozenset("tell ask give let bring take inform find".split())


_STATES = frozenset("is are was were has have had".split())


_FEWEST_WORDS = 3


_MOST = 3


def sentences_not_taken_up(task: str, parts: Sequence[PartOfTask], tools: Iterable[str]) -> tuple[str, ...]:
    """The sentences that no part touches: each asks or tells to do something, and names a thing that no part names.

    Few at most, and only sentences that begin with a verb or are questions: what merely tells something is no part.
    ``tools``: the names of the tools, whose verbs count, too.
    """
    verbs = _VERBS | _MORE_VERBS | {words_of_tool(name).verb for name in tools}
    quoted = [fold_words(piece) for part in parts for piece in _SENTENCE.split(part.quote) if fold_words(piece)]
    known = {key for part in parts for key in _keys(part.quote)}
    found = [
        sentence.strip()
        for sentence in _SENTENCE.split(task)
        if not _is_touched(fold_words(sentence), quoted) and _asks(sentence, verbs) and set(_keys(sentence)) - known
    ]
    return tuple(found[:_MOST])


def _is_touched(sentence: str, quoted: Sequence[str]) -> bool:
    return not sentence or any(quote in sentence or sentence in quote for quote in quoted)


def _asks(sentence: str, verbs: Collection[str]) -> bool:
    words = [word.casefold() for word in _WORD.findall(sentence)]
    if len(words) < _FEWEST_WORDS:
        return False
    first, *rest = [*_without_leading(words), ""]
    if sentence.rstrip().endswith("?") or (first in verbs and first not in classes.AMBIGUOUS):
        return True
    is_noun = _STATES.intersection(rest) or any(map(str.isdigit, rest[0] if rest else ""))
    return first in classes.AMBIGUOUS and not is_noun  # "Order O-5 ...", "The order is ..." tell something


def _without_leading(words: Sequence[str]) -> Sequence[str]:
    start = next((place for place, word in enumerate(words) if word not in _LEADING), 0)
    return words[start:]


def still_missing(sentences: Iterable[str], dossier: Dossier) -> tuple[str, ...]:
    """Those of the sentences that name something which no call named, read or write."""
    asked = [call.arguments_json for plan in dossier.every_plan for call in plan.calls]
    asked += [fact.arguments_json for fact in dossier.facts]
    named = {key for text in asked for key in _keys(text)}
    return tuple(sentence for sentence in sentences if set(_keys(sentence)) - named)


def problems_of(sentences: Iterable[str]) -> list[Json]:
    return [f"no part takes up: {sentence!r}" for sentence in sentences]


def _keys(text: str) -> Iterator[tuple[str, ...]]:
    return (identifier_key(code.text) for code in find_codes(text))
