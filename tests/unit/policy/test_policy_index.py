"""Rules are found by tool and field, and policies by their hash; neither changes what is decided."""

from collections.abc import Iterable
from decimal import Decimal

import pytest

from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import PreparedPolicyCache, prepare_policies
from services.policy.core.values import Context
from shared.contracts.policy import (
    CallContext,
    ContextValue,
    EvaluateRequest,
    Policy,
    PolicyContract,
    Rule,
    TextRule,
    ToolRule,
    Verdict,
)
from shared.contracts.policy_hash import hash_policies
from shared.domain.exact_json import dumps
from tests.each_row import each_row
from tests.unit.policy.corpus import asked

_FULL = Policy(
    id="P",
    version="2",
    rules=(Rule(id="R", condition="a > 1", action="block"),),
    tool_rules=(ToolRule(id="T", kind="never", tool="pay"),),
    text_rules=(TextRule(id="X", type="deny", keywords=("damn",)),),
)


def _requests() -> list[EvaluateRequest]:
    bodies = [one.body for one in asked(400, 7) if one.path == "/v1/evaluate"]
    requests = [EvaluateRequest.from_json(dumps(body)) for body in bodies]
    return [one for one in requests if one.calls and not any("tool" in call.unproven for call in one.calls)]


def _hidden(request: EvaluateRequest) -> EvaluateRequest:
    """The same rules, written so that no index finds them: each asks about the tool, and at the end."""
    policies = [policy.model_copy(update={"rules": tuple(map(_hide, policy.rules))}) for policy in request.policies]
    return request.model_copy(update={"policies": tuple(policies)})


def _hide(rule: Rule) -> Rule:
    condition = f'({rule.condition}) || "no such tool" == tool'
    return rule.model_copy(update={"condition": condition, "reason": rule.reason or rule.condition})


def _found(verdict: Verdict) -> object:
    acting = [
        (rule.rule_id, rule.policy_id, rule.call_id, rule.action, rule.level, rule.indeterminate)
        for rule in (*verdict.triggered_rules, *verdict.reported_rules)
    ]
    problems = {(problem.policy_id, problem.rule_id) for problem in verdict.problems}
    return acting, verdict.indeterminate, problems, verdict.ruled_calls, verdict.refusals, verdict.passed


@pytest.mark.promise("policy.index")
def test_rules_that_are_found_by_tool_and_field_decide_as_if_all_were_looked_at() -> None:
    requests = _requests()
    differing = [request for request in requests if _found(evaluate(request)) != _found(evaluate(_hidden(request)))]

    assert len(requests) > 100
    assert differing == []


@pytest.mark.promise("policy.index")
def test_a_call_meets_only_the_rules_that_may_be_about_its_tool() -> None:
    """Those that begin with another tool are not looked at; those that name none are, in their place."""
    conditions = [f'tool == "tool_{number}" && amount > 5' for number in range(100)]
    conditions[50:50] = ["amount > 7", 'tool in ["tool_3", "tool_9"]', 'tool == "tool_3" || tool == "x" && a > 1']
    rules = _rules(conditions)

    assert _open(rules, {"tool": "tool_3"}) == ["R3", "R50", "R51", "R52"]
    assert _open(rules, {"tool": "another"}) == ["R50"]


@pytest.mark.promise("policy.index")
@each_row(
    ("form", "value", "found"),
    ('region == "north-{}"', "north-7", ["R7"]),
    ('region in ["north-{}", "south-{}"]', "south-7", ["R7"]),
    ('(region == "north-{}" || region == "x") && b > 1 || region === "south-{}"', "south-7", ["R7"]),
    ("amount > {}", 2, ["R0", "R1"]),
    ("amount >= {}", Decimal("1.5"), ["R0", "R1"]),
    ("amount < {} && region == null", 97, ["R98", "R99"]),
    ("amount === {} || urgent", 7, ["R7"]),
)
def test_a_call_meets_the_rules_that_its_fields_leave_open(form: str, value: ContextValue, found: list[str]) -> None:
    rules = _rules(form.replace("{}", str(number)) for number in range(100))
    context = {"urgent": False, form.strip("(").split()[0]: value}

    assert _open(rules, context) == found


def _rules(conditions: Iterable[str]) -> tuple[Rule, ...]:
    return tuple(Rule(id=f"R{place}", condition=text, action="block") for place, text in enumerate(conditions))


def _open(rules: tuple[Rule, ...], *contexts: Context) -> list[str]:
    [prepared] = prepare_policies((Policy(id="P", rules=rules),)).all
    return [rule.rule.id for rule in prepared.rules.find_possible_rules(contexts)]


@pytest.mark.promise("policy.index")
def test_rules_that_compare_with_true_and_with_one_are_decided_apart() -> None:
    """``True`` and 1 are equal in Python; as rests of rules they are two."""
    rules = tuple(
        Rule(id=value, condition=f'tool == "pay" || a === {value}', action="block") for value in ("true", "1")
    )
    policy = Policy(id="P", rules=rules)
    call = CallContext(call_id="c", tool="ship", fields={"a": True})
    verdict = evaluate(EvaluateRequest(policies=(policy,), calls=(call,)))

    assert [rule.rule_id for rule in verdict.triggered_rules] == ["true"]


@pytest.mark.promise("policy.by_hash", "policy.hashes")
def test_whatever_decides_is_in_the_hash() -> None:
    """Policies of one hash share what was prepared, so two that decide otherwise must not have one."""
    seen = [hash_policies((_FULL,))]
    for name, value in (("id", "Q"), ("version", "3"), ("context", {"a": "1"}), ("judges_records", True)):
        seen.append(hash_policies((_FULL.model_copy(update={name: value}),)))
    seen.append(hash_policies((_FULL.model_copy(update={"context": {"a": 1}}),)))
    for default in ("tool_default", "text_default"):
        seen.append(hash_policies((_FULL.model_copy(update={default: "deny"}),)))
    for place, model in (("rules", Rule), ("tool_rules", ToolRule), ("text_rules", TextRule)):
        for name in model.model_fields.keys() - {"quote", "v"}:
            [rule] = getattr(_FULL, place)
            changed = rule.model_copy(update={name: _other(rule, name)})
            seen.append(hash_policies((_FULL.model_copy(update={place: (changed,)}),)))

    assert len({*seen}) == len(seen)


def _other(rule: PolicyContract, name: str) -> object:
    match getattr(rule, name):
        case bool(value):
            return not value
        case tuple(value):
            return (*value, "further")
        case None:
            return 2 if name in ("approvers", "limit") else "cfo"
        case value:
            return f"{value}2"


@pytest.mark.promise("policy.by_hash")
def test_the_memory_of_policies_is_bounded() -> None:
    """What was not used for longest is forgotten; whoever names it is asked for it."""
    held = PreparedPolicyCache(limit=4_000)
    hashes = [held.get_or_prepare((_FULL.model_copy(update={"version": str(version)}),)).hash for version in range(50)]

    assert held.look_up(hashes[0]) is None
    assert held.look_up(hashes[-1]) is not None
    assert 0 < len(held) < 10
