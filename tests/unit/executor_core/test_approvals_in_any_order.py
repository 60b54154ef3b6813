"""Approvals: bound to one plan and verdict, decided only by who may and in time, whatever people say in any order."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

from services.executor.core.authorize.approval import (
    InvalidDecision,
    add_decision,
    build_approval_request,
    collect_approval_evidence,
    escalate_approval,
    is_expired,
)
from services.executor.core.authorize.policy import refuse_if_blocked
from services.executor.core.session.dossier import NO_PROGRESS, Dossier, hash_for_approval
from services.executor.core.states.machine import Rejected
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from shared.contracts.approval import Approval, ApprovalStatus, LadderRung
from shared.contracts.plan import ArgumentOrigin, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.words import Role
from tests.each_row import each_row
from tests.unit.executor_core.makers import NOON, call, fact, plan, verdict

pytestmark = pytest.mark.promise("approvals.any_order")

_NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
_LEVELS = ("manager", "finance", "cfo")
_PEOPLE = tuple(
    Principal(id=f"{level}-{number}", roles=(Role.APPROVER,), levels=(level,))
    for level in _LEVELS
    for number in (1, 2, 3)
)
_ASKER = Principal(id="asker", roles=(Role.APPROVER,), levels=_LEVELS)
_BYSTANDER = Principal(id="bystander", levels=_LEVELS)
_ladders = st.lists(st.sampled_from(_LEVELS), unique=True, max_size=3).map(
    lambda levels: tuple(LadderRung(level=level, hours=1) for level in sorted(levels, key=_LEVELS.index))
)


class _Said(NamedTuple):
    who: Principal
    word: str
    minutes: int  # since what was said before


_said = st.builds(
    _Said,
    st.sampled_from((*_PEOPLE, _ASKER, _BYSTANDER)),
    st.sampled_from(("approve", "approve", "approve", "reject")),
    st.integers(0, 45),
)


def _asked(ladder: tuple[LadderRung, ...], needed: int) -> Approval:
    plan = WritePlan(task_id="t")
    verdict = Verdict(passed=True, escalation_level="manager", policy_hash="p", context_hash="c", plan_hash=plan.hash)
    return build_approval_request(plan, verdict, _ASKER.id, _NOW, hours=1, needed=needed, ladder=ladder)


def _turn(said: _Said, number: int) -> Turn:
    word = {"decision": said.word}
    return Turn(
        turn_id=str(number), task_id="t", kind=TurnKind.DECISION, principal=said.who, received_at=_NOW, data={**word}
    )


def _deadline(approval: Approval, now: datetime) -> Approval:
    """What a timer that fired makes of it; too early, nothing."""
    if not is_expired(approval, now):
        return approval
    return escalate_approval(approval, now) or approval.model_copy(update={"status": ApprovalStatus.EXPIRED})


def _course(approval: Approval, story: Sequence[_Said]) -> list[Approval]:
    """The approval after each thing that happened; its timer fires when its time has come, before or after a word."""
    course, now = [approval], _NOW
    for number, said in enumerate(story):
        now += timedelta(minutes=said.minutes)
        if number % 2:  # a reaper may be quicker than an answer at the same instant, or slower
            course.append(_deadline(course[-1], now))
        try:
            course.append(add_decision(course[-1], _turn(said, number), now))
        except InvalidDecision:
            course.append(course[-1])
        course.append(_deadline(course[-1], now))
    return course


@given(_ladders, st.integers(1, 3), st.lists(_said, max_size=12))
def test_only_enough_rightful_yeses_in_time_approve(
    ladder: tuple[LadderRung, ...], needed: int, story: list[_Said]
) -> None:
    last = _course(_asked(ladder, needed), story)[-1]
    people = [one.by for one in last.decisions]
    assert len({one.id for one in people}) == len(people)
    assert _ASKER not in people
    assert _BYSTANDER not in people
    if last.status is ApprovalStatus.APPROVED:
        assert len(people) >= last.needed >= needed
        assert all(one.approve for one in last.decisions)
        assert last.level in people[-1].levels
        assert last.decisions[-1].at < last.deadline
    if last.status is ApprovalStatus.REJECTED:
        assert [one.approve for one in last.decisions].index(False) == len(people) - 1


@given(_ladders, st.integers(1, 3), st.lists(_said, max_size=12))
def test_what_is_decided_stays_so_and_levels_only_rise(
    ladder: tuple[LadderRung, ...], needed: int, story: list[_Said]
) -> None:
    course = _course(_asked(ladder, needed), story)
    decided = [one.status for one in course if one.status is not ApprovalStatus.WAITING]
    assert len({*decided}) <= 1
    ranks = [_LEVELS.index(str(one.level)) for one in course]
    assert ranks == sorted(ranks)
    assert all(after.plan_hash == course[0].plan_hash for after in course)


@each_row("answer_first", [True, False])
def test_at_the_very_instant_of_the_deadline_one_of_them_wins(answer_first: bool) -> None:
    """The deadline's instant is too late for an answer, whichever is heeded first."""
    approval = _asked((), 1)
    turn = _turn(_Said(_PEOPLE[0], "approve", 0), 1)
    if not answer_first:
        approval = _deadline(approval, approval.deadline)
    with pytest.raises(InvalidDecision):
        add_decision(approval, turn, approval.deadline)
    assert _deadline(approval, approval.deadline).status is ApprovalStatus.EXPIRED


def test_an_instant_before_the_deadline_an_answer_counts_though_it_is_heeded_later() -> None:
    approval = _asked((), 1)
    turn = _turn(_Said(_PEOPLE[0], "approve", 0), 1)
    decided = add_decision(approval, turn, approval.deadline - timedelta(microseconds=1))
    assert _deadline(decided, approval.deadline + timedelta(hours=1)).status is ApprovalStatus.APPROVED


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
    return build_approval_request(PLAN, said, "clerk", NOON, hours=2, needed=needed)


def turn(word: object = "approve", by: Principal = BOSS, **data: str) -> Turn:
    return Turn.model_validate(
        {"turn_id": "t", "task_id": "task-1", "kind": TurnKind.DECISION, "principal": by, "received_at": NOON,
         "data": {"decision": word, **data}}
    )  # fmt: skip


@pytest.mark.promise("I7.decisions")
@each_row(
    ("decision", "at", "why"),
    (turn(by=Principal(id="clerk", roles=(Role.APPROVER,), levels=("manager",))), NOON, "cannot approve it"),
    (turn(by=Principal(id="x", levels=("manager",))), NOON, "role approver"),
    (turn(by=Principal(id="x", roles=(Role.OPERATOR,), levels=("manager",))), NOON, "role approver"),
    (turn(by=Principal(id="x", roles=(Role.APPROVER,), levels=("cfo",))), NOON, "level manager"),
    (turn(by=Principal(id="x", roles=(Role.APPROVER,))), NOON, "level manager"),
    (turn(), NOON + timedelta(hours=2), "no longer waiting"),
    (turn(), NOON - timedelta(minutes=5), "before this was asked"),
    (turn("yes"), NOON, "approve"), (turn("approve please"), NOON, "approve"), (turn(True), NOON, "approve"),
    (turn(None), NOON, "approve"), (turn(approval_id="another"), NOON, "earlier question"),
)  # fmt: skip
def test_what_has_no_right_to_count_does_not(decision: Turn, at: datetime, why: str) -> None:
    with pytest.raises(InvalidDecision, match=why):
        add_decision(asked(), decision, at)


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
    assert hash_for_approval(verdict(**{part: "other"})) != hash_for_approval(verdict())


@pytest.mark.promise("approvals.grounds")
def test_the_read_that_an_argument_comes_from_is_shown_however_many_there_are() -> None:
    origin = ArgumentOrigin(argument="amount", source="result", ref="r50 amount")
    facts = tuple(fact({"amount": number}, f"r{number}", "get_claim", asked={"id": number}) for number in range(1, 61))
    asked = Dossier(facts=facts, plan=plan(call({"amount": 50}, origins=(origin,))))
    grounds = collect_approval_evidence(
        NO_PROGRESS.model_copy(update={"dossier": asked}), verdict(), "", NO_RECORD_KEYS
    )
    assert [read.ref for read in grounds.reads] == [*(f"r{number}" for number in range(1, 40)), "r50"]
    assert grounds.reads[-1].supports == ("c1.amount",)
