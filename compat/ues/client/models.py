"""Answers that the product's own client does not keep, in their published fields; others come along."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _UesAnswer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class SimulationStarted(_UesAnswer):
    simulation_id: str
    status: str
    current_time: datetime
    auto_advance: bool = False
    time_scale: float | None = None


class SimulationStopped(_UesAnswer):
    """What was counted is ``None`` where nothing ran."""

    simulation_id: str
    status: str
    final_time: datetime | None = None
    total_events: int | None = None
    events_executed: int | None = None
    events_failed: int | None = None


class SimulationReset(_UesAnswer):
    status: str
    message: str = ""
    cleared_events: int = 0
    events_undone: int = 0


class SimulationCleared(_UesAnswer):
    status: str
    events_removed: int = 0
    modalities_cleared: int = 0
    time_reset: datetime | None = None
    current_time: datetime


class Paused(_UesAnswer):
    message: str = ""
    current_time: datetime
    is_paused: bool
