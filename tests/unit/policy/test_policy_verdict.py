"""How triggered rules become a verdict."""

from decimal import Decimal

import pytest
from hypothesis import given

from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import MAX_RULE_CHARACTERS, RequestTooLarge
from shared.contracts.policy import (
    CallContext,
    ContextValue,
    EvaluateRequest,
    Policy,
    Rule,
    TextRule,
    ToolRule,
    Verdict,
)
from tests.each_row import each_row
from tests.unit.policy.generated import contexts, requests

_APPROVAL = Rule(id="LIMIT", condition="amount > 5000", action="require_approval", reason="over the limit")


def _request(*held: Rule, **fields: object) -> EvaluateRequest:
    return EvaluateRequest.model_validate({"policies": [Policy(id="P", rules=held)], **fields})


@pytest.mark.promise("policy.verdict")
def test_a_required_approval_passes_and_names_level_reason_and_values() -> None:
    """The plan may go on once somebody of that level has agreed; without a level it is the manager."""
    verdict = evaluate(_request(_APPROVAL, context={"amount": Decimal("7200.50")}))

    assert (verdict.passed, verdict.requires_approval, verdict.escalation_level) == (True, True, "manager")
    [rule] = verdict.triggered_rules
    assert (rule.rule_id, rule.reason, rule.values) == ("LIMIT", "over the limit", {"amount": Decimal("7200.50")})


@pytest.mark.promise("policy.verdict")
def test_an_escalation_does_not_pass() -> None:
    """It waits for the level's decision on the whole task, which is not a plan's approval."""
    rule = Rule(id="R", condition="amount > 5000", action="escalate", level="legal")
    verdict = evaluate(_request(rule, context={"amount": 7200}))

    assert (verdict.passed, verdict.escalate, verdict.requires_approval) == (False, True, False)
    assert verdict.escalation_level == "legal"


@pytest.mark.promise("policy.verdict")
def test_of_two_rules_with_one_id_the_stricter_counts_for_a_call_with_rows() -> None:
    by_manager = _APPROVAL.model_copy(update={"level": "manager"})
    by_two = _APPROVAL.model_copy(update={"level": "cfo", "approvers": 2, "condition": "amount > 9000"})
    call = CallContext(call_id="c1", tool="pay", rows=({"amount": 6000}, {"amount": 9500}))
    verdict = evaluate(_request(by_manager, by_two, calls=(call,)))

    assert verdict.escalation_level == "cfo"
    assert [(rule.level, rule.approvers) for rule in verdict.triggered_rules] == [("manager", 1), ("cfo", 2)]


@pytest.mark.promise("policy.verdict")
def test_a_block_wins_over_an_approval() -> None:
    """Nobody can approve what is forbidden."""
    block = Rule(id="NO", condition="amount > 1", action="block")
    verdict = evaluate(_request(_APPROVAL, block, context={"amount": 7200}))

    assert verdict.blocked
    assert not verdict.passed
    assert [rule.rule_id for rule in verdict.triggered_rules] == ["LIMIT", "NO"]


@pytest.mark.promise("policy.calls")
def test_a_rule_triggers_once_for_each_call_that_meets_it() -> None:
    """Each call's fields lie over the context, with its tool and id."""
    rule = Rule(id="R", condition='tool == "pay" && amount > limit', action="block")
    calls = [
        CallContext(call_id="c1", tool="pay", fields={"amount": 10}),
        CallContext(call_id="c2", tool="pay", fields={"amount": 1}),
        CallContext(call_id="c3", tool="note"),
        CallContext(call_id="c4", tool="pay", fields={"amount": 11}),
    ]
    verdict = evaluate(_request(rule, context={"limit": 5}, calls=calls, binding=True))

    assert [found.call_id for found in verdict.triggered_rules] == ["c1", "c4"]
    assert verdict.triggered_rules[0].values == {"tool": "pay", "amount": 10, "limit": 5}


@pytest.mark.promise("policy.calls")
def test_neither_an_argument_nor_what_came_with_the_policy_poses_as_what_is_known() -> None:
    """``tool`` and ``call_id`` are what is called, whatever the call's own fields say."""
    rule = Rule(id="R", condition='tool == "pay" && call_id == "c1"', action="block")
    call = CallContext(call_id="c1", tool="pay", fields={"tool": "harmless", "call_id": "c9"})

    assert evaluate(_request(rule, calls=[call])).blocked
    policy = Policy(id="P", rules=(_APPROVAL,), context={"amount": 1})

    known = EvaluateRequest(policies=(policy,), context={"amount": 7200})
    assert evaluate(known).requires_approval
    assert not evaluate(EvaluateRequest(policies=(policy,))).requires_approval


@pytest.mark.promise("policy.missing")
def test_an_undecided_rule_is_harmless_in_a_provisional_verdict() -> None:
    """Most fields are not known yet when it is asked for; the rule is named, and that is all."""
    verdict = evaluate(_request(_APPROVAL))

    assert verdict.passed
    assert verdict.indeterminate == ("LIMIT",)
    assert verdict.triggered_rules == ()


@pytest.mark.promise("policy.missing")
@pytest.mark.parametrize(("level", "expected"), [(None, "manager"), ("cfo", "cfo")])
@pytest.mark.parametrize("action", ["block", "escalate", "require_approval"])
def test_an_undecided_rule_escalates_in_a_binding_verdict(action: str, level: str | None, expected: str) -> None:
    """At the rule's level, or the manager's; whatever the rule would have done."""
    rule = Rule(id="R", condition="amount > 5000", action=action, level=level)
    verdict = evaluate(_request(rule, binding=True))

    assert (verdict.passed, verdict.escalate, verdict.escalation_level) == (False, True, expected)
    assert verdict.triggered_rules[0].indeterminate
    assert verdict.indeterminate == ()


@pytest.mark.promise("policy.unproven")
@each_row(
    ("amount", "unproven", "outcome"),
    (7200, (), (True, False)),
    (7200, ("amount",), (True, False)),
    (100, (), (False, False)),
    (100, ("other",), (False, False)),
    (100, ("amount",), (False, True)),
)
def test_a_value_that_only_the_request_gives_sets_a_rule_off_and_clears_none(
    amount: int, unproven: tuple[str, ...], outcome: tuple[bool, bool]
) -> None:
    """Whoever asks cannot talk a rule away: what rests on their word alone is decided by a person."""
    rule = Rule(id="R", condition='tool == "pay" && amount > 5000', action="block")
    call = CallContext(call_id="c", tool="pay", fields={"amount": amount}, unproven=unproven)
    verdict = evaluate(_request(rule, calls=[call], binding=True))

    assert (verdict.blocked, verdict.escalate) == outcome


@pytest.mark.promise("policy.unproven")
def test_a_tool_rule_is_not_met_by_a_value_that_only_the_request_gives() -> None:
    """The call is refused, with the reason; in a provisional request nothing is held against it."""
    rule = ToolRule(id="SMALL", kind="only_when", tool="refund", condition="amount <= 50")
    call = CallContext(call_id="c", tool="refund", fields={"amount": 20}, unproven=("amount",))
    policy = Policy(id="P", tool_rules=(rule,))
    [refusal] = evaluate(EvaluateRequest(policies=(policy,), calls=(call,), binding=True)).refusals

    assert refusal.indeterminate
    assert "only the request gives" in refusal.reason
    assert evaluate(EvaluateRequest(policies=(policy,), calls=(call,))).passed


@pytest.mark.promise("policy.monotone")
@given(requests, contexts)
def test_doubt_never_turns_a_refusal_into_a_pass(request: EvaluateRequest, fields: dict[str, ContextValue]) -> None:
    """Whatever fields are unproven, the verdict only becomes stricter."""
    call = CallContext(call_id="c", tool="pay", fields=fields)
    certain = request.model_copy(update={"calls": (call,)})
    doubted = request.model_copy(update={"calls": (call.model_copy(update={"unproven": ("a", "b", "o")}),)})

    assert evaluate(certain).passed or not evaluate(doubted).passed
    assert evaluate(certain).context_hash != evaluate(doubted).context_hash


@pytest.mark.promise("policy.report_only")
def test_a_report_only_rule_neither_blocks_nor_escalates() -> None:
    """Decided or undecided, it stands apart from the rules that act."""
    rules_ = [
        Rule(id="NO", condition="amount > 5000", action="block", report_only=True),
        Rule(id="WHO", condition="who == 1", action="block", report_only=True),
    ]
    verdict = evaluate(_request(*rules_, context={"amount": 7200}, binding=True))

    assert verdict.passed
    assert not verdict.triggered_rules
    assert [(rule.rule_id, rule.indeterminate) for rule in verdict.reported_rules] == [("NO", False), ("WHO", True)]


@pytest.mark.promise("policy.errors")
def test_a_rule_that_fails_for_every_call_is_one_problem() -> None:
    """The verdict does not pass, and the others of its rules are decided all the same."""
    bad, block = Rule(id="BAD", condition="name > 5", action="escalate"), Rule(id="B", condition="true", action="block")
    calls = [CallContext(call_id=f"c{number}", tool="pay", fields={"name": "Ann"}) for number in range(3)]
    verdict = evaluate(_request(bad, block, calls=calls))

    assert not verdict.passed
    assert [(problem.rule_id, problem.position) for problem in verdict.problems] == [("BAD", 5)]
    assert len(verdict.triggered_rules) == 3


@pytest.mark.promise("policy.hashes")
def test_the_verdict_is_bound_to_policy_context_and_plan() -> None:
    """A change of any fact, rule or call changes the hash that stands for it; nothing else does."""
    call = CallContext(call_id="c1", tool="pay", fields={"amount": 1})
    base = _request(_APPROVAL, context={"x": 1}, calls=[call], plan_hash="plan")
    first = evaluate(base)
    other_fact = evaluate(base.model_copy(update={"context": {"x": 2}}))
    other_rule = evaluate(_request(context={"x": 1}, calls=[call]))

    assert first == evaluate(base)
    assert first.plan_hash == "plan"
    assert (other_fact.policy_hash == first.policy_hash, other_fact.context_hash == first.context_hash) == (True, False)
    assert (other_rule.policy_hash == first.policy_hash, other_rule.context_hash == first.context_hash) == (False, True)


_TEXT = Rule(id="R", condition="a", action="block", reason="b")
_SENT = ToolRule(id="S", kind="only_after", tool="a", after=("b",), per=("c",), condition="d", reason="e")
_SAID = TextRule(id="T", type="deny", description="a" * (MAX_RULE_CHARACTERS - 15), pattern="b", keywords=("c",))
_LONGEST = Policy(id="P", rules=(_TEXT,), tool_rules=(_SENT,), text_rules=(_SAID,))  # by one character, all counted


@pytest.mark.promise("policy.bounds")
@each_row(
    ("request_", "field"),
    (_request(*[Rule(id=str(n), condition="a" * 300, action="block") for n in range(1_000)]), "policies"),
    (_request(Rule(id="R" * 300_000, condition="a", action="block")), "policies"),
    (EvaluateRequest(policies=(_LONGEST,)), "policies"),
    (
        _request(
            *[Rule(id=str(n), condition="a > 1", action="block") for n in range(1_000)],
            calls=[CallContext(call_id=str(n), tool="t") for n in range(1_000)],
        ),
        "calls",
    ),
    (
        EvaluateRequest(
            policies=(Policy(id="P"),) * 1_000,
            context={str(n): n for n in range(1_000)},
            calls=(CallContext(call_id="c", tool="t"),) * 10,
        ),
        "calls",
    ),
)
def test_a_request_that_would_hold_up_the_others_is_refused(request_: EvaluateRequest, field: str) -> None:
    """Before the work is done, and with the part that is too large."""
    with pytest.raises(RequestTooLarge) as caught:
        evaluate(request_)

    assert caught.value.field == field


@pytest.mark.promise("policy.bounds")
def test_a_verdict_does_not_repeat_long_values() -> None:
    """A text is cut, a list shortened, an object counted: the rule saw all of it."""
    rule = Rule(id="R", condition='text != "" && 99 in items && object != null', action="block")
    context = {"text": "x" * 1_000, "items": list(range(100)), "object": {"a": 1, "b": 2}}
    [found] = evaluate(_request(rule, context=context)).triggered_rules

    assert found.values == {
        "text": "x" * 199 + "…",
        "items": [0, 1, 2, 3, 4, 5, 6, 7],
        "object": "an object of 2 fields",
    }


_RULE = Rule(id="R", condition="amount > 500", action="require_approval", level="finance")


def _verdict(*held: Rule, amount: int) -> Verdict:
    return evaluate(_request(*held, context={"amount": amount}))


@pytest.mark.promise("approvals.several")
def test_the_most_that_any_triggered_rule_asks_for_are_needed() -> None:
    two, three = (_RULE.model_copy(update={"id": f"R{count}", "approvers": count}) for count in (2, 3))
    seldom = three.model_copy(update={"condition": "amount > 900"})
    assert _verdict(_RULE, amount=600).approvers == 1
    assert _verdict(_RULE, two, seldom, amount=600).approvers == 2
    assert Verdict.from_json(_verdict(_RULE, two, seldom, amount=1000).to_json()).approvers == 3


@pytest.mark.promise("approvals.several")
@each_row(
    ("changed", "says"),
    *(({"approvers": number}, f"approvers is {number}") for number in (0, -1, 21)),
    ({"action": "block", "level": None, "approvers": 2}, "blocks"),
)
def test_a_number_that_nobody_can_meet_makes_the_policy_invalid(changed: dict[str, object], says: str) -> None:
    """Also one of a rule that blocks, and so asks nobody."""
    verdict = _verdict(_RULE.model_copy(update=changed), amount=600)
    assert (verdict.passed, says in verdict.problems[0].message) == (False, True)


@pytest.mark.promise("policy.probes")
@each_row(
    ("rule", "says"),
    ({"condition": "amount > 5000 and is_vip"}, "policy invalid: rule 'R' at character 14: "),
    ({"condition": "amount > 5000 and is_vip"}, "write &&"),
    *(({"action": word}, "unknown action") for word in ("deny", "reject", "hold", "", "blocked")),
    ({"action": "escalate", "level": "vp"}, "unknown level 'vp'"),
)
def test_a_word_that_nobody_knows_never_passes(rule: dict[str, str], says: str) -> None:
    """Even where the condition does not hold: the rule is invalid, and nothing passes on it."""
    invalid = Rule.model_validate({"id": "R", "condition": "amount > 5000", "action": "block", **rule})
    verdict = evaluate(_request(invalid, context={"amount": 1, "is_vip": False}))

    assert not verdict.passed
    assert says in verdict.problems[0].message


@pytest.mark.promise("policy.probes")
def test_actions_and_levels_are_words_in_any_case_and_the_highest_level_wins() -> None:
    asked = [_APPROVAL.model_copy(update={"id": level, "level": level}) for level in ("CFO", "manager")]
    for rules_ in (asked, asked[::-1]):
        assert evaluate(_request(*rules_, context={"amount": 7200})).escalation_level == "cfo"
    assert evaluate(_request(Rule(id="R", condition="true", action="BLOCK"))).blocked
