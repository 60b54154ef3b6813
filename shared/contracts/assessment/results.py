"""The results of an assessment."""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from statistics import fmean
from typing import Literal

from pydantic import Field

from shared.contracts.assessment.messages import MOST_TURNS, AssessmentMessage, JsonObject, Moment
from shared.contracts.base import Contract, FrozenModel
from shared.domain.estimates import ConfidenceInterval, compute_chance_interval, compute_mean_interval, compute_pass_hat


class WorldChange(AssessmentMessage):
    """A change of one row of the world. ``by``: the participant during its turn, or others while time advanced.

    ``before`` and ``after`` have only the fields that differ; long values are cut.
    """

    message_type: Literal["world_change"] = "world_change"
    by: Literal["participant", "others"]
    kind: Literal["added", "removed", "changed"]
    modality: str
    table: str
    key: str
    title: str = ""
    before: JsonObject = {}
    after: JsonObject = {}


class WorldAfterTurn(AssessmentMessage):
    """The state of the world after a turn; turn 0 is the state before the first.

    ``counts``: by modality, the simulator's counts. ``left_out``: how many changes are not listed.
    """

    message_type: Literal["world_look"] = "world_look"
    turn: int = Field(ge=0, le=MOST_TURNS)
    time: Moment
    counts: dict[str, dict[str, int]] = {}
    changes: tuple[WorldChange, ...] = ()
    left_out: int = Field(default=0, ge=0)


class Dimension(StrEnum):
    ACCURACY = "accuracy"
    INSTRUCTION_FOLLOWING = "instruction_following"
    EFFICIENCY = "efficiency"
    SAFETY = "safety"
    POLITENESS = "politeness"


class ActionLogEntry(AssessmentMessage):
    """One request of the participant. ``kind``: an action, a read, or a request that was refused.

    ``action``: ``<modality>.<operation>``; ``parameters``: its full content.
    """

    message_type: Literal["action_log_entry"] = "action_log_entry"
    turn: int = Field(ge=1, le=MOST_TURNS)
    timestamp: Moment
    action: str
    parameters: JsonObject = {}
    success: bool = True
    error_message: str | None = None
    kind: Literal["action", "read", "refused"] = "action"


class OverallScore(AssessmentMessage):
    message_type: Literal["overall_score"] = "overall_score"
    score: float = Field(ge=0)
    max_score: float = Field(ge=0)


class DimensionScore(AssessmentMessage):
    message_type: Literal["dimension_score"] = "dimension_score"
    score: float = Field(ge=0)
    max_score: float = Field(ge=0)


class Scores(AssessmentMessage):
    """Scores by dimension, of those that occur; ``overall`` is their sum."""

    message_type: Literal["scores"] = "scores"
    overall: OverallScore
    dimensions: dict[str, DimensionScore] = {}


class CriterionResult(AssessmentMessage):
    """The points of one criterion. ``details.unjudged``: no judge was available, so it has 0 points."""

    message_type: Literal["criterion_result"] = "criterion_result"
    criterion_id: str
    name: str
    dimension: Dimension
    score: float = Field(ge=0)
    max_score: float = Field(ge=0.01)
    explanation: str
    details: JsonObject | None = None

    @property
    def unjudged(self) -> bool:
        return bool((self.details or {}).get("unjudged"))


class ModelCosts(AssessmentMessage):
    """The cost of the assessor's own model calls (characters, summaries, judging), in nano-dollars."""

    message_type: Literal["model_costs"] = "model_costs"
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nano_dollars: int = 0
    models: tuple[str, ...] = ()


class AssessmentResults(AssessmentMessage):
    """The results of one run. ``judged``: the totals without the criteria in ``unjudged``, which no judge could rate.

    ``world``: its state before the first turn and after each; empty in results of other assessors.
    """

    message_type: Literal["assessment_results"] = "assessment_results"
    assessment_id: str
    scenario_id: str
    participant: str
    status: Literal["completed", "failed", "timeout"]
    duration_seconds: float = Field(ge=0)
    turns_taken: int = Field(ge=0, le=MOST_TURNS)
    actions_taken: int = Field(ge=0)
    scores: Scores
    criteria_results: tuple[CriterionResult, ...] = ()
    action_log: tuple[ActionLogEntry, ...] = ()
    judged: OverallScore | None = None
    unjudged: tuple[str, ...] = ()
    seed: int = 0
    failed_turns: tuple[JsonObject, ...] = ()
    costs: ModelCosts = ModelCosts()
    world: tuple[WorldAfterTurn, ...] = ()


PASSING_SHARE = 0.95  # of the points that somebody could judge


class Run(FrozenModel):
    """One run of an assessment. ``updates``: the assessor's progress messages, in order."""

    results: AssessmentResults
    updates: tuple[JsonObject, ...] = ()

    @property
    def points(self) -> OverallScore:
        """The run's points without criteria that no judge could rate."""
        return self.results.judged or self.results.scores.overall

    @property
    def passed(self) -> bool:
        """Whether the run was completed with at least ``PASSING_SHARE`` of its points."""
        has_enough = self.points.score >= PASSING_SHARE * self.points.max_score
        return self.results.status == "completed" and self.points.max_score > 0 and has_enough


class Assessment(FrozenModel):
    """The runs of one command, all with the same agent and scenario. ``name`` is unique where it is stored."""

    version: int = 1
    name: str = Field(min_length=1, max_length=200)
    scenario: str = Field(max_length=200)
    agent: str = Field(max_length=2000)
    began: Moment
    runs: tuple[Run, ...] = Field(min_length=1)

    @property
    def passed_runs(self) -> int:
        """How many of the runs passed."""
        return sum(run.passed for run in self.runs)

    @property
    def pass_interval(self) -> ConfidenceInterval:
        """The 95 % confidence interval of the chance that a run passes."""
        return compute_chance_interval(self.passed_runs, len(self.runs))

    @property
    def points_interval(self) -> ConfidenceInterval | None:
        """The 95 % confidence interval of the mean share of points; ``None`` after a single run."""
        shares = [run.points.score / run.points.max_score if run.points.max_score else 0.0 for run in self.runs]
        interval = compute_mean_interval(shares)
        return None if interval is None else ConfidenceInterval(max(0.0, interval.low), min(1.0, interval.high))

    @property
    def pass_hat(self) -> dict[int, float]:
        """For each k: the probability that k of these runs all pass."""
        return compute_pass_hat(self.passed_runs, len(self.runs))


AGENT_KEY_HEADER = "X-Agent-Key"


_CREDENTIAL_PATTERN = re.compile(r"[A-Za-z0-9._~+/-]{8,8192}={0,4}")  # as bearer tokens are written: RFC 6750, 2.1


def parse_agent_key(text: str) -> str:
    """The agent's bearer token without outer spaces; ``ValueError``, which does not repeat it, for other text."""
    key = text.strip()
    if not _CREDENTIAL_PATTERN.fullmatch(key):
        raise ValueError("the agent's key is no bearer token: 8 or more of A-Z a-z 0-9 - . _ ~ + / and = at its end")
    return key


class AssessmentSummary(Contract):
    """The summary of a stored assessment. Scores are means over its runs; ``judged``: without unjudged criteria.

    ``passed``: how many of its ``runs`` passed; ``kept_at``: when it was stored, on the store's clock; ``owner``: the
    id of who stored it.
    """

    assessment_id: str
    owner: str
    kept_at: datetime | None = None
    name: str
    scenario: str
    agent: str
    began: Moment
    runs: int
    passed: int
    score: OverallScore
    judged: OverallScore
    unjudged: int = 0
    dimensions: dict[str, OverallScore] = {}


def build_assessment_summary(assessment_id: str, owner: str, assessment: Assessment) -> AssessmentSummary:
    """The summary of an assessment that ``owner`` stores under this id, without the time at which it is stored."""
    results = [run.results for run in assessment.runs]
    dimensions: dict[str, list[DimensionScore]] = {}
    for result in results:
        for name, score in result.scores.dimensions.items():
            dimensions.setdefault(name, []).append(score)
    return AssessmentSummary(
        assessment_id=assessment_id,
        owner=owner,
        name=assessment.name,
        scenario=assessment.scenario,
        agent=assessment.agent,
        began=assessment.began,
        runs=len(assessment.runs),
        passed=assessment.passed_runs,
        score=_mean_score([result.scores.overall for result in results]),
        judged=_mean_score([run.points for run in assessment.runs]),
        unjudged=max(len(result.unjudged) for result in results),
        dimensions={name: _mean_score(scores) for name, scores in dimensions.items()},
    )


def _mean_score(scores: Sequence[OverallScore | DimensionScore]) -> OverallScore:
    return OverallScore(
        score=fmean(score.score for score in scores), max_score=fmean(score.max_score for score in scores)
    )
