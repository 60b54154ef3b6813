"""Undo and redo of what a world's events did."""

from dataclasses import replace

from services.simulator.core.events import EventStatus
from services.simulator.core.refusals import Conflict
from services.simulator.core.undo import UndoEntry
from services.simulator.core.world import SimulatorWorld

UNDONE = "Undone"  # why an event that was carried out now counts as skipped


def undo(world: SimulatorWorld, count: int) -> list[UndoEntry]:
    """Takes back ``count`` actions, the newest first, or all if there are fewer; returns them in that order.

    Their events no longer count as executed. Raises ``Conflict`` unless the world runs.
    """
    _require_running(world)
    undone: list[UndoEntry] = []
    while len(undone) < count and (entry := take_back(world)) is not None:
        undone.append(entry)
    return undone


def redo(world: SimulatorWorld, count: int) -> list[UndoEntry]:
    """Does ``count`` actions again, the last taken back first, or all if there are fewer; returns them in that order.

    Raises ``Conflict`` unless the world runs.
    """
    _require_running(world)
    redone: list[UndoEntry] = []
    while len(redone) < count and (entry := world.history.pop_undone()) is not None:
        world.modalities[entry.modality].do_again(entry.changes)
        _set_status(world, entry, EventStatus.EXECUTED, None)
        redone.append(entry)
    return redone


def take_back(world: SimulatorWorld) -> UndoEntry | None:
    """The newest action, which is now taken back; ``None`` if there is none."""
    entry = world.history.pop_newest()
    if entry is None:
        return None
    world.modalities[entry.modality].take_back(entry.changes)
    _set_status(world, entry, EventStatus.SKIPPED, UNDONE)
    return entry


def _require_running(world: SimulatorWorld) -> None:
    if not world.running:
        raise Conflict("Simulation is not running")


def _set_status(world: SimulatorWorld, entry: UndoEntry, status: EventStatus, reason: str | None) -> None:
    event = world.queue.get(entry.event_id)
    if event is not None:
        world.queue.replace_event(replace(event, status=status, error_message=reason))
