"""The deterministic translator: plain sentences become rules with their words as proof, all others become none."""

import pytest

from services.planner.core.request import Request
from services.planner.core.translate import translate_policy
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row

TOOLS: Json = [
    {"name": "issue_refund", "fields": ["order_id", "amount"], "class": "change"},
    {"name": "cancel_order", "fields": ["order_id"], "class": "change"},
    {"name": "get_order", "fields": ["order_id"], "class": "read"},
    {"name": "send_email", "fields": ["to", "body"], "class": "notify"},
]


def _after(tool: str, first: str) -> JsonObject:
    return {"kind": "only_after", "tool": tool, "after": [first]}


def _refunds(amount: str, action: str, **level: Json) -> JsonObject:
    condition = f'tool == "issue_refund" && amount {amount}'
    return {"kind": "condition", "condition": condition, "action": action, **level}


def _translated(source: str) -> list[JsonObject]:
    request = Request("TRANSLATE POLICY", {"source": source, "tools": dumps(TOOLS)}, "", (), None, ())
    rules = translate_policy(request)["rules"]
    assert isinstance(rules, list)
    return [rule for rule in rules if isinstance(rule, dict)]


def _said(rule: JsonObject) -> JsonObject:
    return {name: value for name, value in rule.items() if value and name not in ("quote", "reason")}


@pytest.mark.promise("prose.plain_forms")
@each_row(
    ("sentence", "rule"),
    ("issue_refund may only be called once", {"kind": "at_most", "tool": "issue_refund", "limit": 1}),
    ("Use cancel_order at most twice", {"kind": "at_most", "tool": "cancel_order", "limit": 2}),
    ("No more than 3 calls of send email", {"kind": "at_most", "tool": "send_email", "limit": 3}),
    ("Do not call cancel_order", {"kind": "never", "tool": "cancel_order"}),
    ("Orders: cancel order is not allowed", {"kind": "never", "tool": "cancel_order"}),
    ("Call get_order before issue_refund", _after("issue_refund", "get_order")),
    ("Never issue a refund before get_order", _after("issue_refund", "get_order")),
    ("Send an email only after issue_refund", _after("send_email", "issue_refund")),
    (
        "cancel_order requires confirmation by the CFO",
        {"kind": "only_after_confirmation", "tool": "cancel_order", "level": "cfo"},
    ),
    ("Refunds over $5,000 require manager approval", _refunds("> 5000", "require_approval", level="manager")),
    ("Refunds of $100 or more must be escalated to legal", _refunds(">= 100", "escalate", level="legal")),
    ("Refunds above 900.50 are forbidden", _refunds("> 900.50", "block")),
)
def test_a_plain_sentence_becomes_its_rule(sentence: str, rule: JsonObject) -> None:
    assert [_said(found) for found in _translated(f"{sentence}.")] == [rule]
    assert [found["quote"] for found in _translated(f"{sentence}.")] == [sentence]


@each_row(
    "sentence",
    "Be polite to customers",
    "Do not call anybody at night",
    "Never call cancel_order unless the customer insists",
    "Refunds are rare",
    "issue_refund and cancel_order are dangerous",
    "Over $5,000 people agree",
)
def test_what_is_not_plain_becomes_no_rule(sentence: str) -> None:
    """It is left out rather than guessed: whoever asked lists it as untranslated."""
    assert _translated(f"{sentence}.") == []
