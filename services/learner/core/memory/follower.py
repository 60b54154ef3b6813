"""Reads the outcomes that the learner reads once more, for another purpose, in a consumer group of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from services.learner.ports.outcomes import Delivery, Outcomes


class OutcomeNews:
    """The partitions where the learner expected or took outcomes. ``some`` is set while there are any."""

    def __init__(self) -> None:
        self.some = asyncio.Event()
        self._partitions: set[int] = set()

    def add(self, partitions: Collection[int]) -> None:
        if partitions:
            self._partitions.update(partitions)
            self.some.set()

    def drain(self) -> Collection[int]:
        """The partitions since the last call."""
        found, self._partitions = self._partitions, set()
        self.some.clear()
        return found


class OutcomeFollower:
    """Has outcomes of the partitions taken in that the learner of this process reads.

    ``apply`` takes each in once in effect, and lets none of them stop another: a group that stands still holds up
    requests to forget, which wait for all groups. If it raises ``StoreUnavailable``, nothing is settled, and the same
    outcomes come again.
    ``partitions``: those partitions; ``news``: where there may be outcomes since the last call.
    """

    def __init__(
        self,
        outcomes: Outcomes,
        apply: Callable[[Sequence[Delivery]], Awaitable[None]],
        partitions: Callable[[], Collection[int]],
        news: Callable[[], Collection[int]],
    ) -> None:
        self._outcomes, self._apply, self._partitions, self._news = outcomes, apply, partitions, news
        self._mine: frozenset[int] = frozenset()
        self._expected: frozenset[int] = frozenset()

    async def run_once(self) -> int:
        """Have the outcomes that wait taken in, and settle them; returns how many there were."""
        partitions = frozenset(self._partitions())
        if given := self._mine - partitions:
            await self._outcomes.release(given)
        self._mine &= partitions
        self._expected = (self._expected | (partitions - self._mine)).union(self._news()) & partitions
        taken = await self._outcomes.claim(self._expected)
        self._mine |= self._expected.difference(taken.lost)
        again: Collection[int] = ()
        if taken.deliveries:
            await self._apply(taken.deliveries)
            again = await self._outcomes.settle(taken.deliveries)
        self._expected = frozenset(taken.more).union(again)
        return len(taken.deliveries)

    def expect_anywhere(self) -> None:
        """Read all partitions in the next run."""
        self._expected = self._mine

    async def release_partitions(self) -> None:
        mine, self._mine = self._mine, frozenset()
        await self._outcomes.release(mine)
