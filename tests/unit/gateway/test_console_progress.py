"""Whether the worker gets better, as the console says it."""

from datetime import UTC, datetime

import pytest

from services.gateway.core.console.health import DayCounts, DayRow, cost_of_a_task, day_counts, day_rows, load
from services.gateway.core.console.overview import Needs, better_tile, cost_tile, needs_tile, working_tile
from services.gateway.core.console.progress import direction, process_cards, quality
from services.gateway.entrypoints.console.charts import Frame, Line, lines, round_ticks
from services.gateway.ports.tenants import DaySpent, TenantState
from shared.domain.bandit import Arm
from shared.domain.trend import Moment, Point, moments
from shared.domain.words import TaskState

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def course(*qualities: float) -> tuple[Moment, ...]:
    """A trend of these qualities, one a minute."""
    sums = [round(10_000 * sum(qualities[: place + 1])) for place in range(len(qualities))]
    return moments([Point(n, units, 60_000 * n) for n, units in enumerate(sums, 1)])


@pytest.mark.promise("console.first_screen")
@pytest.mark.parametrize(
    ("qualities", "arrow", "lately"),
    [
        ([0.4] * 10 + [0.8] * 10, "up", 0.8),
        ([0.8] * 10 + [0.4] * 10, "down", 0.4),
        ([0.7] * 10 + [0.75] * 10, "level", 0.75),  # so little makes chance alone
        ([0.1] * 40 + [0.5] * 20 + [0.9] * 20, "up", 0.9),  # what is long past counts no more
        ([0.2, 0.9], "", 0.55),
    ],
)
def test_the_direction_is_that_of_the_last_tasks_against_those_before(
    qualities: list[float], arrow: str, lately: float
) -> None:
    found = direction(course(*qualities))
    assert found is not None
    assert (found.arrow, round(found.lately, 4)) == (arrow, lately)


def test_before_the_first_task_nothing_is_said_of_a_direction() -> None:
    assert (direction([]), quality([]), quality(course(0.5))) == (None, None, None)


def test_points_that_stand_wide_apart_still_give_exact_means() -> None:
    """Of a long trend every sixteenth point is kept."""
    whole = course(*([0.5] * 64 + [0.9] * 64))
    found = direction([point for point in whole if point.n % 16 == 0])
    assert found is not None
    assert (found.arrow, round(found.lately, 4)) == ("level", 0.9)


@pytest.mark.promise("console.learning")
def test_each_arm_has_its_mean_its_uses_and_its_score() -> None:
    arms = {"expense_approval": {"fsm": Arm(3, 24_000), "moa": Arm(1, 3_000)}, "sla_breach": {"fsm": Arm(1, 9_000)}}
    told = {"expense_approval": {"fsm": course(0.8, 0.8, 0.8), "moa": course(0.3)}}
    first, second = process_cards(arms, told)
    assert [(row.title, row.mean, row.uses, row.share, row.leads) for row in first.arms] == [
        ("State machine", "0.80", 3, 75, True),
        ("Five phases", "", 0, 0, False),
        ("Mixture of agents", "0.30", 1, 25, False),
    ]
    assert [row.score for row in first.arms] == ["1.76", "", "1.97"]
    assert (first.title, second.title, second.lines) == ("Expense approval", "SLA breach", ())
    assert [tone for tone, _ in first.lines] == ["s1", "s3"]


def test_of_arms_that_are_alike_none_is_the_best() -> None:
    (card,) = process_cards({"general": {"fsm": Arm(1, 5_000), "moa": Arm(1, 5_000)}}, {})
    assert not any(row.leads for row in card.arms)


@pytest.mark.promise("console.first_screen")
@pytest.mark.parametrize(
    ("totals", "state", "value", "tone"),
    [
        ({TaskState.COMPLETED: 9, TaskState.REJECTED: 4}, TenantState(), "9 of 9", "good"),
        ({TaskState.COMPLETED: 9, TaskState.FAILED: 1}, TenantState(), "9 of 10", "warn"),
        ({TaskState.COMPLETED: 1, TaskState.FAILED: 9}, None, "1 of 10", "bad"),
        ({TaskState.COMPLETED: 9}, TenantState(waiting=3), "Stands still", "bad"),
        ({TaskState.COMPLETED: 9}, TenantState(stopped="audit"), "Stopped", "bad"),
        ({}, TenantState(), "Idle", ""),
    ],
)
def test_it_works_where_tasks_are_done_and_nothing_stands_still(
    totals: dict[TaskState, int], state: TenantState | None, value: str, tone: str
) -> None:
    tile = working_tile(totals, 0, state)
    assert (tile.value, tile.tone) == (value, tone)


@pytest.mark.promise("console.first_screen")
def test_what_needs_somebody_is_counted_and_leads_there() -> None:
    tile = needs_tile(Needs(approvals=2, doubts=1, letters=1), 5, NOON, NOON)
    assert (tile.value, tile.remark) == ("4", "2 approvals, 1 write in doubt and 1 dead letter; first due now")
    places = [
        needs_tile(Needs(**{kind: 1}), 0, None, NOON).href for kind in ("approvals", "doubts", "letters", "hooks")
    ]
    assert places == [
        "/console/approvals",
        "/console/tasks?state=waiting",
        "/console/operations/dead-letters",
        "/console/webhooks",
    ]
    assert needs_tile(Needs(), 1, None, NOON).remark == "1 approval waits for others"
    assert better_tile(None).value == "–"


@pytest.mark.promise("console.first_screen")
def test_what_today_and_the_week_have_cost() -> None:
    spent = [DaySpent("2026-11-20", 10, 2_000_000_000, 5), DaySpent("2026-11-22", 10, 500_000_000, 4)]
    tile = cost_tile(spent, [DayCounts("2026-11-22", events=10)], NOON.date())
    assert (tile.value, tile.remark) == ("$0.50", "today: 4 model calls, $0.05 a task; $2.50 in 7 days")
    assert cost_tile([DaySpent("2026-11-22")], [], NOON.date()).remark == "no model was asked in the last days"


def test_a_queue_that_nobody_works_off_is_bad() -> None:
    assert [load(TenantState(waiting=2, running=running))[0].tone for running in (0, 1)] == ["bad", ""]


def test_days_are_told_newest_first_with_their_mean_quality_of_judged_tasks() -> None:
    """A dry run is counted, and not judged."""
    counted = {"2026-11-22": {"events": 3, "success": 1, "partial": 1, "quality_units": 12_000}, "2026-11-21": {}}
    days = day_counts(counted)
    assert day_rows(days)[0] == DayRow("2026-11-22", 3, 1, 1, 0, "0.60")
    assert cost_of_a_task([DaySpent("2026-11-22", nanos=9)], days) == 3


def test_a_chart_says_what_it_shows_and_escapes_it() -> None:
    drawn = lines([Line("s2", [(5, 0.5)]), Line("s1", [(1, 0.1), (9, 0.9)])], 'Means of "<b>"', Frame(300, 100, (0, 1)))
    assert 'role="img" aria-label="Means of &#34;&lt;b&gt;&#34;"' in drawn
    assert [drawn.count(f"lines {tone}") for tone in ("s1", "s2")] == [1, 1]
    assert "style=" not in drawn


@pytest.mark.parametrize(("most", "top"), [(0, 1), (0.003, 0.004), (1, 1), (7, 8), (101, 200), (4500, 5000)])
def test_an_axis_ends_at_a_round_number(most: float, top: float) -> None:
    assert round_ticks(most)[-1] == pytest.approx(top)
