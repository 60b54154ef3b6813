"""Conditions: how they group, what each operator means for each type, and that any text is decided or refused."""

import re
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from services.policy.core import grammar
from services.policy.core.conditions import MOST_NODES_CACHED, parse_condition
from services.policy.core.values import UNKNOWN, ConditionError
from shared.contracts.policy import ContextValue
from tests.each_row import each_row
from tests.unit.policy.generated import contexts, soon

FACTS: dict[str, ContextValue] = {
    "yes": True,
    "no": False,
    "nothing": None,
    "seven": 7,
    "exact": Decimal("7.00"),
    "text": "active",
    "digits": "7",
    "grouped": "5,000",
    "dollars": "$7,200",
    "euros": "€7,000",
    "debit": "-$5",
    "no_amount": "-$-5",
    "code": "007",
    "tags": ["a", "b", 7],
    "order": {"total": Decimal("10.10"), "lines": {"count": 3}},
}


def _decide(text: str) -> object:
    return parse_condition(text).decide(FACTS)


_ORDERS, _EQUALS = (">", "<", ">=", "<="), ("==", "!=", "===", "!==")
_HOLDS = """yes; !no; yes == true; yes != seven; seven == 7.0; seven === exact; seven == digits; seven !== digits
exact >= 7 && exact <= 7; digits < 10; grouped > 4999.99; grouped == 5000; dollars > grouped; dollars > "$5,000"
debit == -5; text == "active"; text !== 'Active'; text > "a"; digits != code; code == 7; nothing == null; seven != null
tags != null; order.total == 10.1; order.lines.count > 2; text in ['x', 'active']; 'a' in tags; digits in tags
!('z' in tags); nothing in [null]; !(nothing in ['a']); (seven > 5) == yes; true || absent; !(false && absent)
absent || yes"""
_FAILS = """yes == 1; yes === 1; no == 0; seven === digits; digits == code; text == 7; nothing == false; 7 in []
no_amount == -5; no_amount == 5"""
_UNDECIDED = """absent == null; absent == absent; absent; !absent; nothing; !nothing; absent in ['a']; 'a' in absent
'a' in nothing; order.absent > 5; order.total.cents > 5; text.length > 5; yes && absent; absent && yes; no || absent
(absent > 5) == true"""


def _conditions(text: str) -> list[str]:
    return re.split(r"; |\n", text)


@pytest.mark.promise("policy.conditions")
@each_row("text", _conditions(_HOLDS))
def test_what_a_reader_expects_to_hold_holds(text: str) -> None:
    """Numbers by value, texts as they are, numbers spelled as text where a number is meant."""
    assert _decide(text) is True


@pytest.mark.promise("policy.conditions")
@each_row("text", _conditions(_FAILS))
def test_values_of_different_types_are_not_equal(text: str) -> None:
    """A boolean is no integer, and only ``==`` reads a number in a text."""
    assert _decide(text) is False


@pytest.mark.promise("policy.missing")
@each_row(
    "text",
    *(f"{pair[0]} {sign} {pair[1]}" for sign in (*_ORDERS, *_EQUALS) for pair in (("absent", 5), (5, "absent"))),
    *(f"nothing {sign} 5" for sign in _ORDERS),
    *_conditions(_UNDECIDED),
)
def test_a_missing_field_leaves_undecided_what_depends_on_it(text: str) -> None:
    """Neither true nor false: Kleene's third value, for every operator."""
    assert _decide(text) is UNKNOWN


@pytest.mark.promise("policy.errors")
@each_row(
    ("text", "position"),
    ("text > 5", 5),
    ("yes > no", 4),
    ("tags > 1", 5),
    ("dollars > euros", 8),
    ("yes && seven", 7),
    ("!text", 1),
    ("no || tags", 6),
)
def test_values_that_an_operator_cannot_take_are_an_error(text: str, position: int) -> None:
    """Never a silent false: the error says where."""
    with pytest.raises(ConditionError) as caught:
        _decide(text)

    assert caught.value.position == position


def test_an_error_does_not_repeat_the_value() -> None:
    """Errors travel into logs and events; values stay where they are."""
    with pytest.raises(ConditionError, match="a text against a number"):
        parse_condition("secret > 5").decide({"secret": "4111-1111"})


@pytest.mark.promise("policy.exact")
def test_money_is_compared_exactly() -> None:
    """A cent more is more, however large the amount, and 0.1 + 0.2 is no matter of binary fractions."""
    facts: dict[str, ContextValue] = {"paid": Decimal("90071992547409931.01"), "sum": Decimal("0.1") + Decimal("0.2")}

    assert parse_condition("paid > 90071992547409931.00").decide(facts) is True
    assert parse_condition("paid > 90071992547409931.01").decide(facts) is False
    assert parse_condition("sum === 0.3").decide(facts) is True


@pytest.mark.promise("policy.bounds")
def test_parsed_conditions_are_remembered_within_a_bound() -> None:
    """The same text is parsed once; what was not used for longest goes first."""
    long = ["||".join(["a>1"] * 999 + [f"b{number} > 1"]) for number in range(MOST_NODES_CACHED // 2_000)]
    used, unused = parse_condition("used > 1"), parse_condition("unused > 1")
    for text in long:
        parse_condition(text)
        assert parse_condition("used > 1") is used

    assert parse_condition("unused > 1") is not unused


A, B, C = grammar.FieldReference(("a",)), grammar.FieldReference(("b",)), grammar.FieldReference(("c",))


def _operation(sign: str, *operands: grammar.Node) -> grammar.OperatorNode:
    return grammar.OperatorNode(sign, operands)


def _choices(*values: str | bool | Decimal | None) -> grammar.OperatorNode:
    return grammar.OperatorNode("[]", tuple(map(grammar.Constant, values)))


@pytest.mark.promise("policy.conditions")
@each_row(
    ("text", "tree"),
    ("a", A),
    ("!(a > b)", _operation("!", _operation(">", A, B))),
    ("a > 1,234,567.89", _operation(">", A, grammar.Constant(Decimal("1234567.89")))),
    ("a < - 3", _operation("<", A, grammar.Constant(Decimal(-3)))),
    ("a in ['x', 1, true, null]", _operation("in", A, _choices("x", Decimal(1), True, None))),
    ("a in b.c", _operation("in", A, grammar.FieldReference(("b", "c")))),
    ("(a > b) == c", _operation("==", _operation(">", A, B), C)),
    (
        "inside && nullable",
        _operation("&&", grammar.FieldReference(("inside",)), grammar.FieldReference(("nullable",))),
    ),
)
def test_a_condition_groups_as_the_page_says(text: str, tree: object) -> None:
    """Precedence, literals, paths and lists."""
    assert grammar.parse_condition_tree(text) == tree


@pytest.mark.promise("policy.errors")
@each_row(
    ("text", "position", "cause"),
    ("", 0, "empty"),
    ("a >", 3, "expected a field or a value, found end of the condition"),
    ("a b", 2, "expected an operator"),
    ("a OR b", 2, "write ||"),
    ("a == True", 5, "write true"),
    ("a & b", 2, "write &&"),
    ("a > 007", 4, "starts with a zero"),
    ("(a", 2, "expected ')'"),
    ("a < b < c", 6, "do not chain"),
    ("a in 5", 5, "expected '['"),
    ("a; b", 1, "no such sign"),
)
def test_what_cannot_be_parsed_is_refused_with_position_and_cause(text: str, position: int, cause: str) -> None:
    """Nothing outside the grammar is read as something else."""
    with pytest.raises(ConditionError) as caught:
        grammar.parse_condition_tree(text)

    assert caught.value.position == position
    assert cause in caught.value.cause


@pytest.mark.promise("policy.bounds")
@each_row(
    "text",
    " || ".join(f"amount > {number}" for number in range(10_000)),
    "!" * (grammar.MAX_CONDITION_DEPTH + 1) + "a",
    "&&".join(["a"] * (grammar.MAX_CONDITION_TERMS + 1)),
    "9" * (grammar.MAX_CONDITION_CHARACTERS + 1),
    '"' + "\\" * (grammar.MAX_CONDITION_CHARACTERS - 1),
)
def test_a_hostile_condition_is_refused_at_once(text: str) -> None:
    """Length, terms and nesting are bounded: within a moment, the best of three on a busy machine."""

    def refuse() -> None:
        with pytest.raises(ConditionError):
            grammar.parse_condition_tree(text)

    assert soon(refuse)


@pytest.mark.promise("policy.conditions")
@given(st.text(max_size=40) | st.text("ab!&|=<>()[]'\"\\,.-05 ", max_size=40), contexts)
def test_any_text_is_decided_or_refused_with_a_position(text: str, context: dict[str, ContextValue]) -> None:
    """No text makes the evaluator fail in another way than by a positioned error."""
    try:
        answer, position = parse_condition(text).decide(context), 0
    except ConditionError as error:
        answer, position = UNKNOWN, error.position
    assert answer in (True, False, UNKNOWN)
    assert 0 <= position <= len(text)
