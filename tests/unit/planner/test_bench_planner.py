"""What `purple bench planner` measures, on a small scale."""

import pytest

from tools.bench.planner.command import MOST_MS, find_missed, measure_calls

pytestmark = pytest.mark.promise("bench.planner")


def test_each_task_is_measured_in_one_list_and_one_by_one_and_a_call_that_takes_too_long_is_named() -> None:
    figures = measure_calls(3)

    assert len(figures) == 12
    assert min(figures.values()) > 0
    assert find_missed({"one": MOST_MS, "another": MOST_MS + 1}) == ["another: 51 ms, target at most 50"]
