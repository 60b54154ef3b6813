"""Which partitions a learner reads, so that all learners have about the same number."""

from services.learner.ports.outcomes import Roster
from shared.domain.partition import PARTITIONS


def share_of(roster: Roster) -> frozenset[int]:
    """Every partition is one learner's: those who see the same roster agree without asking each other."""
    learners = sorted({*roster.learners, roster.me})
    return frozenset(range(learners.index(roster.me), PARTITIONS, len(learners)))
