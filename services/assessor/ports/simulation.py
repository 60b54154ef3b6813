"""A simulator's answers about a simulation's course, keys and scenarios."""

from pydantic import JsonValue

from shared.contracts.ues.modalities import JsonObject, Moment, SimulatorAnswer


class EventExecution(SimulatorAnswer):
    event_id: str
    modality: str = ""
    status: str
    error: str | None = None


class TimeAdvance(SimulatorAnswer):
    """The result of advancing time. ``events_executed`` counts every event that ran, failed ones too."""

    previous_time: Moment
    current_time: Moment
    events_executed: int = 0
    events_failed: int = 0
    execution_details: tuple[EventExecution, ...] = ()


class ClockSetting(SimulatorAnswer):
    previous_time: Moment
    current_time: Moment
    skipped_events: int = 0
    executed_events: int = 0
    rolled_back_events: int = 0
    reset_skipped_events: int = 0


class TimeSkip(SimulatorAnswer):
    previous_time: Moment
    current_time: Moment
    events_executed: int = 0
    next_event_time: Moment | None = None


class StartedSimulation(SimulatorAnswer):
    simulation_id: str
    status: str
    current_time: Moment


class SimulationStatus(SimulatorAnswer):
    is_running: bool
    current_time: Moment
    is_paused: bool = False
    auto_advance: bool = False
    time_scale: float | None = None
    pending_events: int = 0
    executed_events: int = 0
    failed_events: int = 0
    next_event_time: Moment | None = None


class UndoRedoResult(SimulatorAnswer):
    """The result of undo or redo."""

    undone_count: int = 0
    redone_count: int = 0
    can_undo: bool = False
    can_redo: bool = False
    message: str = ""


class AcquiredHold(SimulatorAnswer):
    hold_id: str
    reason: str | None = None
    expires_at: Moment | None = None


class SimulatorEvent(SimulatorAnswer):
    """A change of the world. ``agent_id``: the key that caused it; ``data``: left out of short answers."""

    event_id: str
    scheduled_time: Moment
    modality: str
    status: str
    priority: int = 0
    created_at: Moment | None = None
    data: JsonObject | None = None
    executed_at: Moment | None = None
    error_message: str | None = None
    agent_id: str | None = None
    metadata: JsonObject = {}

    @property
    def operation(self) -> str:
        return str((self.data or {}).get("operation") or (self.data or {}).get("action") or "update")


class EventList(SimulatorAnswer):
    """A page of events. ``total`` counts the events that match, the other numbers the whole queue."""

    events: tuple[SimulatorEvent, ...] = ()
    total: int = 0
    pending: int = 0
    executed: int = 0
    failed: int = 0
    skipped: int = 0


class EventSummary(SimulatorAnswer):
    total: int = 0
    pending: int = 0
    executed: int = 0
    failed: int = 0
    skipped: int = 0
    by_modality: dict[str, int] = {}
    next_event_time: Moment | None = None


class ScenarioImport(SimulatorAnswer):
    success: bool = True
    events_loaded: int | bool = 0
    modalities_loaded: tuple[str, ...] = ()
    modalities_skipped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    scenario_metadata: dict[str, JsonValue] | None = None


class WorldKey(SimulatorAnswer):
    """A new key. ``secret`` is shown only here."""

    key_id: str
    secret: str
    name: str = ""
    permissions: tuple[str, ...] = ()


class KeyDescription(SimulatorAnswer):
    key_id: str
    name: str = ""
    permissions: tuple[str, ...] = ()
    is_active: bool = True
    last_used_at: Moment | None = None


class LoggedRequest(SimulatorAnswer):
    """One request that somebody made, as the server logged it."""

    timestamp: Moment
    method: str
    path: str
    status_code: int
    key_id: str | None = None


class AccessLog(SimulatorAnswer):
    """Logged requests, newest first; ``total`` counts all that match."""

    logs: tuple[LoggedRequest, ...] = ()
    total: int = 0


class OpenedWorld(SimulatorAnswer):
    """One of several worlds in one server, with its routes under ``/worlds/{world_id}``."""

    world_id: str
