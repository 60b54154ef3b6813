"""What `purple bench days` measures, on the smallest scale: one day, without a stack."""

import pytest

from tools.bench.days.command import find_missed_points, measure_days

pytestmark = pytest.mark.promise("bench.days")


async def test_careful_work_earns_all_and_idleness_and_harm_nothing() -> None:
    figures = await measure_days("bench", 1, planner=False)

    days = figures["days"]
    assert isinstance(days, dict)
    assert list(days.values()) == [{"gold": 1.0, "does_nothing": 0.0, "vandal": 0.0}]
    assert (figures["calls"], figures["missed"]) == ({}, [])


def test_points_that_miss_their_target_are_said_by_day() -> None:
    shares = {"day_1": {"gold": 0.9, "does_nothing": 0.2, "vandal": 0.1, "planner": 0.3}}

    assert find_missed_points(shares) == [
        "day_1: gold earns 90%, target at least 95%",
        "day_1: does_nothing earns 20%, target at most 10%",
        "day_1: the planner earns 30%, target at least 40%",
    ]
