"""What choosing costs while the best strategy is still unknown: the product's own bandit against arms that are known.

Regret is what always using the best arm would have earned in the mean, less what the chosen arms earn in the mean. UCB1
bounds its expectation after n choices, for rewards in [0, 1] (Auer, Cesa-Bianchi, Fischer 2002, Theorem 1), by
``8 * sum(ln n / gap) + (1 + pi^2 / 3) * sum(gap)`` over the arms that are worse than the best, ``gap`` by how much.
"""

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from shared.domain.bandit import Arm, choose_strategy, convert_to_reward_units
from shared.domain.words import Strategy

ARMS = tuple(Strategy)
Means = Mapping[Strategy, float]


class RegretScene(NamedTuple):
    """The mean reward of each arm. A reward is 1 or 0: nothing in [0, 1] with these means varies more."""

    name: str
    means: Means


class RegretCourse(NamedTuple):
    """The mean regret over all seeds after each of the ``after`` choices, and the bound there."""

    scene: RegretScene
    after: tuple[int, ...]
    regret: tuple[float, ...]
    bound: tuple[float, ...]

    @property
    def arms(self) -> str:
        """The means of its arms, the best first."""
        return " ".join(f"{mean:.2f}" for mean in sorted(self.scene.means.values(), reverse=True))

    @property
    def exceeds(self) -> tuple[int, ...]:
        """After how many choices the regret is above its bound."""
        rows = zip(self.after, self.regret, self.bound, strict=True)
        return tuple(choices for choices, regret, bound in rows if regret > bound)

    @property
    def outgrows(self) -> tuple[int, ...]:
        """After how many choices the regret has grown by more than its bound since the mark before."""
        rows = zip(self.after[1:], _differences(self.regret), _differences(self.bound), strict=True)
        return tuple(choices for choices, regret, bound in rows if regret > bound)


SCENES = (
    RegretScene("one much worse", dict(zip(ARMS, (0.85, 0.80, 0.30), strict=True))),
    RegretScene("apart", dict(zip(ARMS, (0.5, 0.9, 0.7), strict=True))),
    RegretScene("close", dict(zip(ARMS, (0.60, 0.65, 0.70), strict=True))),
)


def sample_points(choices: int) -> tuple[int, ...]:
    """Where a course is looked at: eight times for each doubling, from ten choices on."""
    count = max(1, round(8 * math.log2(choices / 10)))
    return tuple(sorted({round(10 * (choices / 10) ** (step / count)) for step in range(count + 1)}))


def measure_regret(scene: RegretScene, choices: int, seeds: int) -> RegretCourse:
    """The mean of so many courses, each with its own seed; the same numbers each time."""
    after = sample_points(choices)
    sums = [0.0] * len(after)
    for seed in range(seeds):
        chance = random.Random(f"{scene.name} {seed}")  # noqa: S311  # repeatable rewards
        for place, regret in enumerate(_regrets(scene.means, after, chance)):
            sums[place] += regret
    bounds = tuple(regret_bound(scene.means, choice) for choice in after)
    return RegretCourse(scene, after, tuple(total / seeds for total in sums), bounds)


def regret_bound(means: Means, choices: int) -> float:
    """Theorem 1's bound of the expected regret after so many choices."""
    gaps = [gap for gap in _gaps_to_best(means).values() if gap > 0]
    return 8 * sum(math.log(choices) / gap for gap in gaps) + (1 + math.pi**2 / 3) * sum(gaps)


def _regrets(means: Means, after: Sequence[int], chance: random.Random) -> Sequence[float]:
    arms = dict.fromkeys(ARMS, Arm())
    gaps = _gaps_to_best(means)
    found = []
    regret, wanted = 0.0, frozenset(after)
    for number in range(1, after[-1] + 1):
        used = choose_strategy(arms, ARMS).strategy
        reward = float(chance.random() < means[used])
        arms[used] = Arm(arms[used].n + 1, arms[used].units + convert_to_reward_units(reward))
        regret += gaps[used]
        if number in wanted:
            found.append(regret)
    return found


def _gaps_to_best(means: Means) -> dict[Strategy, float]:
    best = max(means.values())
    return {arm: best - mean for arm, mean in means.items()}


def _differences(values: Sequence[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(values)]
