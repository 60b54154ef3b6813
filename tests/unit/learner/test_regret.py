"""What the bandit's choices cost, against the bound that its theorem gives."""

import math

import pytest

from tools.bench.learner.regret import ARMS, SCENES, RegretCourse, RegretScene, course, marks, regret_bound

SEEDS = 200


def _grows_no_faster_than_its_bound(found: RegretCourse) -> None:
    assert (found.exceeds, found.outgrows) == ((), ())
    assert found.regret[-1] > 0


@pytest.mark.promise("bandit.regret")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
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


def test_a_course_is_looked_at_until_its_end() -> None:
    assert marks(10_000)[0] == 10
    assert marks(10_000)[-1] == 10_000
