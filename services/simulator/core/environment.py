"""A world's environment as text: its time, its modalities and its waiting events."""

from pydantic import JsonValue

from services.simulator.core.events import EventStatus
from services.simulator.core.modality import Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.world import SimulatorWorld


def all_states(world: SimulatorWorld) -> JsonObject:
    return {name: modality.state(world.now) for name, modality in world.modalities.items()}


def compact_states(world: SimulatorWorld) -> JsonObject:
    following = world.queue.next_pending()
    return {
        "snapshot_time": world.now.isoformat(),
        "format": "compact",
        "modalities": {name: modality.compact(world.now) for name, modality in world.modalities.items()},
        "events": {
            "pending_count": world.queue.by_status[EventStatus.PENDING],
            "next_event_time": following.scheduled_time.isoformat() if following else None,
        },
    }


def summarize_state(world: SimulatorWorld, modality: Modality) -> str:
    """One line: the figures of a compact state."""
    figures = _count_texts(modality.compact(world.now))
    return ", ".join(figures) or f"{modality.head.update_count} updates"


def environment_as_text(world: SimulatorWorld) -> str:
    """The environment's time, a line of figures for each modality, and what is pending, as lines of text."""
    lines = [f"Time: {world.now.isoformat()}"]
    lines += [f"{name}: {summarize_state(world, modality)}" for name, modality in world.modalities.items()]
    following = world.queue.next_pending()
    waits = f", the next at {following.scheduled_time.isoformat()}" if following else ""
    return "\n".join([*lines, f"events: {world.queue.by_status[EventStatus.PENDING]} pending{waits}"])


def _count_texts(state: JsonObject) -> list[str]:
    """Numbers of the state and of its statistics."""
    nested = state.get("statistics")
    inner: dict[str, JsonValue] = nested if isinstance(nested, dict) else {}
    return [
        f"{name.replace('_', ' ')} {value}"
        for name, value in (state | inner).items()
        if isinstance(value, int) and not isinstance(value, bool) and name != "update_count"
    ]
