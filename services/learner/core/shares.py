"""Which partitions a learner should read, so that all learners have about the same number."""

from math import ceil
from typing import NamedTuple

from services.learner.ports.outcomes import Roster


class Change(NamedTuple):
    """``hold`` is what to read from now on; ``give`` what to leave to others."""

    hold: frozenset[int]
    give: frozenset[int]


def fair_change(roster: Roster) -> Change:
    """Keep or take a fair share of the partitions, from those that nobody else reads."""
    fair = ceil(len(roster.readers) / max(1, roster.learners))
    mine = sorted(partition for partition, reader in roster.readers.items() if reader == roster.me)
    free = sorted(partition for partition, reader in roster.readers.items() if reader is None)
    return Change(frozenset((mine + free)[:fair]), frozenset(mine[fair:]))
