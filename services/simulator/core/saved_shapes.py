"""A whole hosted world as JSON: what a saved world holds, down to what can be undone."""

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from services.simulator.core.events import EventStatus
from services.simulator.core.holds import LONGEST_HOLD_SECONDS

VERSION = 2  # 1 had no ``running``: a simulation had an id only while it ran


class _SavedModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class SavedClock(_SavedModel):
    current: AwareDatetime
    scale: float = Field(gt=0, le=1_000_000, allow_inf_nan=False)
    paused: bool
    auto: bool


class SavedEvent(_SavedModel):
    event_id: str = Field(pattern=r"^[0-9a-fA-F-]{36}$")
    scheduled_time: AwareDatetime
    modality: str
    data: dict[str, JsonValue]
    created_at: AwareDatetime
    number: int
    status: EventStatus
    priority: int
    agent_id: str | None
    executed_at: AwareDatetime | None
    error_message: str | None
    metadata: dict[str, JsonValue]
    direct: bool
    settled: bool


class SavedUndoEntry(_SavedModel):
    event_id: str
    modality: str
    action: str
    changes: list[list[JsonValue]]


class SavedHold(_SavedModel):
    hold_id: str
    reason: str | None
    agent_id: str | None
    timeout_seconds: float = Field(ge=0, le=LONGEST_HOLD_SECONDS, allow_inf_nan=False)
    acquired_at: AwareDatetime


class SavedKey(_SavedModel):
    """A saved API key, with the hash of its secret."""

    key_id: str
    name: str
    permissions: tuple[str, ...]
    secret_hash: str
    created_at: AwareDatetime
    created_by: str | None
    last_used_at: AwareDatetime | None
    revoked_at: AwareDatetime | None
    expires_at: AwareDatetime | None
    requests_per_minute: int | None = None


SavedRows = dict[str, list[tuple[str, int, JsonValue]]]


class SavedWorld(_SavedModel):
    """A saved world. ``states`` and ``base`` hold the tables of each modality: now, and after a reset."""

    v: int = Field(ge=1, le=VERSION)
    clock: SavedClock
    simulation_id: str | None
    running: bool | None = None
    numbers: int = Field(ge=0)
    states: dict[str, SavedRows]
    base: dict[str, SavedRows]
    events: list[SavedEvent]
    done: list[SavedUndoEntry]
    undone: list[SavedUndoEntry]
    holds: list[SavedHold]
    keys: list[SavedKey]
