"""What a verdict means for a plan."""

import pytest

from services.executor.core.authorize.verdicts import binding_hash, reasons, refuse_if_blocked
from services.executor.core.dossier.endings import Rejected
from shared.contracts.plan import WritePlan
from tests.unit.executor_core.makers import call, verdict

BLOCK = {"rule_id": "r1", "policy_id": "p", "action": "block", "reason": "never on Sundays"}
ASK = {"rule_id": "r2", "policy_id": "p", "action": "require_approval", "reason": "over 100"}


@pytest.mark.promise("I2.no_verdict_no_write")
def test_a_block_ends_the_run_with_the_blocking_rules_alone() -> None:
    with pytest.raises(Rejected, match=r"^blocked by policy: r1: never on Sundays$"):
        refuse_if_blocked(verdict(passed=False, blocked=True, triggered_rules=[ASK, BLOCK, BLOCK]))


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


def test_what_only_asks_for_approval_is_no_refusal() -> None:
    asks = verdict(triggered_rules=[ASK, ASK], requires_approval=True)
    refuse_if_blocked(asks)
    assert reasons(asks) == ("r2: over 100",)


@pytest.mark.promise("I7.decisions")
@pytest.mark.parametrize("part", ["policy_hash", "context_hash", "plan_hash"])
def test_the_binding_changes_with_policy_context_and_plan(part: str) -> None:
    assert binding_hash(verdict(**{part: "other"})) != binding_hash(verdict())
