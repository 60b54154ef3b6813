"""How long it takes until another executor owns what a killed one had in hand."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cli.chaos.sight import Held, Sight

_LOOK_EVERY = 0.1


class Recovered(NamedTuple):
    """One turn that went on elsewhere. ``doubtful``: a write was under way, whose time had to pass first."""

    session_id: str
    died: float  # monotonic time of the kill
    seconds: float
    doubtful: bool
    everything_was_dead: bool


@dataclass
class _Lost:
    held: Held
    since: float
    everything_was_dead: bool


class Recoveries:
    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._lost: list[_Lost] = []
        self.known: list[Recovered] = []

    @property
    def outstanding(self) -> int:
        return len(self._lost)

    async def note(self, pids: Sequence[int], since: float, *, everything_was_dead: bool = False) -> None:
        """Executors of these pids died at ``since`` (monotonic): remember what they had in hand."""
        for pid in pids:
            self._lost += [_Lost(held, since, everything_was_dead) for held in await self._sight.held_by(pid)]

    async def serve(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self._lost:
                await self._look(tuple(self._lost))

    async def _look(self, lost: Sequence[_Lost]) -> None:
        fences = await self._sight.fences([one.held.session_id for one in lost])
        now = time.monotonic()
        for one, fence in zip(lost, fences, strict=True):
            if fence > one.held.fence:
                self._lost.remove(one)
                held = one.held
                self.known.append(
                    Recovered(held.session_id, one.since, now - one.since, held.doubtful, one.everything_was_dead)
                )


def percentile(seconds: Sequence[float], share: float) -> float | None:
    """The value below which that share of the sorted values lies; None of none."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
