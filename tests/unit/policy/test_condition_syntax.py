"""The grammar: how conditions group, and what is refused where."""

from decimal import Decimal
from time import process_time

import pytest

from services.policy.core.grammar import (
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_TERMS,
    Constant,
    FieldReference,
    Node,
    SignNode,
    parse,
)
from services.policy.core.values import ConditionError
from tests.each_row import each_row
from tests.unit.policy.printed import text_of

A, B, C = FieldReference(("a",)), FieldReference(("b",)), FieldReference(("c",))


def _operation(sign: str, *operands: Node) -> SignNode:
    return SignNode(sign, operands)


def _choices(*values: str | bool | Decimal | None) -> SignNode:
    return SignNode("[]", tuple(map(Constant, values)))


@pytest.mark.promise("policy.conditions")
@each_row(
    ("text", "tree"),
    [
        ("a", A),
        ("(a)", A),
        ("a.b . c", FieldReference(("a", "b", "c"))),
        ("a||b&&c", _operation("||", A, _operation("&&", B, C))),
        ("(a||b)&&c", _operation("&&", _operation("||", A, B), C)),
        ("!a > b", _operation(">", _operation("!", A), B)),
        ("!(a > b)", _operation("!", _operation(">", A, B))),
        ("!!a", _operation("!", _operation("!", A))),
        ("a>5000", _operation(">", A, Constant(Decimal(5000)))),
        ("a > 5,000", _operation(">", A, Constant(Decimal(5000)))),
        ("a > 1,234,567.89", _operation(">", A, Constant(Decimal("1234567.89")))),
        ("a < - 3", _operation("<", A, Constant(Decimal(-3)))),
        ("a === 'it\\'s'", _operation("===", A, Constant("it's"))),
        ('a == "x && y"', _operation("==", A, Constant("x && y"))),
        ("a != null", _operation("!=", A, Constant(None))),
        ("a in ['x', 1, true, null]", _operation("in", A, _choices("x", Decimal(1), True, None))),
        ("a in [1,200]", _operation("in", A, _choices(Decimal(1), Decimal(200)))),
        ("a in []", _operation("in", A, _choices())),
        ("a in b.c", _operation("in", A, FieldReference(("b", "c")))),
        ("(a > b) == c", _operation("==", _operation(">", A, B), C)),
        ("inside && nullable", _operation("&&", FieldReference(("inside",)), FieldReference(("nullable",)))),
    ],
)
def test_a_condition_groups_as_the_page_says(text: str, tree: object) -> None:
    """Precedence, literals, paths and lists."""
    assert parse(text) == tree


@pytest.mark.promise("policy.errors")
@each_row(
    ("text", "position", "cause"),
    [
        ("", 0, "empty"),
        ("  ", 0, "empty"),
        ("a >", 3, "expected a field or a value, found end of the condition"),
        ("> 5", 0, "expected a field or a value"),
        ("a b", 2, "expected an operator"),
        ("a and b", 2, "write &&"),
        ("a OR b", 2, "write ||"),
        ("not a", 0, "write !"),
        ("a == True", 5, "write true"),
        ("a == None", 5, "write null"),
        ("a = 5", 2, "write == or ==="),
        ("a & b", 2, "write &&"),
        ("a | b", 2, "write ||"),
        ("a > $5,000", 4, "bare number"),
        ("a > 5,00", 5, "expected an operator"),
        ("a > 5k", 4, "runs into 'k'"),
        ("a > 1e3", 4, "runs into 'e'"),
        ("a > 5.", 4, "runs into '.'"),
        ("a > 007", 4, "starts with a zero"),
        ("a == 'x", 5, "not closed"),
        ("a == 'x\\n'", 7, "unknown escape"),
        ("(a", 2, "expected ')'"),
        ("a)", 1, "expected an operator"),
        ("a < b < c", 6, "do not chain"),
        ("a == b != c", 7, "do not chain"),
        ("a in [b]", 6, "in quotes"),
        ("a in [5,000]", 8, "starts with a zero"),
        ("a in 5", 5, "expected '['"),
        ("a > -'x'", 5, "expected a number"),
        ("a; b", 1, "no such sign"),
        ("a == “x”", 5, "no such sign"),
    ],
)
def test_what_cannot_be_parsed_is_refused_with_position_and_cause(text: str, position: int, cause: str) -> None:
    """Nothing outside the grammar is read as something else."""
    with pytest.raises(ConditionError) as caught:
        parse(text)

    assert caught.value.position == position
    assert cause in caught.value.cause


@pytest.mark.promise("policy.bounds")
@each_row(
    "text",
    [
        " || ".join(f"amount > {number}" for number in range(10_000)),
        "||".join(["a"] * 10_000),
        "!" * (MAX_DEPTH + 1) + "a",
        "(" * 10_000 + "a",
        "&&".join(["a"] * (MAX_TERMS + 1)),
        "9" * (MAX_LENGTH + 1),
        "." * MAX_LENGTH,
        "a" + " " * (MAX_LENGTH - 2) + ".",
        '"' + "\\" * (MAX_LENGTH - 1),
    ],
)
def test_a_hostile_condition_is_refused_at_once(text: str) -> None:
    """Length, terms and nesting are bounded: within a moment, the best of three on a busy machine."""
    best = 1.0
    for _ in range(3):
        before = process_time()
        with pytest.raises(ConditionError):
            parse(text)
        best = min(best, process_time() - before)

    assert best < 0.5  # a bound that holds on a busy machine, far below what a blow-up takes


def test_a_condition_at_the_bounds_is_accepted() -> None:
    """What is allowed can be used."""
    assert text_of(parse("&&".join(["a"] * MAX_TERMS))).count("&&") == MAX_TERMS - 1
    assert parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH) == A
