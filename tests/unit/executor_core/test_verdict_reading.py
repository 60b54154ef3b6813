"""What a verdict means for a plan."""

import pytest

from services.executor.core.authorize.verdicts import binding_hash, refuse_if_blocked
from services.executor.core.session.endings import Rejected
from shared.contracts.plan import WritePlan
from tests.unit.executor_core.makers import call, verdict

BLOCK = {"rule_id": "r1", "policy_id": "p", "action": "block", "reason": "never on Sundays"}


def test_of_several_calls_those_are_named_that_a_rule_blocks() -> None:
    plan = WritePlan(task_id="t", calls=(call({"id": "V-1"}), call({"id": "V-2"}, "c2")))
    blocked = verdict(passed=False, blocked=True, triggered_rules=[{**BLOCK, "call_id": "c2"}])
    with pytest.raises(Rejected, match=r'^blocked by policy: r1: never on Sundays \(approve_claim {"id":"V-2"}\)$'):
        refuse_if_blocked(blocked, plan)


@pytest.mark.promise("I2.no_verdict_no_write")
def test_a_broken_policy_is_a_refusal() -> None:
    problem = {"rule_id": "r1", "policy_id": "p", "message": "no such word"}
    with pytest.raises(Rejected, match="policy invalid, so nothing was written: r1: no such word"):
        refuse_if_blocked(verdict(problems=[problem]))


@pytest.mark.promise("I7.decisions")
@pytest.mark.parametrize("part", ["policy_hash", "context_hash", "plan_hash"])
def test_the_binding_changes_with_policy_context_and_plan(part: str) -> None:
    assert binding_hash(verdict(**{part: "other"})) != binding_hash(verdict())
