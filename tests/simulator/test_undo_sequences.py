"""Any sequence of what can be done to a world, against what its states were before each step."""

import json
from datetime import timedelta

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.simulator.core import lifecycle, saving, scheduling, taking_back, time_control
from services.simulator.core.events import EventStatus, WorldEvent
from services.simulator.core.hosted_world import HostedWorld
from services.simulator.core.keys import ALL_PERMISSIONS, AccessKey, KeyCaller, KeyRing, hash_secret
from services.simulator.core.records import JsonObject
from services.simulator.core.saved_shapes import SavedWorld
from services.simulator.core.world import SimulatorWorld
from tests.doubles.simulated_surroundings import WALL, StillSurroundings
from tests.examples import examples
from tests.simulator.notes import Notes
from tests.simulator.stage import ADMIN

pytestmark = pytest.mark.promise("simulator.undo")
_CALLER = KeyCaller("ues_admin", "admin", frozenset({ALL_PERMISSIONS}))
_SECONDS = st.integers(0, 50)
_WHICH = st.integers(0, 5)


def _new_room(surroundings: StillSurroundings) -> HostedWorld:
    admin = AccessKey("ues_admin", "admin", (ALL_PERMISSIONS,), hash_secret(ADMIN), WALL, None)
    return HostedWorld(
        "w", SimulatorWorld({"notes": Notes(WALL)}, WALL, surroundings), KeyRing(admin), lambda _, __: None
    )


class Sequences(RuleBasedStateMachine):
    """``before`` holds the state before each action that can be taken back, ``after`` those that can be done again."""

    def __init__(self) -> None:
        super().__init__()
        self._surroundings = StillSurroundings()
        self.room = _new_room(self._surroundings)
        self.before: list[str] = []
        self.after: list[str] = []
        self.world.observers.append(self._ran)
        self._latest = self.state

    @property
    def world(self) -> SimulatorWorld:
        return self.room.world

    @property
    def state(self) -> str:
        """With the order of its rows."""
        return json.dumps(self.world.modalities["notes"].export())

    def _ran(self, event: WorldEvent) -> None:
        if event.status is EventStatus.EXECUTED:
            self.before.append(self._latest)
            self.after.clear()
        else:
            assert self.state == self._latest, "a failed action changed something"
        self._latest = self.state

    def _data(self, kind: str, which: int) -> JsonObject:
        keys = [*json.loads(self.state)["notes"], "none", "all"]
        if kind == "write":
            return {"operation": "write", "text": f"n{which}"}
        return {"operation": kind, "note_id": keys[which % len(keys)], "text": "changed"}

    @initialize()
    def start(self) -> None:
        lifecycle.start(self.world, auto=False, scale=1)

    @rule(kind=st.sampled_from(["write", "write", "change", "throw"]), which=_WHICH)
    def act(self, kind: str, which: int) -> None:
        self.world.act("notes", self._data(kind, which), "ues_someone")

    @rule(kind=st.sampled_from(["write", "change", "throw"]), which=_WHICH, seconds=_SECONDS)
    def schedule(self, kind: str, which: int, seconds: int) -> None:
        time = self.world.now + timedelta(seconds=seconds)
        wanted = scheduling.draft_event(self.world, _CALLER, "notes", self._data(kind, which), time, which)
        self.world.schedule(wanted)

    @rule(seconds=st.integers(1, 60))
    def advance(self, seconds: int) -> None:
        time_control.advance(self.world, seconds)

    @rule(count=st.integers(1, 4))
    def undo(self, count: int) -> None:
        undone = taking_back.undo(self.world, count)

        for _ in undone:
            self.after.append(self._latest)
            self._latest = self.before.pop()
        assert self.state == self._latest

    @rule(count=st.integers(1, 4))
    def redo(self, count: int) -> None:
        redone = taking_back.redo(self.world, count)

        for _ in redone:
            self.before.append(self._latest)
            self._latest = self.after.pop()
        assert self.state == self._latest

    @precondition(lambda self: self.before)
    @rule()
    def undo_everything_and_do_it_again(self) -> None:
        now, count = self.state, len(self.before)

        taking_back.undo(self.world, count)
        empty = self.state
        taking_back.redo(self.world, count)

        assert empty == self.before[0]
        assert self.state == now

    @rule(seconds=_SECONDS)
    def go_back(self, seconds: int) -> None:
        """What is undone on the way has run after the target, or would be undone out of turn."""
        done = self.world.history.counts()[0]

        time_control.set_time(self.world, self.world.now - timedelta(seconds=seconds))

        left = self.world.history.counts()[0]
        if left < done:
            self._latest = self.before[left]
        del self.before[left:]
        if self.world.history.counts()[1] == 0:
            self.after.clear()
        assert self.state == self._latest

    @rule()
    def reset(self) -> None:
        lifecycle.reset(self.world)

        fresh = json.dumps(Notes(WALL).export())
        assert self.state == fresh
        assert len(self.world.queue) == self.world.queue.by_status.total()
        lifecycle.start(self.world, auto=False, scale=1)
        self.before, self.after, self._latest = [], [], fresh

    @rule()
    def save_and_restore(self) -> None:
        saved = saving.save_world(self.room)
        other = _new_room(self._surroundings)

        saving.restore_world(other, SavedWorld.model_validate_json(json.dumps(saved)))

        assert saving.save_world(other) == saved
        other.world.observers.append(self._ran)
        self.room = other

    @invariant()
    def the_queue_counts_right(self) -> None:
        events = list(self.world.queue)
        assert {status: count for status, count in self.world.queue.by_status.items() if count} == {
            status: sum(event.status is status for event in events) for status in {event.status for event in events}
        }

    @invariant()
    def the_next_event_is_the_first_that_waits(self) -> None:
        waiting = [event for event in self.world.queue if event.status is EventStatus.PENDING]
        assert self.world.queue.next_pending() == (waiting[0] if waiting else None)


TestSequences = Sequences.TestCase
TestSequences.settings = settings(examples(40, 300), stateful_step_count=25)
