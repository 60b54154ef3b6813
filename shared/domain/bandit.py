"""UCB1 over strategies, for one process type."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shared.domain.words import Strategy

REWARD_UNITS = 10_000  # rewards are summed as whole ten-thousandths, so that no order of events changes a mean
UNTRIED_MEAN = 0.5
_EXPLORATION_FACTOR = math.sqrt(2)


class Arm(NamedTuple):
    """How often one strategy was used for one process (``n``), and the sum of its rewards in ten-thousandths
    (``units``).
    """

    n: int = 0
    units: int = 0

    @property
    def mean_reward(self) -> float:
        """The mean reward, 0 to 1."""
        return self.units / (self.n * REWARD_UNITS) if self.n else UNTRIED_MEAN


Arms = Mapping[Strategy, Arm]


class StrategyChoice(NamedTuple):
    """The chosen strategy and why. ``scores``: the UCB1 score by strategy; None for one that was never used."""

    strategy: Strategy
    scores: Mapping[Strategy, float | None]
    why: str


def convert_to_reward_units(quality: float) -> int:
    """A quality from 0 to 1 as a whole number of units."""
    return round(quality * REWARD_UNITS)


def compute_ucb1_score(arm: Arm, pulls: int) -> float | None:
    """The UCB1 score of an arm, ``Q + sqrt(2) * sqrt(ln(N) / n)``; None if its strategy was never used.

    ``pulls``: how often all strategies together were used.
    """
    return arm.mean_reward + _EXPLORATION_FACTOR * math.sqrt(math.log(pulls) / arm.n) if arm.n else None


def choose_strategy(arms: Arms, available: Sequence[Strategy]) -> StrategyChoice:
    """Chooses one of the available strategies.

    The first task of a process type uses the first strategy; then each that was never used; then the one with the
    highest score. Ties go to the first in ``available``.
    """
    pulls = sum(arm.n for arm in arms.values())
    scores = {strategy: compute_ucb1_score(arms.get(strategy, Arm()), pulls) for strategy in available}
    if not pulls:
        return StrategyChoice(available[0], scores, "first visit of this process type")
    untried = [strategy for strategy, score in scores.items() if score is None]
    if untried:
        return StrategyChoice(untried[0], scores, "not tried yet")
    return StrategyChoice(max(available, key=lambda strategy: scores[strategy] or 0.0), scores, "highest UCB1 score")
