"""Every operation of ``calculate`` by name: those of this folder, of the finance catalogue, and made tools."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from services.executor.core.figures.arithmetic import (
    UNIT_FACTORS,
    change_by_percent,
    compute_arithmetic,
    compute_share,
    convert_currency,
    convert_unit,
    count_cells,
    count_distinct_cells,
    round_to_whole,
    sum_products,
)
from services.executor.core.figures.call import Answer, CalculationCall, CalculationOperation, to_decimal
from services.executor.core.figures.columns import (
    find_currency,
    find_figure_columns,
    flatten_columns,
    read_cell_amount,
    read_cell_date,
    take_single_cell,
)
from services.executor.core.figures.date_operations import compute_age, find_calendar_day, measure_time, shift_date
from services.executor.core.figures.made_formulas import Made
from services.executor.core.figures.row_operations import (
    ORDERS,
    are_cells_empty,
    combine_truths,
    compare_cells,
    find_extreme_row,
    is_record_overdue,
)
from services.executor.core.figures.written import WrittenAmount
from services.executor.core.finance import calculators
from services.executor.core.finance.catalogue import CALCULATORS, Calculator, Result
from services.executor.core.finance.currency import places
from services.executor.core.finance.money import CannotCalculate


def perform(call: CalculationCall, made: Made) -> Answer:
    """The answer; ``CannotCalculate`` names what does not fit, ``NotRun`` a made tool that was not run yet."""
    if call.operation in made.tools:
        currency = find_currency(call.columns, call.operation)
        figures = [to_decimal(amount.number) for amount in call.numbers()]
        return Answer(made.calculate(call.operation, figures, places(currency)), currency, keeps_places=True)
    if call.operation in CALCULATORS:
        return _perform_calculator(call, CALCULATORS[call.operation])
    operation = OPERATIONS.get(call.operation)
    if operation is None:
        raise CannotCalculate(f"unknown operation {call.operation!r}; known: {', '.join([*OPERATIONS, *CALCULATORS])}")
    number = len(call.columns if operation.takes_currency else find_figure_columns(call.columns))
    if not operation.fits(number):
        raise CannotCalculate(f"{call.operation} needs {operation.arguments}; got {number} operands")
    return operation.act(call)


def free_numbers(operation: str, place: int) -> frozenset[int]:
    """The numbers that need no source as the operand at this place: 12 months of a year, the third part of five."""
    if operation not in CALCULATORS:
        return _FREE.get(operation, frozenset({0}))
    names = CALCULATORS[operation].arguments.split(", ")
    name = names[min(place, len(names) - 1)]
    return _ORDINALS if name in _CHOSEN else _A_YEAR if name.endswith("a year") else _ZERO_OR_ONE


def takes_percent(operation: str, place: int) -> bool:
    """Whether the operand at this place is a share, so that 0.2 is the task's 20 %."""
    if operation in CALCULATORS:
        names = CALCULATORS[operation].arguments.split(", ")
        return "%" in names[min(place, len(names) - 1)]
    return operation in ("product", "quotient") or (place == 1 and operation in _OF_PERCENT)


def _perform_calculator(call: CalculationCall, calculator: Calculator) -> Answer:
    currency = find_currency(call.columns, call.operation)
    if "..." not in calculator.arguments:
        for column in find_figure_columns(call.columns):
            take_single_cell(column, call.operation)
    cells = flatten_columns(call.columns)
    if calculator.dates:
        figures = [Decimal(read_cell_date(cell, call.operation, call.order).toordinal()) for cell in cells]
        return Answer(calculators.calculate(call.operation, figures), unit="" if "bucket" in call.operation else "days")
    amounts = [read_cell_amount(cell, call.operation) for cell in cells]
    if any(amount.unit == "cents" for amount in amounts):
        raise CannotCalculate(f"{call.operation} is of whole units, not cents: convert with cents_to_units first")
    try:
        value = calculators.calculate(call.operation, [to_decimal(one.number) for one in amounts], places(currency))
    except CannotCalculate as error:
        raise CannotCalculate(f"{error} (operands in this order: {calculator.arguments})") from None
    note = f"taken as {_describe_arguments(calculator, amounts)}" if len(amounts) <= 8 else ""
    return Answer(value, currency if calculator.result is Result.MONEY else "", "", note, keeps_places=True)


def _describe_arguments(calculator: Calculator, amounts: Sequence[WrittenAmount]) -> str:
    names = calculator.arguments.split(", ")
    if sum(name.endswith("...") for name in names) > 1:
        return ", ".join(names)
    names += [names[-1]] * (len(amounts) - len(names))
    return ", ".join(
        f"{name.removesuffix('...')} {_write_amount(one)}" for name, one in zip(names, amounts, strict=False)
    )


def _write_amount(amount: WrittenAmount) -> str:
    return calculators.decimal_text(to_decimal(amount.number))


_ZERO_OR_ONE = FREE_LIMITS = frozenset({0, 1})


_ORDINALS = frozenset(range(1, 1201))


_CHOSEN = frozenset({"part number", "month", "period", "year", "trials", "start"})  # which one is wanted


_A_YEAR = frozenset({1, 2, 4, 12, 52, 365})


_DEFINITIONS = frozenset({0, 1, 2, 4, 7, 12, 24, 52, 60, 100, 365})


_FREE: Mapping[str, frozenset[int]] = {
    "product": _DEFINITIONS,
    "quotient": _DEFINITIONS,
    "difference": frozenset({0, 1, 100}),
    **dict.fromkeys(("is_less", "is_at_most", "is_more", "is_at_least", "is_equal", "is_not_equal"), _ZERO_OR_ONE),
    **{f"{verb}_{unit}": _ZERO_OR_ONE for verb in ("add", "subtract")
       for unit in ("days", "weeks", "months", "years", "working_days")},
}  # fmt: skip


_OF_PERCENT = frozenset({"percentage", "increase_by_percent", "decrease_by_percent"})


AGGREGATES = ("sum", "count", "average", "minimum", "maximum", "count_distinct")


SOUGHT = ("which_has_most", "which_has_least")


WORDS_ALLOWED = frozenset({"is_equal", "is_not_equal"})


OPERATIONS: Mapping[str, CalculationOperation] = {
    **{
        name: CalculationOperation("figure...", compute_arithmetic, takes_lists=True)
        for name in ("sum", "average", "minimum", "maximum")
    },
    "count": CalculationOperation("rows...", count_cells, takes_lists=True),
    "count_distinct": CalculationOperation("field of rows...", count_distinct_cells, takes_lists=True),
    **{name: CalculationOperation("figure of rows", find_extreme_row, takes_lists=True) for name in SOUGHT},
    "difference": CalculationOperation("from, taken off...", compute_arithmetic),
    "product": CalculationOperation("factor...", compute_arithmetic),
    "quotient": CalculationOperation("dividend, divisor", compute_arithmetic),
    "percentage": CalculationOperation("base, percent", compute_arithmetic),
    "increase_by_percent": CalculationOperation("base, percent", change_by_percent),
    "decrease_by_percent": CalculationOperation("base, percent", change_by_percent),
    "percent_share": CalculationOperation("part, whole", compute_share),
    "percent_change": CalculationOperation("old, new", compute_share),
    "sum_of_products": CalculationOperation("list, list...", sum_products),
    "round_up": CalculationOperation("figure", round_to_whole),
    "round_down": CalculationOperation("figure", round_to_whole),
    "convert_currency": CalculationOperation(
        "amount, rate, currency that comes out", convert_currency, takes_currency=True
    ),
    "cents_to_units": CalculationOperation("cents, [currency]", convert_unit, takes_currency=True),
    "units_to_cents": CalculationOperation("amount, [currency]", convert_unit, takes_currency=True),
    **{name: CalculationOperation("figure", convert_unit) for name in UNIT_FACTORS},
    **{
        f"{verb}_{unit}": CalculationOperation(f"date, {unit}", shift_date)
        for verb in ("add", "subtract")
        for unit in ("days", "weeks", "months", "years")
    },
    **{
        f"{verb}_working_days": CalculationOperation("date, days, [holiday...]", shift_date)
        for verb in ("add", "subtract")
    },
    **{name: CalculationOperation("date", find_calendar_day) for name in ("start_of_month", "end_of_month", "weekday")},
    **{
        name: CalculationOperation("date, [at]", compute_age)
        for name in ("age_in_days", "age_in_years", "months_between")
    },
    **{name: CalculationOperation("from, to", measure_time) for name in ("hours_between", "minutes_between")},
    **{name: CalculationOperation("one, other", compare_cells) for name in (*ORDERS, "is_equal", "is_not_equal")},
    **{name: CalculationOperation("condition...", combine_truths) for name in ("all_of", "any_of", "none_of")},
    "is_empty": CalculationOperation("field", are_cells_empty),
    "is_overdue": CalculationOperation("due date of a record", is_record_overdue),
}
