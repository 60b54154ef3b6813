"""How long it takes until another executor owns what a killed one had in hand."""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from tools.chaos.sight import HeldSession, Sight

_LOOK_EVERY = 0.1


class Recovered(NamedTuple):
    """One turn that went on elsewhere. ``doubtful``: a write was under way, whose time had to pass first."""

    session_id: str
    died: float  # monotonic time of the kill
    seconds: float
    doubtful: bool
    everything_was_dead: bool


class _LostOwner(NamedTuple):
    since: float
    everything_was_dead: bool


class Recoveries:
    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._lost: dict[HeldSession, _LostOwner] = {}
        self.known: list[Recovered] = []

    @property
    def outstanding(self) -> int:
        return len(self._lost)

    async def note_deaths(self, pids: Sequence[int], since: float, *, everything_was_dead: bool = False) -> None:
        """Executors of these pids died at ``since`` (monotonic): remember what they had in hand.

        With ``everything_was_dead`` whatever still waits for an owner waits for the restart of everything.
        """
        if everything_was_dead:
            self._lost = {held: lost._replace(everything_was_dead=True) for held, lost in self._lost.items()}
        for pid in pids:
            found = await self._sight.sessions_of(pid)
            self._lost |= {held: _LostOwner(since, everything_was_dead) for held in found}

    def restart_count(self, moment: float) -> None:
        """Everything was dead until that moment (monotonic): what still waits for an owner waits since then."""
        self._lost = {
            held: lost._replace(since=moment) if lost.everything_was_dead else lost for held, lost in self._lost.items()
        }

    async def lower_fences(self) -> None:
        """The server forgot its last writes: what waits for an owner waits for a fence above the one it has now."""
        lost = dict(self._lost)
        fences = await self._sight.fences(tuple(lost))
        now = {held: held._replace(fence=min(held.fence, fence)) for held, fence in zip(lost, fences, strict=True)}
        self._lost = {now.get(held, held): since for held, since in self._lost.items()}
        self._lost = {held: since for held, since in self._lost.items() if held.fence > 0}

    async def drop_finished(self) -> None:
        """Forgets what has nothing left to do: after a cut tail an owner may come before its fence could be lowered."""
        lost = tuple(self._lost)
        have_work = await self._sight.have_work(lost) if lost else ()
        self._lost = {held: self._lost[held] for held, has_work in zip(lost, have_work, strict=True) if has_work}

    async def serve(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self._lost:
                await self._look(tuple(self._lost))

    async def _look(self, lost: Sequence[HeldSession]) -> None:
        fences = await self._sight.fences(tuple(lost))
        now = time.monotonic()
        for held, fence in zip(lost, fences, strict=True):
            if fence > held.fence:
                if (noted := self._lost.pop(held, None)) is None:  # the server has forgotten its last writes meanwhile
                    continue
                since, everything_was_dead = noted
                self.known.append(Recovered(held.session_id, since, now - since, held.doubtful, everything_was_dead))


def percentile(seconds: Sequence[float], share: float) -> float | None:
    """The value below which that share of the sorted values lies; None of none."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
