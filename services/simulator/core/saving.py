"""A world saved whole and restored: states, events, undo history, holds and keys."""

from collections.abc import Mapping
from dataclasses import asdict

from pydantic import ValidationError

from services.simulator.core.clock import WorldClock, require_in_range
from services.simulator.core.events import WorldEvent, WorldEventQueue
from services.simulator.core.holds import SimulationHold
from services.simulator.core.hosted_world import HostedWorld
from services.simulator.core.keys import AccessKey
from services.simulator.core.records import JsonObject, Rows
from services.simulator.core.refusals import MeaninglessRequest
from services.simulator.core.saved_shapes import (
    VERSION,
    SavedEvent,
    SavedHold,
    SavedKey,
    SavedRows,
    SavedUndoEntry,
    SavedWorld,
)
from services.simulator.core.undo import UndoEntry, UndoHistory
from services.simulator.core.world import SimulatorWorld


def save_world(hosted: HostedWorld) -> JsonObject:
    world = hosted.world
    return {
        "v": VERSION,
        "clock": {
            "current": world.clock.current.isoformat(),
            "scale": world.clock.scale,
            "paused": world.clock.paused,
            "auto": world.clock.auto,
        },
        "simulation_id": world.simulation_id,
        "running": world.running,
        "numbers": world.numbers,
        "states": {
            name: _rows_as_json(world, name, modality.store.rows()) for name, modality in world.modalities.items()
        },
        "base": {name: _rows_as_json(world, name, rows) for name, rows in world.base.items()},
        "events": [SavedEvent(**asdict(event)).model_dump(mode="json") for event in world.queue],
        "done": [_entry_as_json(world, entry) for entry in world.history.done],
        "undone": [_entry_as_json(world, entry) for entry in world.history.undone],
        "holds": [
            SavedHold(**asdict(hold)).model_dump(mode="json")
            for hold in world.holds.drop_expired_and_list(world.surroundings.now())
        ],
        "keys": [SavedKey(**asdict(key)).model_dump(mode="json") for key in hosted.keys.keys_of_world],
    }


def restore_world(hosted: HostedWorld, saved: SavedWorld) -> None:
    """Make the world what it was when it was saved; raises ``MeaninglessRequest``, and then nothing has changed."""
    world = hosted.world
    strange = {*saved.states, *saved.base} - world.modalities.keys()
    if strange:
        raise MeaninglessRequest(f"Unknown modalities: {', '.join(sorted(strange))}")
    try:
        states, base = _read_rows(world, saved.states), _read_rows(world, saved.base)
        history = _read_history(world, saved)
        clock = _read_clock(world, saved)
    except (ValidationError, ValueError) as error:
        raise MeaninglessRequest(f"This is no saved world: {error}") from None
    for name, rows in states.items():
        world.modalities[name].store.replace(rows)
    world.base = {**world.base, **base}
    world.clock = clock
    world.history = history
    world.queue = _read_queue(saved)
    world.simulation_id, world.numbers = saved.simulation_id or world.simulation_id, saved.numbers
    world.running = saved.simulation_id is not None if saved.running is None else saved.running
    _restore_holds_and_keys(hosted, saved)


def _restore_holds_and_keys(hosted: HostedWorld, saved: SavedWorld) -> None:
    hosted.world.holds.clear()
    for hold in saved.holds:
        hosted.world.holds.acquire(SimulationHold(**dict(hold)))
    hosted.keys.replace_keys(AccessKey(**dict(key)) for key in saved.keys)


def _rows_as_json(world: SimulatorWorld, name: str, rows: Rows) -> JsonObject:
    return world.modalities[name].store.rows_as_json(rows)


def _read_rows(world: SimulatorWorld, saved: Mapping[str, SavedRows]) -> dict[str, Rows]:
    return {name: world.modalities[name].store.rows_from_json(rows) for name, rows in saved.items()}


def _read_clock(world: SimulatorWorld, saved: SavedWorld) -> WorldClock:
    saved_clock = saved.clock
    return WorldClock(
        require_in_range(saved_clock.current),
        world.surroundings.now(),
        saved_clock.scale,
        saved_clock.paused,
        saved_clock.auto,
    )


def _read_queue(saved: SavedWorld) -> WorldEventQueue:
    queue = WorldEventQueue()
    queue.add_all(WorldEvent(**dict(event)) for event in saved.events)
    return queue


def _read_history(world: SimulatorWorld, saved: SavedWorld) -> UndoHistory:
    history = UndoHistory()
    history.fill([_read_entry(world, entry) for entry in saved.done], [_read_entry(world, e) for e in saved.undone])
    return history


def _entry_as_json(world: SimulatorWorld, entry: UndoEntry) -> JsonObject:
    return {
        "event_id": entry.event_id,
        "modality": entry.modality,
        "action": entry.action,
        "changes": world.modalities[entry.modality].store.changes_as_json(entry.changes),
    }


def _read_entry(world: SimulatorWorld, saved: SavedUndoEntry) -> UndoEntry:
    if saved.modality not in world.modalities:
        raise ValueError(f"unknown modality {saved.modality}")
    changes = world.modalities[saved.modality].store.changes_from_json(saved.changes)
    return UndoEntry(saved.event_id, saved.modality, saved.action, tuple(changes))
