"""Conditions that are true or false, and the row or group that has the least or the most."""

from collections.abc import Callable, Mapping
from decimal import Decimal

from services.executor.core.figures.call import Answer, CalculationCall
from services.executor.core.figures.cells import Cell, find_field_around, plain_name
from services.executor.core.figures.columns import (
    are_dates,
    find_currency,
    find_unit,
    flatten_columns,
    read_cell_amount,
    read_cell_date,
    read_cell_moment,
    read_cell_truth,
)
from services.executor.core.figures.conditions import are_same, compare, is_empty
from services.executor.core.figures.dates import DateOrder, read_possible_dates
from services.executor.core.figures.paid import is_paid
from services.executor.core.figures.written import read_amount, to_fraction
from services.executor.core.finance.money import CannotCalculate
from shared.domain.exact_json import Json, dumps

_KEYS = ("id", "key", "code", "number", "reference", "ref", "sku", "name", "title", "email", "group")


def compare_cells(call: CalculationCall) -> Answer:
    one, other = call.singles()
    if call.operation in ("is_equal", "is_not_equal"):
        _check_comparable(call, one, other)
        return Answer(are_same(one.value, other.value, call.order) is (call.operation == "is_equal"))
    _check_comparable(call, one, other)
    order = compare(one.value, other.value, call.order)
    if order is None:
        both = next((cell for cell in (one, other) if len(read_possible_dates(cell.value)) == 2), None)
        if both is not None:
            read_cell_date(both, call.operation, call.order)
        told = f"{dumps(one.value)[:60]} and {dumps(other.value)[:60]}"
        raise CannotCalculate(f"{call.operation} needs two figures or two dates, not {told}")
    return Answer(ORDERS[call.operation](order))


def _check_comparable(call: CalculationCall, one: Cell, other: Cell) -> None:
    """Amounts of two currencies or units are never compared."""
    amounts = [read_amount(cell.value) for cell in (one, other)]
    if all(amounts):
        find_currency(call.columns, call.operation)
        find_unit([read_cell_amount(cell, call.operation) for cell in (one, other)], call.operation)


def combine_truths(call: CalculationCall) -> Answer:
    truths = [read_cell_truth(cell, call.operation) for cell in flatten_columns(call.columns)]
    if not truths:
        raise CannotCalculate(f"{call.operation} has nothing to look at")
    match call.operation:
        case "all_of":
            return Answer(all(truths))
        case "any_of":
            return Answer(any(truths))
        case _:
            return Answer(not any(truths))


def are_cells_empty(call: CalculationCall) -> Answer:
    return Answer(all(is_empty(cell.value) for cell in flatten_columns(call.columns)))


def is_record_overdue(call: CalculationCall) -> Answer:
    cell = call.singles()[0]
    return Answer(read_cell_date(cell, call.operation, call.order) < call.today and not is_paid(cell.row))


def find_extreme_row(call: CalculationCall) -> Answer:
    """What the row with the least or the most is called; rows that tie are named in the note."""
    cells = flatten_columns(call.columns)
    if not cells:
        raise CannotCalculate(f"{call.operation}: no row meets the conditions")
    sign = -1 if call.operation == "which_has_least" else 1
    if are_dates(cells):
        moments = [read_cell_moment(cell, call.operation, call.order) for cell in cells]
        best = max(moments) if sign > 0 else min(moments)
        found = [cell for cell, moment in zip(cells, moments, strict=True) if moment == best]
    else:
        find_currency(call.columns, call.operation)
        amounts = [read_cell_amount(cell, call.operation) for cell in cells]
        find_unit(amounts, call.operation)
        most = max(sign * to_fraction(amount.number) for amount in amounts)
        found = [cell for cell, one in zip(cells, amounts, strict=True) if sign * to_fraction(one.number) == most]
    keys = [_name_row(cell, call) for cell in found]
    told = f"{found[0].field or 'value'} {_write_text(found[0].value)}"
    tied = [_write_text(key) for key in keys[1:6]]
    more = f"; as much: {', '.join(tied)}{'' if len(keys) <= 6 else f' and {len(keys) - 6} more'}" if tied else ""
    return _answer_field(keys[0], f"{told}{more}", call.order)


def _name_row(cell: Cell, call: CalculationCall) -> Json:
    if call.give:
        found = find_field_around(cell, call.give)
        if found is None:
            raise CannotCalculate(f"the row has no field {call.give!r}; it has {', '.join(list(cell.row)[:12])}")
        return found[1]
    ranked = sorted((key for key in cell.row if _rank_key(key) < len(_KEYS)), key=_rank_key)
    if not ranked:
        raise CannotCalculate(f"say with give which field names the row: {', '.join(list(cell.row)[:12])}")
    return cell.row[ranked[0]]


def _rank_key(key: str) -> int:
    words = plain_name(key).split(" ")
    return _KEYS.index(words[-1]) + (0 if len(words) == 1 else 1) if words[-1] in _KEYS else len(_KEYS)


def _answer_field(value: Json, note: str, order: DateOrder) -> Answer:
    """A field of a row as the value that it is."""
    if isinstance(value, bool):
        return Answer(value, note=note)
    if isinstance(value, int | Decimal):
        return Answer(Decimal(value), note=note)
    days = read_possible_dates(value)
    return Answer(days[0] if len(days) == 1 and not order else _write_text(value), note=note)


def _write_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)


ORDERS: Mapping[str, Callable[[int], bool]] = {
    "is_less": lambda order: order < 0,
    "is_at_most": lambda order: order <= 0,
    "is_more": lambda order: order > 0,
    "is_at_least": lambda order: order >= 0,
}
