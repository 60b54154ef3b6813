"""How reliable an agent is over repeated runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.assessor.core.repeats import passes_every_time

pytestmark = pytest.mark.promise("assessor.repeats")


def test_the_chance_that_all_tries_pass_counts_the_ways_to_pick_them() -> None:
    """Three of four runs passed: of the six pairs of runs, three passed both."""
    assert passes_every_time([True, True, False, True], 2) == 0.5


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_more_tries_are_never_likelier_to_pass(passed: list[bool]) -> None:
    chances = [passes_every_time(passed, tries) for tries in range(1, len(passed) + 1)]

    assert chances == sorted(chances, reverse=True)
    assert chances[0] == pytest.approx(sum(passed) / len(passed))
    assert chances[-1] == float(all(passed))


@pytest.mark.parametrize("tries", [0, 3])
def test_runs_tell_nothing_of_more_tries_than_there_were(tries: int) -> None:
    with pytest.raises(ValueError, match="2 runs"):
        passes_every_time([True, True], tries)
