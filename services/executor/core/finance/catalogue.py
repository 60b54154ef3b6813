"""Every calculator by name, and the one place where its answer is rounded."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext

from services.executor.core.finance import business, contracts, schedules, valuation
from services.executor.core.finance.calculator import Calculator, CalculatorResult, CannotCalculate, to_minor_unit

RATIO_PLACES = 6
_ROUNDING = Context(prec=50, rounding=ROUND_HALF_UP, traps=[DivisionByZero, InvalidOperation, Overflow])
_MOST_DIGITS = 24  # half of the context's, so that sums and products of operands lose none

CALCULATORS: Mapping[str, Calculator] = {
    name: one
    for module in (contracts, schedules, valuation, business)
    for name, one in vars(module).items()
    if isinstance(one, Calculator)
}


def describe_calculators() -> str:
    """Every calculator with its figures, for who is to choose among them: ``npv(rate %, flow...); irr(...)``."""
    return "; ".join(f"{name}({calculator.arguments})" for name, calculator in CALCULATORS.items())


def calculate(operation: str, operands: Sequence[Decimal], places: int = 2) -> Decimal:
    """The result of a calculator; ``CannotCalculate`` if unknown, of wrong arity, by zero or of too long figures.

    ``places`` are those of the currency's minor unit, to which money is rounded; all else has six places.
    """
    calculator = CALCULATORS.get(operation)
    if calculator is None:
        raise CannotCalculate(f"unknown operation {operation!r}; known: {', '.join(CALCULATORS)}")
    if not calculator.fits(len(operands)):
        raise CannotCalculate(f"{operation} needs {calculator.arguments}; got {len(operands)} operands")
    if (too_long := next((operand for operand in operands if not fits(operand)), None)) is not None:
        raise CannotCalculate(f"{operation} takes figures of up to {_MOST_DIGITS} digits, and {too_long} has more")
    try:
        with localcontext(_ROUNDING):
            result = calculator(*operands, places=places)
            return to_minor_unit(result, places if calculator.result is CalculatorResult.MONEY else RATIO_PLACES)
    except ArithmeticError as error:
        figures = ", ".join(map(decimal_text, operands))
        raise CannotCalculate(f"{operation} of {figures[:120]}: {type(error).__name__}") from None


def fits(number: Decimal, most: int = _MOST_DIGITS) -> bool:
    """Whether it is a number of so many digits, none of them too far from the point to be written out."""
    _, digits, exponent = number.as_tuple()
    return isinstance(exponent, int) and len(digits) <= most and abs(exponent) <= most


def decimal_text(value: Decimal) -> str:
    """A decimal as plain digits, without exponent: what values travel as."""
    return format(value, "f")
