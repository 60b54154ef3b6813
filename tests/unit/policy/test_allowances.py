"""What a turn may do with tools that it calls without a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.policy.core.allowances import allowances
from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import TooMuch, prepare
from shared.contracts.allowance import AllowanceRequest, Allowances, OfferedTool, ToolAllowance
from shared.contracts.policy import (
    CallContext,
    CallOutcome,
    Confirmation,
    EvaluateRequest,
    PastCall,
    Policy,
    ToolRule,
)
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.policy.generated import plans

_DONE = PastCall(tool="get", outcome=CallOutcome.SUCCEEDED)
_FAILED = PastCall(tool="get", outcome=CallOutcome.FAILED)


def _asked(request: AllowanceRequest) -> Allowances:
    return allowances(request, prepare(request.policies, ConditionCache()))


def _allowance(
    *rules: ToolRule,
    history: tuple[PastCall, ...] = (),
    confirmations: tuple[Confirmation, ...] = (),
    default: str = "allow",
) -> ToolAllowance | None:
    request = AllowanceRequest(
        policies=(Policy(id="P", tool_rules=rules, tool_default=default),),
        tools=(OfferedTool(tool="get"),),
        history=history,
        confirmations=confirmations,
    )
    return next(iter(_asked(request).tools), None)


@pytest.mark.promise("policy.allowances")
def test_a_tool_under_no_rule_is_not_mentioned() -> None:
    """Rules about others, report-only rules, and a default that leaves reading free say nothing about it."""
    other = ToolRule(id="R", kind="never", tool="set")
    reported = ToolRule(id="R", kind="never", tool="get", report_only=True)

    assert _allowance(other, reported, default="deny_writes") is None


@pytest.mark.promise("policy.allowances")
def test_a_forbidden_tool_is_barred_with_rule_and_reason() -> None:
    """By ``never``, and by a default that no rule lifts."""
    found = _allowance(ToolRule(id="NO", kind="never", tool="g*", reason="not here"), default="deny")

    assert found is not None
    assert [(bar.rule_id, bar.reason) for bar in found.bars] == [
        ("toolDefault", "get is not among the tools that policy P admits"),
        ("NO", "not here"),
    ]
    assert found.what_forbids(()) == found.bars[0]


@pytest.mark.promise("policy.allowances")
def test_a_limit_says_how_many_calls_are_left_and_is_counted_down_by_the_caller() -> None:
    """Two of three are left after one in the session; the third in this turn is barred."""
    found = _allowance(ToolRule(id="THREE", kind="at_most", tool="get", limit=3), history=(_DONE,))

    assert found is not None
    assert found.limits[0].remaining == 2
    assert found.what_forbids([_DONE]) is None
    assert found.what_forbids([_DONE, _FAILED]) == found.limits[0]
    assert found.what_forbids([PastCall(tool="other", outcome=CallOutcome.SUCCEEDED)] * 5) is None


@pytest.mark.promise("policy.allowances")
def test_where_successes_count_a_failed_call_uses_up_nothing() -> None:
    """Before the turn and in it."""
    rule = ToolRule(id="ONE", kind="at_most", tool="get", counting="successes")
    found = _allowance(rule, history=(_FAILED,))

    assert found is not None
    assert found.what_forbids([_FAILED]) is None
    assert found.what_forbids([_DONE]) is not None


@pytest.mark.promise("policy.allowances")
def test_a_precondition_stands_until_one_of_its_tools_has_succeeded() -> None:
    """In the session, then it is not mentioned; or in the turn, then the caller knows."""
    rule = ToolRule(id="LOGIN", kind="only_after", tool="get", after=("login", "renew"))
    found = _allowance(rule)

    assert found is not None
    assert found.preconditions[0].any_of == ("login", "renew")
    assert found.what_forbids([PastCall(tool="login", outcome=CallOutcome.FAILED)]) == found.preconditions[0]
    assert found.what_forbids([PastCall(tool="renew", outcome=CallOutcome.SUCCEEDED)]) is None
    assert _allowance(rule, history=(PastCall(tool="login", outcome=CallOutcome.SUCCEEDED),)) is None


@pytest.mark.promise("policy.allowances")
@each_row(
    "rule",
    [
        ToolRule(id="R", kind="only_when", tool="get", condition="amount > 1"),
        ToolRule(id="R", kind="at_most", tool="get", per=("id",)),
        ToolRule(id="R", kind="at_most", tool="g*"),
        ToolRule(id="R", kind="only_after", tool="get", after=("login",), per=("id",)),
    ],
)
def test_what_depends_on_the_call_is_to_be_asked_for_each_call(rule: ToolRule) -> None:
    """Its arguments, or what other tools under the same limit have used up."""
    found = _allowance(rule)

    assert found is not None
    assert found.ask
    assert not (found.bars)
    assert not (found.limits)
    assert not (found.preconditions)


@pytest.mark.promise("policy.allowances")
def test_without_a_plan_nobody_is_asked_to_confirm() -> None:
    """So an unconfirmed tool is barred; a confirmation for certain fields has to be compared with each call."""
    rule = ToolRule(id="YES", kind="only_after_confirmation", tool="get")
    barred, compared = _allowance(rule), _allowance(rule, confirmations=(Confirmation(tool="get", fields={"a": 1}),))

    assert barred is not None
    assert barred.bars[0].rule_id == "YES"
    assert compared is not None
    assert (compared.ask, compared.bars) == (True, ())
    assert _allowance(rule, confirmations=(Confirmation(tool="get"),)) is None


@pytest.mark.promise("policy.allowances")
def test_an_invalid_policy_is_said_to_be_one() -> None:
    """Its rules that can be read still stand."""
    rules = (ToolRule(id="BAD", kind="forbid", tool="get"), ToolRule(id="NO", kind="never", tool="get"))
    found = _asked(AllowanceRequest(policies=(Policy(id="P", tool_rules=rules),), tools=(OfferedTool(tool="get"),)))

    assert [problem.rule_id for problem in found.problems] == ["BAD"]
    assert found.tools[0].bars[0].rule_id == "NO"


@pytest.mark.promise("policy.bounds")
def test_allowances_for_too_many_tools_are_refused() -> None:
    """Rules times tools is bounded before it is begun."""
    rules = tuple(ToolRule(id=f"R{n}", kind="never", tool="t") for n in range(1_000))
    tools = tuple(OfferedTool(tool=f"t{n}") for n in range(1_000))

    with pytest.raises(TooMuch) as caught:
        _asked(AllowanceRequest(policies=(Policy(id="P", tool_rules=rules),), tools=tools))

    assert caught.value.field == "tools"


@pytest.mark.promise("policy.allowances")
@given(plans, st.lists(st.sampled_from(CallOutcome), max_size=3))
def test_an_allowance_decides_as_a_verdict_on_the_call_would(
    request: EvaluateRequest, since: list[CallOutcome]
) -> None:
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
        request.model_copy(update={"calls": (call,), "history": (*request.history, *made), "binding": True}),
        ConditionCache(),
    )

    if not allowance.ask:
        lets_through = not (verdict.refusals or verdict.requires_approval)
        assert (allowance.what_forbids(made) is None) is lets_through
