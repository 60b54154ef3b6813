"""Many events at once: each judged by itself, or all of them or none."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from services.simulator.core.events import WorldEvent
from services.simulator.core.refusals import SimulatorRefusal
from services.simulator.core.world import EventDraft, SimulatorWorld

T = TypeVar("T")


class CheckedItem(NamedTuple):
    """One item of a batch before scheduling: the event it would become, or why it cannot."""

    wanted: EventDraft | None
    error: str | None


class ScheduledItem(NamedTuple):
    """One item of a batch after scheduling: its event, or why there is none."""

    event: WorldEvent | None
    error: str | None


def check_items(items: Sequence[T], read: Callable[[T], EventDraft]) -> list[CheckedItem]:
    return [_check_item(item, read) for item in items]


def schedule_items(world: SimulatorWorld, items: Sequence[CheckedItem]) -> list[ScheduledItem]:
    """Schedules the items that are valid; returns each item's event, or why it has none, in their order."""
    return [ScheduledItem(world.schedule(item.wanted) if item.wanted else None, item.error) for item in items]


def _check_item(item: T, read: Callable[[T], EventDraft]) -> CheckedItem:
    try:
        return CheckedItem(read(item), None)
    except SimulatorRefusal as problem:
        return CheckedItem(None, str(problem))
