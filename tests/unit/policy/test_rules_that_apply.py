"""Where a rule applies: to which calls, and only where what it is about is known."""

import pytest
from hypothesis import given

from services.policy.core.evaluate import evaluate
from shared.contracts.policy import CallContext, ContextValue, EvaluateRequest, Policy, Rule, ToolRule, Verdict
from shared.domain.words import RuleAction, ToolClass
from tests.each_row import each_row
from tests.unit.policy.generated import requests, rules

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
    return evaluate(EvaluateRequest.from_json(request.to_json()))


@pytest.mark.promise("policy.applies")
@each_row(
    ("condition", "unknown", "asks"),
    (_LIMIT, ("amount",), True),
    (_LIMIT, (), False),
    (f'tool == "pay_claim" && {_LIMIT}', (), True),
    (f'tool == "hire" && {_LIMIT}', ("amount",), False),
    (f'process_type == "general" && {_LIMIT}', (), True),
    (f'process_type == "payroll" && {_LIMIT}', ("amount",), False),
    (f'tool == "hire" || {_LIMIT}', ("amount",), True),
    (f'tool != "hire" && {_LIMIT}', (), False),
    ("order.total > 500", ("order.total",), True),
    ("figures.left < 0", (), False),
)
def test_an_unknown_field_asks_if_a_rule_applies(condition: str, unknown: tuple[str, ...] | None, asks: bool) -> None:
    """A sender of the version before tells nothing of what a call has: there every missing field asks."""
    found = _verdict(condition, unknown=unknown)
    assert (found.escalate, found.passed, found.indeterminate) == (asks, not asks, found.indeterminate)
    assert all(rule.indeterminate for rule in found.triggered_rules)


@pytest.mark.promise("policy.applies")
def test_a_rule_applies_to_a_call_that_has_half_of_its_fields_or_has_one_as_null() -> None:
    """It is settled where what is known settles it, and asks where only the missing half would."""
    condition = 'amount > 500 && region == "EU"'
    assert _verdict(condition, amount=8240).escalate
    assert _verdict(condition, amount=86).passed
    assert _verdict(condition, currency="EUR").passed
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
    (_LIMIT, {"amount": 86}, True),
    (_LIMIT, {"currency": "EUR"}, False),
    ('tool == "hire" && amount > 500', {"amount": 86}, False),
    ('process_type == "payroll" && amount > 500', {"amount": 86}, False),
    ("figures.left < 0", {"figures": {"left": 3}}, True),
    ('tool_class == "change"', {}, True),
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
    found = evaluate(EvaluateRequest(policies=(policy,), calls=calls, binding=True))
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
        found = evaluate(EvaluateRequest(policies=(policy,), calls=(call,), binding=True))
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


_STRICT = Rule(id="R", condition="variance > 500", action="require_approval", level="finance")
_MILD = _STRICT.model_copy(update={"if_known": True})
_SEVERITY = {RuleAction.REQUIRE_APPROVAL: 1, RuleAction.ESCALATE: 2, RuleAction.BLOCK: 3}


def _bound(rule: Rule, *, unproven: tuple[str, ...] = (), **fields: ContextValue) -> Verdict:
    call = CallContext(call_id="c1", tool="pay_invoice", fields=fields, unproven=unproven)
    return evaluate(EvaluateRequest(policies=(Policy(id="P", rules=(rule,)),), calls=(call,), binding=True))


@pytest.mark.promise("policy.if_known")
def test_what_is_missing_or_given_by_the_request_alone_leaves_the_rule_without_effect_and_named() -> None:
    """Any other rule escalates on it; and one that is known decides as in any rule."""
    verdict = _bound(_MILD)

    assert (verdict.passed, verdict.triggered_rules, verdict.indeterminate) == (True, (), ("R",))
    assert _bound(_STRICT).escalate
    assert _bound(_MILD, variance=501).escalation_level == "finance"
    assert _bound(_MILD, variance=500).passed
    either = _MILD.model_copy(update={"condition": "variance > 500 || duplicates > 0"})

    assert not _bound(_MILD, variance=10, unproven=("variance",)).triggered_rules
    assert _bound(_STRICT, variance=10, unproven=("variance",)).escalate
    assert _bound(either, variance=10, duplicates=1, unproven=("variance",)).requires_approval


@pytest.mark.promise("policy.recorded")
@pytest.mark.parametrize("judges", [True, False])
@pytest.mark.parametrize(("said", "unproven"), [(10, ()), (10, ("variance",)), (None, ("variance",))])
def test_what_the_record_says_instead_decides_too(said: int | None, unproven: tuple[str, ...], judges: bool) -> None:
    """For a policy that asks for it always; for any other where the call's value is the request's word alone."""
    verdict = _contradicted(_MILD, said, 501, unproven=unproven, judges=judges)
    assert bool(verdict.triggered_rules) is (judges or bool(unproven))
    assert not _contradicted(_MILD, said, 500, unproven=unproven, judges=judges).triggered_rules


@pytest.mark.promise("policy.recorded")
def test_the_records_word_sets_rules_off_clears_nothing_and_is_part_of_what_a_verdict_is_bound_to() -> None:
    """Neither what the call itself sets off, nor what rests on the request."""
    (found,) = _contradicted(_MILD, 10, 501, judges=True).triggered_rules
    assert (found.action, found.values) == (RuleAction.REQUIRE_APPROVAL, {"variance": 501})
    assert found.reason == "variance > 500 (the record says so, and the call otherwise)"
    assert _contradicted(_MILD, 501, 10, judges=True).requires_approval
    assert _contradicted(_STRICT, 10, 20, unproven=("variance",), judges=True).escalate
    block = _STRICT.model_copy(update={"action": "block", "level": None})
    assert _contradicted(block, None, 501, judges=True).blocked
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
    return evaluate(EvaluateRequest(policies=(policy,), calls=(call,), binding=True))


@pytest.mark.promise("process.only_tightens", "policy.monotone")
@given(requests, rules)
def test_a_further_policy_never_loosens_a_verdict(request: EvaluateRequest, rule: Rule) -> None:
    """A process brings rules of its own; whatever the others find stands beside what they find."""
    own = Policy(id="process:general", rules=(_MILD, rule.model_copy(update={"id": "S"})))
    without = evaluate(request)
    beside = evaluate(request.model_copy(update={"policies": (*request.policies, own)}))

    assert all(rule in beside.triggered_rules for rule in without.triggered_rules)
    assert beside.requires_approval >= without.requires_approval
    assert beside.escalate >= without.escalate
    assert beside.blocked >= without.blocked
    assert without.passed >= beside.passed
    assert _strictest(beside) >= _strictest(without)


def _strictest(verdict: Verdict) -> int:
    return max((_SEVERITY[rule.action] for rule in verdict.triggered_rules), default=0)
