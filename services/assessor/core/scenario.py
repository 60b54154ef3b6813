"""The model of a scenario file: the user and the other characters, the user's task, and the criteria."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Self

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, model_validator

from services.assessor.core.windows import LateReplies
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import Dimension
from shared.contracts.base import NullableModel
from shared.domain.instants import parse_duration

ID = r"^[a-z][a-z0-9_]*$"
Id = Annotated[str, Field(pattern=ID, max_length=100)]
NEEDED_STATES = ("email", "sms", "calendar", "chat")


def _parse_span(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Span = Annotated[timedelta, BeforeValidator(_parse_span), Field(ge=timedelta())]


class _ScenarioModel(NullableModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ResponseTiming(_ScenarioModel):
    """A reply takes between ``base_delay - variance`` and ``base_delay + variance``."""

    base_delay: Span = timedelta(minutes=10)
    variance: Span = timedelta()


class ScriptedReply(_ScenarioModel):
    """A character's reply without a model: the first entry counts whose words are all in the message.

    Without ``body`` (and without ``rsvp``, for an invitation) the character says nothing.
    """

    contains: tuple[str, ...] = ()
    body: str | None = None
    rsvp: str | None = Field(default=None, pattern="^(accepted|declined|tentative)$")

    def fits(self, text: str) -> bool:
        folded_text = text.casefold()
        return all(word.casefold() in folded_text for word in self.contains)


class Character(_ScenarioModel):
    """A person of the scenario. ``relationships``: what each other character, by id, is to this one."""

    name: str = Field(min_length=1)
    personality: str = ""
    email: str | None = None
    phone: str | None = None
    relationships: Mapping[str, str] = {}
    response_timing: ResponseTiming = ResponseTiming()
    special_instructions: str | None = None
    config: JsonObject = {}
    scripted_replies: tuple[ScriptedReply, ...] = ()

    @model_validator(mode="after")
    def _check_reachable(self) -> Self:
        if not (self.email or self.phone):
            raise ValueError("a character has an email address or a phone number")
        return self


class Criterion(_ScenarioModel):
    """Judged by ``evaluator_id`` where a function of that name is there, else by a model with ``evaluation_prompt``."""

    criterion_id: Id
    name: str
    description: str = ""
    dimension: Dimension
    max_score: int = Field(ge=1, le=100)
    evaluator_id: str | None = None
    evaluation_prompt: str | None = None
    params: JsonObject | None = None

    @model_validator(mode="after")
    def _check_judgeable(self) -> Self:
        if not (self.evaluator_id or self.evaluation_prompt):
            raise ValueError("a criterion has an evaluator_id or an evaluation_prompt")
        return self


class ScenarioConfig(_ScenarioModel):
    """A scenario as its file says it. ``initial_state``: the world at the beginning, as a simulator exports it.

    ``early_completion_conditions`` name evaluators that must all give full marks to end the run. ``late_replies``: a
    reply that takes longer than the turn arrives at the turn's end (``window``), or in a ``later`` turn.
    """

    scenario_id: Id
    name: str = Field(min_length=1, max_length=200)
    description: str = ""
    start_time: AwareDatetime
    end_time: AwareDatetime
    default_time_step: Span = timedelta(hours=1)
    user_prompt: str = Field(min_length=1)
    user_character: str
    characters: Mapping[str, Character]
    initial_state: JsonObject
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    early_completion_conditions: tuple[str, ...] = ()
    late_replies: LateReplies = "window"

    @model_validator(mode="after")
    def _check_consistent(self) -> Self:
        if self.start_time >= self.end_time:
            raise ValueError("start_time must be before end_time")
        if self.user_character not in self.characters:
            raise ValueError(f"user_character {self.user_character!r} is none of the characters")
        _require_unique("criterion_id", [criterion.criterion_id for criterion in self.criteria])
        _require_unique("email", [person.email.lower() for person in self.characters.values() if person.email])
        _require_unique("phone", [person.phone for person in self.characters.values() if person.phone])
        missing = [name for name in NEEDED_STATES if name not in modality_states(self.initial_state)]
        if missing:
            raise ValueError(f"initial_state has no state of: {', '.join(missing)}")
        return self

    @property
    def user(self) -> Character:
        return self.characters[self.user_character]

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(criterion.dimension.value for criterion in self.criteria))

    def warnings(self) -> tuple[str, ...]:
        """Sentences on settings that are allowed and unusual."""
        length = self.end_time - self.start_time
        total = sum(criterion.max_score for criterion in self.criteria)
        holds_by_warning = {
            "it lasts less than an hour or more than seven days": not timedelta(hours=1) <= length <= timedelta(days=7),
            "default_time_step is as long as the whole scenario": self.default_time_step >= length,
            "some dimensions have no criterion": len(self.dimensions) < len(Dimension),
            "all criteria together give less than 5 or more than 1000 points": not 5 <= total <= 1000,
            "user_prompt is shorter than 20 characters": len(self.user_prompt) < 20,
        }
        return tuple(warning for warning, holds in holds_by_warning.items() if holds)


def unwrap(state: JsonObject) -> JsonObject:
    """An exported scenario itself, without the request that it may be wrapped in."""
    inner = state.get("scenario")
    return inner if "metadata" not in state and isinstance(inner, dict) else state


def modality_states(state: JsonObject) -> JsonObject:
    environment = unwrap(state).get("environment")
    states = environment.get("modality_states") if isinstance(environment, dict) else None
    return states if isinstance(states, dict) else {}


def _require_unique(label: str, values: list[str]) -> None:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ValueError(f"{label} stands twice: {', '.join(twice)}")
