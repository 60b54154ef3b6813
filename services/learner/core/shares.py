"""Which partitions a learner reads, so that all learners have about the same number."""

from services.learner.ports.outcomes import Roster
from shared.domain.partition import PARTITIONS


def partitions_of_learner(roster: Roster) -> frozenset[int]:
    """The partitions that this learner reads; all who see the same roster agree on whose each one is."""
    learners = sorted({*roster.learners, roster.me})
    return frozenset(range(learners.index(roster.me), PARTITIONS, len(learners)))
