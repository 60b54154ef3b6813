"""Every operation of ``calculate`` by name: those defined here, the finance catalogue, and made tools."""

import calendar
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import NamedTuple

from dateutil.relativedelta import relativedelta

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument
from services.executor.core.figures.calculator import (
    RATIO_PLACES,
    CannotCalculate,
    MadeToolResults,
    accepts_figure_count,
    format_decimal,
)
from services.executor.core.figures.columns import (
    COMPARE_BY_SIGN,
    Cell,
    ListColumn,
    are_dates,
    are_equal_values,
    compare_values,
    equality_key,
    is_paid,
    is_rate_cell,
    name_as_words,
    rank_naming_field,
    require_one_currency,
    require_one_unit,
)
from services.executor.core.figures.dates import DateOrder, has_iso_time, move_day, read_date, read_possible_dates
from services.executor.core.figures.finance import CALCULATORS, Calculator, run_calculator
from services.executor.core.figures.numbers import (
    WIDE_CONTEXT,
    Number,
    WrittenAmount,
    count_decimal_places,
    read_amount,
)
from services.executor.core.figures.vocabulary import UNITS_BY_WORD, currency_places, is_currency_code
from services.executor.core.tools.record_tree import is_empty_value
from shared.domain.exact_json import Json, as_text, dumps

Value = Decimal | date | bool | str
_MOST_RESULT_DIGITS = 50  # digits of a result
_MOST_BITS_OF_PRODUCT = 1_000  # of a product; far more than those digits need
_EXACT_CONTEXT = Context(prec=_MOST_RESULT_DIGITS, traps=[Inexact])
_MOST_DAYS, _MOST_MONTHS = 40_000, 1_200
_EARLIEST_MOMENT = datetime.min.replace(tzinfo=UTC)


class OperationResult(NamedTuple):
    """The result of an operation, with its currency, its unit and a note on it."""

    value: Value
    currency: str = ""
    unit: str = ""
    note: str = ""
    is_groups: bool = False  # the value is a JSON object of decimal texts by group
    keeps_places: bool = False  # rounded to so many places on purpose: those of the minor unit, or six


class CalculationCall(NamedTuple):
    """One operation with the cells of its operands. ``give``: the field by which ``which_has_most`` names its row."""

    operation: str
    columns: Sequence[ListColumn]
    today: date
    order: DateOrder
    give: str = ""

    @property
    def figure_columns(self) -> list[ListColumn]:
        """The columns without those that hold only currency codes."""
        return [column for column in self.columns if column.has_figures]

    def list_cells(self) -> list[Cell]:
        return [cell for column in self.columns for cell in column.list_figure_cells()]

    def read_amounts(self) -> list[WrittenAmount]:
        return [cell.read_amount(self.operation) for cell in self.list_cells()]

    def require_single_cells(self) -> list[Cell]:
        """The single cell of each operand; raises ``CannotCalculate`` if one has several or none."""
        return [column.require_single_cell(self.operation) for column in self.figure_columns]

    def read_single_amounts(self) -> list[WrittenAmount]:
        return [cell.read_amount(self.operation) for cell in self.require_single_cells()]

    def read_single_dates(self) -> list[date]:
        return [cell.read_date(self.operation, self.order) for cell in self.require_single_cells()]

    def require_currency(self) -> str:
        return require_one_currency(self.columns, self.operation)


class CalculationOperation(NamedTuple):
    """What an operation takes and computes. ``arguments``: their names in order, as one text; ``name...`` may repeat,
    and ``[name]`` may be missing: ``date, days, [holiday...]``.
    """

    arguments: str
    compute: Callable[[CalculationCall], OperationResult]
    takes_lists: bool = False  # empty cells and rows without the field are left out
    takes_currency: bool = False  # as an operand of its own
    takes_dates: bool = False


AGGREGATE_OPERATIONS = ("sum", "count", "average", "minimum", "maximum", "count_distinct")
EXTREME_OPERATIONS = ("which_has_most", "which_has_least")
OPERATIONS_ON_WORDS = frozenset({"is_equal", "is_not_equal"})
SOURCELESS_NUMBERS = frozenset({0, 1})
_SIGNS_BY_OPERATION = {"is_less": "<", "is_at_most": "<=", "is_more": ">", "is_at_least": ">="}
_UNIT_SIGNS = {"days": "D", "working_days": "D", "weeks": "K", "months": "H", "years": "J"}


def perform_operation(call: CalculationCall, made_tools: MadeToolResults) -> OperationResult:
    """The operation's result. Raises ``CannotCalculate``, and ``MadeToolNotRun`` for a made tool that did not run."""
    if call.operation in made_tools.tools:
        currency = call.require_currency()
        figures = [_to_decimal(amount.number) for amount in call.read_amounts()]
        value = made_tools.calculate(call.operation, figures, currency_places(currency))
        return OperationResult(value, currency, keeps_places=True)
    if (operation := OPERATIONS.get(call.operation)) is None:
        raise CannotCalculate(f"unknown operation {call.operation!r}")
    operand_count = len(call.columns if operation.takes_currency else call.figure_columns)
    if call.operation not in CALCULATORS and not accepts_figure_count(operation.arguments, operand_count):
        raise CannotCalculate(f"{call.operation} needs {operation.arguments}; got {operand_count} operands")
    return operation.compute(call)


def _run_builtin_calculator(call: CalculationCall) -> OperationResult:
    calculator, currency = CALCULATORS[call.operation], call.require_currency()
    if "..." not in calculator.arguments:
        call.require_single_cells()
    if calculator.takes_dates:
        days = [cell.read_date(call.operation, call.order).toordinal() for cell in call.list_cells()]
        unit = "" if "bucket" in call.operation else "days"
        return OperationResult(run_calculator(call.operation, list(map(Decimal, days))), unit=unit)
    amounts = call.read_amounts()
    if any(amount.unit == "cents" for amount in amounts):
        raise CannotCalculate(f"{call.operation} is of whole units, not cents: convert with cents_to_units first")
    figures = [_to_decimal(amount.number) for amount in amounts]
    try:
        value = run_calculator(call.operation, figures, currency_places(currency))
    except CannotCalculate as error:
        raise CannotCalculate(f"{error} (operands in this order: {calculator.arguments})") from None
    note = f"taken as {_describe_arguments(calculator.arguments, figures)}" if len(figures) <= 8 else ""
    return OperationResult(value, currency if calculator.is_money else "", "", note, keeps_places=True)


def _describe_arguments(arguments: str, figures: Sequence[Decimal]) -> str:
    """The figures with the names under which a calculator takes them: ``gross 100, rate % 25``."""
    names = arguments.split(", ")
    if sum(name.endswith("...") for name in names) > 1:
        return arguments
    names += [names[-1]] * (len(figures) - len(names))
    pairs = zip(names, figures, strict=False)
    return ", ".join(f"{name.removesuffix('...')} {format_decimal(figure)}" for name, figure in pairs)


_SOURCELESS_BY_OPERATION: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("product", "quotient"), frozenset({0, 1, 2, 4, 7, 12, 24, 52, 60, 100, 365})),
    "difference": frozenset({0, 1, 100}),
    **dict.fromkeys((*_SIGNS_BY_OPERATION, "is_equal", "is_not_equal"), SOURCELESS_NUMBERS),
    **{f"{verb}_{unit}": SOURCELESS_NUMBERS for verb in ("add", "subtract")
       for unit in ("days", "weeks", "months", "years", "working_days")},
}  # fmt: skip
_PERIODS_A_YEAR = frozenset({1, 2, 4, 12, 52, 365})
_SELECTING_ARGUMENTS = frozenset({"part number", "month", "period", "year", "trials", "start"})  # say which one


def sourceless_numbers(operation: str, place: int) -> frozenset[int]:
    """The numbers that need no source as the operand at ``place`` (from 0): 12 in a product (months a year), 1 to 1,200
    as a "part number" ("the third of five").
    """
    if operation not in CALCULATORS:
        return _SOURCELESS_BY_OPERATION.get(operation, frozenset({0}))
    name = _argument_name_at(operation, place)
    if name in _SELECTING_ARGUMENTS:
        return frozenset(range(1, 1201))
    return _PERIODS_A_YEAR if name.endswith("a year") else SOURCELESS_NUMBERS


def takes_percent(operation: str, place: int) -> bool:
    """Whether the operand at ``place`` (from 0) may be a share, so that 0.2 may stand for the task's 20 %."""
    name = _argument_name_at(operation, place)
    return operation in ("product", "quotient") or name == "percent" or "%" in name


def _argument_name_at(operation: str, place: int) -> str:
    """The name of an operation's argument; empty for a made tool."""
    names = OPERATIONS[operation].arguments.split(", ") if operation in OPERATIONS else [""]
    return names[min(place, len(names) - 1)]


def _to_decimal(number: Number) -> Decimal:
    """A number as a decimal: exact if it terminates, else to 24 digits."""
    return number if isinstance(number, Decimal) else Context(prec=24).divide(*map(Decimal, number.as_integer_ratio()))


def to_result_decimal(number: Fraction) -> Decimal:
    """A fraction as a decimal, exact or rounded half up to six places. Raises ``CannotCalculate`` if it is too long."""
    try:
        return _EXACT_CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))
    except Inexact:
        if pow(10, 400, number.denominator) == 0:  # it has an end, beyond the digits that are kept
            raise CannotCalculate(f"the result has more than {_MOST_RESULT_DIGITS} digits") from None
        return _round_ratio(number)


def _round_ratio(number: Fraction) -> Decimal:
    """A fraction rounded half up to six places. Raises ``CannotCalculate`` if that has too many digits."""
    scaled = abs(number) * 10**RATIO_PLACES + Fraction(1, 2)
    rounded = Decimal(scaled.numerator // scaled.denominator).scaleb(-RATIO_PLACES, WIDE_CONTEXT)
    if len(rounded.as_tuple().digits) > _MOST_RESULT_DIGITS:
        raise CannotCalculate(f"the result has more than {_MOST_RESULT_DIGITS} digits")
    return rounded.copy_negate() if number < 0 else rounded


def _compute_arithmetic(call: CalculationCall) -> OperationResult:
    columns = call.figure_columns
    if call.operation in ("minimum", "maximum") and are_dates(call.list_cells()):
        pick = min if call.operation == "minimum" else max
        extreme = pick(call.list_cells(), key=lambda cell: cell.read_moment(call.operation, call.order))
        return OperationResult(extreme.read_date(call.operation, call.order))
    if call.operation in ("difference", "quotient", "percentage"):
        for column in columns[: 1 if call.operation == "difference" else None]:
            column.require_single_cell(call.operation)
    amounts = call.read_amounts()
    unit, currency = _result_unit(call, amounts), _result_currency(call)
    numbers = [_scale_percent(amount, call.operation) for amount in amounts]
    value = compute_exactly(call.operation, [Fraction(number) for number in numbers])
    if call.operation in ("minimum", "maximum"):
        value = _to_decimal(next(number for number in numbers if number == value))
    result = value if isinstance(value, Decimal) else _to_result_with_places(value, numbers)
    return OperationResult(result, currency, unit)


def _to_result_with_places(value: Fraction, numbers: Sequence[Number]) -> Decimal:
    """The value padded to the most places of the numbers, at most two: 0.10 + 0.20 is 0.30; for fractions unpadded."""
    result = to_result_decimal(value)
    if any(isinstance(number, Fraction) for number in numbers):
        return result
    operand_places = max(map(count_decimal_places, numbers), default=0)
    places = max(count_decimal_places(result), min(operand_places, 2))
    return result.quantize(Decimal(1).scaleb(-places), context=WIDE_CONTEXT)


def compute_exactly(operation: str, numbers: Sequence[Fraction]) -> Fraction | Decimal:
    """The exact result of an arithmetic operation such as ``sum``; quotients and averages are rounded half up to six
    places. Raises ``CannotCalculate`` for too few operands, and a division by zero.
    """
    least, compute = _ARITHMETIC_FORMULAS[operation]
    if len(numbers) < least:
        raise CannotCalculate(f"{operation} needs {least} operands or more, got {len(numbers)}")
    return compute(numbers)


def _multiply(numbers: Iterable[Fraction]) -> Fraction:
    product = Fraction(1)
    for number in numbers:
        product *= number
        if max(product.numerator.bit_length(), product.denominator.bit_length()) > _MOST_BITS_OF_PRODUCT:
            raise CannotCalculate(f"the result has more than {_MOST_RESULT_DIGITS} digits")
    return product


def _result_unit(call: CalculationCall, amounts: Sequence[WrittenAmount]) -> str:
    """The unit of the result, which may be empty. Raises ``CannotCalculate`` for a sum of unlike units."""
    if call.operation in ("product", "quotient", "percentage"):
        units = {amount.unit for amount in amounts}
        first_unit = amounts[0].unit if amounts else ""
        if call.operation == "quotient":
            return "cents" if first_unit == "cents" and _is_count(call.list_cells()[1]) else ""
        return first_unit if units <= {first_unit, ""} else ""
    percents = [amount.style == "percent" for amount in amounts]
    if call.operation in ("sum", "difference") and any(percents) and not all(percents):
        pairs = zip(call.list_cells(), percents, strict=True)
        if not all(is_percent or is_rate_cell(cell) for cell, is_percent in pairs):
            raise CannotCalculate(
                f"{call.operation} of an amount and a percentage: take increase_by_percent, decrease_by_percent or "
                "percentage"
            )
    return require_one_unit(amounts, call.operation)


def _is_count(cell: Cell) -> bool:
    """Whether a cell is a field with a whole number of things, so that what is divided by it is only shared out."""
    if not cell.field or not isinstance(cell.value, int) or cell.read_amount("quotient").unit:
        return False
    return kind_of_argument(cell.field, {}, cell.value) is ArgumentKind.QUANTITY  # of a truth value it is a choice


def _scale_percent(amount: WrittenAmount, operation: str) -> Number:
    """The number that an operation works with: of 20 % 0.2 for a product, of one fifth 20 for a percentage."""
    if operation in ("product", "quotient") and amount.style == "percent":
        return amount.number / 100 if isinstance(amount.number, Fraction) else amount.number.scaleb(-2)
    return amount.number * 100 if operation == "percentage" and amount.style == "fraction" else amount.number


def _result_currency(call: CalculationCall) -> str:
    """The currency of the result; empty where amounts are divided by each other, or multiplied by an exchange rate."""
    currency = call.require_currency()
    if call.operation not in ("product", "quotient"):
        return currency
    currencies = [require_one_currency([column], call.operation) for column in call.columns]
    words = {word for column in call.columns for cell in column.cells[:1] for word in name_as_words(cell.field).split()}
    if words & {"exchange", "fx"} or (call.operation == "quotient" and any(currencies[1:])):
        return ""
    codes = {code for code in currencies if code}
    return codes.pop() if len(codes) == 1 else ""


def _divide(dividend: Fraction, divisor: Fraction, operation: str) -> Fraction:
    if not divisor:
        raise CannotCalculate(f"{operation}: nothing can be divided by 0")
    return dividend / divisor


# By operation, the least number of operands that it takes, and how its result is computed.
_ARITHMETIC_FORMULAS: Mapping[str, tuple[int, Callable[[Sequence[Fraction]], Fraction | Decimal]]] = {
    "sum": (0, lambda numbers: sum(numbers, Fraction(0))),
    "difference": (2, lambda numbers: numbers[0] - sum(numbers[1:])),
    "product": (1, _multiply),
    "quotient": (2, lambda numbers: _round_ratio(_divide(numbers[0], numbers[1], "quotient"))),
    "percentage": (2, lambda numbers: numbers[0] * numbers[1] / 100),
    "average": (1, lambda numbers: _round_ratio(sum(numbers, Fraction(0)) / len(numbers))),
    "minimum": (1, min),
    "maximum": (1, max),
}


def _count_cells(call: CalculationCall) -> OperationResult:
    values = [cell.value for column in call.columns for cell in column.cells]
    return OperationResult(Decimal(len(values if call.operation == "count" else {*map(equality_key, values)})))


def _find_extreme_row(call: CalculationCall) -> OperationResult:
    """The name of the row with the highest or the lowest figure, as the call asks; of equal rows the first. The note
    has that figure, and the other rows that have it, too.

    Raises ``CannotCalculate`` if there is no row.
    """
    cells = call.list_cells()
    if not cells:
        raise CannotCalculate(f"{call.operation}: no row meets the conditions")
    if are_dates(cells):
        moments = [cell.read_moment(call.operation, call.order) for cell in cells]
        ranks = [Fraction((moment - _EARLIEST_MOMENT) // timedelta(microseconds=1)) for moment in moments]
    else:
        call.require_currency()
        require_one_unit(call.read_amounts(), call.operation)
        ranks = [Fraction(amount.number) for amount in call.read_amounts()]
    extreme = (min if call.operation == "which_has_least" else max)(ranks)
    rows = [cell for cell, rank in zip(cells, ranks, strict=True) if rank == extreme]
    names = [_find_row_name(cell, call) for cell in rows]
    note = f"{rows[0].field or 'value'} {as_text(rows[0].value)}"
    if len(names) > 1:
        note += f"; as much: {', '.join(map(as_text, names[1:6]))}"
    if len(names) > 6:
        note += f" and {len(names) - 6} more"
    return _build_field_result(names[0], note, call.order)


def _find_row_name(cell: Cell, call: CalculationCall) -> Json:
    """The value of the row's ``give``, or of its best naming field; raises ``CannotCalculate`` if there is none."""
    if call.give:
        field = cell.find_field(call.give)
        if field is None:
            raise CannotCalculate(f"the row has no field {call.give!r}; it has {', '.join(list(cell.row)[:12])}")
        return field[1]
    ranked = sorted((rank, key) for key in cell.row if (rank := rank_naming_field(key)) is not None)
    if not ranked:
        raise CannotCalculate(f"say with give which field names the row: {', '.join(list(cell.row)[:12])}")
    return cell.row[ranked[0][1]]


def _build_field_result(value: Json, note: str, order: DateOrder) -> OperationResult:
    """A row's field as a result: a truth value, a number, a date if it has one meaning or ``order`` says which, or a
    text.
    """
    if isinstance(value, bool | int | Decimal):
        return OperationResult(value if isinstance(value, bool) else Decimal(value), note=note)
    day = None if has_iso_time(value) else read_date(value, order)
    return OperationResult(day or as_text(value), note=note)


def _change_by_percent(call: CalculationCall) -> OperationResult:
    base, percent = call.read_single_amounts()
    part = Fraction(_scale_percent(percent, "percentage")) / 100
    factor = 1 + part if call.operation == "increase_by_percent" else 1 - part
    result = to_result_decimal(Fraction(base.number) * factor)
    return OperationResult(result, require_one_currency(call.columns, "percentage"), base.unit)


def _compute_share(call: CalculationCall) -> OperationResult:
    """A share or change in percent: exact until it is rounded to six places."""
    require_one_currency(call.columns, "comparison")
    require_one_unit(call.read_single_amounts(), call.operation)
    first, second = (Fraction(amount.number) for amount in call.read_single_amounts())
    part, base = (first, second) if call.operation == "percent_share" else (second - first, first)
    return OperationResult(to_result_decimal(_divide(part * 100, base, call.operation)))


def _sum_products(call: CalculationCall) -> OperationResult:
    if len({len(column.cells) for column in call.columns}) != 1:
        raise CannotCalculate("sum_of_products needs lists of equal length")
    rows = zip(*(column.cells for column in call.columns), strict=True)
    factors = [[_scale_percent(cell.read_amount(call.operation), "product") for cell in row] for row in rows]
    total = sum((_multiply(Fraction(factor) for factor in row) for row in factors), Fraction(0))
    unit = "cents" if any(amount.unit == "cents" for amount in call.read_amounts()) else ""
    return OperationResult(to_result_decimal(total), call.require_currency(), unit)


def _round_to_whole(call: CalculationCall) -> OperationResult:
    [amount] = call.read_single_amounts()
    number = Fraction(amount.number)
    rounded = number.__ceil__() if call.operation == "round_up" else number.__floor__()
    return OperationResult(Decimal(rounded), call.require_currency(), amount.unit)


def _convert_currency(call: CalculationCall) -> OperationResult:
    cells = [column.require_single_cell(call.operation) for column in call.columns]
    amount, rate = (cell.read_amount(call.operation) for cell in cells[:2])
    code = cells[2].value
    if not isinstance(code, str) or not is_currency_code(code):
        raise CannotCalculate("convert_currency needs amount, rate, and the code of the currency that comes out")
    result = to_result_decimal(Fraction(amount.number) * Fraction(rate.number))
    return OperationResult(result, code.strip(), amount.unit)


def _convert_unit(call: CalculationCall) -> OperationResult:
    source, target = call.operation.split("_to_")
    column = call.columns[0]
    amount = column.require_single_cell(call.operation).read_amount(call.operation)
    if source == "units" and amount.unit == "cents":
        raise CannotCalculate(f"{column.operand_text} is in cents already")
    if amount.unit and source not in (amount.unit, "units"):
        raise CannotCalculate(f"{column.operand_text} is in {amount.unit}, not in {source}")
    currency = call.require_currency()
    sizes = {name: unit.size for name, unit in UNITS_BY_WORD.items()}
    sizes |= {"cents": Fraction(1), "units": Fraction(10 ** currency_places(currency))}
    value = to_result_decimal(Fraction(amount.number) * sizes[source] / sizes[target])
    return OperationResult(value, currency, "" if target == "units" else target)


def _compare_cells(call: CalculationCall) -> OperationResult:
    cells = call.require_single_cells()
    value, other = (cell.value for cell in cells)
    if read_amount(value) and read_amount(other):  # amounts of two currencies or units are never compared
        call.require_currency()
        require_one_unit(call.read_single_amounts(), call.operation)
    if call.operation in OPERATIONS_ON_WORDS:
        return OperationResult(are_equal_values(value, other, call.order) is (call.operation == "is_equal"))
    order = compare_values(value, other, call.order)
    if order is not None:
        return OperationResult(COMPARE_BY_SIGN[_SIGNS_BY_OPERATION[call.operation]](order, 0))
    for cell in cells:
        if len(read_possible_dates(cell.value)) == 2:
            cell.read_date(call.operation, call.order)  # raises, unless the call has an order of dates
            break
    values = f"{dumps(value)[:60]} and {dumps(other)[:60]}"
    raise CannotCalculate(f"{call.operation} needs two figures or two dates, not {values}")


def _combine_truth_values(call: CalculationCall) -> OperationResult:
    truths = [cell.read_truth(call.operation) for cell in call.list_cells()]
    if not truths:
        raise CannotCalculate(f"{call.operation} has nothing to look at")
    return OperationResult(all(truths) if call.operation == "all_of" else any(truths) is (call.operation == "any_of"))


def _check_if_overdue(call: CalculationCall) -> OperationResult:
    [day] = call.read_single_dates()
    return OperationResult(day < call.today and not is_paid(call.require_single_cells()[0].row))


def _shift_date(call: CalculationCall) -> OperationResult:
    start, step = (column.require_single_cell(call.operation) for column in call.columns[:2])
    verb, _, unit = call.operation.partition("_")
    most_units = _MOST_MONTHS if unit in ("months", "years") else _MOST_DAYS
    number = Fraction(step.read_amount(call.operation).number)
    if number.denominator != 1 or abs(number) > most_units:
        raise CannotCalculate(f"{call.operation} needs a whole number of up to {most_units}")
    day = start.read_date(call.operation, call.order)
    cells = [cell for column in call.columns[2:] for cell in column.list_figure_cells()]
    holidays = {cell.read_date(call.operation, call.order) for cell in cells}
    count = -int(number) if verb == "subtract" else int(number)
    shifted = move_day(day, count, _UNIT_SIGNS[unit], is_working=unit == "working_days", holidays=holidays)
    if shifted is None:
        raise CannotCalculate(f"{call.operation}: that is beyond the calendar")
    return OperationResult(shifted)


def _find_calendar_day(call: CalculationCall) -> OperationResult:
    [day] = call.read_single_dates()
    if call.operation == "weekday":
        return OperationResult(calendar.day_name[day.weekday()])
    return OperationResult(day.replace(day=1) if call.operation == "start_of_month" else _end_of_month(day))


def _compute_age(call: CalculationCall) -> OperationResult:
    start, end = (*call.read_single_dates(), call.today)[:2]
    if call.operation == "age_in_days":
        return OperationResult(Decimal((end - start).days), unit="days")
    months = (end.year - start.year) * 12 + end.month - start.month
    months -= end.day < start.day and end != _end_of_month(end)
    return OperationResult(Decimal(months if call.operation == "months_between" else months // 12))


def _end_of_month(day: date) -> date:
    return day + relativedelta(day=31)


def _compute_time_between(call: CalculationCall) -> OperationResult:
    cells = call.require_single_cells()
    if not all(has_iso_time(cell.value) for cell in cells):
        raise CannotCalculate(f"{call.operation} needs two moments with their time of day; days_between takes dates")
    start, end = (cell.read_moment(call.operation, call.order) for cell in cells)
    seconds = Fraction((end - start) // timedelta(microseconds=1), 1_000_000)
    unit = call.operation.removesuffix("_between")
    return OperationResult(to_result_decimal(seconds / UNITS_BY_WORD[unit].size), unit=unit)


_OPERATIONS_BY_NAMES: Mapping[str, CalculationOperation] = {
    "percentage": CalculationOperation("base, percent", _compute_arithmetic),
    "quotient": CalculationOperation("dividend, divisor", _compute_arithmetic),
    "product": CalculationOperation("factor...", _compute_arithmetic),
    "difference": CalculationOperation("from, taken off...", _compute_arithmetic),
    "sum average minimum maximum": CalculationOperation("figure...", _compute_arithmetic, takes_lists=True),
    "count": CalculationOperation("rows...", _count_cells, takes_lists=True),
    "count_distinct": CalculationOperation("field of rows...", _count_cells, takes_lists=True),
    "which_has_most which_has_least": CalculationOperation("figure of rows", _find_extreme_row, takes_lists=True),
    "increase_by_percent decrease_by_percent": CalculationOperation("base, percent", _change_by_percent),
    "percent_change": CalculationOperation("old, new", _compute_share),
    "percent_share": CalculationOperation("part, whole", _compute_share),
    "sum_of_products": CalculationOperation("list, list...", _sum_products),
    "round_up round_down": CalculationOperation("figure", _round_to_whole),
    "convert_currency": CalculationOperation(
        "amount, rate, currency that comes out", _convert_currency, takes_currency=True
    ),
    "seconds_to_minutes minutes_to_hours hours_to_minutes hours_to_days days_to_hours days_to_weeks weeks_to_days "
    "months_to_years years_to_months": CalculationOperation("figure", _convert_unit),
    "units_to_cents": CalculationOperation("amount, [currency]", _convert_unit, takes_currency=True),
    "cents_to_units": CalculationOperation("cents, [currency]", _convert_unit, takes_currency=True),
    "is_less is_at_most is_more is_at_least is_equal is_not_equal": CalculationOperation("one, other", _compare_cells),
    "all_of any_of none_of": CalculationOperation("condition...", _combine_truth_values),
    "is_empty": CalculationOperation(
        "field", lambda call: OperationResult(all(is_empty_value(cell.value) for cell in call.list_cells()))
    ),
    "is_overdue": CalculationOperation("due date of a record", _check_if_overdue, takes_dates=True),
    "add_working_days subtract_working_days": CalculationOperation(
        "date, days, [holiday...]", _shift_date, takes_dates=True
    ),
    "add_years subtract_years": CalculationOperation("date, years", _shift_date, takes_dates=True),
    "add_months subtract_months": CalculationOperation("date, months", _shift_date, takes_dates=True),
    "add_weeks subtract_weeks": CalculationOperation("date, weeks", _shift_date, takes_dates=True),
    "add_days subtract_days": CalculationOperation("date, days", _shift_date, takes_dates=True),
    "start_of_month end_of_month weekday": CalculationOperation("date", _find_calendar_day, takes_dates=True),
    "age_in_days age_in_years months_between": CalculationOperation("date, [at]", _compute_age, takes_dates=True),
    "hours_between minutes_between": CalculationOperation("from, to", _compute_time_between, takes_dates=True),
}
_OWN_OPERATIONS = {name: operation for names, operation in _OPERATIONS_BY_NAMES.items() for name in names.split()}
OPERATIONS: Mapping[str, CalculationOperation] = _OWN_OPERATIONS | {
    name: CalculationOperation(calculator.arguments, _run_builtin_calculator, takes_dates=calculator.takes_dates)
    for name, calculator in CALCULATORS.items()
}


def _list_names_by_arguments(
    table: Mapping[str, Calculator] | Mapping[str, CalculationOperation], separator: str
) -> list[str]:
    """The names in a table, grouped by the arguments that they take, which follow each group in brackets."""
    names_by_arguments: dict[str, list[str]] = {}
    for name, entry in table.items():
        names_by_arguments.setdefault(entry.arguments, []).append(name)
    return [f"{separator.join(names)}{separator[1:]}({arguments})" for arguments, names in names_by_arguments.items()]


CALCULATORS_DESCRIPTION = "; ".join(_list_names_by_arguments(CALCULATORS, "/"))  # for a model: npv(rate %, flow...)
OPERATIONS_DESCRIPTION = "; ".join([*_list_names_by_arguments(_OWN_OPERATIONS, ", "), CALCULATORS_DESCRIPTION])
