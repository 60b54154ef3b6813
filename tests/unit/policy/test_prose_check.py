"""Rules translated from prose: accepted only with words that are there, about tools, fields and figures that exist."""

from time import process_time

import pytest

from services.policy.core.conditions import ConditionCache
from services.policy.core.prepared import TooMuch
from services.policy.core.prose import check
from services.policy.core.quotes import sentences
from shared.contracts.policy import Rule, ToolRule
from shared.contracts.prose import Candidate, KnownTool, ProseAnswer, ProseRequest
from tests.each_row import each_row

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
ONCE = Candidate(
    quote="cancel_order may only be called once",
    tool_rule=ToolRule(id="ONCE", kind="at_most", tool="cancel_order", per=("order_id",)),
)
LIMIT = Candidate(
    quote="refunds over $5,000 (or 10% of the total) require approval by the finance team",
    rule=Rule(id="LIMIT", condition='tool == "refund" && amount > 5000', action="require_approval", level="finance"),
)


def _check(*candidates: Candidate, source: str = SOURCE, fields: tuple[str, ...] = ()) -> ProseAnswer:
    return check(ProseRequest(source=source, candidates=candidates, tools=TOOLS, fields=fields), ConditionCache())


def _rule(condition: str, quote: str = LIMIT.quote, action: str = "block") -> Candidate:
    return Candidate(quote=quote, rule=Rule(id="R", condition=condition, action=action))


@pytest.mark.promise("policy.prose")
def test_accepted_rules_become_a_policy_with_their_quotes() -> None:
    """Spacing, line breaks and punctuation of the quote make no difference; what nobody translated is listed."""
    answer = _check(ONCE, LIMIT)

    assert not answer.refused
    assert [(rule.id, rule.quote) for rule in answer.policy.rules] == [("LIMIT", LIMIT.quote)]
    assert [(rule.id, rule.quote) for rule in answer.policy.tool_rules] == [("ONCE", ONCE.quote)]
    assert answer.untranslated == (
        "Never call delete_customer!",
        "Be polite.",
        "Answer in the customer's language.",
    )


@pytest.mark.promise("policy.prose")
def test_the_version_of_a_translated_policy_is_its_source() -> None:
    """Another text is another version, another translation of the same text is not."""
    assert _check(ONCE).policy.version == _check(LIMIT).policy.version
    assert _check().policy.version != _check(source="Something else.").policy.version


@pytest.mark.promise("policy.prose")
@each_row(
    ("candidate", "cause"),
    [
        (_rule("amount > 5000", quote="refunds over $500 require approval"), "the quote is not in the text"),
        (_rule("amount > 5000", quote="require approval over refunds"), "the quote is not in the text"),
        (_rule("amount > 5000", quote="refunds over"), "the quote is too short"),
        (_rule("amount > 5000", quote="..."), "the quote is too short"),
        (_rule("amount > 50000"), "the quote does not say 50000"),
        (_rule("price > 5000"), "no such field: price"),
        (_rule('tool == "refund" && order_id == "x"'), "no such field: order_id"),
        (_rule('tool == "repay" && amount > 5000'), "no such tool: repay"),
        (_rule('tool in ["refund", "repay"] && amount > 5000'), "no such tool: repay"),
        (_rule("amount > "), "expected a field or a value, found end of the condition (at character 9"),
        (_rule("amount > 5000", action="forbid"), "unknown action 'forbid'"),
        (
            Candidate(quote="never call delete_customer", tool_rule=ToolRule(id="R", kind="never", tool="delete_*_x")),
            "no such tool: delete_*_x",
        ),
        (
            Candidate(
                quote="never call delete_customer",
                tool_rule=ToolRule(id="R", kind="only_after", tool="refund", after=("ask",)),
            ),
            "no such tool: ask",
        ),
        (
            Candidate(quote="never call delete_customer", tool_rule=ToolRule(id="R", kind="forbid", tool="refund")),
            "unknown kind 'forbid'",
        ),
        (
            Candidate(
                quote="cancel_order may only be called once",
                tool_rule=ToolRule(id="R", kind="at_most", tool="cancel_order", limit=7),
            ),
            "the quote does not say 7",
        ),
        (
            Candidate(
                quote="cancel_order may only be called once",
                tool_rule=ToolRule(id="R", kind="at_most", tool="cancel_order", per=("amount",)),
            ),
            "no such field: amount",
        ),
        (
            Candidate(
                quote="cancel_order may only be called once",
                tool_rule=ToolRule(id="R", kind="only_when", tool="cancel_order", condition="total > 1"),
            ),
            "no such field: total",
        ),
        (
            Candidate(quote="never call delete_customer", tool_rule=ToolRule(id="R", kind="Allow", tool="refund")),
            "it does not allow",
        ),
        (
            Candidate(quote=ONCE.quote, tool_rule=ToolRule(id="R", kind="never", tool="refund", report_only=True)),
            "nor only report",
        ),
        (
            Candidate(
                quote="never call delete_customer",
                tool_rule=ToolRule(id="R", kind="only_when", tool="refund", condition="1 == 1"),
            ),
            "the condition reads no field",
        ),
        (
            Candidate(
                quote=LIMIT.quote,
                rule=Rule(id="R", condition="amount > 5000", action="require_approval", level="manager"),
            ),
            "the quote names finance, and not manager",
        ),
        (Candidate(quote=LIMIT.quote), "either a rule or a toolRule"),
        (Candidate(quote=LIMIT.quote, rule=LIMIT.rule, tool_rule=ONCE.tool_rule), "either a rule or a toolRule"),
    ],
)
def test_a_rule_that_says_more_than_its_quote_is_refused_with_the_cause(candidate: Candidate, cause: str) -> None:
    """And its quote covers nothing."""
    answer = _check(candidate)

    assert not (answer.policy.rules)
    assert not (answer.policy.tool_rules)
    assert cause in answer.refused[0].cause
    assert len(answer.untranslated) == 5


@pytest.mark.promise("policy.prose")
@each_row(
    ("condition", "quote", "source"),
    [
        ("amount > 5000", "orders over 5k need a yes", "Orders over 5k need a yes."),
        ("amount > 5000", "orders over five thousand dollars", "Orders over five thousand dollars are held."),
        ("amount > 2000000", "over 2 million", "Anything over 2 million is held."),
        ("amount > 0.1", "more than 10% of it", "More than 10% of it is held."),
        ("amount > 3", "refund at most three times", "Refund at most three times."),
        ("amount > 0", "refund any amount", "Refund any amount only with a yes."),
        ('amount > "$5,000"', "over 5,000 dollars", "Over 5,000 dollars: held."),
        ("given > 5000", "over 5,000 dollars", "Over 5,000 dollars: held."),
    ],
)
def test_figures_are_understood_as_people_write_them(condition: str, quote: str, source: str) -> None:
    """Thousands, words, percentages; nought and one need no mention."""
    assert not _check(_rule(condition, quote), source=source, fields=("given",)).refused


@pytest.mark.promise("policy.prose")
def test_two_rules_of_one_id_are_told_apart_by_refusing_the_second() -> None:
    """A verdict names rules by their ids."""
    assert [refused.index for refused in _check(ONCE, ONCE).refused] == [1]


@pytest.mark.promise("policy.prose")
def test_a_quote_of_less_than_half_a_sentence_leaves_it_untranslated() -> None:
    """What stands behind it may be another rule."""
    source = "Never call delete_customer, and always ask the legal department before any refund is made."
    candidate = Candidate(
        quote="Never call delete_customer", tool_rule=ToolRule(id="R", kind="never", tool="delete_customer")
    )

    assert _check(candidate, source=source).untranslated == (source,)


@pytest.mark.promise("policy.prose")
@each_row(
    ("source", "expected"),
    [
        ("", []),
        ("# Heading\n\n- one rule\n* another rule;\n(a) a third", ["one rule", "another rule;", "a third"]),
        ("A limit of 2.5 applies. It is firm!", ["A limit of 2.5 applies.", "It is firm!"]),
        ("Use tools, e.g. refund. Ask Mr. Smith.", ["Use tools, e.g. refund.", "Ask Mr. Smith."]),
        ("one that goes\non here\nAnd another", ["one that goes on here", "And another"]),
        ("退款需要批准。不要删除！", ["退款需要批准。", "不要删除！"]),
        ("...\n---\n1.\n", []),
    ],
)
def test_prose_is_cut_into_sentences(source: str, expected: list[str]) -> None:
    """Lists, headings, wrapped lines, shortened words and numbers."""
    assert [sentence.text for sentence in sentences(source)] == expected


@pytest.mark.promise("policy.bounds")
@each_row(
    ("request_", "field"),
    [
        (ProseRequest(source="x" * 100_001), "source"),
        (ProseRequest(source="x" * 90_000, candidates=(ONCE,) * 120), "candidates"),
        (ProseRequest(source="x", candidates=(ONCE,) * 400, tools=TOOLS * 100), "candidates"),
        (
            ProseRequest(
                source="x",
                candidates=(Candidate(quote="x", rule=Rule(id="i" * 300_000, condition="a", action="block")),),
            ),
            "policies",
        ),
    ],
)
def test_more_prose_than_the_others_can_wait_for_is_refused(request_: ProseRequest, field: str) -> None:
    """The source, the candidates, and what they are compared with."""
    with pytest.raises(TooMuch) as caught:
        check(request_, ConditionCache())

    assert caught.value.field == field


_RULE = Rule(id="R", condition="amount > 5000", action="block")


@pytest.mark.promise("policy.bounds")
@each_row(
    "request_",
    [
        ProseRequest(source="a " * 45_000, candidates=(Candidate(quote="a " * 499, rule=_RULE),) * 100),
        ProseRequest(source="e.g. " * 20_000, candidates=(Candidate(quote="e.g. e.g. e.g.", rule=_RULE),) * 100),
        ProseRequest(source="1. " * 30_000, candidates=(Candidate(quote="1 1 1 2", rule=_RULE),) * 100),
        ProseRequest(source="five " * 19_000, candidates=(Candidate(quote="five " * 199, rule=_RULE),) * 100),
        ProseRequest(source="a." * 50_000),
        ProseRequest(source="\n- a" * 25_000),
    ],
)
def test_hostile_prose_is_checked_in_a_bounded_time(request_: ProseRequest) -> None:
    """Repetition is what makes searching dear; its own processor time counts, for the machine may be busy."""
    best = 9.0
    for _ in range(3):
        before = process_time()
        check(request_, ConditionCache())
        best = min(best, process_time() - before)
        if best < 0.5:
            return

    raise AssertionError(f"the quickest of three took {best} s")
