"""Events and their queue: what is due is found in logarithmic time, whatever the history has grown to."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from services.simulator.core.records import JsonObject


class EventStatus(StrEnum):
    PENDING = "pending"
    EXECUTING = "executing"
    EXECUTED = "executed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class WorldEvent:
    """One change of the world: wanted, done or failed. ``data`` is a normalised action of its modality.

    ``direct``: a caller's action, carried out in the request that made it; everything else waits in the queue.
    ``settled``: it had ended before the world was loaded.
    ``number`` counts the events of a world in the order in which they were made.
    """

    event_id: str
    scheduled_time: datetime
    modality: str
    data: JsonObject
    created_at: datetime
    number: int
    status: EventStatus = EventStatus.PENDING
    priority: int = 0
    agent_id: str | None = None
    executed_at: datetime | None = None
    error_message: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    direct: bool = False
    settled: bool = False

    @property
    def operation(self) -> str:
        """What its modality calls the action; ``update`` where there is only one."""
        return str(self.data.get("operation", "update"))


class _QueuePosition(NamedTuple):
    """Where an event stands in the order of execution."""

    scheduled_time: datetime
    urgency: int
    number: int
    event_id: str


class WorldEventQueue:
    """Every event of a world, past and to come."""

    def __init__(self) -> None:
        self._events: dict[str, WorldEvent] = {}
        self._order: list[_QueuePosition] = []
        self._pending: list[_QueuePosition] = []  # a heap; what is no longer pending is dropped when it comes up
        self.by_status: Counter[EventStatus] = Counter()
        self.by_modality: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[WorldEvent]:
        """In the order of execution."""
        return (self._events[position.event_id] for position in self._order)

    def get(self, event_id: str) -> WorldEvent | None:
        return self._events.get(event_id)

    def __getitem__(self, event_id: str) -> WorldEvent:
        return self._events[event_id]

    def add(self, event: WorldEvent) -> None:
        insort(self._order, _position(event))
        self._index_event(event)
        if event.status is EventStatus.PENDING:
            heappush(self._pending, _position(event))

    def add_all(self, events: Iterable[WorldEvent]) -> None:
        """Adds many events, and sorts the queue only once."""
        for event in events:
            self._index_event(event)
        self._order = sorted(map(_position, self._events.values()))
        self._pending = [_position(event) for event in self._events.values() if event.status is EventStatus.PENDING]
        heapify(self._pending)

    def replace_event(self, event: WorldEvent) -> None:
        """Replace an event by what has become of it; its place in the order does not change."""
        before = self._events[event.event_id]
        self._events[event.event_id] = event
        if before.status is not event.status:
            self.by_status[before.status] -= 1
            self.by_status[event.status] += 1
            if event.status is EventStatus.PENDING:
                heappush(self._pending, _position(event))

    def remove(self, event_id: str) -> None:
        event = self._events.pop(event_id)
        position = _position(event)
        del self._order[bisect_left(self._order, position)]
        self.by_status[event.status] -= 1
        self.by_modality[event.modality] -= 1

    def next_pending(self) -> WorldEvent | None:
        """The waiting event that runs first, whenever that is; None if none waits."""
        while self._pending:
            event = self._events.get(self._pending[0].event_id)
            if event is not None and event.status is EventStatus.PENDING:
                return event
            heappop(self._pending)
        return None

    def take_due(self, now: datetime) -> list[WorldEvent]:
        """Takes the events due at ``now``, in order. Events that these cause are left for the next call."""
        due: list[WorldEvent] = []
        while (event := self.next_pending()) is not None and event.scheduled_time <= now:
            heappop(self._pending)
            self.replace_event(replace(event, status=EventStatus.EXECUTING))
            due.append(event)
        return due

    def find_between(self, start: datetime | None, end: datetime | None) -> Iterator[WorldEvent]:
        """Yields the events scheduled from ``start`` to ``end``, both included, in the order of execution."""
        first = 0 if start is None else bisect_left(self._order, start, key=_time_of)
        last = len(self._order) if end is None else bisect_right(self._order, end, key=_time_of)
        return (self._events[self._order[index].event_id] for index in range(first, last))

    def find_after(self, time: datetime) -> Iterator[WorldEvent]:
        """Yields the events scheduled later than ``time``."""
        first = bisect_right(self._order, time, key=_time_of)
        return (self._events[self._order[index].event_id] for index in range(first, len(self._order)))

    def _index_event(self, event: WorldEvent) -> None:
        self._events[event.event_id] = event
        self.by_status[event.status] += 1
        self.by_modality[event.modality] += 1


def _position(event: WorldEvent) -> _QueuePosition:
    return _QueuePosition(event.scheduled_time, -event.priority, event.number, event.event_id)


def _time_of(place: _QueuePosition) -> datetime:
    return place.scheduled_time
