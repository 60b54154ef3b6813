"""Many events at once: each judged by itself, or all of them or none."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from services.simulator.core.events import Event
from services.simulator.core.refusals import Refusal
from services.simulator.core.world import Wanted, World

T = TypeVar("T")


class Judged(NamedTuple):
    """One item: what it would become, or why it cannot."""

    wanted: Wanted | None
    error: str | None


class Item(NamedTuple):
    """One item afterwards."""

    event: Event | None
    error: str | None


def judged(items: Sequence[T], read: Callable[[T], Wanted]) -> list[Judged]:
    return [_judged(item, read) for item in items]


def scheduled(world: World, items: Sequence[Judged]) -> list[Item]:
    """Put those that can be into the queue."""
    return [Item(world.schedule(item.wanted) if item.wanted else None, item.error) for item in items]


def _judged(item: T, read: Callable[[T], Wanted]) -> Judged:
    try:
        return Judged(read(item), None)
    except Refusal as problem:
        return Judged(None, str(problem))
