"""What comes of an assessment."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from shared.contracts.assessment.base import MOST_TURNS, JsonObject, Moment, Told
from shared.contracts.assessment.world import WorldLook


class Dimension(StrEnum):
    ACCURACY = "accuracy"
    INSTRUCTION_FOLLOWING = "instruction_following"
    EFFICIENCY = "efficiency"
    SAFETY = "safety"
    POLITENESS = "politeness"


class ActionLogEntry(Told):
    """One thing that the participant did. ``kind``: an action, a read, or a request that was refused.

    ``action``: ``<modality>.<operation>``; ``parameters``: what was said with it, whole.
    """

    message_type: Literal["action_log_entry"] = "action_log_entry"
    turn: int = Field(ge=1, le=MOST_TURNS)
    timestamp: Moment
    action: str
    parameters: JsonObject = {}
    success: bool = True
    error_message: str | None = None
    kind: Literal["action", "read", "refused"] = "action"


class OverallScore(Told):
    message_type: Literal["overall_score"] = "overall_score"
    score: float = Field(ge=0)
    max_score: float = Field(ge=0)


class DimensionScore(Told):
    message_type: Literal["dimension_score"] = "dimension_score"
    score: float = Field(ge=0)
    max_score: float = Field(ge=0)


class Scores(Told):
    """``overall`` is the sum of the dimensions; only those that occur are there."""

    message_type: Literal["scores"] = "scores"
    overall: OverallScore
    dimensions: dict[str, DimensionScore] = {}


class CriterionResult(Told):
    """``details.unjudged``: nobody was there who could judge it; it counts 0."""

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


class ModelCosts(Told):
    """What the assessor's own model calls took: characters, summaries, judging. Money in nano-dollars."""

    message_type: Literal["model_costs"] = "model_costs"
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nano_dollars: int = 0
    models: tuple[str, ...] = ()


class AssessmentResults(Told):
    """``judged``: the totals without the criteria that nobody could judge, which ``unjudged`` names.

    ``world``: how the world stood before the first turn and after each; results of other assessors have none.
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
    world: tuple[WorldLook, ...] = ()
