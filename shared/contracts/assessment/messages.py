"""The messages between an assessor and a participant."""

from datetime import datetime, timedelta
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, field_validator

from shared.contracts.base import FrozenModel
from shared.domain.instants import parse_duration, to_utc

JsonObject: TypeAlias = dict[str, JsonValue]
MOST_TURNS = 10_000  # of one assessment
Moment = Annotated[datetime, AfterValidator(to_utc)]


class AssessmentMessage(FrozenModel):
    """The base class of the messages between an assessor and a participant: immutable, and sent as JSON."""

    def to_json(self) -> JsonObject:
        """The message as the JSON that is sent."""
        message_json: JsonObject = self.model_dump(mode="json")
        return message_json


DEFAULT_ASSESSMENT_INSTRUCTIONS = (
    "Act as the user's personal assistant. The user's specific tasks are provided via the chat modality; "
    "read chat and complete those tasks."
)
TASK_CONVERSATION = "user-assistant"  # where in the chat the user says what to do
DEFAULT_STEP = "PT1H"


class EmailSummary(AssessmentMessage):
    message_type: Literal["email_summary"] = "email_summary"
    total_emails: int = 0
    total_threads: int = 0
    unread: int = 0
    draft_count: int = 0


class CalendarSummary(AssessmentMessage):
    message_type: Literal["calendar_summary"] = "calendar_summary"
    event_count: int = 0
    calendar_count: int = 0
    events_today: int = 0


class SmsSummary(AssessmentMessage):
    message_type: Literal["sms_summary"] = "sms_summary"
    total_messages: int = 0
    total_conversations: int = 0
    unread: int = 0


class ChatSummary(AssessmentMessage):
    message_type: Literal["chat_summary"] = "chat_summary"
    total_messages: int = 0
    conversation_count: int = 0


class InitialStateSummary(AssessmentMessage):
    message_type: Literal["initial_state_summary"] = "initial_state_summary"
    email: EmailSummary = EmailSummary()
    calendar: CalendarSummary = CalendarSummary()
    sms: SmsSummary = SmsSummary()
    chat: ChatSummary = ChatSummary()


class AssessmentStart(AssessmentMessage):
    """The start of an assessment. Its instructions are always the same; the task itself is in the simulator's chat."""

    message_type: Literal["assessment_start"] = "assessment_start"
    ues_url: str
    api_key: str = Field(repr=False)
    assessment_instructions: str = DEFAULT_ASSESSMENT_INSTRUCTIONS
    current_time: Moment
    initial_state_summary: InitialStateSummary

    @field_validator("assessment_instructions")
    @classmethod
    def _check_instructions(cls, text: str) -> str:
        if text != DEFAULT_ASSESSMENT_INSTRUCTIONS:
            raise ValueError("the instructions are the same in every assessment")
        return text


class TurnStart(AssessmentMessage):
    message_type: Literal["turn_start"] = "turn_start"
    turn_number: int = Field(ge=1)
    current_time: Moment
    events_processed: int = Field(default=0, ge=0)


class TurnComplete(AssessmentMessage):
    """The participant has finished its turn. ``time_step``: how far the world's clock is to advance before the next."""

    message_type: Literal["turn_complete"] = "turn_complete"
    notes: str | None = None
    time_step: str = DEFAULT_STEP

    @field_validator("time_step")
    @classmethod
    def _check_duration(cls, text: str) -> str:
        parse_duration(text)
        return text

    @property
    def duration(self) -> timedelta:
        return parse_duration(self.time_step)


class EarlyCompletion(AssessmentMessage):
    """The participant has nothing more to do."""

    message_type: Literal["early_completion"] = "early_completion"
    reason: str | None = None


CompletionReason = Literal["scenario_complete", "early_completion", "timeout", "error"]


class AssessmentComplete(AssessmentMessage):
    message_type: Literal["assessment_complete"] = "assessment_complete"
    reason: CompletionReason


def parse_participant_reply(data: JsonObject) -> TurnComplete | EarlyCompletion:
    """Parses a participant's answer to a turn; raises ``ValueError`` (a ``ValidationError`` is one).

    Older participants send no type: it is guessed from the fields, and a reason alone means early completion.
    """
    kind = data.get("message_type") or _guess_reply_type(data)
    if kind == "turn_complete":
        return TurnComplete.model_validate({name: value for name, value in data.items() if value is not None})
    if kind == "early_completion":
        return EarlyCompletion.model_validate(data)
    raise ValueError(f"a turn is answered with turn_complete or early_completion, not with {str(kind)[:60]!r}")


def _guess_reply_type(data: JsonObject) -> str:
    if {"time_step", "notes", "actions_taken"} & data.keys():
        return "turn_complete"
    return "early_completion" if "reason" in data else ""


ErrorType = Literal[
    "timeout", "communication_error", "protocol_error", "ues_error", "evaluation_error", "internal_error"
]


class AssessmentQueued(AssessmentMessage):
    """The assessment waits until others end; ``position`` 1 begins next. Sent whenever that changes."""

    message_type: Literal["update_assessment_queued"] = "update_assessment_queued"
    position: int
    running: int


class AssessmentStarted(AssessmentMessage):
    message_type: Literal["update_assessment_started"] = "update_assessment_started"
    assessment_id: str
    scenario_id: str
    participant_url: str
    start_time: Moment


class ScenarioLoaded(AssessmentMessage):
    message_type: Literal["update_scenario_loaded"] = "update_scenario_loaded"
    scenario_id: str
    scenario_name: str
    criteria_count: int
    character_count: int
    user_prompt: str | None = None  # what the user asks for


class TurnStarted(AssessmentMessage):
    message_type: Literal["update_turn_started"] = "update_turn_started"
    turn_number: int
    current_time: Moment
    events_pending: int = 0


class ActionObserved(AssessmentMessage):
    message_type: Literal["update_action_observed"] = "update_action_observed"
    turn_number: int
    timestamp: Moment
    action: str
    parameters: JsonObject = {}
    success: bool = True
    error_message: str | None = None
    notes: str | None = None


class ResponsesGenerated(AssessmentMessage):
    message_type: Literal["update_responses_generated"] = "update_responses_generated"
    turn_number: int
    responses_count: int
    characters_involved: tuple[str, ...] = ()


class SimulationAdvanced(AssessmentMessage):
    """The assessor has moved the simulated world's clock forward."""

    message_type: Literal["update_simulation_advanced"] = "update_simulation_advanced"
    previous_time: Moment
    new_time: Moment
    duration: str
    events_processed: int


class TurnCompleted(AssessmentMessage):
    message_type: Literal["update_turn_completed"] = "update_turn_completed"
    turn_number: int
    actions_taken: int
    time_advanced: str
    early_completion_requested: bool = False
    notes: str | None = None  # what the participant said of its turn


class EvaluationStarted(AssessmentMessage):
    message_type: Literal["update_evaluation_started"] = "update_evaluation_started"
    criteria_count: int
    dimensions: tuple[str, ...] = ()


class CriterionEvaluated(AssessmentMessage):
    message_type: Literal["update_criterion_evaluated"] = "update_criterion_evaluated"
    criterion_id: str
    criterion_name: str
    dimension: str
    score: float
    max_score: float
    evaluation_method: Literal["programmatic", "llm"]


class AssessmentCompleted(AssessmentMessage):
    message_type: Literal["update_assessment_completed"] = "update_assessment_completed"
    reason: CompletionReason
    total_turns: int
    total_actions: int
    duration_seconds: float
    overall_score: float
    max_score: float


class ErrorOccurred(AssessmentMessage):
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
