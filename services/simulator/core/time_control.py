"""Moving a world's time: forward with what is due, past it, and back."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from services.simulator.core.clock import require_in_range
from services.simulator.core.events import EventStatus, WorldEvent
from services.simulator.core.refusals import Conflict, MeaninglessRequest, Missing
from services.simulator.core.taking_back import UNDONE, take_back
from services.simulator.core.world import SimulatorWorld


@dataclass(frozen=True)
class TimeMove:
    """A move forward in time. ``events``: those that ran on the way, failed ones included."""

    previous: datetime
    current: datetime
    events: list[WorldEvent]


@dataclass(frozen=True)
class TimeSetting:
    """The time before and after it was set, and how many events were skipped, undone, and made to wait again."""

    previous: datetime
    current: datetime
    skipped: int = 0
    rolled_back: int = 0
    revived: int = 0


def advance(world: SimulatorWorld, seconds: float) -> TimeMove:
    """Moves time forward, and runs the events that come due.

    Raises ``MeaninglessRequest`` while the simulation is stopped or paused, ``Conflict`` while time is held.
    """
    _require_movable(world)
    if world.clock.paused:
        raise MeaninglessRequest("Cannot advance time while paused")
    return _move_to(world, world.clock.time_after(seconds))


def skip_to_next(world: SimulatorWorld) -> TimeMove:
    """Moves time to the first waiting event, even while paused; raises ``Missing`` if none waits."""
    _require_movable(world)
    event = world.queue.next_pending()
    if event is None:
        raise Missing("No pending events")
    return _move_to(world, max(world.now, event.scheduled_time))


def set_time(world: SimulatorWorld, target: datetime) -> TimeSetting:
    """Sets the time; returns what that skipped, undid and revived.

    Forward, events in between are skipped and never run; back, events after the target are undone and wait again.
    Raises ``MeaninglessRequest`` if the world does not run or the time is out of range, and ``Conflict`` while time is
    held, or if what was done since can no longer be taken back.
    """
    _require_movable(world)
    previous, target = world.now, require_in_range(target)
    if target >= previous:
        skipped = _skip_until(world, target)
        world.clock = world.clock.set_time(target)
        return TimeSetting(previous, target, skipped=skipped)
    rolled_back = _roll_back(world, target)
    revived = _revive_skipped(world, target)
    world.clock = world.clock.set_time(target)
    return TimeSetting(previous, target, rolled_back=rolled_back, revived=revived)


def set_paused(world: SimulatorWorld, paused: bool) -> None:
    world.clock = replace(world.clock, paused=paused)


def set_scale(world: SimulatorWorld, scale: float) -> None:
    world.clock = replace(world.clock, scale=scale)


def _require_movable(world: SimulatorWorld) -> None:
    if not world.running:
        raise MeaninglessRequest("Simulation is not running")
    world.holds.require_none(world.surroundings.now())


def _move_to(world: SimulatorWorld, target: datetime) -> TimeMove:
    previous = world.now
    world.clock = world.clock.set_time(target)
    return TimeMove(previous, target, world.run_due())


def _skip_until(world: SimulatorWorld, target: datetime) -> int:
    passed = [event for event in world.queue.find_between(world.now, target) if _is_skipped_by(world, event)]
    for event in passed:
        reason = f"Skipped: time was set to {target.isoformat()}"
        world.queue.replace_event(replace(event, status=EventStatus.SKIPPED, error_message=reason))
    return len(passed)


def _is_skipped_by(world: SimulatorWorld, event: WorldEvent) -> bool:
    return event.status is EventStatus.PENDING and event.scheduled_time > world.now


def _roll_back(world: SimulatorWorld, target: datetime) -> int:
    """Undoes all actions after the target, and requeues their events; returns how many events wait again.

    Older actions that are undone on the way there wait again as well. Raises ``Conflict`` if the history no longer has
    one of the actions to undo.
    """
    ran = [event for event in world.queue.find_after(target) if _has_run(event)]
    executed_ids = {event.event_id for event in ran if event.status is EventStatus.EXECUTED}
    if not executed_ids <= {entry.event_id for entry in world.history.done}:
        raise Conflict("Time cannot be set back so far: what was done then can no longer be taken back")
    waiting = {event.event_id for event in ran} | {*_undo_until(world, executed_ids)}
    world.history.drop_undone()
    for event_id in waiting:
        _requeue(world, world.queue[event_id])
    return len(waiting)


def _has_run(event: WorldEvent) -> bool:
    return event.status is EventStatus.EXECUTED or (event.status is EventStatus.FAILED and not event.settled)


def _undo_until(world: SimulatorWorld, remaining_ids: set[str]) -> Iterator[str]:
    while remaining_ids and (entry := take_back(world)) is not None:
        remaining_ids.discard(entry.event_id)
        yield entry.event_id


def _requeue(world: SimulatorWorld, event: WorldEvent) -> None:
    world.queue.replace_event(replace(event, status=EventStatus.PENDING, executed_at=None, error_message=None))


def _revive_skipped(world: SimulatorWorld, target: datetime) -> int:
    skipped = [
        event
        for event in world.queue.find_after(target)
        if event.status is EventStatus.SKIPPED and event.error_message != UNDONE
    ]
    for event in skipped:
        _requeue(world, event)
    return len(skipped)
