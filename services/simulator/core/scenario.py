"""A world written as a scenario, and a scenario loaded into a world."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from services.simulator.core.clock import require_in_range
from services.simulator.core.events import EventStatus, WorldEvent, WorldEventQueue
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import BadInput, Conflict, InputFault, MeaninglessRequest, SimulatorRefusal
from services.simulator.core.scenario_shapes import (
    Scenario,
    ScenarioEnvironment,
    ScenarioTime,
    WrittenEvent,
    WrittenEvents,
)
from services.simulator.core.world import SimulatorWorld
from services.simulator.core.written_events import event_as_json, strip_envelope


class PastEvents(StrEnum):
    """What becomes of waiting events that lie before the time of an imported environment."""

    IGNORE = "ignore"
    DELETE = "delete"
    APPLY = "apply"


@dataclass
class ImportedScenario:
    """What an import took over, what it left out, and what is strange about it."""

    modalities: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    events: int = 0
    warnings: list[str] = field(default_factory=list)


def environment_of(world: SimulatorWorld) -> JsonObject:
    clock = world.clock
    return {
        "time_state": {
            "current_time": clock.current.isoformat(),
            "time_scale": clock.scale,
            "is_paused": clock.paused,
            "auto_advance": clock.auto,
            "last_wall_time_update": clock.wall.isoformat(),
        },
        "modality_states": {name: modality.export() for name, modality in world.modalities.items()},
    }


def events_of(world: SimulatorWorld) -> JsonObject:
    return {"events": [event_as_json(event) for event in world.queue]}


def load_environment(
    world: SimulatorWorld, environment: ScenarioEnvironment, historic: PastEvents, strict: bool
) -> ImportedScenario:
    """Replace every state and the time.

    Raises ``Conflict`` while running, ``MeaninglessRequest`` or ``BadInput``; then nothing has changed.
    """
    _require_stopped(world)
    loaded = ImportedScenario()
    _load_states(world, environment, strict, loaded)
    early = [event for event in world.queue.find_between(None, world.now) if event.status is EventStatus.PENDING]
    if historic is PastEvents.DELETE:
        for event in early:
            world.queue.remove(event.event_id)
    elif historic is PastEvents.APPLY:
        world.run_due()
        world.history.clear()
        world.set_base()
    elif early:
        loaded.warnings.append(_early_warning(len(early)))
    _settle_ended(world)
    return loaded


def load_events(world: SimulatorWorld, written: WrittenEvents, merge: bool) -> ImportedScenario:
    """Replace the queue, or add to it. Raises as ``load_environment`` does."""
    _require_stopped(world)
    loaded = ImportedScenario()
    events = _parse_events(world, written, strict=False, loaded=loaded)
    _fill_queue(world, events, merge)
    loaded.events = len(events)
    return loaded


def load_scenario(world: SimulatorWorld, scenario: Scenario, strict: bool) -> ImportedScenario:
    """Replace the whole world. Raises as ``load_environment`` does."""
    _require_stopped(world)
    loaded = ImportedScenario()
    events = _parse_events(world, scenario.events, strict, loaded)
    _load_states(world, scenario.environment, strict, loaded)
    _fill_queue(world, events, merge=False)
    loaded.events = len(events)
    waiting = [event for event in events if event.status is EventStatus.PENDING]
    if early := sum(event.scheduled_time < world.now for event in waiting):
        loaded.warnings.append(_early_warning(early))
    return loaded


def _settle_ended(world: SimulatorWorld) -> None:
    """Marks all ended events as settled, so that a reset of the new environment does not repeat them."""
    for event in list(world.queue):
        if event.status not in (EventStatus.PENDING, EventStatus.CANCELLED):
            world.queue.replace_event(replace(event, settled=True))


def _require_stopped(world: SimulatorWorld) -> None:
    if world.running:
        raise Conflict("Cannot import while the simulation is running. Stop it first.")


def _early_warning(count: int) -> str:
    return f"{count} pending events lie before the environment's time: they run when time next moves"


def _load_states(
    world: SimulatorWorld, environment: ScenarioEnvironment, strict: bool, loaded: ImportedScenario
) -> None:
    """Loads the states into the world. A modality that the file leaves out is empty afterwards."""
    time = require_in_range(environment.time_state.current_time)
    unknown = [name for name in environment.modality_states if name not in world.modalities]
    _skip_or_refuse_unknown(unknown, strict, loaded)
    states_before = {name: modality.store.rows() for name, modality in world.modalities.items()}
    try:
        for name, modality in world.modalities.items():
            modality.clear(time)
            if name in environment.modality_states:
                _load_state(world, name, environment.modality_states[name])
                loaded.modalities.append(name)
    except SimulatorRefusal:
        for name, rows in states_before.items():
            world.modalities[name].store.replace(rows)
        raise
    _set_clock(world, environment.time_state)
    world.history.clear()
    world.set_base()


def _load_state(world: SimulatorWorld, name: str, state: JsonObject) -> None:
    try:
        world.modalities[name].load(state)
    except BadInput as problem:
        raise _prefix_faults(problem, "environment", "modality_states", name) from None


def _set_clock(world: SimulatorWorld, scenario_time: ScenarioTime) -> None:
    world.clock = replace(
        world.clock,
        current=require_in_range(scenario_time.current_time),
        wall=world.surroundings.now(),
        scale=scenario_time.time_scale,
        paused=scenario_time.is_paused,
        auto=scenario_time.auto_advance,
    )


def _skip_or_refuse_unknown(unknown: list[str], strict: bool, loaded: ImportedScenario) -> None:
    if unknown and strict:
        raise MeaninglessRequest(f"Unknown modalities: {', '.join(unknown)}")
    for name in unknown:
        loaded.skipped.append(name)
        loaded.warnings.append(f"Unknown modality '{name}' was skipped")


def _parse_events(
    world: SimulatorWorld, written: WrittenEvents, strict: bool, loaded: ImportedScenario
) -> list[WorldEvent]:
    unknown = {event.modality for event in written.events if event.modality not in world.modalities}
    _skip_or_refuse_unknown(sorted(unknown), strict, loaded)
    return [
        _parse_event(world, event, number)
        for number, event in enumerate(written.events)
        if event.modality in world.modalities
    ]


def _parse_event(world: SimulatorWorld, event: WrittenEvent, number: int) -> WorldEvent:
    waits = event.status in (EventStatus.PENDING, EventStatus.EXECUTING)
    return WorldEvent(
        event_id=world.surroundings.new_id(),
        scheduled_time=require_in_range(event.scheduled_time),
        modality=event.modality,
        data=_normalise_data(world, event, number) if waits else strip_envelope(event.data),
        created_at=event.created_at or world.now,
        number=world.next_number(),
        status=EventStatus.PENDING if waits else event.status,
        priority=event.priority,
        agent_id=event.agent_id,
        executed_at=None if waits else event.executed_at,
        error_message=None if waits else event.error_message,
        metadata=event.metadata,
        settled=not waits,
    )


def _normalise_data(world: SimulatorWorld, event: WrittenEvent, number: int) -> JsonObject:
    try:
        return world.modality(event.modality).normalise(event.data)
    except BadInput as problem:
        raise _prefix_faults(problem, "events", number, "data") from None
    except SimulatorRefusal as problem:
        raise MeaninglessRequest(f"Invalid event {number}: {problem}") from None


def _prefix_faults(problem: BadInput, *place: str | int) -> BadInput:
    return BadInput([InputFault((*place, *fault.loc), fault.msg, fault.type) for fault in problem.faults])


def _fill_queue(world: SimulatorWorld, events: list[WorldEvent], merge: bool) -> None:
    if not merge:
        world.queue = WorldEventQueue()
        world.history.clear()
        world.set_base()
    world.queue.add_all(events)
