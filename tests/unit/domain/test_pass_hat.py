"""pass^k against its definition: of all ways to draw k of the runs, the share in which every one passed."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.estimates import pass_hat

pytestmark = pytest.mark.promise("assess.pass_hat")


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_it_is_the_share_of_draws_in_which_all_passed(runs: list[bool]) -> None:
    for k, chance in pass_hat(sum(runs), len(runs)).items():
        draws = [all(drawn) for drawn in combinations(runs, k)]
        assert chance == pytest.approx(sum(draws) / len(draws))


def test_without_runs_nothing_is_said() -> None:
    assert pass_hat(0, 0) == {}
