"""What the console says of learning and asks of the store, whoever looks at it."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from services.gateway.features.approvals.approvals import ApprovalListPage, ApprovalService
from services.gateway.features.console.charts import (
    ChartFrame,
    ChartLine,
    choose_round_ticks,
    draw_days_chart,
    draw_line_chart,
)
from services.gateway.features.console.context import InboxCache
from services.gateway.features.console.views import health, memory
from services.gateway.features.console.views.evidence import build_policy_evidence, build_write_rows, sum_usage_by_tier
from services.gateway.features.console.views.formatting import parse_digits_or_zero
from services.gateway.features.console.views.progress import (
    build_process_cards,
    build_quality_history,
    compute_quality_trend,
)
from services.gateway.features.identity.model import Caller
from services.gateway.features.learning import LearnedData, LearningHistory, LearningTotals
from services.gateway.features.memory import LinkedEntity
from services.gateway.features.tasks.listing import TaskListPage, TaskListPosition, TaskLists, TaskQuery
from services.gateway.features.tenants import DailySpending, TenantState
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.task import Principal, TaskEvent, TaskRecord
from shared.domain.bandit import Arm
from shared.domain.cases import CaseOutcome
from shared.domain.estimates import CumulativeReward, TrendPoint, build_trend_points
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role, TaskState
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row
from tests.unit.learner.makers import a_case

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def course(*qualities: float) -> tuple[TrendPoint, ...]:
    """A trend of these qualities, one a minute."""
    sums = [round(10_000 * sum(qualities[: place + 1])) for place in range(len(qualities))]
    return build_trend_points([CumulativeReward(n, units, 60_000 * n) for n, units in enumerate(sums, 1)])


@pytest.mark.promise("console.first_screen")
@each_row(
    ("qualities", "arrow", "lately"),
    ([0.4] * 10 + [0.8] * 10, "up", 0.8),
    ([0.8] * 10 + [0.4] * 10, "down", 0.4),
    ([0.7] * 10 + [0.75] * 10, "level", 0.75),  # so little makes chance alone
    ([0.1] * 40 + [0.5] * 20 + [0.9] * 20, "up", 0.9),  # what is long past counts no more
    ([0.2, 0.9], "", 0.55),
)
def test_the_direction_is_of_the_last_tasks_against_others(qualities: list[float], arrow: str, lately: float) -> None:
    found = compute_quality_trend(course(*qualities))
    assert found is not None
    assert (found.arrow, round(found.recent_mean, 4)) == (arrow, lately)


def test_before_the_first_task_no_direction_is_told_and_points_that_stand_wide_apart_give_an_exact_one() -> None:
    """Of a long trend every sixteenth point is kept."""
    assert (compute_quality_trend([]), build_quality_history([]), build_quality_history(course(0.5))) == (
        None,
        None,
        None,
    )
    whole = course(*([0.5] * 64 + [0.9] * 64))
    found = compute_quality_trend([point for point in whole if point.n % 16 == 0])
    assert found is not None
    assert (found.arrow, round(found.recent_mean, 4)) == ("level", 0.9)


@pytest.mark.promise("console.learning")
def test_each_arm_has_its_mean_its_uses_and_its_score_and_of_arms_that_are_alike_none_is_the_best() -> None:
    arms = {"expense_approval": {"fsm": Arm(3, 24_000), "moa": Arm(1, 3_000)}, "sla_breach": {"fsm": Arm(1, 9_000)}}
    told = {"expense_approval": {"fsm": course(0.8, 0.8, 0.8), "moa": course(0.3)}}
    first, second = build_process_cards(arms, told)
    assert [(row.title, row.mean, row.uses, row.share, row.leads) for row in first.arms] == [
        ("State machine", "0.80", 3, 75, True),
        ("Five phases", "", 0, 0, False),
        ("Mixture of agents", "0.30", 1, 25, False),
    ]
    assert [row.score for row in first.arms] == ["1.76", "", "1.97"]
    assert (first.title, second.title, second.lines) == ("Expense approval", "SLA breach", ())
    assert [tone for tone, _ in first.lines] == ["s1", "s3"]
    (card,) = build_process_cards({"general": {"fsm": Arm(1, 5_000), "moa": Arm(1, 5_000)}}, {})
    assert not any(row.leads for row in card.arms)


@pytest.mark.promise("console.first_screen")
@each_row(
    ("totals", "state", "value", "tone"),
    ({TaskState.COMPLETED: 9, TaskState.REJECTED: 4}, TenantState(), "9 of 9", "good"),
    ({TaskState.COMPLETED: 9, TaskState.FAILED: 1}, TenantState(), "9 of 10", "warn"),
    ({TaskState.COMPLETED: 1, TaskState.FAILED: 9}, None, "1 of 10", "bad"),
    ({TaskState.COMPLETED: 9}, TenantState(stopped="audit"), "Stopped", "bad"),
    ({}, TenantState(), "Idle", ""),
)
def test_it_works_where_tasks_are_done_and_nothing_stands_still(
    totals: dict[TaskState, int], state: TenantState | None, value: str, tone: str
) -> None:
    tile = health.build_working_tile(totals, 0, state)
    assert (tile.value, tile.tone) == (value, tone)


@pytest.mark.promise("console.first_screen")
def test_what_needs_somebody_is_counted_and_leads_there() -> None:
    tile = health.build_waiting_tile(health.WaitingCounts(approvals=2, tasks_in_doubt=1, dead_letters=1), 5, NOON, NOON)
    assert (tile.value, tile.remark) == ("4", "2 approvals, 1 write in doubt and 1 dead letter; first due now")
    places = [
        health.build_waiting_tile(health.WaitingCounts(**{kind: 1}), 0, None, NOON).href
        for kind in ("approvals", "tasks_in_doubt", "dead_letters", "disabled_webhooks")
    ]
    assert places == [
        "/console/approvals",
        "/console/tasks?state=waiting",
        "/console/operations/dead-letters",
        "/console/webhooks",
    ]
    assert health.build_waiting_tile(health.WaitingCounts(), 1, None, NOON).remark == "1 approval waits for others"
    assert health.build_quality_tile(None).value == "–"


@pytest.mark.promise("console.first_screen")
def test_what_today_and_the_week_have_cost() -> None:
    spent = [DailySpending("2026-11-20", 10, 2_000_000_000, 5), DailySpending("2026-11-22", 10, 500_000_000, 4)]
    tile = health.build_cost_tile(spent, [health.DayCounts("2026-11-22", tasks=10)], NOON.date())
    assert (tile.value, tile.remark) == ("$0.50", "today: 4 model calls, $0.05 a task; $2.50 in 7 days")
    assert (
        health.build_cost_tile([DailySpending("2026-11-22")], [], NOON.date()).remark
        == "no model was asked in the last days"
    )


@pytest.mark.promise("console.operations")
def test_a_queue_that_nobody_works_off_is_bad() -> None:
    state = TenantState(waiting=2)
    assert [health.build_load_tiles(state, is_stuck=still)[0].tone for still in (True, False)] == ["bad", ""]
    assert health.build_working_tile({TaskState.COMPLETED: 9}, 2, state, is_stuck=True).value == "Stands still"


def ended(task_id: str, seconds: float, **data: object) -> TaskRecord:
    record = a_record("s")
    told = {"task_id": task_id, "updated_at": record.accepted_at + timedelta(seconds=seconds), "metadata": {}}
    return record.model_copy(update={**told, "state": TaskState.COMPLETED, **data})


@pytest.mark.promise("console.operations")
@each_row("left", [{"approval_request": {"approval_id": "a"}}, {"approval_id": "a", "approval": "by dana"}])
def test_how_long_tasks_took_apart_from_waiting_for_people(left: dict[str, object]) -> None:
    alone = [ended(f"t{n}", n) for n in range(1, 21)]
    waited = ended("w", 7200, metadata=left)
    assert [(one.label, one.value) for one in health.build_duration_tiles([*alone, waited])] == [
        ("Half of the tasks took", "10.0 s"),
        ("19 in 20 took at most", "19.0 s"),
        ("With an approval", "2 h"),
    ]
    assert health.build_duration_tiles([]) == ()


@pytest.mark.promise("console.operations")
def test_why_tasks_failed_is_counted_a_refusal_is_no_error_and_a_cancel_counts_nowhere() -> None:
    broke = {"state": TaskState.FAILED, "metadata": {"failed_part": "model"}}
    records = [ended("t1", 1, **broke), ended("t2", 1, **broke), ended("t3", 1), ended("t4", 1, state=TaskState.FAILED)]
    assert health.count_failure_causes(records) == (
        ("It broke at the model", 2, "t1"),
        ("No reason was given", 1, "t4"),
    )
    totals = {TaskState.COMPLETED: 17, TaskState.REJECTED: 2, TaskState.FAILED: 1, TaskState.CANCELED: 9}
    failed = health.build_error_rate_tile(totals)
    assert (failed.value, failed.remark, failed.tone) == ("5.0 %", "1 of 20 tasks that were not canceled", "warn")
    assert [(row.state.text, row.share) for row in health.build_end_state_rows(totals)][:2] == [
        ("Completed", "59 %"),
        ("Rejected", "6.9 %"),
    ]
    assert health.build_end_state_rows({}) == ()


def test_days_are_told_in_order_with_the_mean_quality_of_judged_tasks_and_one_without_tasks_is_a_gap() -> None:
    """A dry run is counted, and not judged."""
    counted = {"2026-11-22": {"events": 3, "success": 1, "partial": 1, "quality_units": 12_000}, "2026-11-21": {}}
    days = health.parse_day_counts(counted)
    assert [(day.date, day.tasks, day.quality) for day in days] == [("2026-11-21", 0, ""), ("2026-11-22", 3, "0.60")]
    assert health.compute_mean_cost_of_tasks([DailySpending("2026-11-22", nanos=9)], days) == 3
    drawn = draw_days_chart([health.DayCounts("2026-02-27", 2), health.DayCounts("2026-03-02", 4)])
    heights = [float(one) for one in re.findall(r'<rect x="[^"]+" y="[^"]+" width="[^"]+" height="([^"]+)"', drawn)]
    assert [height > 0 for height in heights[-4:]] == [True, False, False, True]


def test_a_chart_says_what_it_shows_and_escapes_it() -> None:
    drawn = draw_line_chart(
        [ChartLine("s2", [(5, 0.5)]), ChartLine("s1", [(1, 0.1), (9, 0.9)])],
        'Means of "<b>"',
        ChartFrame(300, 100, (0, 1)),
    )
    assert 'role="img" aria-label="Means of &#34;&lt;b&gt;&#34;"' in drawn
    assert [drawn.count(f"lines {tone}") for tone in ("s1", "s2")] == [1, 1]
    assert "style=" not in drawn


@each_row(("most", "top"), [(0, 1), (0.003, 0.004), (7, 8)])
def test_an_axis_ends_at_a_round_number(most: float, top: float) -> None:
    assert choose_round_ticks(most)[-1] == pytest.approx(top)


@pytest.mark.promise("console.memory")
def test_cases_are_found_by_words_and_outcome_page_by_page() -> None:
    outcomes = [CaseOutcome.FAILURE if n % 10 == 0 else CaseOutcome.SUCCESS for n in range(60)]
    entries = [a_case(n, f"Approve claim {n}", outcome=outcome) for n, outcome in enumerate(outcomes)]
    first = memory.build_cases_page(entries, memory.MemoryQuery())
    failures = memory.build_cases_page(entries, memory.MemoryQuery("approve CLAIM", "failure"))
    last = memory.build_cases_page(entries, memory.MemoryQuery(page=3))
    assert (len(first.rows), first.has_more, first.stored_count) == (memory.PAGE_SIZE, True, 60)
    assert [(one.text, one.row_count) for one in failures.kinds] == [("Success", 54), ("Failure", 6)]
    assert [row.task_id for row in failures.rows] == ["t0", "t10", "t20", "t30", "t40", "t50"]
    assert (len(last.rows), last.has_more) == (10, False)
    assert memory.build_cases_page(entries, memory.MemoryQuery("t59")).total == 1


@each_row("text", ["", "0", "-1", "x"])
def test_a_page_that_is_none_is_the_first(text: str) -> None:
    assert (parse_digits_or_zero(text) or 1) == 1


@pytest.mark.promise("console.memory")
def test_a_fact_that_was_contradicted_and_a_prediction_that_drifts_say_so() -> None:
    old = KnownFact(text="Terms are 30 days", domain="procurement", quality=0.7, at=NOON, superseded_at=NOON)
    new = KnownFact(text="Terms are 45 days", domain="procurement", quality=0.7, at=NOON, replaces="30 days")
    rows = memory.build_facts_page([new, old], memory.MemoryQuery(kind="procurement")).rows
    assert [memory.fact_note(row) for row in rows] == ["before: 30 days", "a newer one says otherwise"]
    row = PredictionAccuracy(attempts=5, matches=1, window=(True, False, False, False, False), drift_alerts=1)
    assert memory.trust_badge(row).text == "Drifts"


@pytest.mark.promise("console.memory")
def test_entities_are_shown_with_what_they_stood_with_as_it_was_written() -> None:
    acme = LinkedEntity(
        KnownEntity(kind="vendor", value="Acme Ltd", seen=3, last_seen=NOON),
        EntityLinks(together=("reference:po-1", "amount:5 usd")),
    )
    order = LinkedEntity(KnownEntity(kind="reference", value="PO-1", seen=1, last_seen=NOON))
    found = memory.build_entities_page([acme, order], memory.MemoryQuery("po-1"))
    assert [(row.entity.value, row.links.together) for row in found.rows] == [
        ("Acme Ltd", ("PO-1", "5 usd")),
        ("PO-1", ()),
    ]


@pytest.mark.promise("console.evidence")
def test_a_write_is_shown_with_the_origin_of_its_arguments_and_its_proof() -> None:
    row: JsonObject = {
        "call_id": "c1",
        "tool": "record_credit",
        "connection": "erp",
        "arguments": {"amount": "420.00"},
        "provenance": [{"argument": "amount", "source": "value", "ref": "share_of_fee"}],
        "status": "verified",
        "proof": {"note": "read back", "read_back": "list_credits", "shows": [{"id": "CRD-1"}]},
        "operators": [{"resolution": "done", "by": "olga", "comment": "seen"}],
        "sent_at": "2026-11-22T12:00:00+00:00",
    }
    (write,) = build_write_rows([row], None)
    assert write.arguments[0] == ("amount", "420.00", "worked out: share of fee")
    assert (write.status.text, write.note, write.read_back) == ("Verified", "read back", "list_credits")
    assert (write.read_back_fields, write.operator_decisions, write.sent_at) == (
        (("id", "CRD-1"),),
        ("Done by olga seen",),
        NOON,
    )


@pytest.mark.promise("console.evidence")
def test_the_verdict_says_which_rules_why_and_by_which_values() -> None:
    rule = {"ruleId": "LIMIT", "policyId": "p", "action": "escalate", "level": "legal", "reason": "too much",
            "values": {"amount": 900}}  # fmt: skip
    verdict = {"passed": False, "escalate": True, "triggeredRules": [rule], "indeterminate": ["OTHER"]}
    found = build_policy_evidence(a_record("s").model_copy(update={"metadata": {"verdict": verdict}}))
    assert found is not None
    assert (found.badge.text, found.undecided_rules) == ("Escalates", ("OTHER",))
    assert found.rules[0] == ("LIMIT", "p", "too much", "Escalate by legal", (("amount", "900"),))


@pytest.mark.promise("console.evidence")
def test_model_calls_are_summed_by_tier_with_their_price() -> None:
    calls = [
        ("haiku", {"input": 1000, "output": 20, "nanos": 1_500_000}),
        ("haiku", {"input": 500, "output": 5, "nanos": 500_000}),
        ("sonnet", {"output": 7}),
    ]
    told = [
        (f"{n}-0", TaskEvent(kind="model", at=NOON + timedelta(seconds=n), data={"tier": tier, **used}))
        for n, (tier, used) in enumerate(calls)
    ]
    assert sum_usage_by_tier(told) == (("Haiku", 2, "1,500", "25", "$0.0020"), ("Sonnet", 1, "", "7", ""))


class Store(TaskLists, ApprovalService, LearnedData):
    """``asked``: of which owner's tasks it was asked for a page, in order (None: of everybody's)."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    @override
    async def read_page(
        self, tenant: str, query: TaskQuery, position: TaskListPosition | None, owner: str | None = None
    ) -> TaskListPage:
        self.asked.append((tenant, owner))
        return TaskListPage((), None, 0)

    @override
    async def list_waiting(self, caller: Caller, limit: int | None = None, page_token: str = "") -> ApprovalListPage:
        return ApprovalListPage(())

    @override
    async def read_totals(self, tenant: str) -> LearningTotals:
        return LearningTotals()

    @override
    async def read_history(self, tenant: str) -> LearningHistory:
        return LearningHistory()


class Clock:
    now = datetime(2026, 1, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def _caller(name: str, role: Role, tenant: str = "acme") -> Caller:
    return Caller(tenant, Principal(id=name, roles=(role,), verified=True))


@pytest.mark.promise("console.looks")
async def test_who_see_the_same_share_one_look_a_second() -> None:
    """However many approvers have their inbox open; a client's own tasks and another tenant are further looks."""
    store, clock = Store(), Clock()
    glance = InboxCache(store, store, store, clock)
    crowd = [_caller(f"dana {number}", Role.APPROVER) for number in range(50)]
    others = [_caller("olga", Role.OPERATOR), _caller("anna", Role.CLIENT), _caller("gina", Role.APPROVER, "globex")]
    for caller in [*crowd, *others]:
        await glance.read_snapshot(caller)
    clock.now += timedelta(seconds=2)
    await glance.read_snapshot(crowd[0])

    assert store.asked == [("acme", None), ("acme", "anna"), ("globex", None), ("acme", None)]
