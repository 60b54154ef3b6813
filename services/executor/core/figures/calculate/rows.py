"""Rows of a list that meet a condition, and whether a record says that it is paid."""

from collections.abc import Mapping, Sequence
from datetime import date

from services.executor.core.figures.calculate.cells import Cell, find_field_around, list_names, plain_name
from services.executor.core.figures.calculate.conditions import OVERDUE, find_meeting, is_empty
from services.executor.core.figures.date_values import DateOrder, read_date
from services.executor.core.figures.numbers import read_amount
from services.executor.core.finance.calculator import CannotCalculate
from shared.domain.exact_json import Json, dumps

_FLAGS = frozenset({"paid", "is paid", "settled", "is settled", "fully paid"})
_TIMES = frozenset({"paid at", "paid on", "paid date", "date paid", "payment date", "settled at", "settled on"})
_STATES = frozenset({"status", "state", "payment status", "payment state", "invoice status"})
_DONE = frozenset(
    {"paid", "settled", "paid in full", "fully paid", "closed", "cancelled", "canceled", "void", "voided"}
    | {"written off", "written_off", "credited", "refunded"}
)
_OWED = frozenset({"balance", "balance due", "amount due", "outstanding", "amount outstanding", "open amount"})


def read_field_of_rows(cells: Sequence[Cell], field: str, purpose: str = "") -> list[Json]:
    """What each row has in a field, nothing where it lacks it; ``CannotCalculate`` where no row has it."""
    found = [find_field_around(cell, field) for cell in cells]
    if cells and not any(found):
        raise CannotCalculate(f"no row has the field {field!r}{purpose}; the rows have {describe_fields(cells)}")
    return [one[1] if one else None for one in found]


def describe_fields(cells: Sequence[Cell]) -> str:
    return list_names([cell.row for cell in cells[:50]])


def select_rows(
    cells: list[Cell], values: Sequence[Json], sign: str, against: Sequence[Json], order: DateOrder, today: date
) -> list[Cell]:
    """The rows whose value stands in the relation to what it is compared with."""
    if sign == OVERDUE:
        kept = [_is_overdue(cell, value, order, today) for cell, value in zip(cells, values, strict=True)]
    else:
        kept = find_meeting(values, sign, against, order)
    return [cell for cell, is_kept in zip(cells, kept, strict=True) if is_kept]


def _is_overdue(cell: Cell, due: Json, order: DateOrder, today: date) -> bool:
    day = read_date(due, order)
    if day is None and not is_empty(due):
        raise CannotCalculate(f"{dumps(due)[:60]} is no due date, or one of two: say with date_order which")
    return day is not None and day < today and not is_paid(cell.row)


def is_paid(record: Mapping[str, Json]) -> bool:
    """Whether a record says that nothing is owed: by a flag, a date of payment, a status, or a balance of 0."""
    return any(_says_paid(plain_name(name), value) for name, value in record.items())


def _says_paid(name: str, value: Json) -> bool:
    word = value.strip().casefold() if isinstance(value, str) else ""
    if name in _FLAGS:
        return value is True or word in ("true", "yes", "paid")
    if name in _TIMES:
        return not is_empty(value)
    if name in _STATES:
        return word in _DONE
    amount = read_amount(value) if name in _OWED else None
    return amount is not None and amount.number == 0
