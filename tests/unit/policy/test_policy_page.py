"""What docs/policy.md shows is what the service takes."""

import re
from pathlib import Path

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import MAX_WORK, evaluate
from services.policy.core.grammar import MAX_DEPTH, MAX_LENGTH, MAX_TERMS, parse
from services.policy.core.prepared import MAX_PATTERNS, MAX_TEXT
from services.policy.core.text_rules import MAX_CLASSES, MAX_PATTERN
from shared.contracts.policy import CallOutcome, EvaluateRequest, Policy, ToolRule, ToolRuleKind, Verdict
from shared.contracts.policy_document import sorted_document
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import Level, RuleAction
from tests.each_row import each_row

PAGE = (Path(__file__).parents[3] / "docs" / "policy.md").read_text()
_BLOCK = re.compile(r"```json\n(.*?)```", re.DOTALL)


def _as_request(shown: JsonObject) -> EvaluateRequest:
    if "policies" in shown:
        return EvaluateRequest.model_validate(shown)
    document: JsonObject = shown if "rules" in shown else {"rules": [shown]}
    policy = Policy.model_validate({"id": "shown", **sorted_document(document)})
    return EvaluateRequest(policies=(policy,), text="")


@pytest.mark.promise("policy.errors")
@each_row("shown", _BLOCK.findall(PAGE))
def test_each_example_is_a_valid_policy_or_request(shown: str) -> None:
    """None of them is a problem of its own verdict."""
    assert not evaluate(_as_request(loads_object(shown)), ConditionCache()).problems


@pytest.mark.promise("policy.errors")
def test_each_condition_shown_can_be_parsed() -> None:
    """Two on a line, where two columns are shown."""
    [block] = re.findall(r"## Conditions\n\n```\n(.*?)```", PAGE, re.DOTALL)
    shown = [part for line in block.splitlines() for part in re.split(r"\s{3,}", line)]

    assert len(shown) == 4
    assert all(parse(condition) for condition in shown)


@pytest.mark.promise("policy.errors")
def test_every_word_and_bound_is_on_the_page() -> None:
    """Actions, levels, kinds, outcomes, fields of a tool rule and of a verdict, and the limits."""
    words = [*RuleAction, *ToolRuleKind, *CallOutcome, *(level.word for level in Level)]
    fields = [*ToolRule.model_fields, *Verdict.model_fields]
    camel = [re.sub("_(.)", lambda found: found[1].upper(), name) for name in fields]
    absent = [word for word in words + camel if f"`{word}`" not in PAGE and f'"{word}"' not in PAGE]

    assert set(absent) <= {"v", "id", "binding"}
    for bound in (MAX_LENGTH, MAX_TERMS, MAX_WORK, MAX_PATTERN, MAX_PATTERNS, MAX_CLASSES, MAX_DEPTH):
        assert f"{bound:,}" in PAGE
    assert f"{MAX_TEXT // 1024} Ki" in PAGE
