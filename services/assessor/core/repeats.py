"""How reliable an agent is over repeated runs: pass^k."""

from collections.abc import Sequence
from math import comb


def passes_every_time(passed: Sequence[bool], tries: int) -> float:
    """pass^k: the chance that ``tries`` runs, taken from these without putting back, all passed.

    It is the unbiased estimate of what that many further runs would all do. ``ValueError`` for fewer runs than tries.
    """
    if not 1 <= tries <= len(passed):
        raise ValueError(f"{len(passed)} runs tell nothing of {tries} tries")
    return comb(sum(passed), tries) / comb(len(passed), tries)
