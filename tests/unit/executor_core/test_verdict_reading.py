"""What a verdict means for a plan."""

import pytest

from services.executor.core.authorize.verdicts import binding_hash, refuse_if_blocked
from services.executor.core.dossier.endings import Rejected
from tests.unit.executor_core.makers import verdict


@pytest.mark.promise("I2.no_verdict_no_write")
def test_a_broken_policy_is_a_refusal() -> None:
    problem = {"rule_id": "r1", "policy_id": "p", "message": "no such word"}
    with pytest.raises(Rejected, match="policy invalid, so nothing was written: r1: no such word"):
        refuse_if_blocked(verdict(problems=[problem]))


@pytest.mark.promise("I7.decisions")
@pytest.mark.parametrize("part", ["policy_hash", "context_hash", "plan_hash"])
def test_the_binding_changes_with_policy_context_and_plan(part: str) -> None:
    assert binding_hash(verdict(**{part: "other"})) != binding_hash(verdict())
