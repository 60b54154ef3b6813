"""The shapes of a scenario file. Times without a zone are read as UTC; unknown fields are ignored."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue

from services.simulator.core.events import EventStatus
from shared.contracts.base import NullableModel


def _in_utc(time: datetime) -> datetime:
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside the years that can be simulated") from None


Moment = Annotated[datetime, AfterValidator(_in_utc)]


class _ScenarioShape(NullableModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class ScenarioTime(_ScenarioShape):
    current_time: Moment
    time_scale: float = Field(gt=0, le=1_000_000, allow_inf_nan=False)
    is_paused: bool
    auto_advance: bool
    last_wall_time_update: Moment


def _without_nulls(states: JsonValue) -> JsonValue:
    return {name: state for name, state in states.items() if state is not None} if isinstance(states, dict) else states


class ScenarioEnvironment(_ScenarioShape):
    """The time and the modality states of a scenario. A modality whose state is ``null`` is left out."""

    time_state: ScenarioTime
    modality_states: Annotated[dict[str, dict[str, JsonValue]], BeforeValidator(_without_nulls)]


class WrittenEvent(_ScenarioShape):
    """An event of a scenario file. ``event_id`` is ignored: each import makes new ids."""

    scheduled_time: Moment
    modality: str
    data: dict[str, JsonValue]
    status: EventStatus = EventStatus.PENDING
    created_at: Moment | None = None
    executed_at: Moment | None = None
    agent_id: str | None = None
    priority: int = 0
    error_message: str | None = None
    metadata: dict[str, JsonValue] = {}


class WrittenEvents(_ScenarioShape):
    events: list[WrittenEvent]


class ScenarioMetadata(_ScenarioShape):
    ues_version: str | None = None
    scenario_version: str | None = None
    created_at: str | None = None
    author: str | None = None
    description: str | None = None


class Scenario(_ScenarioShape):
    metadata: ScenarioMetadata = ScenarioMetadata()
    environment: ScenarioEnvironment
    events: WrittenEvents = WrittenEvents(events=[])
