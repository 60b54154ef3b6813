"""Approvals: bound to one plan and verdict, decided only by who may, in time."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.authorize.approval import NotCounted, add_decision, ask_for_approval
from services.executor.core.authorize.policy import refuse_if_blocked
from services.executor.core.session.dossier import binding_hash
from services.executor.core.states.machine import Rejected
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.plan import WritePlan
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role
from tests.each_row import each_row
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
@each_row(("word", "status"), [("approve", "approved"), (" Reject ", "rejected")])
def test_who_may_decide_decides(word: str, status: str) -> None:
    assert add_decision(asked(), turn(word), NOON).status.value == status


@pytest.mark.promise("I7.decisions")
@each_row(
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


BLOCK = {"rule_id": "r1", "policy_id": "p", "action": "block", "reason": "never on Sundays"}


@pytest.mark.promise("I2.no_verdict_no_write")
def test_of_several_calls_those_are_named_that_a_rule_blocks_and_a_broken_policy_is_a_refusal() -> None:
    plan = WritePlan(task_id="t", calls=(call({"id": "V-1"}), call({"id": "V-2"}, "c2")))
    blocked = verdict(passed=False, blocked=True, triggered_rules=[{**BLOCK, "call_id": "c2"}])
    with pytest.raises(Rejected, match=r'^blocked by policy: r1: never on Sundays \(approve_claim {"id":"V-2"}\)$'):
        refuse_if_blocked(blocked, plan)
    problem = {"rule_id": "r1", "policy_id": "p", "message": "no such word"}
    with pytest.raises(Rejected, match="policy invalid, so nothing was written: r1: no such word"):
        refuse_if_blocked(verdict(problems=[problem]))


@pytest.mark.promise("I7.decisions")
@each_row("part", ["policy_hash", "context_hash", "plan_hash"])
def test_the_binding_changes_with_policy_context_and_plan(part: str) -> None:
    assert binding_hash(verdict(**{part: "other"})) != binding_hash(verdict())
