"""Rules over the task's text: whole words, patterns in linear time, and what makes a text compliant."""

from contextlib import suppress
from time import process_time
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import TooMuch
from shared.contracts.policy import EvaluateRequest, Policy, TextFinding, TextRule, Verdict
from shared.contracts.policy_document import sorted_document
from shared.domain.exact_json import JsonObject
from tests.each_row import each_row

_DENY = TextRule(id="r1", type="deny", description="No profanity", keywords=("damn",))


def _verdict(*rules: TextRule, text: str | None, default: str = "allow", binding: bool = True) -> Verdict:
    policy = Policy(id="P", text_rules=rules, text_default=default)
    return evaluate(EvaluateRequest(policies=(policy,), text=text, binding=binding), ConditionCache())


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
@pytest.mark.parametrize("default", ["allow", "deny"])
@pytest.mark.parametrize("description", ["No profanity", "deny", "Words that we do not like"])
def test_a_violation_is_one_whatever_its_words_are(default: str, description: str) -> None:
    """An earlier solver called a text compliant unless the violation's own text held the word ``deny``."""
    rule = _DENY.model_copy(update={"description": description})

    assert not _found(rule, text="damn", default=default).compliant


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
    [
        ("class", "a CLASS act", True),
        ("class", "classic", False),
        ("class", "sub-class", True),
        ("class", "sub_class", False),
        ("wire  transfer", "a wire\n transfer", True),
        ("STRASSE", "die Straße", True),
        ("file", "the ﬁle", True),
        ("pay", "ｐａｙ now", True),
        ("pay", "p\u200bay now", True),
        ("café", "cafe\u0301!", True),
        ("cafe", "café", False),
        ("C++", "in c++.", True),
        ("C++", "in abc++.", False),
        ("退款", "请退款给我", True),
        ("...", "well...", True),
    ],
)
def test_a_keyword_is_a_whole_word_in_any_spelling(keyword: str, text: str, is_found: bool) -> None:
    """Case, compatibility forms and what nobody sees make no difference; a part of a word is another word."""
    assert _found(TextRule(id="r", type="deny", keywords=(keyword,)), text=text).compliant is not is_found


@pytest.mark.promise("policy.text_rules")
@each_row(
    ("written", "text", "is_found"),
    [
        (r"refund.{0,20}all", "REFUND them all", True),
        (r"(?-i:DROP)", "drop it", False),
        (r"\bselect\b", "selected", False),
        ("^pay", "please pay", False),
    ],
)
def test_a_pattern_is_blind_to_case_unless_it_says_otherwise(written: str, text: str, is_found: bool) -> None:
    """Patterns search anywhere in the text."""
    assert _found(TextRule(id="r", type="deny", pattern=written), text=text).compliant is not is_found


@pytest.mark.promise("policy.errors")
@each_row(
    ("rule", "cause"),
    [
        (TextRule(id="r", type="forbid", keywords=("a",)), "unknown type 'forbid'; known types: allow, deny, require"),
        (TextRule(id="r", type="deny"), "needs keywords or a pattern"),
        (TextRule(id="r", type="deny", keywords=("a", " ")), "a keyword is empty"),
        (TextRule(id="r", type="deny", pattern=""), "the pattern is empty"),
        (TextRule(id="r", type="deny", pattern="("), "missing )"),
        (TextRule(id="r", type="deny", pattern="a(?=b)"), "look-around"),
        (TextRule(id="r", type="deny", pattern=r"(a)\1"), "back references do not exist"),
    ],
)
def test_a_text_rule_that_cannot_be_meant_makes_nothing_compliant(rule: TextRule, cause: str) -> None:
    """The policy is invalid, and says so where a caller of the text rules looks."""
    verdict = _verdict(rule, text="harmless")

    assert not verdict.passed
    assert cause in verdict.problems[0].message
    assert verdict.text is not None
    assert not verdict.text.compliant
    assert cause in verdict.text.violations[0]


@pytest.mark.promise("policy.errors")
def test_an_unknown_default_for_texts_makes_the_policy_invalid() -> None:
    """It is taken for ``deny`` besides."""
    verdict = _verdict(_DENY, text="fine", default="block")

    assert "unknown default 'block'" in verdict.problems[0].message


@pytest.mark.promise("policy.missing")
def test_text_rules_without_a_text_are_undecided_or_a_problem() -> None:
    """Provisional, they are named; binding, nothing passes over them."""
    assert _verdict(_DENY, text=None, binding=False).indeterminate == ("r1",)
    assert "the request has none" in _verdict(_DENY, text=None).problems[0].message
    assert not _verdict(text=None, default="deny").passed


_HOSTILE = [
    "(a+)+$",
    "(a|a)*b",
    "(x+x+)+y",
    "(.*)(.*)(.*)(.*)[^x]y",
    "[ab]*a[ab]{15}",
    "(a?){900}b",
    "(?:.{0,200}){0,4}z",
    r"\pL" * 150,
    "((a{0,50}){0,50}){0,5}",
    "(?:[^a-f]{0,30}){0,30}",
    "a" * 501,
]


@pytest.mark.promise("policy.bounds")
@pytest.mark.parametrize("written", _HOSTILE)
@pytest.mark.parametrize("text", ["a" * 20_000, "ab" * 10_000, "é😀" * 5_000])
def test_a_hostile_pattern_answers_or_is_refused_within_a_moment(written: str, text: str) -> None:
    """The best of three tries, each with a pattern that is new, for the machine may be busy."""
    best = 1.0
    for number in range(3):
        rule = TextRule(id="r", type="deny", pattern=f"{written}|{uuid4().hex[:9]}{number}")
        before = process_time()
        with suppress(TooMuch):
            _verdict(rule, text=text)
        best = min(best, process_time() - before)

    assert best < 0.5  # a bound that holds on a busy machine, far below what a blow-up takes


@pytest.mark.promise("policy.bounds")
@each_row(
    ("rules", "text", "field"),
    [
        ([TextRule(id=str(n), type="deny", pattern="x" * 400) for n in range(26)], "x", "policies"),
        ([TextRule(id="r", type="deny", pattern="(?:.{0,200}){0,4}z")], "x" * 5_000, "text"),
        (
            [TextRule(id="r", type="deny", pattern="(?:.{0,200}){0,4}z")],
            "x" * 500,
            "text",
        ),  # one pattern alone, four bytes a character
        ([TextRule(id=str(n), type="deny", pattern="(a?){99}b") for n in range(90)], "x" * 1_000, "text"),
        ([TextRule(id="r", type="deny", keywords=("ab",) * 2_000)], "x" * 20_000, "text"),
    ],
)
def test_more_searching_than_the_others_can_wait_for_is_refused(rules: list[TextRule], text: str, field: str) -> None:
    """Patterns in all, one pattern, all patterns, and keywords, each over the text."""
    with pytest.raises(TooMuch) as caught:
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

    policy = Policy.model_validate(sorted_document(document))

    assert [rule.id for rule in policy.rules] == ["c"]
    assert [rule.id for rule in policy.text_rules] == ["t"]
    assert [rule.id for rule in policy.tool_rules] == ["o"]
    assert policy.text_default == "deny"
    assert sorted_document({"rules": 5}) == {"rules": 5}
    assert sorted_document({"rules": ["odd"], "toolRules": 7})["rules"] == ["odd"]


@pytest.mark.promise("policy.bounds")
@each_row("text", ["a" * 20_000, "a " * 10_000, "é" * 20_000, "aé" * 10_000])
def test_hostile_keywords_answer_within_a_moment(text: str) -> None:
    """Words that begin everywhere and end nowhere; the best of three tries."""
    rule = TextRule(id="r", type="deny", keywords=tuple("a " * n + "b" for n in range(1, 200)))
    best = 1.0
    for _ in range(3):
        before = process_time()
        assert _found(rule, text=text).compliant
        best = min(best, process_time() - before)

    assert best < 0.5  # a bound that holds on a busy machine, far below what a blow-up takes
