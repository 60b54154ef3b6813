"""Every calculator by name, and the one place where its answer is rounded."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext

from services.executor.core.figures import contracts, valuation
from services.executor.core.figures.calculator import (
    MOST_DIGITS,
    RATIO_PLACES,
    Calculator,
    CalculatorResult,
    CannotCalculate,
    decimal_text,
    fits,
    to_minor_unit,
)

_ROUNDING = Context(prec=50, rounding=ROUND_HALF_UP, traps=[DivisionByZero, InvalidOperation, Overflow])
CALCULATORS: Mapping[str, Calculator] = {
    name: one for module in (contracts, valuation) for name, one in vars(module).items() if isinstance(one, Calculator)
}


def describe_calculators() -> str:
    """A text that lists every calculator with its figures, those with the same figures together: ``npv(rate %,
    flow...); a/b(base)``.
    """
    named: dict[str, list[str]] = {}
    for name, calculator in CALCULATORS.items():
        named.setdefault(calculator.arguments, []).append(name)
    return "; ".join(f"{'/'.join(names)}({arguments})" for arguments, names in named.items())


def calculate(operation: str, operands: Sequence[Decimal], places: int = 2) -> Decimal:
    """The result of a calculator; raises ``CannotCalculate`` for an unknown one, a wrong number of figures, too long
    figures or a division by zero.

    ``places`` are those of the currency's minor unit, to which money is rounded; all else has six places.
    """
    calculator = CALCULATORS.get(operation)
    if calculator is None:
        raise CannotCalculate(f"unknown operation {operation!r}; known: {', '.join(CALCULATORS)}")
    if not calculator.fits(len(operands)):
        raise CannotCalculate(f"{operation} needs {calculator.arguments}; got {len(operands)} operands")
    if (too_long := next((operand for operand in operands if not fits(operand)), None)) is not None:
        raise CannotCalculate(f"{operation} takes figures of up to {MOST_DIGITS} digits, and {too_long} has more")
    try:
        with localcontext(_ROUNDING):
            result = calculator(*operands, places=places)
            return to_minor_unit(result, places if calculator.result is CalculatorResult.MONEY else RATIO_PLACES)
    except ArithmeticError as error:
        figures = ", ".join(map(decimal_text, operands))
        raise CannotCalculate(f"{operation} of {figures[:120]}: {type(error).__name__}") from None
