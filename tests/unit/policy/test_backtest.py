"""A changed policy on plans decided before; what the bench compares; what docs/policy.md shows is what is taken."""

import re
from pathlib import Path

import pytest

from services.policy.core.evaluate import MAX_EVALUATION_STEPS, backtest_plan, evaluate, list_decided_plans
from services.policy.core.grammar import (
    MAX_CONDITION_CHARACTERS,
    MAX_CONDITION_DEPTH,
    MAX_CONDITION_TERMS,
    parse_condition_tree,
)
from services.policy.core.prepared import MAX_ALL_PATTERNS, MAX_RULE_CHARACTERS
from services.policy.core.text_rules import MAX_PATTERN_CHARACTERS, MAX_UNICODE_CLASSES
from shared.contracts.archive import ArchivedStep, ArchivedTask
from shared.contracts.policy import (
    CallContext,
    CallOutcome,
    EvaluateRequest,
    Policy,
    Rule,
    ToolRule,
    ToolRuleKind,
    Verdict,
)
from shared.contracts.policy_document import sort_rules_by_kind
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import EscalationLevel, RuleAction
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row
from tools.bench.policy.engines import CONTEXTS, load_engines

LIMIT = Rule(id="LIMIT", condition='tool == "pay" && amount > 5000', action="require_approval", level="cfo")


def _archived(*policies: Policy) -> ArchivedTask:
    call = CallContext(call_id="c1", tool="pay", fields={"amount": 700})
    request = EvaluateRequest(policies=policies, calls=(call,), binding=True, plan_hash="h")
    verdict = evaluate(request)
    noted = f'{{"request":{request.to_json()},"verdict":{verdict.to_json()}}}'
    provisional = f'{{"verdict":{verdict.to_json()}}}'
    steps = (("policy:0#1", provisional), ("policy:a#1", noted), ("1.ASSESS:model:0", "{}"))
    return ArchivedTask(
        record=a_record(), journal=tuple(ArchivedStep(key=key, kind="input", data=data) for key, data in steps)
    )


@pytest.mark.promise("policy.backtest")
@each_row(
    ("changed", "after", "why"),
    (Policy(id="pay", rules=(LIMIT,)), "passes", ()),
    (
        Policy(id="pay", rules=(LIMIT.model_copy(update={"condition": 'tool == "pay" && amount > 500'}),)),
        "needs approval by cfo",
        ("+ pay/LIMIT",),
    ),
    (Policy(id="new", rules=(Rule(id="NO", condition="amount > 1", action="block"),)), "blocked", ("+ new/NO",)),
    (
        Policy(id="new", rules=(Rule(id="UP", condition="amount > 1", action="escalate", level="cfo"),)),
        "escalates to cfo",
        ("+ new/UP",),
    ),
    (Policy(id="new", tool_rules=(ToolRule(id="T", kind="never", tool="pay"),)), "calls refused", ("+ new/T",)),
    (Policy(id="pay", rules=(Rule(id="X", condition="a >< 1", action="block"),)), "policy invalid", ("+ pay/X",)),
)
def test_what_would_have_been_different_is_named(changed: Policy, after: str, why: tuple[str, ...]) -> None:
    """The changed policy stands in for the one of its id; the rules that make the difference are listed."""
    (known,) = list_decided_plans(_archived(Policy(id="pay", rules=(LIMIT,))))
    tried = backtest_plan(known, (changed,))
    assert (tried.verdict_before, tried.verdict_after, tried.differing_rules) == ("passes", after, why)
    assert tried.differs is bool(why)


def test_what_decided_no_plan_is_left_out() -> None:
    """It was judged by the rules about tools alone; conditions and texts have nothing to say of it."""
    archived = _archived(Policy(id="pay"))
    assert list_decided_plans(archived.model_copy(update={"journal": archived.journal[:1]})) == ()
    archived = _archived(Policy(id="pay"))
    read = archived.journal[1].data.replace('"planHash":"h"', '"planHash":null')
    journal = (archived.journal[1].model_copy(update={"data": read}),)
    assert list_decided_plans(archived.model_copy(update={"journal": journal})) == ()
    archived = _archived(Policy(id="pay"))
    asked = re.sub(r'"callId":"[^"]*"', '"callId":"hypothetical"', archived.journal[1].data)
    journal = (archived.journal[1].model_copy(update={"data": asked}),)
    assert list_decided_plans(archived.model_copy(update={"journal": journal})) == ()


def test_a_plan_that_was_refused_and_made_again_is_tried_too() -> None:
    """What a loosened policy would have let pass at first is a difference."""
    archived = _archived(Policy(id="pay", rules=(LIMIT,)))
    first = archived.journal[1]
    other = first.model_copy(
        update={"key": "policy:b#1", "data": first.data.replace('"planHash":"h"', '"planHash":"i"')}
    )
    plans = list_decided_plans(archived.model_copy(update={"journal": (*archived.journal, other, first)}))
    assert [plan.request.plan_hash for plan in plans] == ["h", "i"]


@pytest.mark.promise("policy.speed")
def test_every_engine_decides_the_measured_condition_alike() -> None:
    """They are checked against each other before anything is measured."""
    found = load_engines()

    assert [bool(found.by_hand(facts)) for facts in CONTEXTS] == [True, True, False, False]
    assert set(found.libraries) == {"common-expression-language", "rule-engine", "panzi-json-logic"}


PAGE = (Path(__file__).parents[3] / "docs" / "policy.md").read_text()
_BLOCK = re.compile(r"```json\n(.*?)```", re.DOTALL)


def _as_request(shown: JsonObject) -> EvaluateRequest:
    if "policies" in shown:
        return EvaluateRequest.model_validate(shown)
    document: JsonObject = shown if "rules" in shown else {"rules": [shown]}
    policy = Policy.model_validate({"id": "shown", **sort_rules_by_kind(document)})
    return EvaluateRequest(policies=(policy,), text="")


@pytest.mark.promise("policy.errors")
@each_row("shown", _BLOCK.findall(PAGE))
def test_each_example_is_a_valid_policy_or_request(shown: str) -> None:
    """None of them is a problem of its own verdict."""
    assert not evaluate(_as_request(loads_object(shown))).problems


@pytest.mark.promise("policy.errors")
def test_each_condition_shown_can_be_parsed() -> None:
    """Two on a line, where two columns are shown."""
    [block] = re.findall(r"## Conditions\n\n```\n(.*?)```", PAGE, re.DOTALL)
    shown = [part for line in block.splitlines() for part in re.split(r"\s{3,}", line)]

    assert len(shown) == 4
    assert all(parse_condition_tree(condition) for condition in shown)


@pytest.mark.promise("policy.errors")
def test_every_word_and_bound_is_on_the_page() -> None:
    """Actions, levels, kinds, outcomes, fields of a tool rule and of a verdict, and the limits."""
    words = [*RuleAction, *ToolRuleKind, *CallOutcome, *(level.word for level in EscalationLevel)]
    fields = [*ToolRule.model_fields, *Verdict.model_fields]
    camel = [re.sub("_(.)", lambda found: found[1].upper(), name) for name in fields]
    absent = [word for word in words + camel if f"`{word}`" not in PAGE and f'"{word}"' not in PAGE]

    assert set(absent) <= {"v", "id", "binding"}
    for bound in (
        MAX_CONDITION_CHARACTERS,
        MAX_CONDITION_TERMS,
        MAX_EVALUATION_STEPS,
        MAX_PATTERN_CHARACTERS,
        MAX_ALL_PATTERNS,
        MAX_UNICODE_CLASSES,
        MAX_CONDITION_DEPTH,
    ):
        assert f"{bound:,}" in PAGE
    assert f"{MAX_RULE_CHARACTERS // 1024} Ki" in PAGE
