"""Whether the worker gets better, as the console says it."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from services.gateway.features.console.charts import ChartLine, Frame, days_chart, lines, round_ticks
from services.gateway.features.console.views.health import (
    DayCounts,
    WaitingCounts,
    better_tile,
    causes,
    cost_of_a_task,
    cost_tile,
    day_counts,
    endings,
    error_rate,
    latencies,
    load,
    needs_tile,
    working_tile,
)
from services.gateway.features.console.views.progress import direction, process_cards, quality
from services.gateway.features.tenants.service import DaySpent, TenantState
from shared.contracts.task import TaskRecord
from shared.domain.bandit import Arm
from shared.domain.estimates import Moment, Point, moments
from shared.domain.words import TaskState
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def course(*qualities: float) -> tuple[Moment, ...]:
    """A trend of these qualities, one a minute."""
    sums = [round(10_000 * sum(qualities[: place + 1])) for place in range(len(qualities))]
    return moments([Point(n, units, 60_000 * n) for n, units in enumerate(sums, 1)])


@pytest.mark.promise("console.first_screen")
@each_row(
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
@each_row(
    ("totals", "state", "value", "tone"),
    [
        ({TaskState.COMPLETED: 9, TaskState.REJECTED: 4}, TenantState(), "9 of 9", "good"),
        ({TaskState.COMPLETED: 9, TaskState.FAILED: 1}, TenantState(), "9 of 10", "warn"),
        ({TaskState.COMPLETED: 1, TaskState.FAILED: 9}, None, "1 of 10", "bad"),
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
    tile = needs_tile(WaitingCounts(approvals=2, doubts=1, letters=1), 5, NOON, NOON)
    assert (tile.value, tile.remark) == ("4", "2 approvals, 1 write in doubt and 1 dead letter; first due now")
    places = [
        needs_tile(WaitingCounts(**{kind: 1}), 0, None, NOON).href
        for kind in ("approvals", "doubts", "letters", "hooks")
    ]
    assert places == [
        "/console/approvals",
        "/console/tasks?state=waiting",
        "/console/operations/dead-letters",
        "/console/webhooks",
    ]
    assert needs_tile(WaitingCounts(), 1, None, NOON).remark == "1 approval waits for others"
    assert better_tile(None).value == "–"


@pytest.mark.promise("console.first_screen")
def test_what_today_and_the_week_have_cost() -> None:
    spent = [DaySpent("2026-11-20", 10, 2_000_000_000, 5), DaySpent("2026-11-22", 10, 500_000_000, 4)]
    tile = cost_tile(spent, [DayCounts("2026-11-22", events=10)], NOON.date())
    assert (tile.value, tile.remark) == ("$0.50", "today: 4 model calls, $0.05 a task; $2.50 in 7 days")
    assert cost_tile([DaySpent("2026-11-22")], [], NOON.date()).remark == "no model was asked in the last days"


@pytest.mark.promise("console.operations")
def test_a_queue_that_nobody_works_off_is_bad() -> None:
    state = TenantState(waiting=2)
    assert [load(state, still=still)[0].tone for still in (True, False)] == ["bad", ""]
    assert working_tile({TaskState.COMPLETED: 9}, 2, state, still=True).value == "Stands still"


def ended(task_id: str, seconds: float, **data: object) -> TaskRecord:
    record = a_record("s")
    told = {"task_id": task_id, "updated_at": record.accepted_at + timedelta(seconds=seconds), "metadata": {}}
    return record.model_copy(update={**told, "state": TaskState.COMPLETED, **data})


@pytest.mark.promise("console.operations")
@each_row("left", [{"approval_request": {"approval_id": "a"}}, {"approval_id": "a", "approval": "by dana"}])
def test_how_long_tasks_took_apart_from_waiting_for_people(left: dict[str, object]) -> None:
    alone = [ended(f"t{n}", n) for n in range(1, 21)]
    waited = ended("w", 7200, metadata=left)
    assert [(one.label, one.value) for one in latencies([*alone, waited])] == [
        ("Half of the tasks took", "10.0 s"),
        ("19 in 20 took at most", "19.0 s"),
        ("With an approval", "2 h"),
    ]
    assert latencies([]) == ()


@pytest.mark.promise("console.operations")
def test_why_tasks_failed_is_counted_with_one_of_them_to_look_at() -> None:
    broke = {"state": TaskState.FAILED, "metadata": {"failed_part": "model"}}
    records = [ended("t1", 1, **broke), ended("t2", 1, **broke), ended("t3", 1), ended("t4", 1, state=TaskState.FAILED)]
    assert causes(records) == (("It broke at the model", 2, "t1"), ("No reason was given", 1, "t4"))


@pytest.mark.promise("console.operations")
def test_a_refusal_is_no_error_and_a_cancel_counts_nowhere() -> None:
    totals = {TaskState.COMPLETED: 17, TaskState.REJECTED: 2, TaskState.FAILED: 1, TaskState.CANCELED: 9}
    assert error_rate(totals)[1:] == ("5.0 %", "1 of 20 tasks that were not canceled", "warn")
    assert [(row.word, row.share) for row in endings(totals)][:2] == [("completed", "59 %"), ("rejected", "6.9 %")]
    assert endings({}) == ()


def test_a_day_without_tasks_is_a_gap() -> None:
    drawn = days_chart([DayCounts("2026-02-27", 2), DayCounts("2026-03-02", 4)])
    heights = [float(one) for one in re.findall(r'<rect x="[^"]+" y="[^"]+" width="[^"]+" height="([^"]+)"', drawn)]
    assert [height > 0 for height in heights[-4:]] == [True, False, False, True]


def test_days_are_told_in_order_with_their_mean_quality_of_judged_tasks() -> None:
    """A dry run is counted, and not judged."""
    counted = {"2026-11-22": {"events": 3, "success": 1, "partial": 1, "quality_units": 12_000}, "2026-11-21": {}}
    days = day_counts(counted)
    assert [(day.date, day.events, day.quality) for day in days] == [("2026-11-21", 0, ""), ("2026-11-22", 3, "0.60")]
    assert cost_of_a_task([DaySpent("2026-11-22", nanos=9)], days) == 3


def test_a_chart_says_what_it_shows_and_escapes_it() -> None:
    drawn = lines(
        [ChartLine("s2", [(5, 0.5)]), ChartLine("s1", [(1, 0.1), (9, 0.9)])], 'Means of "<b>"', Frame(300, 100, (0, 1))
    )
    assert 'role="img" aria-label="Means of &#34;&lt;b&gt;&#34;"' in drawn
    assert [drawn.count(f"lines {tone}") for tone in ("s1", "s2")] == [1, 1]
    assert "style=" not in drawn


@each_row(("most", "top"), [(0, 1), (0.003, 0.004), (1, 1), (7, 8), (101, 200), (4500, 5000)])
def test_an_axis_ends_at_a_round_number(most: float, top: float) -> None:
    assert round_ticks(most)[-1] == pytest.approx(top)
