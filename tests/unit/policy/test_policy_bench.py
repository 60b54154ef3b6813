"""What the bench of policies compares, and when it says that a target is missed."""

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import EvaluateRequest
from tools.bench.policy.command import PolicyFigures
from tools.bench.policy.engines import CONTEXTS, engines
from tools.bench.policy.rates import EngineRates
from tools.bench.policy.requests import bodies, bodies_by_hash, different_rules
from tools.bench.policy.service import Answers

pytestmark = pytest.mark.promise("policy.speed")


def _figures(ours: float, by_hand: float, library: float, p99_ms: float, different_ms: float = 0.3) -> PolicyFigures:
    answers = Answers(100, 1.0, p99_ms, 1.0, 1.0, 500.0)
    rounds = EngineRates(({"ours": ours, "by_hand_with_checks": by_hand, "a-library": library},))
    return PolicyFigures(rounds, ("ours", "by_hand_with_checks", "a-library"), ("a-library",), (answers,), different_ms)


def test_engines_are_compared_within_each_round() -> None:
    """A busy moment slows all of them, and says nothing of one against another."""
    quiet, busy, odd = {"a": 6.0, "b": 2.0}, {"a": 3.0, "b": 1.0}, {"a": 9.0, "b": 9.0}

    assert EngineRates((quiet, busy, odd)).times("a", "b") == 3.0
    assert EngineRates((quiet, busy, odd)).typical("a") == 6.0


def test_every_engine_decides_the_measured_condition_alike() -> None:
    """They are checked against each other before anything is measured."""
    found = engines()

    assert [bool(found.by_hand(facts)) for facts in CONTEXTS] == [True, True, False, False]
    assert set(found.libraries) == {"common-expression-language", "rule-engine", "panzi-json-logic"}


def test_each_missed_target_is_named_once() -> None:
    """And none that was met."""
    assert _figures(3.0, 6.0, 1.0, 4.9).missed == []

    slow = _figures(2.0, 6.0, 1.0, 5.0, 2.1).missed
    assert [sentence.split(", target")[0] for sentence in slow] == [
        "2.0 times the fastest library",
        "3.0 times slower than by hand with the same checks",
        "100 rules: p99 5.0 ms",
        "1,000 different rules: 2.1 ms",
    ]


def test_the_measured_requests_make_rules_trigger_and_are_none_alike() -> None:
    """A service that answers from a memory of requests, or over rules that never apply, would measure nothing."""
    first, second = bodies(100, 2)
    new = bodies(100, 2, new_policies=True)

    verdict = evaluate(EvaluateRequest.from_json(first), ConditionCache())
    assert {rule.rule_id for rule in verdict.triggered_rules} == {"RULE_3", "RULE_53"}
    assert not verdict.problems
    assert len({first, second, *new}) == 4
    named, by_hash = bodies_by_hash(100, 2)
    assert named == verdict.policy_hash
    assert not any(EvaluateRequest.from_json(body).policies for body in by_hash)
    assert len({*by_hash}) == 2
    assert len({EvaluateRequest.from_json(body).policies[0].version for body in (first, second, *new)}) == 3
    different = evaluate(different_rules(100), ConditionCache())
    assert [rule.rule_id for rule in different.triggered_rules] == ["RULE_3", "RULE_5"]
