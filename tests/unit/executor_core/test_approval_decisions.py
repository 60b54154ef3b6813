"""Approvals: bound to one plan and verdict, decided only by who may, in time."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.authorize.approval import (
    NotCounted,
    add_decision,
    approval_refusal,
    ask_for_approval,
    brief_approver,
    is_expired,
)
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role
from tests.unit.executor_core.makers import NOON, call, plan, verdict

PLAN = plan(call({"claim_id": "C-1", "note": "one\ntwo"}))
BOSS = Principal(id="boss", roles=(Role.APPROVER,), levels=("Manager",))


def asked(level: str | None = "manager", needed: int = 1) -> Approval:
    said = verdict(
        escalation_level=level,
        requires_approval=True,
        triggered_rules=[
            {"rule_id": "limit", "policy_id": "p", "action": "require_approval", "level": level, "reason": "over 100"}
        ],
    )
    return ask_for_approval(PLAN, said, "clerk", NOON, hours=2, needed=needed)


def turn(word: object = "approve", by: Principal = BOSS, **data: str) -> Turn:
    return Turn.model_validate(
        {"turn_id": "t", "task_id": "task-1", "kind": TurnKind.DECISION, "principal": by, "received_at": NOON,
         "data": {"decision": word, **data}}
    )  # fmt: skip


@pytest.mark.promise("I7.decisions")
def test_an_approval_is_bound_to_its_plan_and_its_verdict() -> None:
    one = asked()
    other_plan = ask_for_approval(plan(call({"claim_id": "C-2"})), verdict(), "clerk", NOON, 2, 1)
    other_verdict = ask_for_approval(PLAN, verdict(context_hash="d"), "clerk", NOON, 2, 1)

    assert one.plan_hash == PLAN.hash != other_plan.plan_hash
    assert len({one.approval_id, other_plan.approval_id, other_verdict.approval_id}) == 3
    assert one.verdict_hash != other_verdict.verdict_hash


@pytest.mark.promise("I7.decisions")
@pytest.mark.parametrize(("word", "status"), [("approve", "approved"), (" Reject ", "rejected")])
def test_who_may_decide_decides(word: str, status: str) -> None:
    assert add_decision(asked(), turn(word), NOON).status.value == status


@pytest.mark.promise("I7.decisions")
@pytest.mark.parametrize(
    ("decision", "at", "why"),
    [
        (turn(by=Principal(id="clerk", roles=(Role.APPROVER,), levels=("manager",))), NOON, "cannot approve it"),
        (turn(by=Principal(id="x", levels=("manager",))), NOON, "role approver"),
        (turn(by=Principal(id="x", roles=(Role.OPERATOR,), levels=("manager",))), NOON, "role approver"),
        (turn(by=Principal(id="x", roles=(Role.APPROVER,), levels=("cfo",))), NOON, "level manager"),
        (turn(by=Principal(id="x", roles=(Role.APPROVER,))), NOON, "level manager"),
        (turn(), NOON + timedelta(hours=2), "no longer waiting"),
        (turn("yes"), NOON, "approve"), (turn("approve please"), NOON, "approve"), (turn(True), NOON, "approve"),
        (turn(None), NOON, "approve"), (turn(approval_id="another"), NOON, "earlier question"),
    ],
)  # fmt: skip
def test_what_has_no_right_to_count_does_not(decision: Turn, at: datetime, why: str) -> None:
    with pytest.raises(NotCounted, match=why):
        add_decision(asked(), decision, at)


@pytest.mark.promise("I7.decisions")
def test_two_people_are_two_people() -> None:
    first = add_decision(asked(needed=2), turn(), NOON)

    assert first.status is ApprovalStatus.WAITING
    with pytest.raises(NotCounted, match="already decided"):
        add_decision(first, turn(), NOON)
    assert add_decision(first, turn(by=BOSS.model_copy(update={"id": "boss2"})), NOON).status is ApprovalStatus.APPROVED


@pytest.mark.promise("I7.decisions")
@given(words=st.lists(st.sampled_from(["approve", "reject", "perhaps"]), max_size=6), needed=st.integers(1, 3))
def test_an_approval_is_given_exactly_by_enough_yeses_before_any_no(words: list[str], needed: int) -> None:
    approval = asked(needed=needed)
    for number, word in enumerate(words):
        try:
            approval = add_decision(approval, turn(word, BOSS.model_copy(update={"id": f"b{number}"})), NOON)
        except NotCounted:
            continue

    counted = [word for word in words if word != "perhaps"]
    first_no = counted.index("reject") if "reject" in counted else len(counted)
    assert (approval.status is ApprovalStatus.APPROVED) == (first_no >= needed)


def test_time_runs_out_at_the_deadline_and_only_for_what_waits() -> None:
    approval = asked()
    assert not is_expired(approval, approval.deadline - timedelta(microseconds=1))
    assert is_expired(approval, approval.deadline)
    assert not is_expired(add_decision(approval, turn(), NOON), approval.deadline)


def test_the_brief_shows_the_exact_call_on_one_line_and_who_until_when_and_why() -> None:
    text = brief_approver(asked(needed=2))

    assert r'approve_claim(claim_id="C-1", note="one\ntwo")' in text
    for said in ("a manager (2 different people)", "- limit: over 100", "2026-01-15 14:00 UTC", "no answer means no"):
        assert said in text


def test_a_refusal_says_who_or_when() -> None:
    no = add_decision(asked(), turn("reject", comment="no receipt"), NOON)
    expired = asked().model_copy(update={"status": ApprovalStatus.EXPIRED})

    assert approval_refusal(no) == "rejected by boss: no receipt; nothing was written"
    assert "no decision before 2026-01-15 14:00 UTC" in approval_refusal(expired)
