"""How far a few runs can be trusted."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from shared.domain import estimates
from shared.domain.bandit import REWARD_UNITS
from tests.each_row import each_row

pytestmark = pytest.mark.promise("assess.intervals")


def test_a_chance_has_wilsons_interval_a_mean_students_and_a_difference_welchs() -> None:
    """The figures of Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
    assert estimates.compute_chance_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert estimates.compute_chance_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    assert estimates.compute_chance_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert estimates.compute_chance_interval(1, 29) == pytest.approx((0.0061, 0.1718), abs=1e-4)
    assert estimates.compute_mean_interval([1, 2, 3, 4, 5]) == pytest.approx((1.037, 4.963), abs=1e-3)
    assert estimates.compute_mean_interval([7.0, 7.0]) == (7.0, 7.0)
    assert estimates.compute_mean_interval([7.0]) is None
    assert estimates.compute_difference_interval([1, 2, 3], [4, 5, 6]) == pytest.approx((0.733, 5.267), abs=1e-3)
    assert estimates.compute_difference_interval([1.0, 1.0], [3.0, 3.0]) == (2.0, 2.0)
    assert estimates.compute_difference_interval([1.0], [3.0, 3.0]) is None


def test_points_are_read_as_they_are_kept() -> None:
    assert estimates.parse_trend("1:9000:1700000000000 2:14000:1700000001000") == (
        estimates.CumulativeReward(1, 9000, 1_700_000_000_000),
        estimates.CumulativeReward(2, 14_000, 1_700_000_001_000),
    )
    assert estimates.parse_trend("") == ()


@each_row("spoiled", ["1:9000", "one:9000:5"])
def test_a_trend_that_is_none_is_refused(spoiled: str) -> None:
    with pytest.raises(ValueError, match=r"values to unpack|invalid literal"):
        estimates.parse_trend(spoiled)


def test_a_moment_has_the_mean_of_all_and_of_those_since_the_last() -> None:
    """Two cases at 0.9, two at 0.5: 0.7 of all, 0.5 since."""
    points = [estimates.CumulativeReward(2, 18_000, 1_000), estimates.CumulativeReward(4, 28_000, 2_000)]
    assert estimates.build_trend_points(points) == (
        estimates.TrendPoint(2, 1_000, 0.9, 0.9),
        estimates.TrendPoint(4, 2_000, 0.7, 0.5),
    )


def test_time_never_goes_back_whatever_was_counted_when() -> None:
    found = estimates.build_trend_points(
        [estimates.CumulativeReward(2, REWARD_UNITS, 500), estimates.CumulativeReward(1, REWARD_UNITS, 900)]
    )
    assert [(moment.n, moment.at_ms) for moment in found] == [(1, 900), (2, 900)]


@pytest.mark.promise("assess.pass_hat")
@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_it_is_the_share_of_draws_in_which_all_passed(runs: list[bool]) -> None:
    for k, chance in estimates.compute_pass_hat(sum(runs), len(runs)).items():
        draws = [all(drawn) for drawn in combinations(runs, k)]
        assert chance == pytest.approx(sum(draws) / len(draws))


@pytest.mark.promise("assess.pass_hat")
def test_without_runs_nothing_is_said() -> None:
    assert estimates.compute_pass_hat(0, 0) == {}
