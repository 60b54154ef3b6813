"""Where a rule applies: to the calls of the tools or process that it names, else to changes that have its fields."""

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy, Rule, ToolRule, Verdict
from shared.domain.words import ToolClass
from tests.each_row import each_row

_LIMIT = "amount > 500"


def _verdict(
    condition: str,
    said: dict[str, ContextValue] | None = None,
    *,
    unknown: tuple[str, ...] | None = (),
    tool: str = "pay_claim",
    kind: ToolClass = ToolClass.CHANGE,
    report_only: bool = False,
    if_known: bool = False,
    action: str = "require_approval",
    level: str | None = None,
    **fields: ContextValue,
) -> Verdict:
    rule = Rule(id="R", condition=condition, action=action, level=level, report_only=report_only, if_known=if_known)
    given = {
        "verb": tool.partition("_")[0],
        "tool_class": kind.value,
        "process_type": "general",
        **(said or {}),
        **fields,
    }
    call = CallContext(call_id="c1", tool=tool, tool_class=kind, fields=given, unknown_fields=unknown)
    request = EvaluateRequest(policies=(Policy(id="house", rules=(rule,)),), calls=(call,), binding=True)
    return evaluate(EvaluateRequest.from_json(request.to_json()), ConditionCache())


@pytest.mark.promise("policy.applies")
@each_row(
    ("condition", "unknown", "asks"),
    [
        (_LIMIT, ("amount",), True),
        (_LIMIT, (), False),
        (_LIMIT, None, True),
        (f'tool == "pay_claim" && {_LIMIT}', (), True),
        (f'{_LIMIT} && tool == "pay_claim"', (), True),
        (f'tool == "hire" && {_LIMIT}', ("amount",), False),
        (f'verb in ["pay"] && {_LIMIT}', (), True),
        (f'process_type == "general" && {_LIMIT}', (), True),
        (f'process_type == "payroll" && {_LIMIT}', ("amount",), False),
        (f'tool == "hire" || {_LIMIT}', (), False),
        (f'tool == "hire" || {_LIMIT}', ("amount",), True),
        (f'tool != "hire" && {_LIMIT}', (), False),
        (f'tool_class == "change" && {_LIMIT}', (), False),
        ("order.total > 500", ("order.total",), True),
        ("order.total > 500", (), False),
        ("figures.left < 0", (), False),
    ],
)
def test_an_unknown_field_asks_only_where_the_rule_applies(
    condition: str, unknown: tuple[str, ...] | None, asks: bool
) -> None:
    """A sender of the version before tells nothing of what a call has: there every missing field asks."""
    found = _verdict(condition, unknown=unknown)
    assert (found.escalate, found.passed, found.indeterminate) == (asks, not asks, found.indeterminate)
    assert all(rule.indeterminate for rule in found.triggered_rules)


@pytest.mark.promise("policy.applies")
def test_a_rule_that_a_call_has_half_the_fields_of_applies_to_it() -> None:
    """It is settled where what is known settles it, and asks where only the missing half would."""
    condition = 'amount > 500 && region == "EU"'
    assert _verdict(condition, amount=8240).escalate
    assert _verdict(condition, amount=86).passed
    assert _verdict(condition, currency="EUR").passed


@pytest.mark.promise("policy.applies")
def test_a_field_that_is_null_is_one_that_the_call_has() -> None:
    assert _verdict(_LIMIT, amount=None).escalate


@pytest.mark.promise("policy.applies")
def test_a_notice_waits_for_no_unknown_field_unless_the_rule_names_it() -> None:
    assert _verdict(_LIMIT, unknown=("amount",), tool="notify_person", kind=ToolClass.NOTIFY).passed
    assert _verdict(_LIMIT, tool="notify_person", kind=ToolClass.NOTIFY, amount=700).requires_approval
    stated = f'tool == "notify_person" && {_LIMIT}'
    assert _verdict(stated, tool="notify_person", kind=ToolClass.NOTIFY).escalate


@pytest.mark.promise("policy.unruled")
@each_row(
    ("condition", "fields", "ruled"),
    [
        (_LIMIT, {"amount": 86}, True),
        (_LIMIT, {"amount": 700}, True),
        (_LIMIT, {"currency": "EUR"}, False),
        ('tool == "pay_claim" && amount > 500', {"amount": 86}, True),
        ('tool == "hire" && amount > 500', {"amount": 86}, False),
        ('process_type == "payroll" && amount > 500', {"amount": 86}, False),
        ("figures.left < 0", {}, False),
        ("figures.left < 0", {"figures": {"left": 3}}, True),
        ('tool_class == "change"', {}, True),
    ],
)
def test_the_verdict_tells_to_which_calls_a_rule_applies_whatever_it_finds(
    condition: str, fields: dict[str, ContextValue], ruled: bool
) -> None:
    found = _verdict(condition, fields)
    assert found.ruled_calls == {"c1": ("house",) if ruled else ()}


@pytest.mark.promise("policy.unruled")
def test_neither_a_rule_that_only_reports_nor_one_that_acts_only_if_known_rules_a_call() -> None:
    assert _verdict(_LIMIT, amount=700, report_only=True).ruled_calls == {"c1": ()}
    assert _verdict(_LIMIT, unknown=("amount",), if_known=True).ruled_calls == {"c1": ()}
    assert _verdict(_LIMIT, amount=1, if_known=True).ruled_calls == {"c1": ("house",)}


@pytest.mark.promise("policy.unruled")
def test_a_rule_about_tools_rules_the_calls_of_its_tools() -> None:
    policy = Policy(id="house", tool_rules=(ToolRule(id="once", kind="at_most", tool="pay_*"),))
    calls = tuple(CallContext(call_id=tool, tool=tool, unknown_fields=()) for tool in ("pay_claim", "hire"))
    found = evaluate(EvaluateRequest(policies=(policy,), calls=calls, binding=True), ConditionCache())
    assert found.ruled_calls == {"pay_claim": ("house",), "hire": ()}


def test_what_is_unknown_is_part_of_what_a_verdict_is_bound_to() -> None:
    hashes = {_verdict(_LIMIT, unknown=unknown).context_hash for unknown in (None, (), ("amount",))}
    assert len(hashes) == 3


@pytest.mark.promise("policy.applies")
def test_a_farther_record_sets_off_a_rule_that_lacks_the_field_and_clears_none() -> None:
    """What it says is judged besides: in place of a missing field for any policy, of a known one for a process."""
    rules = tuple(
        Rule(id=called, condition=text, action="block")
        for called, text in (("far", "sanctioned == true"), ("known", "amount > 500"))
    )
    call = CallContext(
        call_id="c1",
        tool="pay_claim",
        fields={"amount": 86},
        recorded=({"sanctioned": True, "amount": 8240},),
        unknown_fields=(),
    )
    for judges, expected in ((False, {"far"}), (True, {"far", "known"})):
        policy = Policy(id="p", rules=rules, judges_records=judges)
        found = evaluate(EvaluateRequest(policies=(policy,), calls=(call,), binding=True), ConditionCache())
        assert {rule.rule_id for rule in found.triggered_rules} == expected


@pytest.mark.promise("policy.undecided_block")
@each_row(
    ("level", "blocked", "asked"),
    [(None, True, None), ("committee", False, "committee"), ("manager", False, "manager")],
)
def test_what_a_rule_may_forbid_is_let_pass_by_nobody_whom_it_does_not_name(
    level: str | None, blocked: bool, asked: str | None
) -> None:
    found = _verdict(_LIMIT, unknown=("amount",), action="block", level=level)
    assert (found.passed, found.blocked, found.escalate, found.escalation_level) == (False, blocked, not blocked, asked)
    (rule,) = found.triggered_rules
    assert rule.indeterminate
    assert "cannot be decided: amount missing or null" in rule.reason


@pytest.mark.promise("policy.undecided_block")
@each_row(("unknown", "if_known", "escalates"), [((), False, False), (("amount",), True, False), (None, False, True)])
def test_a_block_rule_that_may_have_nothing_to_do_with_a_call_blocks_nothing(
    unknown: tuple[str, ...] | None, if_known: bool, escalates: bool
) -> None:
    """A sender of the version before does not tell what a call has: there a person decides."""
    found = _verdict(_LIMIT, unknown=unknown, action="block", if_known=if_known)
    assert (found.blocked, found.escalate) == (False, escalates)
