"""One operation over its columns, and what it comes to: exact, and rounded once where it has no end."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from typing import NamedTuple

from services.executor.core.figures.cells import Cell
from services.executor.core.figures.columns import (
    ListColumn,
    find_figure_columns,
    flatten_columns,
    read_cell_amount,
    take_single_cell,
)
from services.executor.core.figures.dates import DateOrder
from services.executor.core.figures.written import Number, WrittenAmount
from services.executor.core.finance.money import CannotCalculate

Value = Decimal | Fraction | date | bool | str


_PLACES = 6


_LONGEST = 50  # digits of a result


_EXACT = Context(prec=_LONGEST, traps=[Inexact])


class Answer(NamedTuple):
    """What an operation comes to, in what, and what is to be said of it."""

    value: Value
    currency: str = ""
    unit: str = ""
    note: str = ""
    is_groups: bool = False  # the value is a JSON object of decimal texts by group
    keeps_places: bool = False  # rounded to so many places on purpose: those of the minor unit, or six


class CalculationCall(NamedTuple):
    """One operation over its columns."""

    operation: str
    columns: Sequence[ListColumn]
    today: date
    order: DateOrder
    give: str = ""

    def numbers(self) -> list[WrittenAmount]:
        return [read_cell_amount(cell, self.operation) for cell in flatten_columns(self.columns)]

    def singles(self) -> list[Cell]:
        """The one figure of each operand."""
        return [take_single_cell(column, self.operation) for column in find_figure_columns(self.columns)]


class CalculationOperation(NamedTuple):
    """``arguments``: what its operands are, in order; the last ends in ``...`` where it may repeat."""

    arguments: str
    act: Callable[[CalculationCall], Answer]
    takes_lists: bool = False  # empty cells and rows without the field are left out
    takes_currency: bool = False  # as an operand of its own

    def fits(self, number: int) -> bool:
        names = self.arguments.split(", ")
        needed = sum(not name.startswith("[") for name in names)
        return needed <= number and (number <= len(names) or names[-1].rstrip("]").endswith("..."))


def to_decimal(number: Number) -> Decimal:
    """A number as a decimal: exact where it has an end, else to 24 digits."""
    if isinstance(number, Decimal):
        return number
    with localcontext(prec=24):
        return Decimal(number.numerator) / Decimal(number.denominator)


def settle(number: Fraction) -> Decimal:
    """A fraction as a decimal: exact where it has an end, else rounded half up to six places."""
    try:
        return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    except Inexact:
        pass
    scaled = abs(number) * 10**_PLACES + Fraction(1, 2)
    rounded = Decimal(scaled.numerator // scaled.denominator).scaleb(-_PLACES, Context(prec=1000))
    if len(rounded.as_tuple().digits) > _LONGEST:
        raise CannotCalculate(f"the result has more than {_LONGEST} digits")
    return rounded.copy_negate() if number < 0 else rounded
