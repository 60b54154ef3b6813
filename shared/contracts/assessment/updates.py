"""What an assessor tells its client on the way."""

from typing import Literal, TypeAlias

from shared.contracts.assessment.base import JsonObject, Moment, Told
from shared.contracts.assessment.messages import CompletionReason

ErrorType = Literal[
    "timeout", "communication_error", "protocol_error", "ues_error", "evaluation_error", "internal_error"
]


class AssessmentQueued(Told):
    """It waits until others end; ``position`` 1 is the next that begins. Told when it changes."""

    message_type: Literal["update_assessment_queued"] = "update_assessment_queued"
    position: int
    running: int


class AssessmentStarted(Told):
    message_type: Literal["update_assessment_started"] = "update_assessment_started"
    assessment_id: str
    scenario_id: str
    participant_url: str
    start_time: Moment


class ScenarioLoaded(Told):
    message_type: Literal["update_scenario_loaded"] = "update_scenario_loaded"
    scenario_id: str
    scenario_name: str
    criteria_count: int
    character_count: int
    user_prompt: str | None = None  # what the user asks for


class TurnStarted(Told):
    message_type: Literal["update_turn_started"] = "update_turn_started"
    turn_number: int
    current_time: Moment
    events_pending: int = 0


class ActionObserved(Told):
    message_type: Literal["update_action_observed"] = "update_action_observed"
    turn_number: int
    timestamp: Moment
    action: str
    parameters: JsonObject = {}
    success: bool = True
    error_message: str | None = None
    notes: str | None = None


class ResponsesGenerated(Told):
    message_type: Literal["update_responses_generated"] = "update_responses_generated"
    turn_number: int
    responses_count: int
    characters_involved: tuple[str, ...] = ()


class SimulationAdvanced(Told):
    message_type: Literal["update_simulation_advanced"] = "update_simulation_advanced"
    previous_time: Moment
    new_time: Moment
    duration: str
    events_processed: int


class TurnCompleted(Told):
    message_type: Literal["update_turn_completed"] = "update_turn_completed"
    turn_number: int
    actions_taken: int
    time_advanced: str
    early_completion_requested: bool = False
    notes: str | None = None  # what the participant said of its turn


class EvaluationStarted(Told):
    message_type: Literal["update_evaluation_started"] = "update_evaluation_started"
    criteria_count: int
    dimensions: tuple[str, ...] = ()


class CriterionEvaluated(Told):
    message_type: Literal["update_criterion_evaluated"] = "update_criterion_evaluated"
    criterion_id: str
    criterion_name: str
    dimension: str
    score: float
    max_score: float
    evaluation_method: Literal["programmatic", "llm"]


class AssessmentCompleted(Told):
    message_type: Literal["update_assessment_completed"] = "update_assessment_completed"
    reason: CompletionReason
    total_turns: int
    total_actions: int
    duration_seconds: float
    overall_score: float
    max_score: float


class ErrorOccurred(Told):
    message_type: Literal["update_error_occurred"] = "update_error_occurred"
    error_type: ErrorType
    error_message: str
    recoverable: bool
    context: JsonObject | None = None


Update: TypeAlias = (
    AssessmentQueued
    | AssessmentStarted
    | ScenarioLoaded
    | TurnStarted
    | ActionObserved
    | ResponsesGenerated
    | SimulationAdvanced
    | TurnCompleted
    | EvaluationStarted
    | CriterionEvaluated
    | AssessmentCompleted
    | ErrorOccurred
)
