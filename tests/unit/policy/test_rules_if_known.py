"""Rules that apply only where what they are about is known."""

import pytest
from hypothesis import given

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy, Rule, Verdict
from shared.domain.words import RuleAction
from tests.unit.policy.generated import requests

_STRICT = Rule(id="R", condition="variance > 500", action="require_approval", level="finance")
_MILD = _STRICT.model_copy(update={"if_known": True})
_SEVERITY = {RuleAction.REQUIRE_APPROVAL: 1, RuleAction.ESCALATE: 2, RuleAction.BLOCK: 3}


def _bound(rule: Rule, *, unproven: tuple[str, ...] = (), **fields: ContextValue) -> Verdict:
    call = CallContext(call_id="c1", tool="pay_invoice", fields=fields, unproven=unproven)
    return evaluate(
        EvaluateRequest(policies=(Policy(id="P", rules=(rule,)),), calls=(call,), binding=True), ConditionCache()
    )


@pytest.mark.promise("policy.if_known")
def test_a_field_that_is_missing_leaves_the_rule_without_effect_and_named() -> None:
    verdict = _bound(_MILD)

    assert verdict.passed
    assert not verdict.triggered_rules
    assert verdict.indeterminate == ("R",)


@pytest.mark.promise("policy.if_known")
def test_any_other_rule_still_escalates_on_a_missing_field() -> None:
    assert _bound(_STRICT).escalate


@pytest.mark.promise("policy.if_known")
def test_a_field_that_is_known_decides_as_in_any_rule() -> None:
    verdict = _bound(_MILD, variance=501)

    assert verdict.requires_approval
    assert verdict.escalation_level == "finance"
    assert _bound(_MILD, variance=500).passed


@pytest.mark.promise("policy.if_known")
def test_what_only_the_request_gives_is_as_good_as_missing() -> None:
    """The rule does not act on a gap; and where it acts, no word of the request keeps it from that."""
    either = _MILD.model_copy(update={"condition": "variance > 500 || duplicates > 0"})

    assert not _bound(_MILD, variance=10, unproven=("variance",)).triggered_rules
    assert _bound(_STRICT, variance=10, unproven=("variance",)).escalate
    assert _bound(either, variance=10, duplicates=1, unproven=("variance",)).requires_approval


@pytest.mark.promise("policy.recorded")
@pytest.mark.parametrize("judges", [True, False])
@pytest.mark.parametrize(("said", "unproven"), [(10, ()), (10, ("variance",)), (None, ("variance",))])
def test_what_the_record_says_instead_of_the_call_decides_too(
    said: int | None, unproven: tuple[str, ...], judges: bool
) -> None:
    """For a policy that asks for it always; for any other where the call's value is the request's word alone."""
    verdict = _contradicted(_MILD, said, 501, unproven=unproven, judges=judges)
    assert bool(verdict.triggered_rules) is (judges or bool(unproven))
    assert not _contradicted(_MILD, said, 500, unproven=unproven, judges=judges).triggered_rules


@pytest.mark.promise("policy.recorded")
def test_a_rule_that_the_record_sets_off_says_so_with_the_record_s_value() -> None:
    (found,) = _contradicted(_MILD, 10, 501, judges=True).triggered_rules
    assert (found.action, found.values) == (RuleAction.REQUIRE_APPROVAL, {"variance": 501})
    assert found.reason == "variance > 500 (the record says so, and the call otherwise)"


@pytest.mark.promise("policy.recorded")
def test_the_records_word_clears_nothing() -> None:
    """Neither what the call itself sets off, nor what rests on the request."""
    assert _contradicted(_MILD, 501, 10, judges=True).requires_approval
    assert _contradicted(_STRICT, 10, 20, unproven=("variance",), judges=True).escalate


@pytest.mark.promise("policy.recorded")
def test_a_block_on_record_stands_beside_an_undecided_rule() -> None:
    block = _STRICT.model_copy(update={"action": "block", "level": None})
    assert _contradicted(block, None, 501, judges=True).blocked


@pytest.mark.promise("policy.recorded")
def test_a_verdict_is_bound_to_what_the_record_says() -> None:
    first, second = (_contradicted(_MILD, 10, recorded, judges=True) for recorded in (20, 30))
    assert first.context_hash != second.context_hash
    assert first.policy_hash != _contradicted(_MILD, 10, 20, judges=False).policy_hash


def _contradicted(
    rule: Rule, said: int | None, recorded: int, *, unproven: tuple[str, ...] = (), judges: bool
) -> Verdict:
    call = CallContext(
        call_id="c1",
        tool="pay_invoice",
        fields={"variance": said},
        unproven=unproven,
        recorded=({"region": "EU"}, {"variance": recorded, "tool": "another"}),
    )
    policy = Policy(id="P", rules=(rule,), judges_records=judges)
    return evaluate(EvaluateRequest(policies=(policy,), calls=(call,), binding=True), ConditionCache())


@pytest.mark.promise("process.only_tightens")
@given(request=requests)
def test_a_further_policy_never_loosens_a_verdict(request: EvaluateRequest) -> None:
    """A process brings rules of its own; whatever the others find stands beside what they find."""
    own = Policy(id="process:general", rules=(_MILD, _MILD.model_copy(update={"id": "S", "action": "escalate"})))
    without = evaluate(request, ConditionCache())
    beside = evaluate(request.model_copy(update={"policies": (*request.policies, own)}), ConditionCache())

    assert all(rule in beside.triggered_rules for rule in without.triggered_rules)
    assert beside.requires_approval >= without.requires_approval
    assert beside.escalate >= without.escalate
    assert beside.blocked >= without.blocked
    assert without.passed >= beside.passed
    assert _strictest(beside) >= _strictest(without)


def _strictest(verdict: Verdict) -> int:
    return max((_SEVERITY[rule.action] for rule in verdict.triggered_rules), default=0)
