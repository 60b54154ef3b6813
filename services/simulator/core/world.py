"""A simulated world: its time, its modalities, and the events that change them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from services.simulator.core.clock import WorldClock
from services.simulator.core.events import EventStatus, WorldEvent, WorldEventQueue
from services.simulator.core.holds import WorldHolds
from services.simulator.core.modality import ActionOutcome, EventMoment, Modality
from services.simulator.core.records import JsonObject, Rows
from services.simulator.core.refusals import Missing
from services.simulator.core.undo import UndoEntry, UndoHistory
from services.simulator.ports.surroundings import Surroundings

ACTION_PRIORITY = 100
Observer = Callable[[WorldEvent], None]


class EventRun(NamedTuple):
    """An event after it ran, with what its action brought about; that is None if the action failed."""

    event: WorldEvent
    outcome: ActionOutcome | None


@dataclass(frozen=True)
class EventDraft:
    """An event before it is in the queue. ``data`` is normalised."""

    scheduled_time: datetime
    modality: str
    data: JsonObject
    priority: int = 0
    agent_id: str | None = None
    metadata: Mapping[str, JsonValue] | None = None


class SimulatorWorld:
    """A simulated world. Only events change it, one after another; no method awaits, so none interleaves with
    another.
    """

    def __init__(self, modalities: Mapping[str, Modality], start: datetime, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.modalities = dict(modalities)
        self.clock = WorldClock(start, surroundings.now())
        self.queue = WorldEventQueue()
        self.history = UndoHistory()
        self.holds = WorldHolds()
        self.simulation_id = surroundings.new_id()
        self.running = False
        self.observers: list[Observer] = []
        self.numbers = 0
        self.base: dict[str, Rows] = {}
        self.set_base()

    @property
    def now(self) -> datetime:
        return self.clock.current

    def modality(self, name: str) -> Modality:
        """The modality of that name. Raises ``Missing``."""
        modality = self.modalities.get(name)
        if modality is None:
            raise Missing(f"Modality '{name}' not found")
        return modality

    def set_base(self) -> None:
        """Makes the present state the one that a reset comes back to."""
        self.base = {name: modality.store.rows() for name, modality in self.modalities.items()}

    def catch_up(self) -> list[WorldEvent]:
        """Let automatic time flow up to now, and run what came due on the way."""
        wall, before = self.surroundings.now(), self.clock
        is_held = bool(self.holds.drop_expired_and_list(wall)) or not self.running
        since = max(before.wall, self.holds.expired_at or before.wall)
        self.clock = replace(before, wall=since).advance_to_wall(wall, is_held)
        return self.run_due() if self.clock.current > before.current else []

    def schedule(self, draft: EventDraft) -> WorldEvent:
        """Put an event into the queue; it runs when its time has come."""
        event = self._make_event(draft, direct=False)
        self.queue.add(event)
        return event

    def act(self, modality: str, data: JsonObject, agent_id: str | None) -> EventRun:
        """Carries out an action now, as an event; returns how it went, since a failure is an event too.

        ``agent_id``: the id of the key that acts, if it has one. Raises ``BadInput``, ``MeaninglessRequest`` or
        ``Missing``.
        """
        normalised = self.modality(modality).normalise(data)
        metadata = {} if agent_id is None else {"created_by_key": agent_id}
        draft = EventDraft(self.now, modality, normalised, ACTION_PRIORITY, agent_id, metadata)
        event = self._make_event(draft, direct=True)
        self.queue.add(replace(event, status=EventStatus.EXECUTING))
        return self.execute(event)

    def run_due(self) -> list[WorldEvent]:
        """Runs the events due by now, and returns each with its new status."""
        return [self.execute(event).event for event in self.queue.take_due(self.now)]

    def execute(self, event: WorldEvent) -> EventRun:
        """Run one event, which then is executed, or failed with nothing changed."""
        moment = EventMoment(event.event_id, event.scheduled_time, event.agent_id)
        try:
            applied = self.modality(event.modality).apply(event.data, moment)
        except Exception as problem:  # noqa: BLE001  an action is an edge: its error ends it, not the advance it is in
            error_text = f"{type(problem).__name__}: {problem}"
            return EventRun(self._end_event(event, EventStatus.FAILED, error_text), None)
        self.history.record(UndoEntry(event.event_id, event.modality, event.operation, applied.changes))
        return EventRun(self._end_event(event, EventStatus.EXECUTED, None), applied.outcome)

    def next_number(self) -> int:
        """The number for the next event; each call counts one up."""
        self.numbers += 1
        return self.numbers

    def _make_event(self, draft: EventDraft, direct: bool) -> WorldEvent:
        return WorldEvent(
            event_id=self.surroundings.new_id(),
            scheduled_time=draft.scheduled_time,
            modality=draft.modality,
            data=draft.data,
            created_at=self.now,
            number=self.next_number(),
            priority=draft.priority,
            agent_id=draft.agent_id,
            metadata=dict(draft.metadata or {}),
            direct=direct,
        )

    def _end_event(self, event: WorldEvent, status: EventStatus, error: str | None) -> WorldEvent:
        ended = replace(event, status=status, executed_at=self.now, error_message=error)
        self.queue.replace_event(ended)
        for observer in self.observers:
            observer(ended)
        return ended
