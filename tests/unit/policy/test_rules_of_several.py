"""Rules that ask for several people."""

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import EvaluateRequest, Policy, Rule, Verdict
from shared.contracts.policy_hash import policy_hash

_RULE = Rule(id="R", condition="amount > 500", action="require_approval", level="finance")


def _policy(*rules: Rule) -> Policy:
    return Policy(id="P", rules=rules)


def _verdict(*rules: Rule, **fields: int) -> Verdict:
    return evaluate(EvaluateRequest(policies=(_policy(*rules),), context={**fields}), ConditionCache())


@pytest.mark.promise("approvals.several")
def test_the_most_that_any_triggered_rule_asks_for_are_needed() -> None:
    two, three = (_RULE.model_copy(update={"id": f"R{count}", "approvers": count}) for count in (2, 3))
    seldom = three.model_copy(update={"condition": "amount > 900"})
    assert _verdict(_RULE, amount=600).approvers == 1
    assert _verdict(_RULE, two, seldom, amount=600).approvers == 2
    assert _verdict(_RULE, two, seldom, amount=1000).approvers == 3


@pytest.mark.promise("approvals.several")
@pytest.mark.parametrize("approvers", [0, -1, 21])
def test_a_number_that_nobody_can_meet_makes_the_policy_invalid(approvers: int) -> None:
    verdict = _verdict(_RULE.model_copy(update={"approvers": approvers}), amount=1)
    assert (verdict.passed, f"approvers is {approvers}" in verdict.problems[0].message) == (False, True)


@pytest.mark.promise("approvals.several")
def test_a_rule_that_blocks_asks_nobody() -> None:
    verdict = _verdict(_RULE.model_copy(update={"action": "block", "level": None, "approvers": 2}), amount=600)
    assert (verdict.passed, "blocks" in verdict.problems[0].message) == (False, True)


@pytest.mark.promise("approvals.several")
def test_another_number_is_another_policy_and_none_is_the_one_before() -> None:
    """So that an approval that was given under the old number does not hold under the new one."""
    hashes = {policy_hash([_policy(_RULE.model_copy(update={"approvers": count}))]) for count in (None, 1, 2)}
    assert len(hashes) == 3
    assert policy_hash([_policy(_RULE)]) in hashes


@pytest.mark.promise("approvals.several")
def test_the_number_travels_with_the_verdict() -> None:
    verdict = _verdict(_RULE.model_copy(update={"approvers": 2}), amount=600)
    assert Verdict.from_json(verdict.to_json()).approvers == 2
