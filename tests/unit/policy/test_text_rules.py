"""Rules over the task's text, in linear time; and rules translated from prose, accepted only with what is there."""

import time
from contextlib import suppress
from itertools import product
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import RequestTooLarge
from services.policy.core.prose import check_translated_rules
from services.policy.core.quotes import split_sentences
from shared.contracts.policy import EvaluateRequest, Policy, Rule, TextFinding, TextRule, ToolRule, Verdict
from shared.contracts.policy_document import parse_rules_in_text, sort_rules_by_kind
from shared.contracts.prose import KnownTool, ProseAnswer, ProseRequest, TranslatedRule
from shared.domain.exact_json import JsonObject
from tests.each_row import each_row
from tests.unit.policy.generated import soon

_DENY = TextRule(id="r1", type="deny", description="No profanity", keywords=("damn",))


def _verdict(*rules: TextRule, text: str | None, default: str = "allow", binding: bool = True) -> Verdict:
    policy = Policy(id="P", text_rules=rules, text_default=default)
    return evaluate(EvaluateRequest(policies=(policy,), text=text, binding=binding))


def _found(*rules: TextRule, text: str, default: str = "allow") -> TextFinding:
    finding = _verdict(*rules, text=text, default=default).text
    assert finding is not None
    return finding


@pytest.mark.promise("policy.text_rules")
def test_a_denied_word_is_a_violation_that_blocks() -> None:
    """The flag is what the rules say; the violation is a blocking rule of the verdict as well."""
    verdict = _verdict(_DENY, text="Damn, cancel it")

    assert verdict.text == TextFinding(
        compliant=False, violations=("r1: No profanity ('damn' is in the text)",), applied_rules=("r1",)
    )
    assert verdict.blocked
    assert not verdict.passed
    assert verdict.triggered_rules[0].rule_id == "r1"


@pytest.mark.promise("policy.text_rules")
def test_an_unmet_requirement_is_a_violation() -> None:
    """A met one has had its say too."""
    rule = TextRule(id="ref", type="require", description="Name the case", pattern=r"CASE-\d+")

    assert _found(rule, text="see case-17") == TextFinding(compliant=True, applied_rules=("ref",))
    assert _found(rule, text="see there").violations == ("ref: Name the case (its pattern is not in the text)",)


@pytest.mark.promise("policy.text_rules")
def test_denied_by_default_a_text_needs_a_rule_that_allows_it() -> None:
    """A met requirement allows nothing, and a denying rule wins over an allowing one."""
    allow = TextRule(id="ok", type="allow", keywords=("refund",))
    require = TextRule(id="ref", type="require", keywords=("order",))

    assert _found(allow, text="a refund please", default="deny") == TextFinding(compliant=True, applied_rules=("ok",))
    assert _found(allow, text="an order please", default="deny").violations == (
        "textDefault: no rule allows this text",
    )
    assert not _found(require, text="an order please", default="deny").compliant
    assert not _found(allow, _DENY, text="a damn refund", default="deny").compliant
    assert not _found(text="anything", default="deny").compliant


@pytest.mark.promise("policy.text_rules")
@each_row(
    ("keyword", "text", "is_found"),
    ("class", "a CLASS act", True),
    ("class", "sub_class", False),
    ("STRASSE", "die Straße", True),
    ("file", "the ﬁle", True),
    ("café", "cafe\u0301!", True),
    ("cafe", "café", False),
    ("C++", "in c++.", True),
    ("退款", "请退款给我", True),
)
def test_a_keyword_is_a_whole_word_in_any_spelling(keyword: str, text: str, is_found: bool) -> None:
    """Case, compatibility forms and what nobody sees make no difference; a part of a word is another word."""
    assert _found(TextRule(id="r", type="deny", keywords=(keyword,)), text=text).compliant is not is_found


@pytest.mark.promise("policy.text_rules")
@each_row(
    ("written", "text", "is_found"),
    (r"refund.{0,20}all", "REFUND them all", True),
    (r"(?-i:DROP)", "drop it", False),
    (r"\bselect\b", "selected", False),
    ("^pay", "please pay", False),
)
def test_a_pattern_is_blind_to_case_unless_it_says_otherwise(written: str, text: str, is_found: bool) -> None:
    """Patterns search anywhere in the text."""
    assert _found(TextRule(id="r", type="deny", pattern=written), text=text).compliant is not is_found


@pytest.mark.promise("policy.errors")
@each_row(
    ("rule", "cause"),
    (TextRule(id="r", type="forbid", keywords=("a",)), "unknown type 'forbid'; known types: allow, deny, require"),
    (TextRule(id="r", type="deny"), "needs keywords or a pattern"),
    (TextRule(id="r", type="deny", pattern="a(?=b)"), "look-around"),
    (TextRule(id="r", type="deny", pattern=r"(a)\1"), "back references do not exist"),
)
def test_a_text_rule_that_cannot_be_meant_makes_nothing_compliant(rule: TextRule, cause: str) -> None:
    """The policy is invalid, and says so where a caller of the text rules looks."""
    verdict = _verdict(rule, text="harmless")

    assert not verdict.passed
    assert cause in verdict.problems[0].message
    assert verdict.text is not None
    assert not verdict.text.compliant
    assert cause in verdict.text.violations[0]


@pytest.mark.promise("policy.missing")
def test_text_rules_without_a_text_are_undecided_or_a_problem() -> None:
    """Provisional, they are named; binding, nothing passes over them."""
    assert _verdict(_DENY, text=None, binding=False).indeterminate == ("r1",)
    assert "the request has none" in _verdict(_DENY, text=None).problems[0].message
    assert not _verdict(text=None, default="deny").passed


_HOSTILE = ["(a+)+$", "(.*)(.*)(.*)(.*)[^x]y", "[ab]*a[ab]{15}", r"\pL" * 150, "((a{0,50}){0,50}){0,5}", "a" * 501]


@pytest.mark.promise("policy.bounds")
@each_row(("written", "text"), product(_HOSTILE, ["a" * 20_000, "ab" * 10_000, "é😀" * 5_000]))
def test_a_hostile_pattern_answers_or_is_refused_within_a_moment(written: str, text: str) -> None:
    """The best of three tries, each with a pattern that is new, for the machine may be busy."""

    def search() -> None:
        with suppress(RequestTooLarge):
            _verdict(TextRule(id="r", type="deny", pattern=f"{written}|{uuid4().hex[:9]}"), text=text)

    assert soon(search)


@pytest.mark.promise("policy.bounds")
@each_row(
    ("rules", "text", "field"),
    ([TextRule(id=str(n), type="deny", pattern="x" * 400) for n in range(26)], "x", "policies"),
    ([TextRule(id=str(n), type="deny", pattern="(a?){99}b") for n in range(90)], "x" * 1_000, "text"),
    ([TextRule(id="r", type="deny", pattern="(?:.{0,200}){0,1}z")], "\ufdfa" * 300, "text"),
)
def test_more_searching_than_the_others_can_wait_for_is_refused(rules: list[TextRule], text: str, field: str) -> None:
    """Patterns in all, one pattern, all patterns, and keywords, each over the text."""
    with pytest.raises(RequestTooLarge) as caught:
        _verdict(*rules, text=text)

    assert caught.value.field == field


@pytest.mark.promise("policy.monotone")
@given(st.data())
def test_a_further_denying_or_requiring_rule_never_makes_a_text_compliant(data: st.DataObject) -> None:
    """Only ``allow`` opens anything, and only in its own policy."""
    words = st.sampled_from(["pay", "all", "refund me", "x"])
    built = st.builds(
        TextRule,
        id=st.just("r"),
        type=st.sampled_from(["allow", "deny", "require"]),
        keywords=st.lists(words, min_size=1, max_size=2).map(tuple),
    )
    rules, further = data.draw(st.lists(built, max_size=3)), data.draw(built)
    further = further.model_copy(update={"type": data.draw(st.sampled_from(["deny", "require"]))})
    text, default = " ".join(data.draw(st.lists(words))), data.draw(st.sampled_from(["allow", "deny"]))

    before = _verdict(*rules, text=text, default=default)
    after = _verdict(*rules, further, text=text, default=default)
    assert before.passed or not after.passed


@pytest.mark.promise("policy.text_rules")
def test_a_document_with_rules_of_every_kind_is_sorted_by_their_fields() -> None:
    """The first solver's ``policy_doc`` is read as it was written; what is no rule is left to be refused."""
    document: JsonObject = {
        "id": "request",
        "rules": [
            {"id": "c", "condition": "a", "action": "block"},
            {"id": "t", "type": "deny", "keywords": ["x"]},
            {"id": "o", "kind": "only_when", "tool": "pay", "condition": "a"},
        ],
        "default_action": "deny",
    }

    policy = Policy.model_validate(sort_rules_by_kind(document))

    assert [rule.id for rule in policy.rules] == ["c"]
    assert [rule.id for rule in policy.text_rules] == ["t"]
    assert [rule.id for rule in policy.tool_rules] == ["o"]
    assert policy.text_default == "deny"
    assert sort_rules_by_kind({"rules": 5}) == {"rules": 5}
    assert sort_rules_by_kind({"rules": ["odd"], "toolRules": 7})["rules"] == ["odd"]


@pytest.mark.promise("policy.bounds")
@each_row("text", ["a" * 20_000, "a " * 10_000, "é" * 20_000, "aé" * 10_000])
def test_hostile_keywords_answer_within_a_moment(text: str) -> None:
    """Words that begin everywhere and end nowhere; the best of three tries."""
    rule = TextRule(id="r", type="deny", keywords=tuple("a " * n + "b" for n in range(1, 200)))

    assert soon(lambda: _found(rule, text=text))
    assert _found(rule, text=text).compliant


SOURCE = """# Returns

1. cancel_order may only be called once for each order.
2. Refunds over $5,000 (or 10% of the total) require
   approval by the finance team, e.g. by mail.
3. Never call delete_customer!
Be polite. Answer in the customer's language.
"""
TOOLS = (
    KnownTool(name="cancel_order", fields=("order_id",)),
    KnownTool(name="refund", fields=("amount", "total")),
    KnownTool(name="delete_customer"),
)
ONCE = TranslatedRule(
    quote="cancel_order may only be called once",
    tool_rule=ToolRule(id="ONCE", kind="at_most", tool="cancel_order", per=("order_id",)),
)
LIMIT = TranslatedRule(
    quote="refunds over $5,000 (or 10% of the total) require approval by the finance team",
    rule=Rule(id="LIMIT", condition='tool == "refund" && amount > 5000', action="require_approval", level="finance"),
)


def _check(*candidates: TranslatedRule, source: str = SOURCE, fields: tuple[str, ...] = ()) -> ProseAnswer:
    return check_translated_rules(ProseRequest(source=source, candidates=candidates, tools=TOOLS, fields=fields))


def _rule(condition: str, quote: str = LIMIT.quote, action: str = "block", level: str | None = None) -> TranslatedRule:
    return TranslatedRule(quote=quote, rule=Rule(id="R", condition=condition, action=action, level=level))


def _tool_rule(
    kind: str, tool: str = "refund", quote: str = "never call delete_customer", **more: object
) -> TranslatedRule:
    return TranslatedRule(
        quote=quote, tool_rule=ToolRule.model_validate({"id": "R", "kind": kind, "tool": tool, **more})
    )


@pytest.mark.promise("policy.prose")
def test_accepted_rules_become_a_policy_with_their_quotes() -> None:
    """Spacing, line breaks and punctuation of the quote make no difference; what nobody translated is listed."""
    answer = _check(ONCE, LIMIT)

    assert not answer.refused
    assert [(rule.id, rule.quote) for rule in answer.policy.rules] == [("LIMIT", LIMIT.quote)]
    assert [(rule.id, rule.quote) for rule in answer.policy.tool_rules] == [("ONCE", ONCE.quote)]
    assert answer.untranslated == ("Never call delete_customer!", "Be polite.", "Answer in the customer's language.")


@pytest.mark.promise("policy.prose")
def test_a_translated_policy_has_its_sources_version_one_rule_of_an_id_and_none_of_half_a_sentence() -> None:
    """Another text is another version, another translation of the same text is not."""
    assert _check(ONCE).policy.version == _check(LIMIT).policy.version
    assert _check().policy.version != _check(source="Something else.").policy.version
    assert [refused.index for refused in _check(ONCE, ONCE).refused] == [1]
    source = "Never call delete_customer, and always ask the legal department before any refund is made."

    assert _check(_tool_rule("never", "delete_customer"), source=source).untranslated == (source,)


@pytest.mark.promise("policy.prose")
@each_row(
    ("candidate", "cause"),
    (_rule("amount > 5000", quote="refunds over $500 require approval"), "the quote is not in the text"),
    (_rule("amount > 5000", quote="refunds over"), "the quote is too short"),
    (_rule("amount > 50000"), "the quote does not say 50000"),
    (_rule('tool == "refund" && order_id == "x"'), "no such field: order_id"),
    (_rule('tool in ["refund", "repay"] && amount > 5000'), "no such tool: repay"),
    (_rule("amount > "), "expected a field or a value, found end of the condition (at character 9"),
    (_tool_rule("never", "delete_*_x"), "no such tool: delete_*_x"),
    (_tool_rule("forbid"), "unknown kind 'forbid'"),
    (_tool_rule("at_most", "cancel_order", ONCE.quote, limit=7), "the quote does not say 7"),
    (_tool_rule("Allow"), "it does not allow"),
    (_rule("amount > 5000", action="require_approval", level="manager"), "the quote names finance, and not manager"),
    (TranslatedRule(quote=LIMIT.quote, rule=LIMIT.rule, tool_rule=ONCE.tool_rule), "either a rule or a toolRule"),
)
def test_a_rule_that_says_more_than_its_quote_is_refused_with_the_cause(candidate: TranslatedRule, cause: str) -> None:
    """And its quote covers nothing."""
    answer = _check(candidate)

    assert not (answer.policy.rules)
    assert not (answer.policy.tool_rules)
    assert cause in answer.refused[0].cause
    assert len(answer.untranslated) == 5


@pytest.mark.promise("policy.prose")
@each_row(
    ("condition", "quote", "source"),
    ("amount > 5000", "orders over 5k need a yes", "Orders over 5k need a yes."),
    ("amount > 2000000", "over 2 million", "Anything over 2 million is held."),
    ("amount > 3", "refund at most three times", "Refund at most three times."),
    ("amount > 0", "refund any amount", "Refund any amount only with a yes."),
    ("given > 5000", "over 5,000 dollars", "Over 5,000 dollars: held."),
)
def test_figures_are_understood_as_people_write_them(condition: str, quote: str, source: str) -> None:
    """Thousands, words, percentages; nought and one need no mention."""
    assert not _check(_rule(condition, quote), source=source, fields=("given",)).refused


@pytest.mark.promise("policy.prose")
@each_row(
    ("source", "expected"),
    ("", []),
    ("# Heading\n\n- one rule\n* another rule;\n(a) a third", ["one rule", "another rule;", "a third"]),
    ("Use tools, e.g. refund. Ask Mr. Smith.", ["Use tools, e.g. refund.", "Ask Mr. Smith."]),
    ("退款需要批准。不要删除！", ["退款需要批准。", "不要删除！"]),
)
def test_prose_is_cut_into_sentences(source: str, expected: list[str]) -> None:
    """Lists, headings, wrapped lines, shortened words and numbers."""
    assert [sentence.text for sentence in split_sentences(source)] == expected


@pytest.mark.promise("policy.bounds")
@each_row(
    ("request_", "field"),
    (ProseRequest(source="x" * 100_001), "source"),
    (ProseRequest(source="x" * 90_000, candidates=(ONCE,) * 120), "candidates"),
)
def test_more_prose_than_the_others_can_wait_for_is_refused(request_: ProseRequest, field: str) -> None:
    """The source, the candidates, and what they are compared with."""
    with pytest.raises(RequestTooLarge) as caught:
        check_translated_rules(request_)

    assert caught.value.field == field


_RULE = Rule(id="R", condition="amount > 5000", action="block")


@pytest.mark.promise("policy.bounds")
@each_row(
    "request_",
    ProseRequest(source="a " * 45_000, candidates=(TranslatedRule(quote="a " * 499, rule=_RULE),) * 100),
    ProseRequest(source="five " * 19_000, candidates=(TranslatedRule(quote="five " * 199, rule=_RULE),) * 100),
    ProseRequest(source="\n- a" * 25_000),
)
def test_hostile_prose_is_checked_in_a_bounded_time(request_: ProseRequest) -> None:
    """Repetition is what makes searching dear; its own processor time counts, for the machine may be busy."""
    assert soon(lambda: check_translated_rules(request_))


@pytest.mark.promise("policy.text_rules")
@each_row("fence", ["```", "```json", "```JSON  "])
def test_rules_in_a_code_fence_are_read_and_another_text_is_prose(fence: str) -> None:
    assert parse_rules_in_text(f" {fence}\n{{}}\n  ```\n") == {}
    assert parse_rules_in_text(f"{fence}\nNobody pays twice.\n```") is None
    assert parse_rules_in_text("```no fence``` Nobody pays twice.") is None


def test_no_policy_document_takes_long_to_read() -> None:
    began = time.process_time()
    assert parse_rules_in_text("```\n" + " " * 200_000 + "Nobody pays twice. ```x```") is None
    assert time.process_time() - began < 2
