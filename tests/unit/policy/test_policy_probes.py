"""Conditions and words that an earlier policy checker decided wrongly, each with the right answer."""

from decimal import Decimal

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import ContextValue, EvaluateRequest, Policy, Rule, Verdict

pytestmark = pytest.mark.promise("policy.probes")


def _verdict(rules: list[Rule], context: dict[str, ContextValue], binding: bool = True) -> Verdict:
    policy = Policy(id="P", rules=tuple(rules))
    return evaluate(EvaluateRequest(policies=(policy,), context=context, binding=binding), ConditionCache())


def _block(condition: str) -> Rule:
    return Rule(id="R", condition=condition, action="block")


@pytest.mark.parametrize(
    ("condition", "context"),
    [
        ("amount>5000&&!x", {"amount": 6000, "x": False}),
        ("(amount > 5000) && (x || y)", {"amount": 6000, "x": False, "y": True}),
        ("amount > 5,000", {"amount": 6000}),
        ("amount > 5000", {"amount": "6,000"}),
        ("amount > 5000", {"amount": "$7,200"}),
        ("amount > budget", {"amount": 7200, "budget": 5000}),
        ("order.total > 5000", {"order": {"total": 7200}}),
        ("active == true", {"active": True}),
        ("active == false", {"active": False}),
        ("3 == 3.0", {}),
        ("count == 3.0", {"count": 3}),
        ("count == 3", {"count": Decimal("3.0")}),
        ("note == 'a && b'", {"note": "a && b"}),
        ("note == 'a || b' && amount > 1", {"note": "a || b", "amount": 2}),
        ("status !== 'closed'", {"status": "open"}),
    ],
)
def test_a_condition_holds_where_a_reader_expects_it(condition: str, context: dict[str, ContextValue]) -> None:
    """Each of these was taken for false, so that the rule never acted."""
    assert _verdict([_block(condition)], context).blocked


def test_a_word_for_an_operator_is_reported_and_never_a_silent_false() -> None:
    """``and`` is not of the language: the rule is invalid, and nothing passes on it."""
    verdict = _verdict([_block("amount > 5000 and is_vip")], {"amount": 1, "is_vip": False})

    assert not verdict.passed
    assert verdict.problems[0].rule_id == "R"
    assert verdict.problems[0].position == 14
    assert "policy invalid: rule 'R' at character 14" in verdict.problems[0].message
    assert "write &&" in verdict.problems[0].message


def test_a_missing_field_with_not_equal_does_not_clear_the_rule() -> None:
    """``region != "EU"`` on a context without a region is undecided: the binding verdict escalates it."""
    verdict = _verdict([_block('region != "EU"')], {"amount": 5})

    assert not verdict.passed
    assert verdict.escalate
    assert verdict.triggered_rules[0].indeterminate
    assert "region" in verdict.triggered_rules[0].reason


@pytest.mark.parametrize("action", ["deny", "reject", "hold", "", "blocked"])
def test_an_unknown_action_word_never_passes(action: str) -> None:
    """Even when its condition does not hold: a policy with a word nobody knows is invalid."""
    verdict = _verdict([Rule(id="R", condition="amount > 5000", action=action)], {"amount": 1})

    assert not verdict.passed
    assert "unknown action" in verdict.problems[0].message


def test_an_action_in_capitals_is_the_same_action() -> None:
    """``BLOCK`` blocks."""
    assert _verdict([Rule(id="R", condition="true", action="BLOCK")], {}).blocked


def test_the_highest_level_wins_in_any_case_and_order() -> None:
    """``CFO`` stands above ``manager`` however they are written."""
    rules = [
        Rule(id="R1", condition="true", action="require_approval", level="CFO"),
        Rule(id="R2", condition="true", action="require_approval", level="manager"),
    ]

    assert _verdict(rules, {}).escalation_level == "cfo"
    assert _verdict(rules[::-1], {}).escalation_level == "cfo"


def test_an_unknown_level_never_passes() -> None:
    """A level that no approver can hold would otherwise let nobody, or anybody, decide."""
    verdict = _verdict([Rule(id="R", condition="false", action="escalate", level="vp")], {})

    assert not verdict.passed
    assert "unknown level 'vp'" in verdict.problems[0].message
