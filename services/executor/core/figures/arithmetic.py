"""Sums, products, shares, counts and units: exact over decimals and fractions."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from services.executor.core.figures.call import Answer, CalculationCall, settle, to_decimal
from services.executor.core.figures.cells import plain_name
from services.executor.core.figures.columns import (
    are_dates,
    find_currency,
    find_figure_columns,
    find_unit,
    flatten_columns,
    is_of_rate,
    read_cell_amount,
    read_cell_date,
    read_cell_moment,
    take_single_cell,
)
from services.executor.core.figures.conditions import identity
from services.executor.core.figures.written import Number, WrittenAmount, to_fraction
from services.executor.core.finance import calculators
from services.executor.core.finance.currency import is_currency, places
from services.executor.core.finance.money import CannotCalculate

UNIT_FACTORS = {
    "seconds_to_minutes": Fraction(1, 60), "minutes_to_hours": Fraction(1, 60), "hours_to_minutes": Fraction(60),
    "hours_to_days": Fraction(1, 24), "days_to_hours": Fraction(24), "days_to_weeks": Fraction(1, 7),
    "weeks_to_days": Fraction(7), "months_to_years": Fraction(1, 12), "years_to_months": Fraction(12),
}  # fmt: skip


def compute_arithmetic(call: CalculationCall) -> Answer:
    """Sums, products and the like: exact, whether a figure is a decimal or a fraction."""
    if call.operation in ("minimum", "maximum") and are_dates(flatten_columns(call.columns)):
        return _find_extreme_date(call)
    if call.operation in ("difference", "quotient", "percentage") and len(find_figure_columns(call.columns)) > 1:
        for column in find_figure_columns(call.columns)[: None if call.operation != "difference" else 1]:
            take_single_cell(column, call.operation)
    amounts = call.numbers()
    unit = _check_unit(call, amounts)
    numbers = [_to_factor(amount, call.operation) for amount in amounts]
    currency = _find_result_currency(call)
    if any(isinstance(number, Fraction) for number in numbers):
        value = settle(_compute_over_fractions(call.operation, [to_fraction(number) for number in numbers]))
    else:
        value = calculators.calculate(call.operation, [to_decimal(number) for number in numbers], places(currency))
    return Answer(value, currency, unit)


def _check_unit(call: CalculationCall, amounts: Sequence[WrittenAmount]) -> str:
    if call.operation in ("product", "quotient", "percentage"):
        units = dict.fromkeys(amount.unit for amount in amounts)
        first = amounts[0].unit if amounts else ""
        return first if units.keys() <= {first, ""} and call.operation != "quotient" else ""
    percents = [amount.style == "percent" for amount in amounts]
    if call.operation in ("sum", "difference") and any(percents) and not all(percents):
        others = [cell for cell, one in zip(flatten_columns(call.columns), percents, strict=True) if not one]
        if not all(is_of_rate(cell) for cell in others):
            raise CannotCalculate(
                f"{call.operation} of an amount and a percentage: take increase_by_percent, decrease_by_percent or "
                "percentage"
            )
    return find_unit(amounts, call.operation)


def _to_factor(amount: WrittenAmount, operation: str) -> Number:
    if operation in ("product", "quotient") and amount.style == "percent":
        return to_fraction(amount.number) / 100 if isinstance(amount.number, Fraction) else amount.number.scaleb(-2)
    if operation == "percentage" and amount.style == "fraction":
        return to_fraction(amount.number) * 100
    return amount.number


def _find_result_currency(call: CalculationCall) -> str:
    """The currency of the result; none where amounts are divided by each other, or multiplied by a rate of exchange."""
    currency = find_currency(call.columns, call.operation)
    if call.operation not in ("product", "quotient"):
        return currency
    own = [find_currency([column], call.operation) for column in call.columns]
    words = {word for column in call.columns for cell in column.cells[:1] for word in plain_name(cell.field).split()}
    if words & {"exchange", "fx"} or (call.operation == "quotient" and any(own[1:])):
        return ""
    return next((code for code in own if code), "") if len({code for code in own if code}) == 1 else ""


def _compute_over_fractions(operation: str, numbers: Sequence[Fraction]) -> Fraction:
    if not numbers:
        raise CannotCalculate(f"{operation} needs at least one operand")
    first, *others = numbers
    match operation:
        case "sum":
            return sum(numbers, Fraction(0))
        case "average":
            return sum(numbers, Fraction(0)) / len(numbers)
        case "minimum":
            return min(numbers)
        case "maximum":
            return max(numbers)
    if not others and operation != "product":
        raise CannotCalculate(f"{operation} needs at least 2 operands, got 1")
    if operation == "difference":
        return first - sum(others, Fraction(0))
    if operation == "product":
        for other in others:
            first *= other
        return first
    return first * others[0] / 100 if operation == "percentage" else _divide(first, others[0], operation)


def _divide(dividend: Fraction, divisor: Fraction, operation: str) -> Fraction:
    if not divisor:
        raise CannotCalculate(f"{operation}: nothing can be divided by 0")
    return dividend / divisor


def _find_extreme_date(call: CalculationCall) -> Answer:
    pick = min if call.operation == "minimum" else max
    latest = pick(flatten_columns(call.columns), key=lambda cell: read_cell_moment(cell, call.operation, call.order))
    return Answer(read_cell_date(latest, call.operation, call.order))


def compute_share(call: CalculationCall) -> Answer:
    """Ratios in percent: exact until the one rounding to six places."""
    one, other = (to_fraction(read_cell_amount(cell, call.operation).number) for cell in call.singles())
    find_currency(call.columns, "comparison")
    find_unit([read_cell_amount(cell, call.operation) for cell in call.singles()], call.operation)
    change = call.operation == "percent_change"
    return Answer(settle(_divide((other - one if change else one) * 100, one if change else other, call.operation)))


def change_by_percent(call: CalculationCall) -> Answer:
    base, percent = (read_cell_amount(cell, call.operation) for cell in call.singles())
    part = to_fraction(_to_factor(percent, "percentage")) / 100
    factor = 1 + part if call.operation == "increase_by_percent" else 1 - part
    return Answer(settle(to_fraction(base.number) * factor), find_currency(call.columns, "percentage"), base.unit)


def sum_products(call: CalculationCall) -> Answer:
    currency = find_currency(call.columns, call.operation)
    sizes = {len(column.cells) for column in call.columns}
    if len(sizes) != 1:
        raise CannotCalculate("sum_of_products needs lists of equal length")
    unit = "cents" if any(amount.unit == "cents" for amount in call.numbers()) else ""
    total = Fraction(0)
    for row in zip(*(column.cells for column in call.columns), strict=True):
        product = Fraction(1)
        for cell in row:
            product *= to_fraction(_to_factor(read_cell_amount(cell, call.operation), "product"))
        total += product
    return Answer(settle(total), currency, unit)


def round_to_whole(call: CalculationCall) -> Answer:
    amount = read_cell_amount(call.singles()[0], call.operation)
    number = to_fraction(amount.number)
    whole = number.__ceil__() if call.operation == "round_up" else number.__floor__()
    return Answer(Decimal(whole), find_currency(call.columns, call.operation), amount.unit)


def count_cells(call: CalculationCall) -> Answer:
    return Answer(Decimal(sum(len(column.cells) for column in call.columns)))


def count_distinct_cells(call: CalculationCall) -> Answer:
    return Answer(Decimal(len({identity(cell.value) for column in call.columns for cell in column.cells})))


def convert_unit(call: CalculationCall) -> Answer:
    source, target = call.operation.split("_to_")
    column, *named = call.columns
    amount = read_cell_amount(take_single_cell(column, call.operation), call.operation)
    if amount.unit and amount.unit != source and {amount.unit, source} != {"", "units"} and source != "units":
        raise CannotCalculate(f"{column.written} is in {amount.unit}, not in {source}")
    if source == "units" and amount.unit == "cents":
        raise CannotCalculate(f"{column.written} is in cents already")
    currency = find_currency([column, *named], call.operation)
    factor = Fraction(10) ** places(currency) if "cents" in (source, target) else UNIT_FACTORS[call.operation]
    scaled = to_fraction(amount.number) / factor if source == "cents" else to_fraction(amount.number) * factor
    return Answer(settle(scaled), currency, "" if target == "units" else target)


def convert_currency(call: CalculationCall) -> Answer:
    amount, rate = (
        read_cell_amount(take_single_cell(column, call.operation), call.operation) for column in call.columns[:2]
    )
    code = take_single_cell(call.columns[2], call.operation).value
    if not isinstance(code, str) or not is_currency(code):
        raise CannotCalculate("convert_currency needs amount, rate, and the code of the currency that comes out")
    return Answer(settle(to_fraction(amount.number) * to_fraction(rate.number)), code.strip(), amount.unit)
