"""What `purple bench learner` measures, on a small scale: that it measures what it says, not how fast a machine is."""

import pytest

from tools.bench.executor.recall import RecallFigures, RecallReading, measure_recall
from tools.bench.learner.command import LearnerFigures as Speed
from tools.bench.learner.rates import LearnerRates, Round, rates
from tools.bench.learning.story import LAST, TASKS, LearningStory


async def test_learner_and_bare_reader_go_through_the_same_events() -> None:
    """Each of them has all; otherwise there would be no figures."""
    (found,) = (await rates(events=120, rounds=1)).rounds
    assert min(found) > 0


def test_a_learner_that_is_much_slower_than_a_bare_reader_misses_its_target() -> None:
    slow, quick = Round(10_000, 30_000, 60_000), Round(20_000, 30_000, 60_000)
    assert Speed(LearnerRates((slow, slow, quick)), (), 0).missed == [
        "0.333 of a bare reader's rate, target at least 0.5"
    ]
    assert Speed(LearnerRates((slow, quick, quick)), (), 0).missed == []


@pytest.mark.promise("prime.reads_bounded")
async def test_reading_takes_one_round_trip_and_the_same_bytes_at_one_tenant_and_at_many() -> None:
    found = await measure_recall(tenants=50, reads=5)
    assert [each.round_trips for each in found] == [1, 1]
    assert found.among_many.bytes == found.alone.bytes > 0
    assert found.among_many.keys > found.alone.keys


def test_reads_that_grow_with_the_tenants_miss_their_target() -> None:
    alone = RecallReading(1, 5, 1, 400_000, 5.0, 9.0)
    assert RecallFigures(alone, alone._replace(tenants=10_000)).missed == []
    grown = RecallFigures(alone, alone._replace(tenants=10_000, round_trips=2, bytes=500_000, p50_ms=11.0))
    assert len(grown.missed) == 3


@pytest.mark.parametrize(
    ("used", "leaves"),
    [
        (["fsm", "five_phase", "moa"] * 10, False),
        (["five_phase", "fsm", "moa", *["fsm", "moa"] * 13, "fsm"], True),
        (["fsm", "moa"] * 13 + ["five_phase", "fsm", "five_phase", "moa"], False),
        (["fsm"] * 30, False),
    ],
    ids=["in turn", "tried once", "still tried", "never another"],
)
def test_a_strategy_is_left_when_it_is_the_least_used_and_hardly_tried_at_last(used: list[str], leaves: bool) -> None:
    assert len(used) == TASKS > LAST
    assert LearningStory(tuple(used), {}, "t:1", (), 1.0, 1.0).leaves_the_worse is leaves


@pytest.mark.parametrize(("use", "shown"), [("avoid", True), ("follow", False)])
def test_a_failing_case_counts_only_where_it_is_shown_as_what_to_avoid(use: str, shown: bool) -> None:
    cases = ({"case": "other:1", "use": "avoid"}, {"case": "t:1", "use": use})
    assert LearningStory(("fsm",), {}, "t:1", cases, 1.0, 1.0).shows_the_failing_case is shown
