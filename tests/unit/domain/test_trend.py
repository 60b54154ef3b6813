"""How a mean came to be, from the points that are kept of it."""

import pytest

from shared.domain.bandit import REWARD_UNITS
from shared.domain.estimates import Moment, Point, moments, read_points
from tests.each_row import each_row


def test_points_are_read_as_they_are_kept() -> None:
    assert read_points("1:9000:1700000000000 2:14000:1700000001000") == (
        Point(1, 9000, 1_700_000_000_000),
        Point(2, 14_000, 1_700_000_001_000),
    )
    assert read_points("") == ()


@each_row("spoiled", ["1:9000", "1:9000:5:6", "one:9000:5"])
def test_a_trend_that_is_none_is_refused(spoiled: str) -> None:
    with pytest.raises(ValueError, match=r"values to unpack|invalid literal"):
        read_points(spoiled)


def test_a_moment_has_the_mean_of_all_and_of_those_since_the_last() -> None:
    """Two cases at 0.9, two at 0.5: 0.7 of all, 0.5 since."""
    points = [Point(2, 18_000, 1_000), Point(4, 28_000, 2_000)]
    assert moments(points) == (Moment(2, 1_000, 0.9, 0.9), Moment(4, 2_000, 0.7, 0.5))


def test_time_never_goes_back_whatever_was_counted_when() -> None:
    found = moments([Point(2, REWARD_UNITS, 500), Point(1, REWARD_UNITS, 900)])
    assert [(moment.n, moment.at_ms) for moment in found] == [(1, 900), (2, 900)]
