"""Moving a world's time: forward with what is due, past it, and back."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from services.simulator.core.clock import require_in_range
from services.simulator.core.events import Status, WorldEvent
from services.simulator.core.refusals import Conflict, MeaninglessRequest, Missing
from services.simulator.core.taking_back import UNDONE, take_back
from services.simulator.core.world import SimulatorWorld


@dataclass(frozen=True)
class Moved:
    """``events`` ran on the way, failed ones among them."""

    previous: datetime
    current: datetime
    events: list[WorldEvent]


@dataclass(frozen=True)
class Set:
    """How many events were passed over, taken back, and put back among those that wait."""

    previous: datetime
    current: datetime
    skipped: int = 0
    rolled_back: int = 0
    revived: int = 0


def advance(world: SimulatorWorld, seconds: float) -> Moved:
    """Raises ``MeaninglessRequest`` while the simulation is stopped or paused, ``Conflict`` while time is held."""
    _check(world)
    if world.clock.paused:
        raise MeaninglessRequest("Cannot advance time while paused")
    return _move_to(world, world.clock.later(seconds))


def skip_to_next(world: SimulatorWorld) -> Moved:
    """To the first waiting event, paused or not; raises ``Missing`` if nothing waits."""
    _check(world)
    event = world.queue.next_pending()
    if event is None:
        raise Missing("No pending events")
    return _move_to(world, max(world.now, event.scheduled_time))


def set_time(world: SimulatorWorld, target: datetime) -> Set:
    """Forward: what lies between is skipped, never run. Back: what ran after the target is undone and waits again."""
    _check(world)
    previous, target = world.now, require_in_range(target)
    if target >= previous:
        skipped = _skip(world, target)
        world.clock = world.clock.set_time(target)
        return Set(previous, target, skipped=skipped)
    rolled_back = _roll_back(world, target)
    revived = _revive_skipped(world, target)
    world.clock = world.clock.set_time(target)
    return Set(previous, target, rolled_back=rolled_back, revived=revived)


def set_paused(world: SimulatorWorld, paused: bool) -> None:
    world.clock = replace(world.clock, paused=paused)


def set_scale(world: SimulatorWorld, scale: float) -> None:
    world.clock = replace(world.clock, scale=scale)


def _check(world: SimulatorWorld) -> None:
    if not world.running:
        raise MeaninglessRequest("Simulation is not running")
    world.holds.check(world.surroundings.now())


def _move_to(world: SimulatorWorld, target: datetime) -> Moved:
    previous = world.now
    world.clock = world.clock.set_time(target)
    return Moved(previous, target, world.run_due())


def _skip(world: SimulatorWorld, target: datetime) -> int:
    passed = [event for event in world.queue.find_between(world.now, target) if _is_skipped_by(world, event)]
    for event in passed:
        said = f"Skipped: time was set to {target.isoformat()}"
        world.queue.put(replace(event, status=Status.SKIPPED, error_message=said))
    return len(passed)


def _is_skipped_by(world: SimulatorWorld, event: WorldEvent) -> bool:
    return event.status is Status.PENDING and event.scheduled_time > world.now


def _roll_back(world: SimulatorWorld, target: datetime) -> int:
    """Undo down to the oldest action after the target; what is undone on the way there waits again as well."""
    ran = [event for event in world.queue.find_after(target) if _has_run(event)]
    left = {event.event_id for event in ran if event.status is Status.EXECUTED}
    if not left <= {entry.event_id for entry in world.history.done}:
        raise Conflict("Time cannot be set back so far: what was done then can no longer be taken back")
    waiting = {event.event_id for event in ran} | {*_undo_until(world, left)}
    world.history.drop_undone()
    return sum(_wait_again(world, event_id) for event_id in waiting)


def _has_run(event: WorldEvent) -> bool:
    return event.status is Status.EXECUTED or (event.status is Status.FAILED and not event.settled)


def _undo_until(world: SimulatorWorld, left: set[str]) -> Iterator[str]:
    while left and (entry := take_back(world)) is not None:
        left.discard(entry.event_id)
        yield entry.event_id


def _wait_again(world: SimulatorWorld, event_id: str) -> bool:
    """Unless it is gone, since what brought it was undone and will bring it again."""
    event = world.queue.get(event_id)
    if event is None:
        return False
    world.queue.put(replace(event, status=Status.PENDING, executed_at=None, error_message=None))
    return True


def _revive_skipped(world: SimulatorWorld, target: datetime) -> int:
    skipped = [
        event
        for event in world.queue.find_after(target)
        if event.status is Status.SKIPPED and event.error_message != UNDONE
    ]
    for event in skipped:
        _wait_again(world, event.event_id)
    return len(skipped)
