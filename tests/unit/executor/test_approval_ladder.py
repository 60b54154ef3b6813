"""What an approver is shown, how many people it takes, and where an approval goes that nobody decides in time."""

from datetime import datetime, timedelta

import pytest

from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from shared.contracts.approval import Approval, ApprovalStatus, LadderRung, NoticeEvent, NoticeTarget
from shared.contracts.policy import TriggeredRule
from shared.contracts.task import Principal, TaskRecord
from shared.domain.words import Role, RuleAction, TaskState
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import NOTICE, begun_as, run_with_deaths
from tests.unit.executor.stage import APPROVE, MANAGER, Stage, deadline, decision

FINANCE = Principal(id="fay", roles=(Role.APPROVER,), levels=("finance",))
OTHER = Principal(id="other", roles=(Role.APPROVER,), levels=("manager",))
LADDER = (LadderRung(level="manager", hours=2), LadderRung(level="finance", hours=4), LadderRung(level="cfo"))


async def _asked(ladder: tuple[LadderRung, ...] = LADDER, approvers: int = 1, notices: int = 0) -> Stage:
    """A plan that a rule wants a manager to approve, for a tenant with a ladder."""
    stage = Stage()
    rule = TriggeredRule(
        rule_id="LIMIT",
        policy_id="p",
        action=RuleAction.REQUIRE_APPROVAL,
        level="manager",
        approvers=approvers,
        reason="over the limit",
    )
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager", "triggered_rules": (rule,)}
    targets = (NoticeTarget(url="https://hooks.example/x"),) * notices
    changed = {"approval_ladder": ladder, "approval_hours": 8, "notices": targets}
    stage.change_tenant(**changed)
    await stage.run()
    return stage


async def _passed(stage: Stage, hours: float, turn_id: str) -> Approval:
    """The approval once so many hours have gone by and its timer has fired."""
    stage.turns.ahead += timedelta(hours=hours, minutes=1)
    await stage.run(deadline(turn_id))
    return stage.turns.approvals[-1]


@pytest.mark.promise("approvals.escalation")
async def test_each_level_has_its_time_and_a_timer_of_its_own_and_after_the_last_no_answer_means_no() -> None:
    """The deadline of the next level is another turn than that of the one before; too early it moves nothing."""
    stage = await _asked()
    first, timers = stage.turns.approvals[-1], [stage.turns.ends[-1].timer]
    assert (first.level, first.deadline - first.asked_at) == ("manager", timedelta(hours=2))
    await stage.run(deadline("early"))
    assert stage.turns.approvals[-1].level == "manager"
    second = await _passed(stage, 2, "d1")
    timers.append(stage.turns.ends[-1].timer)
    assert (second.approval_id, second.level, second.status) == (first.approval_id, "finance", ApprovalStatus.WAITING)
    assert second.deadline > first.deadline + timedelta(hours=4)
    assert len({timer.subject for timer in timers if timer}) == 2
    third = await _passed(stage, 4, "d2")
    assert (third.level, [one.level for one in third.escalations]) == ("cfo", ["manager", "finance"])
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    expired = await _passed(stage, 8, "d9")
    assert (expired.status, stage.turns.record.state) == (ApprovalStatus.EXPIRED, TaskState.REJECTED)
    assert stage.claims.applied == []


@pytest.mark.promise("approvals.escalation")
async def test_the_new_level_decides_and_a_ladder_that_does_not_know_the_level_begins_above_it() -> None:
    """And a replay goes up the ladder alike."""
    stage = await _asked()
    await _passed(stage, 2, "d1")
    await stage.ends(
        TaskState.INPUT_REQUIRED, [], decision("approve", MANAGER, "late"), why="not decide at level finance"
    )
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", FINANCE, "yes"))
    assert (await replayed(stage)).difference == ""
    stage = await _asked((LadderRung(level="cfo", hours=1),))
    assert stage.turns.approvals[-1].deadline - stage.turns.approvals[-1].asked_at == timedelta(hours=8)
    assert (await _passed(stage, 8, "d1")).level == "cfo"


@pytest.mark.promise("approvals.escalation")
async def test_dying_while_it_goes_on_moves_it_one_level_once() -> None:
    stage = await _asked()
    stage.turns.ahead = timedelta(hours=3)
    assert await run_with_deaths(stage, deadline()) > 0
    assert [one.level for one in stage.turns.approvals[-1].escalations] == ["manager"]


@pytest.mark.promise("approvals.several")
async def test_a_rule_or_a_level_asks_for_several_different_people_and_one_no_among_them_ends_it() -> None:
    assert (await _asked((LadderRung(level="manager", hours=2, approvers=3),))).turns.approvals[-1].needed == 3
    stage, refused = await _asked((), approvers=2), await _asked((), approvers=3)
    for one in (stage, refused):
        await one.ends(TaskState.INPUT_REQUIRED, [], decision("approve", MANAGER, "one"))
    await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve", MANAGER, "one-again"), why="already decided")
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", OTHER, "two"))
    await refused.ends(TaskState.REJECTED, [], decision("reject", OTHER, "two"))


@pytest.mark.promise("approvals.several")
async def test_a_yes_of_the_level_before_stays_but_never_decides_for_the_next() -> None:
    """One of two managers agreed: two people in all, of whom one is of the next level."""
    stage = await _asked(approvers=2)
    await stage.run(decision("approve", MANAGER, "one"))
    up = await _passed(stage, 2, "d1")
    assert ([one.by.id for one in up.decisions], up.needed) == (["boss"], 2)
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", FINANCE, "two"))


@pytest.mark.promise("approvals.notices_once")
async def test_what_is_to_be_told_is_part_of_the_end_of_the_turn() -> None:
    stage = await _asked(notices=1)
    told = [stage.turns.ends[-1].notices]
    await _passed(stage, 2, "d1")
    told.append(stage.turns.ends[-1].notices)
    for who, turn_id in ((MANAGER, "not theirs"), (FINANCE, "yes")):
        await stage.run(decision("approve", who, turn_id))
        told.append(stage.turns.ends[-1].notices)
    events = [[one.event for one in notices] for notices in told]
    assert events == [[NoticeEvent.WAITING], [NoticeEvent.ESCALATED], [], [NoticeEvent.DECIDED]]


@pytest.mark.promise("approvals.notices_once")
async def test_an_expiry_is_told_and_so_is_a_question_that_was_taken_back() -> None:
    stage = await _asked((), notices=1)
    stage.claims.rows["C-1"]["amount"] = "999.00"
    await stage.run(decision("approve", MANAGER, "yes"))
    both = [
        (one.event, one.approval_id == stage.turns.approvals[0].approval_id) for one in stage.turns.ends[-1].notices
    ]
    assert both == [(NoticeEvent.DECIDED, True), (NoticeEvent.WAITING, False)]
    assert stage.turns.approvals[0].status is ApprovalStatus.SUPERSEDED
    await _passed(stage, 8, "d1")
    assert [one.event for one in stage.turns.ends[-1].notices] == [NoticeEvent.EXPIRED]


@pytest.mark.promise("approvals.grounds")
async def test_an_approval_has_the_rules_the_reads_and_where_each_argument_stands() -> None:
    stage = await _asked()
    assert stage.turns.ends[-1].notices == ()  # without a target
    grounds = stage.turns.approvals[-1].grounds
    assert [(rule.rule_id, rule.action, rule.level) for rule in grounds.rules] == [
        ("LIMIT", "require_approval", "manager")
    ]
    assert [(one.call_id, one.argument, one.source) for one in grounds.arguments] == [("c1", "claim_id", "task")]
    (read,) = grounds.reads
    assert (read.tool, read.ok, '"amount":"120.50"' in read.shows) == ("get_claim", True, True)


async def _requested() -> Stage:
    stage = await begun_as(BUILT_IN_TEMPLATES["expense_approval"].model_copy(update={"approvers": 2}), APPROVE, NOTICE)
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await stage.run()
    return stage


def _request(record: TaskRecord) -> dict[str, object]:
    request = record.metadata["approval_request"]
    assert isinstance(request, dict)
    return dict(request)


@pytest.mark.promise("gate.request")
async def test_the_request_has_the_frozen_calls_their_hash_the_role_and_the_deadline_as_data_and_in_words() -> None:
    """And how many people have decided, and who."""
    stage = await _requested()
    (approval,), request, said = stage.turns.approvals, _request(stage.turns.record), stage.turns.record.answer or ""
    calls = request["calls"]
    assert isinstance(calls, list)
    assert [(call["tool"], call["arguments"]) for call in calls if isinstance(call, dict)] == [
        ("approve_claim", {"claim_id": "C-1"}),
        ("notify_person", {"text": "Claim C-1 is approved."}),
    ]
    assert request["plan_hash"] == approval.plan.hash == stage.turns.record.metadata["plan_hash"]
    assert (request["level"], request["needed"], request["decisions"]) == ("manager", 2, [])
    assert datetime.fromisoformat(str(request["deadline"])) - approval.asked_at == timedelta(hours=24)
    assert (request["approval_id"], request["confirmation"]) == (approval.approval_id, None)
    for part in (
        "Approval needed from a manager (2 different people) before these calls are made.",
        '- approve_claim(claim_id="C-1")',
        '- notify_person(text="Claim C-1 is approved.")',
        f"The plan's hash: {approval.plan_hash}",
        f"before {approval.deadline:%Y-%m-%d %H:%M} UTC; no answer means no.",
    ):
        assert part in said
    record = await stage.run(decision("approve", MANAGER, "first"))
    decisions = _request(record)["decisions"]
    assert isinstance(decisions, list)
    assert [(one["approve"], one["by"]) for one in decisions if isinstance(one, dict)] == [(True, "boss")]
    assert "(2 different people; 1 of 2 given, by boss)" in (record.answer or "")
    record = await stage.run(decision("approve", OTHER, "second"))
    assert (record.state, record.metadata["approval_request"]) == (TaskState.COMPLETED, None)
