"""Exact arithmetic over decimals: the operations that COMPUTE offers and the audit repeats (I8)."""

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow, localcontext

# What would not fit is an error and never rounded; only quotients and averages may round, in a context of their own.
_EXACT = Context(prec=50, traps=[DivisionByZero, Inexact, InvalidOperation, Overflow])
_ROUNDING = Context(prec=50, rounding=ROUND_HALF_UP, traps=[DivisionByZero, InvalidOperation, Overflow])
_RATIO = Decimal("0.000001")  # quotients and averages are kept to six places, half up


class CannotCalculate(ValueError):
    """The operation does not fit its operands; the message says why."""


def calculate(operation: str, operands: Sequence[Decimal]) -> Decimal:
    """The result of one operation; ``CannotCalculate`` if unknown, of wrong arity, by zero or over 50 digits."""
    function = _OPERATIONS.get(operation)
    if function is None:
        raise CannotCalculate(f"unknown operation {operation!r}; known: {', '.join(_OPERATIONS)}")
    with localcontext(_EXACT):
        try:
            return function(operands)
        except ArithmeticError as error:
            raise CannotCalculate(f"{operation} of {_listed(operands)[:120]}: {type(error).__name__}") from None


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
