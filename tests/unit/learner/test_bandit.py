"""UCB1 as seed 000 writes it, and its regret."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shared.domain.bandit import REWARD_UNITS, Arm, choose, reward_units, ucb1
from shared.domain.words import Strategy
from tests.each_row import each_row
from tools.bench.learner.regret import ARMS, SCENES, RegretCourse, RegretScene, course, regret_bound

ALL = tuple(Strategy)
COUNTS = some.integers(min_value=1, max_value=10_000)


@pytest.mark.promise("bandit.ucb1")
@given(n=COUNTS, others=some.integers(min_value=0, max_value=10_000), mean=some.integers(0, REWARD_UNITS))
def test_the_score_is_the_formula_of_the_seed(n: int, others: int, mean: int) -> None:
    """Q + sqrt(2) * sqrt(ln(N) / n)."""
    arm = Arm(n, n * mean)
    expected = mean / REWARD_UNITS + math.sqrt(2) * math.sqrt(math.log(n + others) / n)
    assert ucb1(arm, n + others) == pytest.approx(expected, rel=1e-12)


@pytest.mark.promise("bandit.ucb1")
@given(rewards=some.lists(some.floats(0, 1), min_size=1, max_size=50), seed=some.integers())
def test_a_mean_does_not_depend_on_the_order_of_the_rewards(rewards: list[float], seed: int) -> None:
    """The seed's incremental mean, without its rounding: sums of whole units."""
    shuffled = rewards.copy()
    random.Random(seed).shuffle(shuffled)  # noqa: S311  # a repeatable order
    arms = [Arm(len(order), sum(map(reward_units, order))) for order in (rewards, shuffled)]
    assert arms[0] == arms[1]
    assert arms[0].q == pytest.approx(sum(rewards) / len(rewards), abs=1 / REWARD_UNITS)


@pytest.mark.promise("bandit.cold_start")
def test_the_first_visit_of_a_process_type_uses_fsm() -> None:
    assert choose({}, ALL).strategy is Strategy.FSM
    assert choose({Strategy.FIVE_PHASE: Arm()}, ALL).strategy is Strategy.FSM


def test_an_arm_that_was_never_tried_has_its_turn_before_any_score() -> None:
    choice = choose({Strategy.FSM: Arm(5, 5 * REWARD_UNITS)}, ALL)
    assert (choice.strategy, choice.why) == (Strategy.FIVE_PHASE, "not tried yet")
    assert choice.scores[Strategy.FIVE_PHASE] is None


def test_the_highest_score_wins_and_ties_go_to_the_first() -> None:
    even = Arm(10, 5 * REWARD_UNITS)
    assert choose(dict.fromkeys(ALL, even), ALL).strategy is Strategy.FSM
    assert choose({**dict.fromkeys(ALL, even), Strategy.MOA: Arm(10, 9 * REWARD_UNITS)}, ALL).strategy is Strategy.MOA


def test_what_cannot_be_carried_out_is_never_chosen() -> None:
    arms = {Strategy.FSM: Arm(100, 0), Strategy.MOA: Arm(1, REWARD_UNITS)}
    assert choose(arms, (Strategy.FSM,)).strategy is Strategy.FSM


SEEDS = 200


def _grows_no_faster_than_its_bound(found: RegretCourse) -> None:
    assert (found.exceeds, found.outgrows) == ((), ())
    assert found.regret[-1] > 0


@pytest.mark.promise("bandit.regret")
@each_row("scene", SCENES)
def test_over_200_seeds_regret_grows_no_faster_than_the_bound(scene: RegretScene) -> None:
    """In the mean, at every mark and from each mark to the next."""
    _grows_no_faster_than_its_bound(course(scene, choices=250, seeds=SEEDS))


@pytest.mark.long
@pytest.mark.timeout(900)  # two million choices
@pytest.mark.promise("bandit.regret")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_over_ten_thousand_choices_too(scene: RegretScene) -> None:
    """And a choice costs less and less: ten times as many do not cost seven times as much."""
    found = course(scene, choices=10_000, seeds=SEEDS)
    _grows_no_faster_than_its_bound(found)
    thousand = found.regret[min(range(len(found.after)), key=lambda place: abs(found.after[place] - 1_000))]
    assert found.regret[-1] < 7 * thousand


def test_the_bound_is_that_of_the_theorem() -> None:
    """One arm worse by 0.2 and one by 0.4, after 100 choices."""
    means = dict(zip(ARMS, (0.9, 0.7, 0.5), strict=True))
    expected = 8 * (math.log(100) / 0.2 + math.log(100) / 0.4) + (1 + math.pi**2 / 3) * 0.6
    assert regret_bound(means, 100) == pytest.approx(expected)


def test_choosing_among_equals_costs_nothing() -> None:
    found = course(RegretScene("equal", dict.fromkeys(ARMS, 0.5)), choices=50, seeds=2)
    assert found.regret[-1] == found.bound[-1] == 0


def test_a_regret_above_its_bound_is_noticed() -> None:
    """Linear growth, as of a bandit that does not learn."""
    linear = tuple(0.3 * choices for choices in (1_000, 10_000, 100_000))
    found = RegretCourse(SCENES[0], (1_000, 10_000, 100_000), linear, (1_208.0, 1_610.0, 2_012.0))
    assert found.exceeds == found.outgrows == (10_000, 100_000)
