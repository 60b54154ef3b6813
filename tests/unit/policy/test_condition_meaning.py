"""What each operator means for each type, for null and for a missing field."""

from decimal import Decimal

import pytest

from services.policy.core.conditions import ConditionCache, parse_condition
from services.policy.core.values import UNKNOWN, ConditionError
from shared.contracts.policy import ContextValue
from tests.each_row import each_row

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
    "code": "007",
    "tags": ["a", "b", 7],
    "order": {"total": Decimal("10.10"), "lines": {"count": 3}},
}


def _decide(text: str) -> object:
    return parse_condition(text).decide(FACTS)


@pytest.mark.promise("policy.conditions")
@each_row(
    "text",
    [
        "yes",
        "!no",
        "yes == true",
        "no === false",
        "yes != seven",
        "seven == 7.0",
        "seven === exact",
        "seven == digits",
        "seven !== digits",
        "exact >= 7 && exact <= 7",
        "digits < 10",
        "grouped > 4999.99",
        "grouped == 5000",
        "dollars > grouped",
        'dollars > "$5,000"',
        'text == "active"',
        "text !== 'Active'",
        'text > "a"',
        "digits != code",
        "code == 7",
        "nothing == null",
        "seven != null",
        "tags != null",
        "order.total == 10.1",
        "order.lines.count > 2",
        "text in ['x', 'active']",
        "'a' in tags",
        "digits in tags",
        "!('z' in tags)",
        "nothing in [null]",
        "!(nothing in ['a'])",
        "(seven > 5) == yes",
        "true || absent",
        "!(false && absent)",
        "absent || yes",
    ],
)
def test_what_a_reader_expects_to_hold_holds(text: str) -> None:
    """Numbers by value, texts as they are, numbers spelled as text where a number is meant."""
    assert _decide(text) is True


@pytest.mark.promise("policy.conditions")
@each_row(
    "text",
    [
        "yes == 1",
        "yes === 1",
        "no == 0",
        "seven === digits",
        "digits == code",
        "text == 7",
        "nothing == false",
        "7 in []",
    ],
)
def test_values_of_different_types_are_not_equal(text: str) -> None:
    """A boolean is no integer, and only ``==`` reads a number in a text."""
    assert _decide(text) is False


@pytest.mark.promise("policy.missing")
@each_row(
    "text",
    [
        *(f"absent {operator} 5" for operator in (">", "<", ">=", "<=", "==", "!=", "===", "!==")),
        *(f"5 {operator} absent" for operator in (">", "<", ">=", "<=", "==", "!=", "===", "!==")),
        *(f"nothing {operator} 5" for operator in (">", "<", ">=", "<=")),
        "absent == null",
        "absent != null",
        "absent == absent",
        "absent",
        "!absent",
        "nothing",
        "!nothing",
        "absent in ['a']",
        "'a' in absent",
        "'a' in nothing",
        "order.absent > 5",
        "order.total.cents > 5",
        "text.length > 5",
        "yes && absent",
        "absent && yes",
        "no || absent",
        "(absent > 5) == true",
    ],
)
def test_a_missing_field_leaves_undecided_what_depends_on_it(text: str) -> None:
    """Neither true nor false: Kleene's third value, for every operator."""
    assert _decide(text) is UNKNOWN


@pytest.mark.promise("policy.errors")
@each_row(
    ("text", "position"),
    [
        ("text > 5", 5),
        ("5 < text", 2),
        ("yes > no", 4),
        ("yes > 0", 4),
        ("!yes > 0", 5),
        ("tags > 1", 5),
        ("tags == 7", 5),
        ("order == text", 6),
        ("text < digits", 5),
        ("dollars > euros", 8),
        ("text in digits", 5),
        ("yes && seven", 7),
        ("seven", 0),
        ("!text", 1),
        ("no || tags", 6),
    ],
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
    conditions = ConditionCache(limit=9)
    first = conditions.get("a > 1")

    assert conditions.get("a > 1") is first
    conditions.get("b > 1")
    conditions.get("c > 1")
    conditions.get("a > 1")
    conditions.get("d > 1")

    assert len(conditions) == 3
    assert conditions.get("a > 1") is first
