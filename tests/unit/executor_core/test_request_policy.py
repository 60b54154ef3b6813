"""A request's policy document: rules are enforced, prose informs, and what cannot be read ends the run."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from services.executor.core.prime.prime import RequestPolicy, parse_request_policy
from services.executor.core.states.machine import Failed
from services.executor.core.tools.toolbox import find_tool_of_condition, mark_ruled_reads_as_changes
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import tool, tools

RULE: dict[str, JsonValue] = {"id": "r1", "condition": "amount > 100", "action": "block"}
DOCUMENT: dict[str, JsonValue] = {"id": "mine", "rules": [RULE], "context": {"limit": 1.0, "rate": 0.1, "code": "007"}}


@pytest.mark.promise("policy.request_document")
@each_row("document", [DOCUMENT, json.dumps(DOCUMENT)])
def test_an_object_and_its_text_are_the_same_rules(document: str | dict[str, JsonValue]) -> None:
    """Under the request's own name, and with figures that stay figures: 1.0 is no yes."""
    rules = parse_request_policy(document).rules

    assert rules is not None
    assert (rules.id, [rule.id for rule in rules.rules]) == ("request", ["r1"])
    assert rules.context == {"limit": Decimal("1.0"), "rate": Decimal("0.1"), "code": "007"}
    assert rules.context["limit"] is not True


@pytest.mark.promise("policy.request_document")
@given(text=st.text(min_size=1).filter(lambda text: text.strip() and not text.strip().startswith(("{", "[", "```"))))
def test_any_other_text_is_advice(text: str) -> None:
    assert parse_request_policy(text) == RequestPolicy(advice=text.strip())


@pytest.mark.promise("policy.request_document")
@each_row(
    "document",
    "{", "{}x", "[" * 100_000, '{"context": {}}', {"rules": "all"},
    {"rules": [{"id": "r1"}]},
    {"rules": [{**RULE, "condition": 5}]}, '{"rules": [NaN]}',
)  # fmt: skip
def test_rules_that_cannot_be_read_end_the_run(document: str | dict[str, JsonValue]) -> None:
    with pytest.raises(Failed, match=r"metadata\.policy_doc"):
        parse_request_policy(document)


@pytest.mark.promise("policy.unknown_shape")
@each_row(
    ("document", "field"),
    ({"rules": [RULE], "limits": {"amount": 500}}, "policy.limits"),
    ({"rules": [{**RULE, "levle": "cfo"}]}, "r1.levle"),
    ({"rules": [{**RULE, "enabled": False}]}, "r1.enabled"),
    ({"rules": [{"id": "t", "kind": "never", "tool": "pay", "when": "always"}]}, "t.when"),
    ({"rules": {"max_amount": 500}}, "rules"),
    ({"policies": [{"rules": [RULE]}]}, 'no "rules"'),
    ("rules:\n  - id: r1\n    condition: amount > 5", "inside of another text"),
    (f"Follow these: {json.dumps(DOCUMENT)}", "inside of another text"),
    ('```json\n{"rules": [\n```', "looks like JSON"),
)
def test_rules_of_an_unknown_shape_are_refused_with_the_field(document: str | dict[str, JsonValue], field: str) -> None:
    with pytest.raises(Failed, match=r"metadata\.policy_doc cannot be read as rules") as refused:
        parse_request_policy(document)
    assert field in str(refused.value)


@pytest.mark.promise("policy.unknown_shape")
@each_row(
    "document",
    f"```json\n{json.dumps(DOCUMENT)}\n```",
    {**DOCUMENT, "title": "House rules", "effective_date": "2026-01-01", "rules": [{**RULE, "note": "since May"}]},
    {"rules": [{"id": "d", "type": "deny", "keywords": ["damn"]}], "default_action": "allow"},
)
def test_rules_in_a_fence_or_with_a_description_are_read(document: str | dict[str, JsonValue]) -> None:
    assert parse_request_policy(document).rules is not None


@pytest.mark.promise("policy.unknown_shape")
@each_row("text", ["The rules: never pay twice.", "Rules:\n- Never pay twice.\n- Be kind."])
def test_prose_that_speaks_of_rules_is_prose(text: str) -> None:
    assert parse_request_policy(text).advice == text


@each_row(
    ("condition", "tool_name", "is_change"),
    ('tool == "get_score" && amount > 5', "get_score", True),
    ('tool == "get_score" && note == "do not! pay || wait"', "get_score", True),
    ('tool == "get_score" || amount > 5', "", True),
    ('tool == "get_score" && not urgent', "get_score", False),
)
def test_what_a_rule_quotes_is_no_part_of_its_logic(condition: str, tool_name: str, is_change: bool) -> None:
    arguments: JsonObject = {"type": "object", "required": ["person_id", "purpose"]}
    toolbox = tools(tool("get_score", ToolClass.READ, arguments))
    policy = Policy(id="house", rules=(Rule(id="r1", condition=condition, action="block"),))
    ruled_tool = mark_ruled_reads_as_changes(toolbox, [policy]).tools["get_score"]

    assert find_tool_of_condition(condition) == tool_name
    assert (ruled_tool.tool_class is ToolClass.CHANGE) is is_change
