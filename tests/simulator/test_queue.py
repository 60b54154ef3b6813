"""What the queue of events costs."""

import sys
from datetime import timedelta
from random import Random
from types import FrameType

import pytest

from services.simulator.core import lifecycle, time_control
from services.simulator.core.events import WorldEvent
from services.simulator.core.world import EventDraft, SimulatorWorld
from tests.doubles.simulated_surroundings import WALL, StillSurroundings
from tests.simulator.notes import Notes

pytestmark = pytest.mark.promise("simulator.costs")


def _event(number: int, seconds: int) -> WorldEvent:
    time = WALL + timedelta(seconds=seconds)
    return WorldEvent(str(number), time, "notes", {"operation": "write", "text": "x"}, WALL, number)


def _world(events: int) -> SimulatorWorld:
    world = SimulatorWorld({"notes": Notes(WALL)}, WALL, StillSurroundings())
    chance = Random(7)  # noqa: S311  only the order in which they come
    world.queue.add_all(_event(number, 10_000 + chance.randrange(10_000_000)) for number in range(events))
    lifecycle.start(world, auto=False, scale=1)
    return world


def _calls(world: SimulatorWorld, seconds: float) -> int:
    """How many functions an advance calls: what it costs, on any machine."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        time_control.advance(world, seconds)
    finally:
        sys.setprofile(None)
    return count


def test_an_advance_with_nothing_due_costs_the_same_at_any_size() -> None:
    assert _calls(_world(10_000), 1) == _calls(_world(100), 1)


def test_a_past_of_any_length_costs_nothing() -> None:
    """What has run is never looked at again."""
    young, old = _world(100), _world(100)
    for _ in range(200):
        old.schedule(EventDraft(old.now, "notes", {"operation": "write", "text": "x"}))
    time_control.advance(old, 1)

    assert _calls(old, 1) == _calls(young, 1)
