"""Events that a caller wants at some time: read, judged and put into the queue."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from services.simulator.core.clock import require_in_range
from services.simulator.core.events import EventStatus, WorldEvent
from services.simulator.core.keys import KeyCaller
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import BadInput, Conflict, MeaninglessRequest, Missing, SimulatorRefusal
from services.simulator.core.world import ACTION_PRIORITY, EventDraft, SimulatorWorld


def draft_event(
    world: SimulatorWorld,
    caller: KeyCaller,
    modality: str,
    data: JsonObject,
    scheduled_time: datetime | None = None,
    priority: int = ACTION_PRIORITY,
    metadata: Mapping[str, JsonValue] | None = None,
) -> EventDraft:
    """An event that could be scheduled, by default for now; nothing has changed yet.

    It is the caller's, whoever it is said to be for. Raises ``Missing`` for an unknown modality, ``Conflict`` for the
    past, ``BadInput`` and ``MeaninglessRequest`` for data that its modality does not take.
    """
    reader = world.modality(modality)
    time = world.now if scheduled_time is None else require_in_range(scheduled_time)
    if time < world.now:
        raise Conflict(f"Cannot schedule an event in the past: it is {world.now.isoformat()}")
    try:
        normalised = reader.normalise(data)
    except BadInput:
        raise
    except SimulatorRefusal as problem:
        raise MeaninglessRequest(f"Invalid event: {[str(problem)]}") from None
    event_metadata = {**(metadata or {}), "created_by_key": caller.key_id}
    return EventDraft(time, modality, normalised, priority, caller.key_id, event_metadata)


def cancel(world: SimulatorWorld, event_id: str) -> WorldEvent:
    """Cancels a waiting event. Raises ``Missing``, and ``MeaninglessRequest`` for an event that no longer waits."""
    event = require_event(world, event_id)
    if event.status is not EventStatus.PENDING:
        raise MeaninglessRequest(f"Cannot cancel event with status '{event.status}'")
    cancelled = replace(event, status=EventStatus.CANCELLED)
    world.queue.replace_event(cancelled)
    return cancelled


def require_event(world: SimulatorWorld, event_id: str) -> WorldEvent:
    """The event of that id. Raises ``Missing``."""
    event = world.queue.get(event_id)
    if event is None:
        raise Missing(f"Event {event_id} not found")
    return event
