"""Events as JSON: the data with its envelope, and the whole event as scenarios carry it."""

from services.simulator.core.events import WorldEvent
from services.simulator.core.modality import EventMoment
from services.simulator.core.records import JsonObject

ENVELOPE = ("modality_type", "timestamp", "input_id")


def action_with_envelope(event: WorldEvent) -> JsonObject:
    """The event's action with its modality, time and input id, as scenarios and event lists show it."""
    input_id = EventMoment(event.event_id, event.scheduled_time, None).new_id("input")
    envelope: JsonObject = {
        "modality_type": event.modality,
        "timestamp": event.scheduled_time.isoformat(),
        "input_id": input_id,
    }
    return envelope | event.data


def event_as_json(event: WorldEvent) -> JsonObject:
    return {
        "event_id": event.event_id,
        "scheduled_time": event.scheduled_time.isoformat(),
        "modality": event.modality,
        "data": action_with_envelope(event),
        "status": event.status.value,
        "created_at": event.created_at.isoformat(),
        "executed_at": event.executed_at.isoformat() if event.executed_at else None,
        "agent_id": event.agent_id,
        "priority": event.priority,
        "error_message": event.error_message,
        "metadata": event.metadata,
    }


def strip_envelope(data: JsonObject) -> JsonObject:
    """The action without its envelope."""
    return {name: value for name, value in data.items() if name not in ENVELOPE}
