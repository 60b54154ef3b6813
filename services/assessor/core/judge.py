"""Judging: a criterion by its code where there is some, else by a model; what nobody can judge says so."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from statistics import median
from typing import NamedTuple

from services.assessor.core.asking import AnswerForm, ask_form
from services.assessor.core.chat_model import ChatModel
from services.assessor.core.evaluation import EvalContext, EvalResult, Evaluator, Evaluators
from services.assessor.core.evidence import JudgedEvidence, gather_evidence
from services.assessor.core.prompts.texts import JUDGE
from services.assessor.core.scenario import Criterion
from services.assessor.ports.participants import Emitter
from shared.contracts.assessment.messages import CriterionEvaluated, JsonObject
from shared.contracts.assessment.results import CriterionResult, DimensionScore, OverallScore, Scores
from shared.domain.exact_json import JsonObject as Exact
from shared.ports.models import Model, ModelUnavailable, Tier

_AT_ONCE = 4
NO_MODEL = "No model is there that could judge this."
_SAYS_NO_MODEL = re.compile(
    r"\b(no|not|without|missing|unavailable|none|nonetype)\b.{0,60}\b(llm|language model|ainvoke)\b"
    r"|\b(llm|(language|judge|judging|evaluation) model)\b.{0,60}\b(no|not|isn't|wasn't|missing|unavailable|none)\b"
    r"|\b(no|without( a)?) model\b",
    re.IGNORECASE | re.DOTALL,
)


class JudgingLimits(NamedTuple):
    """Seconds: for one criterion with all that is asked again, and for all of them together."""

    criterion: float = 120.0
    whole: float = 600.0


class Judgement(AnswerForm):
    score: float
    explanation: str
    strengths: list[str]
    weaknesses: list[str]
    unjudged: bool


class JudgedTotals(NamedTuple):
    """The points over all judged criteria, and the names of the criteria that nobody could judge."""

    judged: OverallScore
    unjudged: tuple[str, ...]


class CriteriaJudge:
    """Judges the criteria of a run. ``votes``: how often a model judges the same criterion; the median counts.

    A criterion whose judge fails, has no model, or gives no answer in time is unjudged, with the reason.
    """

    def __init__(
        self,
        llm: Model | None,
        criteria: Sequence[Criterion],
        evaluators: Evaluators,
        emitter: Emitter,
        votes: int = 1,
        patience: JudgingLimits = JudgingLimits(),  # noqa: B008  it cannot be changed
    ) -> None:
        self._model = llm
        self._criteria = criteria
        self._evaluators = evaluators
        self._emitter = emitter
        self._votes = max(1, votes)
        self._patience = patience
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def evaluate_all(self, context: EvalContext) -> list[CriterionResult]:
        """Judges all criteria, in their order, within the time limit for the whole."""
        evidence = gather_evidence(context)
        until = asyncio.get_running_loop().time() + self._patience.whole
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._evaluate_in_time(criterion, context, evidence, until))
                for criterion in self._criteria
            ]
        results = [task.result() for task in tasks]
        for criterion, result in zip(self._criteria, results, strict=True):
            await self._emitter.emit(self._as_update(criterion, result))
        return results

    def aggregate_scores(self, results: Sequence[CriterionResult]) -> Scores:
        return compute_scores(results)

    async def _evaluate_in_time(
        self, criterion: Criterion, context: EvalContext, evidence: JudgedEvidence, until: float
    ) -> CriterionResult:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(until), self._limit, asyncio.timeout(self._patience.criterion):
                return await self._evaluate(criterion, context, evidence)
        except TimeoutError:
            reason = f"the whole judging took longer than {self._patience.whole:g} seconds"
            own = f"no answer came within {self._patience.criterion:g} seconds"
            return mark_unjudged(
                criterion, f"It was not judged: {reason if loop.time() >= until else own}.", "TimeoutError"
            )

    async def _evaluate(self, criterion: Criterion, context: EvalContext, evidence: JudgedEvidence) -> CriterionResult:
        evaluator = self._evaluators.get(criterion.evaluator_id or "")
        if evaluator is not None:
            return await _judge_by_code(criterion, evaluator, context)
        if not criterion.evaluation_prompt:
            reason = f"It could not be judged: there is no evaluator {criterion.evaluator_id}"
            return mark_unjudged(criterion, reason, "MissingEvaluator")
        return await self._judge_by_model(criterion, evidence)

    async def _judge_by_model(self, criterion: Criterion, evidence: JudgedEvidence) -> CriterionResult:
        if self._model is None:
            return mark_unjudged(criterion, NO_MODEL)
        sections: Exact = {"criterion": _criterion_as_json(criterion), **evidence.sections}
        try:
            votes = [await ask_form(self._model, Tier.LARGE, JUDGE, sections, Judgement) for _ in range(self._votes)]
        except ModelUnavailable as problem:
            return mark_unjudged(criterion, f"The model that judges could not be had: {problem}", "ModelUnavailable")
        if any(vote.unjudged or not isfinite(vote.score) for vote in votes):
            return mark_unjudged(criterion, votes[0].explanation)
        return judge_by_votes(criterion, votes, evidence)

    def _as_update(self, criterion: Criterion, result: CriterionResult) -> CriterionEvaluated:
        by_code = criterion.evaluator_id in self._evaluators
        return CriterionEvaluated(
            criterion_id=result.criterion_id,
            criterion_name=result.name,
            dimension=result.dimension,
            score=result.score,
            max_score=result.max_score,
            evaluation_method="programmatic" if by_code else "llm",
        )


async def earns_full_marks(evaluator: Evaluator, context: EvalContext, seconds: float) -> bool:
    """Whether the evaluator gives all its points now; False if it fails. Raises ``TimeoutError``."""
    async with asyncio.timeout(seconds):
        probe = await _run_evaluator(evaluator, context, {})
    return isinstance(probe, EvalResult) and probe.score >= probe.max_score


def compute_scores(results: Sequence[CriterionResult]) -> Scores:
    dimensions: dict[str, DimensionScore] = {}
    for result in results:
        before = dimensions.get(result.dimension, DimensionScore(score=0, max_score=0))
        dimensions[result.dimension.value] = DimensionScore(
            score=before.score + result.score, max_score=before.max_score + result.max_score
        )
    overall = OverallScore(
        score=sum(part.score for part in dimensions.values()),
        max_score=sum(part.max_score for part in dimensions.values()),
    )
    return Scores(overall=overall, dimensions=dimensions)


def sum_judged(results: Sequence[CriterionResult]) -> JudgedTotals:
    counted = [result for result in results if not result.unjudged]
    overall = compute_scores(counted).overall
    return JudgedTotals(overall, tuple(result.criterion_id for result in results if result.unjudged))


def rescale(score: float, of: float, worth: int) -> float:
    """The score as points of ``worth`` instead of ``of``, kept within 0 and ``worth``; 0 for NaN."""
    if not (isfinite(score) and isfinite(of) and of > 0):
        return 0.0
    return round(min(max(score / of, 0.0), 1.0) * worth, 6)


def judge_by_votes(criterion: Criterion, votes: Sequence[Judgement], evidence: JudgedEvidence) -> CriterionResult:
    score = median(vote.score for vote in votes)
    nearest = min(votes, key=lambda vote: abs(vote.score - score))
    details: JsonObject = {"strengths": [*nearest.strengths], "weaknesses": [*nearest.weaknesses]}
    if len(votes) > 1:
        details["votes"] = [vote.score for vote in votes]
    if evidence.shortened:
        details["actions_shortened"] = evidence.shortened
    if evidence.suspicious:
        details["attempted_influence"] = [*evidence.suspicious]
    return _build_result(
        criterion, rescale(score, criterion.max_score, criterion.max_score), nearest.explanation, details
    )


def mark_unjudged(criterion: Criterion, reason: str, error: str | None = None) -> CriterionResult:
    details: JsonObject = {"unjudged": True}
    if error:
        details |= {"error": reason, "error_type": error}
    return _build_result(criterion, 0.0, reason, details)


async def _judge_by_code(criterion: Criterion, evaluator: Evaluator, context: EvalContext) -> CriterionResult:
    model = ChatModel(context.llm) if context.llm else None
    result = await _run_evaluator(evaluator, replace(context, llm=model), criterion.params or {})
    if reason := _why_unjudged(result, model):
        return mark_unjudged(criterion, reason, type(result).__name__ if isinstance(result, Exception) else None)
    if isinstance(result, Exception):
        kind = type(result).__name__
        return mark_unjudged(criterion, f"It could not be judged: its code failed with {kind}: {result}"[:2000], kind)
    score = rescale(result.score, result.max_score, criterion.max_score)
    return _build_result(criterion, score, result.explanation, result.details)


async def _run_evaluator(evaluator: Evaluator, context: EvalContext, params: JsonObject) -> EvalResult | Exception:
    try:
        return EvalResult.model_validate(await evaluator(context, params), from_attributes=True)
    except Exception as error:  # noqa: BLE001  a scenario's own code: its error costs its criterion, not the run
        return error


def _why_unjudged(result: EvalResult | Exception, model: ChatModel | None) -> str | None:
    """Why an evaluator's result does not count as a verdict: it had no model, or got no answer from it.

    None if it counts.

    Points above 0 always count; so do 0 points that the evaluator gave for another reason.
    """
    if isinstance(result, EvalResult):
        if result.details and result.details.get("unjudged") is True:
            return result.explanation or NO_MODEL
        if result.score > 0:
            return None
    message = str(result) if isinstance(result, Exception) else f"{result.explanation} {result.details or ''}"
    if model is None:
        return f"{NO_MODEL} {message}"[:2000] if _SAYS_NO_MODEL.search(message) else None
    return f"The model that judges could not be had: {model.problem}" if model.problem else None


def _criterion_as_json(criterion: Criterion) -> Exact:
    return {
        "name": criterion.name,
        "description": criterion.description,
        "dimension": criterion.dimension.value,
        "how": criterion.evaluation_prompt,
        "max_score": criterion.max_score,
    }


def _build_result(criterion: Criterion, score: float, explanation: str, details: JsonObject | None) -> CriterionResult:
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=score,
        max_score=criterion.max_score,
        explanation=explanation,
        details=details,
    )
