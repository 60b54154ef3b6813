"""Rules about tools: what a plan or a turn without one may call, how often, after what, and with whose yes."""

import pytest
from hypothesis import given, strategies as st

from services.policy.core.allowances import decide_allowances
from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import RequestTooLarge, prepare_policies
from shared.contracts.allowance import AllowanceRequest, Allowances, OfferedTool, ToolAllowance
from shared.contracts.policy import (
    CallContext,
    CallOutcome,
    Confirmation,
    ContextValue,
    EvaluateRequest,
    PastCall,
    Policy,
    ToolRule,
    Verdict,
)
from shared.domain.words import RuleAction, ToolClass
from tests.each_row import each_row
from tests.unit.policy.generated import plans, tool_policies


def _verdict(
    rules: ToolRule | tuple[ToolRule, ...],
    *calls: tuple[str, dict[str, ContextValue]],
    default: str = "allow",
    history: tuple[PastCall, ...] = (),
    confirmations: tuple[Confirmation, ...] = (),
    binding: bool = True,
) -> Verdict:
    rules = rules if isinstance(rules, tuple) else (rules,)
    request = EvaluateRequest(
        policies=(Policy(id="P", tool_rules=rules, tool_default=default),),
        calls=tuple(CallContext(call_id=f"c{n}", tool=tool, fields=fields) for n, (tool, fields) in enumerate(calls)),
        history=history,
        confirmations=confirmations,
        binding=binding,
    )
    return evaluate(request)


def _refused(verdict: Verdict) -> list[tuple[str, str]]:
    return [(refusal.call_id, refusal.rule_id) for refusal in verdict.refusals]


@pytest.mark.promise("policy.tool_rules")
def test_a_tool_that_is_never_called_is_refused_with_rule_and_reason() -> None:
    """The verdict does not pass, and it is not a block: a plan without the call may."""
    verdict = _verdict(
        ToolRule(id="NO", kind="never", tool="delete_*", reason="we keep everything"), ("delete_all", {})
    )

    assert not verdict.passed
    assert not verdict.blocked
    assert {refusal.call_id for refusal in verdict.refusals} == {"c0"}
    assert (verdict.refusals[0].rule_id, verdict.refusals[0].reason) == ("NO", "we keep everything")


@pytest.mark.promise("policy.tool_rules")
@each_row(("tool", "is_refused"), ("do_pay_pay_now", True), ("do_pay_now", False))
def test_what_stands_between_stars_is_found_in_its_order_and_each_in_a_place_of_its_own(
    tool: str, is_refused: bool
) -> None:
    assert bool(_verdict(ToolRule(id="NO", kind="never", tool="do*pay*pay*"), (tool, {})).refusals) is is_refused


@pytest.mark.promise("policy.tool_rules")
def test_of_two_planned_calls_the_second_breaks_a_once_only_rule() -> None:
    """The first goes through: refusing both would leave the task undone."""
    verdict = _verdict(ToolRule(id="ONCE", kind="at_most", tool="cancel"), ("cancel", {}), ("note", {}), ("cancel", {}))

    assert _refused(verdict) == [("c2", "ONCE")]
    assert "at most once" in verdict.refusals[0].reason
    assert verdict.refusals[0].values == {"calls": 1}


def _refused_after(rule: ToolRule, called: str) -> set[CallOutcome]:
    """After which ends of an earlier call the rule refuses its tool."""
    calls = {outcome: (PastCall(tool=called, outcome=outcome),) for outcome in CallOutcome}
    return {outcome for outcome, past in calls.items() if _verdict(rule, (rule.tool, {}), history=past).refusals}


@pytest.mark.promise("policy.tool_rules")
@each_row(
    ("counting", "spared"), [("calls", {CallOutcome.UNSENT}), ("successes", {CallOutcome.UNSENT, CallOutcome.FAILED})]
)
def test_what_counts_against_a_limit(counting: str, spared: set[CallOutcome]) -> None:
    """A call whose end nobody knows counts; one that was never sent does not."""
    rule = ToolRule(id="ONCE", kind="at_most", tool="cancel", counting=counting)

    assert _refused_after(rule, "cancel") == {*CallOutcome} - spared


@pytest.mark.promise("policy.tool_rules")
def test_a_limit_per_field_tells_calls_apart_by_its_value() -> None:
    """``7`` and ``"7"`` are the same order, as in conditions."""
    rule = ToolRule(id="ONCE", kind="at_most", tool="cancel", per=("order_id",))
    verdict = _verdict(
        rule,
        ("cancel", {"order_id": "8"}),
        ("cancel", {"order_id": "7"}),
        ("cancel", {"order_id": 7}),
        history=(PastCall(tool="cancel", outcome=CallOutcome.SUCCEEDED, fields={"order_id": 8}),),
    )

    assert _refused(verdict) == [("c0", "ONCE"), ("c2", "ONCE")]
    assert verdict.refusals[1].values == {"order_id": 7, "calls": 1}


@pytest.mark.promise("policy.tool_rules")
def test_a_call_without_the_field_it_is_told_apart_by_is_refused_when_it_binds() -> None:
    """Left out, the field would open a way round the limit; a provisional verdict only names the rule."""
    rule = ToolRule(id="ONCE", kind="at_most", tool="cancel", per=("order_id",))

    verdict = _verdict(rule, ("cancel", {}))
    assert verdict.refusals[0].indeterminate
    assert "order_id missing or null" in verdict.refusals[0].reason

    provisional = _verdict(rule, ("cancel", {}), binding=False)
    assert (provisional.passed, provisional.indeterminate) == (True, ("ONCE",))


@pytest.mark.promise("policy.tool_rules")
def test_a_tool_waits_for_the_success_of_the_one_that_it_comes_after() -> None:
    """Earlier in the plan is enough: the call is told which call it has to wait for."""
    rule = ToolRule(id="PAID", kind="only_after", tool="ship", after=("pay", "invoice"))
    verdict = _verdict(rule, ("ship", {}), ("pay", {}), ("ship", {}))

    assert _refused(verdict) == [("c0", "PAID")]
    [need] = verdict.needs
    assert (need.call_id, need.any_of, need.rule_id) == ("c2", ("c1",), "PAID")
    rule = ToolRule(id="PAID", kind="only_after", tool="ship", after=("pay",))

    assert _refused_after(rule, "pay") == {*CallOutcome} - {CallOutcome.SUCCEEDED}


@pytest.mark.promise("policy.tool_rules")
def test_the_way_is_opened_for_the_same_record_only() -> None:
    """Paying one order does not let another be shipped, and a payment for nobody knows what lets none."""
    rule = ToolRule(id="PAID", kind="only_after", tool="ship", after=("pay",), per=("order_id",))
    paid = (
        PastCall(tool="pay", outcome=CallOutcome.SUCCEEDED, fields={"order_id": "A"}),
        PastCall(tool="pay", outcome=CallOutcome.SUCCEEDED),
    )
    verdict = _verdict(rule, ("ship", {"order_id": "A"}), ("ship", {"order_id": "B"}), history=paid)

    assert _refused(verdict) == [("c1", "PAID")]


@pytest.mark.promise("policy.tool_rules")
def test_a_refused_call_opens_no_way_and_uses_up_no_limit() -> None:
    """It will not be made, so nothing may count on it."""
    rules = (
        ToolRule(id="SMALL", kind="only_when", tool="pay", condition="amount <= 50"),
        ToolRule(id="ONCE", kind="at_most", tool="pay"),
        ToolRule(id="PAID", kind="only_after", tool="ship", after=("pay",)),
    )
    verdict = _verdict(rules, ("pay", {"amount": 60}), ("ship", {}), ("pay", {"amount": 40}))

    assert _refused(verdict) == [("c0", "SMALL"), ("c1", "PAID")]


@pytest.mark.promise("policy.tool_rules")
def test_a_tool_is_called_only_when_its_condition_holds() -> None:
    """The values that decided it are named; a field that is missing does not let the call through."""
    rule = ToolRule(id="SMALL", kind="only_when", tool="refund", condition="amount <= 50")
    verdict = _verdict(rule, ("refund", {"amount": "$49.99"}), ("refund", {"amount": 51}), ("refund", {}))

    assert [(refusal.call_id, refusal.indeterminate) for refusal in verdict.refusals] == [("c1", False), ("c2", True)]
    assert verdict.refusals[0].values == {"amount": 51}


@pytest.mark.promise("policy.tool_rules")
def test_a_missing_confirmation_is_asked_for_as_an_approval() -> None:
    """Nobody but a person can give it, so the plan waits instead of being refused."""
    rule = ToolRule(id="YES", kind="only_after_confirmation", tool="transfer", level="cfo")
    verdict = _verdict(rule, ("transfer", {}))

    assert verdict.passed
    assert verdict.requires_approval
    assert verdict.escalation_level == "cfo"
    assert verdict.triggered_rules[0].action is RuleAction.REQUIRE_APPROVAL
    assert verdict.triggered_rules[0].call_id == "c0"


@pytest.mark.promise("policy.tool_rules")
@each_row(
    ("given", "covers"),
    (Confirmation(tool="transfer", level="cfo"), True),
    (Confirmation(tool="transfer", level="ciso", fields={"to": "ACME"}), True),
    (Confirmation(tool="transfer", level="cfo", call_id="c9"), False),
    (Confirmation(tool="transfer"), False),
    (Confirmation(tool="transfer", level="cfo", fields={"to": "EVIL"}), False),
    (Confirmation(tool="delete", level="cfo"), False),
)
def test_a_confirmation_covers_what_it_was_given_for(given: Confirmation, covers: bool) -> None:
    """Its tool, its call, its fields, and a level that is high enough."""
    rule = ToolRule(id="YES", kind="only_after_confirmation", tool="transfer", level="cfo")
    verdict = _verdict(rule, ("transfer", {"to": "ACME"}), confirmations=(given,))

    assert verdict.requires_approval is not covers


@pytest.mark.promise("policy.tool_rules")
def test_denied_by_default_a_tool_needs_a_rule_that_admits_it() -> None:
    """Any rule but ``never`` admits its tool, under its own terms."""
    rules = (
        ToolRule(id="OK", kind="allow", tool="note_*"),
        ToolRule(id="ONCE", kind="at_most", tool="cancel"),
        ToolRule(id="NO", kind="never", tool="delete"),
    )
    calls: list[tuple[str, dict[str, ContextValue]]] = [("note_x", {}), ("cancel", {}), ("delete", {}), ("other", {})]
    verdict = _verdict(rules, *calls, default="deny")

    assert _refused(verdict) == [("c2", "toolDefault"), ("c2", "NO"), ("c3", "toolDefault")]
    assert "not among the tools that policy P admits" in verdict.refusals[0].reason


@pytest.mark.promise("policy.tool_rules")
@each_row(("tool_class", "passes"), [(ToolClass.READ, True), (ToolClass.CHANGE, False)])
def test_deny_writes_leaves_reading_free(tool_class: ToolClass, passes: bool) -> None:
    """A call of no stated class is taken for a write."""
    call = CallContext(call_id="c", tool="get", tool_class=tool_class)
    policies = (Policy(id="P", tool_default="deny_writes"),)

    assert evaluate(EvaluateRequest(policies=policies, calls=(call,))).passed is passes
    assert not evaluate(EvaluateRequest(policies=policies, calls=(CallContext(call_id="c", tool="get"),))).passed


@pytest.mark.promise("policy.errors")
@each_row(
    ("rule", "cause"),
    (ToolRule(id="R", kind="forbid", tool="t"), "unknown kind 'forbid'; known kinds: never"),
    (ToolRule(id="R", kind="never", tool="t", limit=2), "limit: no field of a rule of kind never"),
    (ToolRule(id="R", kind="only_after", tool="t"), "only_after needs"),
    (ToolRule(id="R", kind="only_when", tool="t", condition="a >"), "at character 3"),
    (ToolRule(id="R", kind="only_after_confirmation", tool="t", level="vp"), "unknown level 'vp'"),
)
def test_a_rule_about_tools_that_cannot_be_meant_makes_the_policy_invalid(rule: ToolRule, cause: str) -> None:
    """A word nobody knows and a field that does nothing are never passed over."""
    verdict = _verdict(rule, ("other", {}))

    assert not verdict.passed
    assert cause in verdict.problems[0].message


@pytest.mark.promise("policy.hashes")
def test_the_verdict_tells_which_history_it_was_made_on_apart_from_the_context() -> None:
    """A call made meanwhile changes the history's hash; plan, policy and facts are the same."""
    rule = ToolRule(id="ONCE", kind="at_most", tool="cancel", limit=5)
    first = _verdict(rule, ("cancel", {}))
    later = _verdict(rule, ("cancel", {}), history=(PastCall(tool="cancel", outcome=CallOutcome.SUCCEEDED),))

    assert first.history_hash is None
    assert later.history_hash is not None
    assert (first.context_hash, first.policy_hash) == (later.context_hash, later.policy_hash)
    assert _verdict(ToolRule(id="ONCE", kind="at_most", tool="cancel"), ("cancel", {})).policy_hash != first.policy_hash


@pytest.mark.promise("policy.monotone")
@given(plans, tool_policies)
def test_a_further_policy_about_tools_never_makes_a_pass(request: EvaluateRequest, further: Policy) -> None:
    """Policies are judged each for itself: what another allows opens nothing."""
    tighter = request.model_copy(update={"policies": (*request.policies, further)})

    assert evaluate(request).passed or not evaluate(tighter).passed


@pytest.mark.promise("policy.tool_rules")
@given(plans)
def test_a_plan_without_its_refused_calls_has_no_refused_call(request: EvaluateRequest) -> None:
    """So whoever plans again, without them, comes to an end."""
    refused = {refusal.call_id for refusal in evaluate(request).refusals}
    kept = tuple(call for call in request.calls if call.call_id not in refused)

    assert not evaluate(request.model_copy(update={"calls": kept})).refusals


@pytest.mark.promise("policy.bounds")
def test_looking_back_over_too_much_is_refused() -> None:
    """Rules times calls times history is bounded before it is begun."""
    history = (PastCall(tool="t", outcome=CallOutcome.FAILED),) * 2_000
    rules = tuple(ToolRule(id=f"R{n}", kind="at_most", tool="t", limit=99_999) for n in range(400))

    with pytest.raises(RequestTooLarge) as caught:
        _verdict(rules, ("t", {}), history=history)

    assert caught.value.field == "calls"


_DONE = PastCall(tool="get", outcome=CallOutcome.SUCCEEDED)
_FAILED = PastCall(tool="get", outcome=CallOutcome.FAILED)


def _asked(request: AllowanceRequest) -> Allowances:
    return decide_allowances(request, prepare_policies(request.policies))


_UNMENTIONED = ToolAllowance(tool="")


def _allowance(
    *rules: ToolRule,
    history: tuple[PastCall, ...] = (),
    confirmations: tuple[Confirmation, ...] = (),
    default: str = "allow",
) -> ToolAllowance:
    """What is said of ``get``, or that it is not mentioned."""
    request = AllowanceRequest(
        policies=(Policy(id="P", tool_rules=rules, tool_default=default),),
        tools=(OfferedTool(tool="get"),),
        history=history,
        confirmations=confirmations,
    )
    return next(iter(_asked(request).tools), _UNMENTIONED)


@pytest.mark.promise("policy.allowances")
def test_a_limit_says_how_many_calls_are_left_and_is_counted_down_by_the_caller() -> None:
    """Two of three are left after one in the session; the third in this turn is barred."""
    found = _allowance(ToolRule(id="THREE", kind="at_most", tool="get", limit=3), history=(_DONE,))

    assert found.limits[0].remaining == 2
    assert found.find_prohibition([_DONE]) is None
    assert found.find_prohibition([_DONE, _FAILED]) == found.limits[0]
    assert found.find_prohibition([PastCall(tool="other", outcome=CallOutcome.SUCCEEDED)] * 5) is None


@pytest.mark.promise("policy.allowances")
def test_a_precondition_stands_until_one_of_its_tools_has_succeeded() -> None:
    """In the session, then it is not mentioned; or in the turn, then the caller knows."""
    rule = ToolRule(id="LOGIN", kind="only_after", tool="get", after=("login", "renew"))
    found = _allowance(rule)

    assert found.preconditions[0].any_of == ("login", "renew")
    assert found.find_prohibition([PastCall(tool="login", outcome=CallOutcome.FAILED)]) == found.preconditions[0]
    assert found.find_prohibition([PastCall(tool="renew", outcome=CallOutcome.SUCCEEDED)]) is None
    assert _allowance(rule, history=(PastCall(tool="login", outcome=CallOutcome.SUCCEEDED),)) == _UNMENTIONED


@pytest.mark.promise("policy.allowances")
@each_row(
    "rule",
    ToolRule(id="R", kind="only_when", tool="get", condition="amount > 1"),
    ToolRule(id="R", kind="at_most", tool="g*"),
)
def test_what_depends_on_the_call_is_to_be_asked_for_each_call(rule: ToolRule) -> None:
    """Its arguments, or what other tools under the same limit have used up."""
    found = _allowance(rule)

    assert found == ToolAllowance(tool="get", ask=True)


@pytest.mark.promise("policy.allowances")
def test_without_a_plan_nobody_is_asked_to_confirm() -> None:
    """So an unconfirmed tool is barred; a confirmation for certain fields has to be compared with each call."""
    rule = ToolRule(id="YES", kind="only_after_confirmation", tool="get")
    barred, compared = _allowance(rule), _allowance(rule, confirmations=(Confirmation(tool="get", fields={"a": 1}),))

    assert barred.bars[0].rule_id == "YES"
    assert (compared.ask, compared.bars) == (True, ())
    assert _allowance(rule, confirmations=(Confirmation(tool="get"),)) == _UNMENTIONED


@pytest.mark.promise("policy.bounds")
def test_allowances_for_too_many_tools_are_refused() -> None:
    """Rules times tools is bounded before it is begun."""
    rules = tuple(ToolRule(id=f"R{n}", kind="never", tool="t") for n in range(1_000))
    tools = tuple(OfferedTool(tool=f"t{n}") for n in range(1_000))

    with pytest.raises(RequestTooLarge) as caught:
        _asked(AllowanceRequest(policies=(Policy(id="P", tool_rules=rules),), tools=tools))

    assert caught.value.field == "tools"


@pytest.mark.promise("policy.bounds")
@each_row(
    "looked_at",
    {"history": (PastCall(tool="get", outcome=CallOutcome.FAILED),) * 2_000},
    {"confirmations": (Confirmation(tool="get"),) * 2_000},
)
def test_allowances_that_look_back_over_too_much_are_refused(looked_at: dict[str, object]) -> None:
    """Calls and confirmations to look back at count with the rules that do, for a single tool too."""
    rules = tuple(ToolRule(id=f"R{n}", kind="at_most", tool="get", limit=9) for n in range(400))
    asked = {"policies": (Policy(id="P", tool_rules=rules),), "tools": (OfferedTool(tool="get"),)}

    assert not _asked(AllowanceRequest.model_validate(asked)).problems
    with pytest.raises(RequestTooLarge) as caught:
        _asked(AllowanceRequest.model_validate({**asked, **looked_at}))

    assert caught.value.field == "tools"


@pytest.mark.promise("policy.allowances")
@given(plans, st.lists(st.sampled_from(CallOutcome), max_size=3))
def test_an_allowance_decides_as_a_verdict_on_a_call_does(request: EvaluateRequest, since: list[CallOutcome]) -> None:
    """Whether it is counted down by the caller or asked anew with all calls so far: the same calls are let through."""
    tool = request.calls[0].tool if request.calls else "pay"
    made = tuple(PastCall(tool=tool, outcome=outcome) for outcome in since)
    offered = OfferedTool(tool=tool, tool_class=ToolClass.READ)
    asked = _asked(
        AllowanceRequest(
            policies=request.policies, tools=(offered,), history=request.history, confirmations=request.confirmations
        )
    )
    allowance = next(iter(asked.tools), ToolAllowance(tool=tool))
    call = CallContext(call_id="c", tool=tool, tool_class=ToolClass.READ)
    verdict = evaluate(
        request.model_copy(update={"calls": (call,), "history": (*request.history, *made), "binding": True})
    )

    if not allowance.ask:
        lets_through = not (verdict.refusals or verdict.requires_approval)
        assert (allowance.find_prohibition(made) is None) is lets_through
