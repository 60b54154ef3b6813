"""Reads the outcomes that the learner reads a second time for another purpose, in its own consumer group."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from services.learner.ports.outcomes import Delivery, Outcomes


class OutcomeNews:
    """The partitions where the learner expected or took outcomes. ``some`` is set while there are any."""

    def __init__(self) -> None:
        self.some = asyncio.Event()
        self._partitions: set[int] = set()

    def add_partitions(self, partitions: Collection[int]) -> None:
        if partitions:
            self._partitions.update(partitions)
            self.some.set()

    def drain_partitions(self) -> Collection[int]:
        """The partitions added since the last call."""
        partitions, self._partitions = self._partitions, set()
        self.some.clear()
        return partitions


class OutcomeFollower:
    """Applies outcomes of the partitions that this process's learner reads.

    ``apply`` handles outcomes, each with effect once, and raises nothing but ``StoreUnavailable`` and
    ``MemoryContended``, after which the same outcomes come again. A group that stops would block requests to forget,
    which wait for all groups. ``partitions``: returns the learner's partitions; ``news``: where there may be outcomes
    since the last call.
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
        """Applies and settles the waiting outcomes; returns how many there were."""
        partitions = frozenset(self._partitions())
        if partitions_to_release := self._mine - partitions:
            await self._outcomes.release(partitions_to_release)
        self._mine &= partitions
        self._expected = (self._expected | (partitions - self._mine)).union(self._news()) & partitions
        outcomes = await self._outcomes.claim(self._expected)
        self._mine |= self._expected.difference(outcomes.partitions_lost)
        partitions_to_claim: Collection[int] = ()
        if outcomes.deliveries:
            await self._apply(outcomes.deliveries)
            partitions_to_claim = await self._outcomes.settle(outcomes.deliveries)
        self._expected = frozenset(outcomes.partitions_with_more).union(partitions_to_claim)
        return len(outcomes.deliveries)

    def expect_outcomes_everywhere(self) -> None:
        """Reads all partitions in the next run."""
        self._expected = self._mine

    async def release_partitions(self) -> None:
        partitions, self._mine = self._mine, frozenset()
        await self._outcomes.release(partitions)
