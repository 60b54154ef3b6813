"""Operations on dates: moved by days, working days, months and years; ages, and the time between moments."""

import calendar
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from services.executor.core.figures.call import Answer, CalculationCall, settle
from services.executor.core.figures.columns import (
    flatten_columns,
    read_cell_amount,
    read_cell_date,
    read_cell_moment,
    take_single_cell,
)
from services.executor.core.figures.dates import has_time
from services.executor.core.figures.written import WrittenAmount, to_fraction
from services.executor.core.finance.money import CannotCalculate

_MOST_DAYS = 40_000


_MOST_MONTHS = 1_200


def shift_date(call: CalculationCall) -> Answer:
    column, step, *holidays = call.columns
    start = read_cell_date(take_single_cell(column, call.operation), call.operation, call.order)
    verb, _, unit = call.operation.partition("_")
    amount = read_cell_amount(take_single_cell(step, call.operation), call.operation)
    number = _read_whole_number(amount, _MOST_MONTHS if unit in ("months", "years") else _MOST_DAYS, call.operation)
    free = frozenset(read_cell_date(cell, call.operation, call.order) for cell in flatten_columns(holidays))
    try:
        return Answer(_shift_by(start, -number if verb == "subtract" else number, unit, free))
    except (ValueError, OverflowError):
        raise CannotCalculate(f"{call.operation}: that is beyond the calendar") from None


def _shift_by(start: date, number: int, unit: str, holidays: frozenset[date]) -> date:
    if unit == "working_days":
        return _shift_working_days(start, number, holidays)
    if unit in ("months", "years"):
        return _shift_months(start, number * (12 if unit == "years" else 1))
    return start + timedelta(days=number * (7 if unit == "weeks" else 1))


def _shift_months(start: date, months: int) -> date:
    """The same day of another month, or that month's last where it has no such day."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


def _shift_working_days(start: date, number: int, holidays: frozenset[date]) -> date:
    step, day = timedelta(days=1 if number >= 0 else -1), start
    for _ in range(abs(number)):
        day += step
        while day.weekday() > 4 or day in holidays:
            day += step
    return day


def _read_whole_number(amount: WrittenAmount, most: int, operation: str) -> int:
    number = to_fraction(amount.number)
    if number.denominator != 1 or abs(number) > most:
        raise CannotCalculate(f"{operation} needs a whole number of up to {most}")
    return int(number)


def find_calendar_day(call: CalculationCall) -> Answer:
    day = read_cell_date(call.singles()[0], call.operation, call.order)
    if call.operation == "weekday":
        return Answer(calendar.day_name[day.weekday()])
    last = calendar.monthrange(day.year, day.month)[1]
    return Answer(day.replace(day=1 if call.operation == "start_of_month" else last))


def compute_age(call: CalculationCall) -> Answer:
    first, *second = (read_cell_date(cell, call.operation, call.order) for cell in call.singles())
    last = second[0] if second else call.today
    if call.operation == "age_in_days":
        return Answer(Decimal((last - first).days), unit="days")
    months = (last.year - first.year) * 12 + last.month - first.month
    months -= last.day < first.day and last != _end_of(last)
    return Answer(Decimal(months if call.operation == "months_between" else months // 12))


def _end_of(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def measure_time(call: CalculationCall) -> Answer:
    cells = call.singles()
    if not all(has_time(cell.value) for cell in cells):
        raise CannotCalculate(f"{call.operation} needs two moments with their time of day; days_between takes dates")
    first, last = (read_cell_moment(cell, call.operation, call.order) for cell in cells)
    passed = last - first
    seconds = Fraction(passed.days * 86_400 + passed.seconds) + Fraction(passed.microseconds, 1_000_000)
    unit = call.operation.removesuffix("_between")
    return Answer(settle(seconds / (3600 if unit == "hours" else 60)), unit=unit)
