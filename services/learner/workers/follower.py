"""Applies the outcomes that the learner reads for a second purpose, in a consumer group of its own."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.ports.outcomes import Delivery


class OutcomeFollower:
    """Reads outcomes for another purpose than the learner's, in the partitions that the learner of the same process
    reads, and hands them to ``apply``.

    ``apply`` handles outcomes, each with effect once, and raises nothing but ``StoreUnavailable`` and
    ``MemoryContended``, after which the same outcomes come again. A group that stops would block requests to forget,
    which wait for all groups. ``learner_partitions``: returns the partitions that the learner reads.
    """

    def __init__(
        self,
        outcomes: RedisOutcomes,
        apply: Callable[[Sequence[Delivery]], Awaitable[None]],
        learner_partitions: Callable[[], Collection[int]],
    ) -> None:
        self._outcomes = outcomes
        self._apply_deliveries = apply
        self._learner_partitions = learner_partitions
        self.partitions: frozenset[int] = frozenset()  # those that it reads
        self._expected: frozenset[int] = frozenset()

    async def run_once(self) -> int:
        """Applies and settles the waiting outcomes; returns how many there were."""
        partitions = frozenset(self._learner_partitions())
        if partitions_to_release := self.partitions - partitions:
            await self._outcomes.release_partitions(partitions_to_release)
        self.partitions &= partitions
        self._expected = (self._expected | (partitions - self.partitions)) & partitions
        outcomes = await self._outcomes.claim_outcomes(self._expected)
        self.partitions |= self._expected.difference(outcomes.partitions_lost)
        partitions_to_claim: Collection[int] = ()
        if outcomes.deliveries:
            own_groups = ("", self._outcomes.group_name)
            await self._apply_deliveries([delivery for delivery in outcomes.deliveries if delivery.group in own_groups])
            partitions_to_claim = await self._outcomes.settle_outcomes(outcomes.deliveries)
        self._expected = frozenset(outcomes.partitions_with_more).union(partitions_to_claim)
        return len(outcomes.deliveries)

    def expect_outcomes_in(self, partitions: Collection[int]) -> None:
        """Reads these partitions in the next run."""
        self._expected |= self.partitions.intersection(partitions)

    async def release_partitions(self) -> None:
        partitions, self.partitions = self.partitions, frozenset()
        await self._outcomes.release_partitions(partitions)
