"""Exact arithmetic: sums to the cent, ratios to six places half up, and an error instead of a guess."""

from decimal import Decimal
from fractions import Fraction

import pytest

from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.figures.finance import CALCULATORS, run_calculator
from services.executor.core.figures.operations import compute_exactly, to_result
from tests.each_row import each_row


def calculate(operation: str, operands: list[Decimal]) -> Decimal:
    if operation in CALCULATORS:
        return run_calculator(operation, operands)
    value = compute_exactly(operation, [Fraction(operand) for operand in operands])
    return to_result(value) if isinstance(value, Fraction) else value


def numbers(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


@each_row(
    ("operation", "operands", "result"),
    [
        ("product", ("19.99", "3"), "59.97"),
        ("quotient", ("2", "3"), "0.666667"), ("quotient", ("1", "3"), "0.333333"),
        ("quotient", ("0.0000005", "1"), "0.000001"), ("percentage", ("1000", "2.5"), "25"),
        ("average", ("1", "2"), "1.5"), ("sum", (), "0"), ("sum", ("0.1", "0.2"), "0.3"),
    ],
)  # fmt: skip
def test_an_operation_has_its_textbook_result(operation: str, operands: tuple[str, ...], result: str) -> None:
    assert calculate(operation, numbers(*operands)) == Decimal(result)


@pytest.mark.promise("I8.exact_money")
@each_row(
    ("operation", "operands"),
    [
        ("quotient", ("1", "0")), ("quotient", ("0", "0")), ("average", ()), ("difference", ("1",)), ("minimum", ()),
        ("percentage", ("1",)), ("power", ("1", "2")), ("sum", ("1E60", "1")), ("product", ("1E1000",) * 1001),
        ("quotient", ("1E50", "3")),
    ],
)  # fmt: skip
def test_what_cannot_be_calculated_exactly_is_an_error(operation: str, operands: tuple[str, ...]) -> None:
    """Never a rounded amount, and never another kind of error."""
    with pytest.raises(CannotCalculate):
        calculate(operation, numbers(*operands))
