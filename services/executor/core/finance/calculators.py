"""Exact arithmetic over decimals: the operations that COMPUTE offers and the audit repeats (I8)."""

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow, localcontext

from services.executor.core.finance.catalogue import CALCULATORS, Calculator, Result
from services.executor.core.finance.money import CannotCalculate as CannotCalculate
from services.executor.core.finance.money import to_minor_unit

# What would not fit is an error and never rounded; only quotients and averages may round, in a context of their own.
_EXACT = Context(prec=50, traps=[DivisionByZero, Inexact, InvalidOperation, Overflow])
# Twice as many digits as an operand may have, so that sums and products of operands lose none.
_MOST_DIGITS = 24
_ROUNDING = Context(prec=50, rounding=ROUND_HALF_UP, traps=[DivisionByZero, InvalidOperation, Overflow])
_RATIO_PLACES = 6
_RATIO = Decimal(1).scaleb(-_RATIO_PLACES)  # quotients and averages are kept to six places, half up


def calculate(operation: str, operands: Sequence[Decimal], places: int = 2) -> Decimal:
    """The result of one operation; ``CannotCalculate`` if unknown, of wrong arity, by zero or over 50 digits.

    ``places`` are those of the currency's minor unit; they round what the catalogue calls money and nothing else.
    """
    function = _OPERATIONS.get(operation)
    calculator = CALCULATORS.get(operation)
    try:
        if function is not None:
            with localcontext(_EXACT):
                return function(operands)
        if calculator is not None:
            with localcontext(_ROUNDING):
                return _rounded(operation, calculator, operands, places)
    except ArithmeticError as error:
        raise CannotCalculate(f"{operation} of {_listed(operands)[:120]}: {type(error).__name__}") from None
    raise CannotCalculate(f"unknown operation {operation!r}; known: {', '.join([*_OPERATIONS, *CALCULATORS])}")


def _rounded(operation: str, calculator: Calculator, operands: Sequence[Decimal], places: int) -> Decimal:
    """The one place where a calculator's answer is rounded: money to the minor unit, all else to six places."""
    if not calculator.fits(len(operands)):
        raise CannotCalculate(f"{operation} needs {calculator.arguments}; got {len(operands)} operands")
    too_long = next((operand for operand in operands if not _fits(operand)), None)
    if too_long is not None:
        raise CannotCalculate(f"{operation} takes figures of up to {_MOST_DIGITS} digits, and {too_long} has more")
    result = calculator.function(operands, places)
    return to_minor_unit(result, places if calculator.result is Result.MONEY else _RATIO_PLACES)


def _fits(operand: Decimal) -> bool:
    _, digits, exponent = operand.as_tuple()
    return isinstance(exponent, int) and len(digits) <= _MOST_DIGITS and abs(exponent) <= _MOST_DIGITS


def decimal_text(value: Decimal) -> str:
    """A decimal as plain digits, without exponent: what values travel as."""
    return format(value, "f")


def _sum(operands: Sequence[Decimal]) -> Decimal:
    return sum(operands, Decimal(0))


def _difference(operands: Sequence[Decimal]) -> Decimal:
    first, *others = _at_least(2, "difference", operands)
    return first - _sum(others)


def _product(operands: Sequence[Decimal]) -> Decimal:
    product = Decimal(1)
    for operand in _at_least(1, "product", operands):
        product *= operand
    return product


def _quotient(operands: Sequence[Decimal]) -> Decimal:
    dividend, divisor = _exactly(2, "quotient", operands)
    return _ratio(dividend, divisor)


def _percentage(operands: Sequence[Decimal]) -> Decimal:
    base, percent = _exactly(2, "percentage", operands)
    return base * percent / 100


def _average(operands: Sequence[Decimal]) -> Decimal:
    known = _at_least(1, "average", operands)
    return _ratio(_sum(known), Decimal(len(known)))


def _ratio(dividend: Decimal, divisor: Decimal) -> Decimal:
    return _ROUNDING.quantize(_ROUNDING.divide(dividend, divisor), _RATIO)


def _at_least(number: int, operation: str, operands: Sequence[Decimal]) -> Sequence[Decimal]:
    if len(operands) < number:
        raise CannotCalculate(f"{operation} needs at least {number} operands, got {len(operands)}")
    return operands


def _exactly(number: int, operation: str, operands: Sequence[Decimal]) -> Sequence[Decimal]:
    if len(operands) != number:
        raise CannotCalculate(f"{operation} needs {number} operands, got {len(operands)}")
    return operands


def _listed(operands: Sequence[Decimal]) -> str:
    return ", ".join(decimal_text(operand) for operand in operands)


_OPERATIONS: Mapping[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "sum": _sum,
    "difference": _difference,
    "product": _product,
    "quotient": _quotient,
    "percentage": _percentage,
    "minimum": lambda operands: min(_at_least(1, "minimum", operands)),
    "maximum": lambda operands: max(_at_least(1, "maximum", operands)),
    "count": lambda operands: Decimal(len(operands)),
    "average": _average,
}
