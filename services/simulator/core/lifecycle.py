"""Starting, stopping, resetting and clearing a world's simulation."""

from dataclasses import dataclass, replace
from datetime import datetime

from services.simulator.core.clock import require_in_range
from services.simulator.core.events import EventStatus, WorldEvent, WorldEventQueue
from services.simulator.core.refusals import Conflict, MeaninglessRequest, SimulatorRefusal
from services.simulator.core.world import SimulatorWorld

RESET = "Taken back by a reset"


@dataclass(frozen=True)
class StopSummary:
    """The result of a stop. ``was_running``: whether a simulation was running."""

    simulation_id: str
    final_time: datetime
    was_running: bool


@dataclass(frozen=True)
class ResetSummary:
    """The result of a reset. ``waiting``: how many events wait again; ``undone``: how many actions were taken back."""

    waiting: int
    undone: int


def start(world: SimulatorWorld, auto: bool, scale: float) -> str:
    """Starts the simulation, and returns its id, which stays the same over stops and starts.

    Raises ``Conflict`` if it runs, ``MeaninglessRequest`` if an event is unsound. A manual simulation is not
    paused afterwards, whatever the scenario said: it would stand still for good.
    """
    if world.running:
        raise Conflict("Simulation is already running")
    if wrong := find_problems(world):
        raise MeaninglessRequest({"message": "The world is unsound", "errors": [*wrong]})
    world.running = True
    wall = world.surroundings.now()
    paused = world.clock.paused and auto
    world.clock = replace(world.clock, auto=auto, scale=scale if auto else world.clock.scale, paused=paused, wall=wall)
    return world.simulation_id


def stop(world: SimulatorWorld) -> StopSummary:
    """Stops the simulation; does nothing if none runs."""
    stopped = StopSummary(world.simulation_id, world.now, world.running)
    world.running = False
    world.clock = replace(world.clock, auto=False)
    return stopped


def reset(world: SimulatorWorld) -> ResetSummary:
    """Puts every state back to that in which the world was loaded. Time stays; scheduled events that ran wait again.

    Actions that callers made at once are taken back and not repeated; cancelled events stay cancelled.
    """
    stop(world)
    undone = world.history.counts()[0]
    world.history.clear()
    for name, rows in world.base.items():
        world.modalities[name].store.replace(rows)
    return ResetSummary(_reset_events(world), undone)


def clear(world: SimulatorWorld, at: datetime | None) -> int:
    """Empties the world but for its user's identity, and returns how many events were dropped.

    ``at``: its time from now on; None leaves it. Raises ``MeaninglessRequest`` if that is out of range.
    """
    time = world.now if at is None else require_in_range(at)
    stop(world)
    removed_count = len(world.queue)
    world.queue = WorldEventQueue()
    world.history.clear()
    world.holds.clear()
    world.clock = replace(world.clock, current=time, paused=False)
    for modality in world.modalities.values():
        modality.clear(time)
    world.set_base()
    return removed_count


def find_problems(world: SimulatorWorld) -> list[str]:
    """Sentences on what is unsound in the queue's events."""
    return [problem for event in world.queue for problem in _problems_of_event(world, event)]


def _problems_of_event(world: SimulatorWorld, event: WorldEvent) -> list[str]:
    if event.status is not EventStatus.PENDING:
        return []
    try:
        world.modality(event.modality).normalise(event.data)
    except SimulatorRefusal as problem:
        return [f"event {event.event_id}: {problem}"]
    return []


def _reset_events(world: SimulatorWorld) -> int:
    waiting = 0
    for event in list(world.queue):
        if event.settled:
            continue
        if event.direct and event.status in (EventStatus.EXECUTED, EventStatus.FAILED):
            world.queue.replace_event(replace(event, status=EventStatus.CANCELLED, error_message=RESET))
        elif not event.direct and event.status is not EventStatus.CANCELLED:
            world.queue.replace_event(replace(event, status=EventStatus.PENDING, executed_at=None, error_message=None))
            waiting += 1
    return waiting
