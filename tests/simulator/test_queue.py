"""The queue of events, and what it costs."""

import sys
from datetime import datetime, timedelta
from random import Random
from types import FrameType

import pytest
from hypothesis import given, strategies as st

from services.simulator.core import lifecycle, time_control
from services.simulator.core.events import Queue, Status, WorldEvent
from services.simulator.core.world import EventDraft, SimulatorWorld
from tests.doubles.simulated_surroundings import WALL, StillSurroundings
from tests.simulator.notes import Notes

pytestmark = pytest.mark.promise("simulator.costs")


def _event(number: int, seconds: int, priority: int = 0, status: Status = Status.PENDING) -> WorldEvent:
    time = WALL + timedelta(seconds=seconds)
    return WorldEvent(str(number), time, "notes", {"operation": "write", "text": "x"}, WALL, number, status, priority)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from(Status))), st.integers(-1, 10))
def test_due_is_what_waits_and_whose_time_has_come_in_order(made: list[tuple[int, int, Status]], now: int) -> None:
    """However it was filled."""
    events = [_event(number, seconds, priority, status) for number, (seconds, priority, status) in enumerate(made)]
    one_by_one, at_once = Queue(), Queue()
    at_once.fill(events)
    for event in events:
        one_by_one.add(event)
    expected = sorted(
        (event for event in events if event.status is Status.PENDING and event.scheduled_time <= _time(now)),
        key=lambda event: (event.scheduled_time, -event.priority, event.number),
    )

    for queue in (one_by_one, at_once):
        assert [event.event_id for event in queue.take_due(_time(now))] == [event.event_id for event in expected]
        assert queue.take_due(_time(now)) == []


@given(st.lists(st.integers(0, 9)), st.integers(0, 9), st.integers(0, 9))
def test_a_range_holds_both_its_ends(made: list[int], start: int, end: int) -> None:
    queue = Queue()
    queue.fill(_event(number, seconds) for number, seconds in enumerate(made))

    found = [event.event_id for event in queue.find_between(_time(start), _time(end))]

    inside = [(seconds, number) for number, seconds in enumerate(made) if start <= seconds <= end]
    assert found == [str(number) for _, number in sorted(inside)]


def _time(seconds: int) -> datetime:
    return WALL + timedelta(seconds=seconds)


def _world(events: int) -> SimulatorWorld:
    world = SimulatorWorld({"notes": Notes(WALL)}, WALL, StillSurroundings())
    chance = Random(7)  # noqa: S311  only the order in which they come
    world.queue.fill(_event(number, 10_000 + chance.randrange(10_000_000)) for number in range(events))
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
