"""How far a few runs can be trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.estimates import chance_interval, difference_interval, mean_interval

pytestmark = pytest.mark.promise("assess.intervals")
POINTS = st.lists(st.floats(0, 100), min_size=2, max_size=60)


def test_a_chance_has_wilsons_interval_a_mean_students_and_a_difference_welchs() -> None:
    """The figures of Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
    assert chance_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert chance_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    assert chance_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert chance_interval(1, 29) == pytest.approx((0.0061, 0.1718), abs=1e-4)
    assert mean_interval([1, 2, 3, 4, 5]) == pytest.approx((1.037, 4.963), abs=1e-3)
    assert mean_interval([7.0, 7.0]) == (7.0, 7.0)
    assert mean_interval([7.0]) is None
    assert difference_interval([1, 2, 3], [4, 5, 6]) == pytest.approx((0.733, 5.267), abs=1e-3)
    assert difference_interval([1.0, 1.0], [3.0, 3.0]) == (2.0, 2.0)
    assert difference_interval([1.0], [3.0, 3.0]) is None


@given(POINTS, POINTS)
def test_a_difference_lies_in_its_interval_and_turned_round_it_is_the_other_way(
    before: list[float], after: list[float]
) -> None:
    there, back = difference_interval(before, after), difference_interval(after, before)

    assert there is not None
    assert back is not None
    change = sum(after) / len(after) - sum(before) / len(before)
    assert there.low - 1e-6 <= change <= there.high + 1e-6
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-6)


@given(st.integers(1, 100).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_a_chance_lies_between_nothing_and_all(counted: tuple[int, int]) -> None:
    passed, runs = counted
    interval = chance_interval(passed, runs)

    assert 0 <= interval.low <= passed / runs + 1e-9
    assert passed / runs - 1e-9 <= interval.high <= 1
