"""Columns of the rows of a result: their cells, and the conditions that select rows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import NamedTuple, TypeVar

from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.figures.dates import (
    DateOrder,
    are_same_day,
    has_iso_time,
    parse_iso_datetime,
    read_date,
    read_moment,
    read_possible_dates,
    read_whole_days,
)
from services.executor.core.figures.identifiers import has_digit
from services.executor.core.figures.numbers import WrittenAmount, read_amount, read_figure, read_number_word
from services.executor.core.figures.vocabulary import TRUTH_VALUES_BY_WORD, common_currency, is_currency_code
from services.executor.core.session.values import Operand
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_empty_value
from shared.domain.exact_json import Json, JsonObject, as_text, dumps

_CURRENCY_FIELDS = frozenset({"currency", "currency code", "currency iso", "iso currency", "ccy", "curr"})
_NAMING_WORDS = ("id", "key", "code", "number", "reference", "ref", "sku", "name", "title", "email", "group")
_AMOUNT_WORDS = ("amount", "value", "total", "units")
SAY_DATE_ORDER_TEXT = "say with date_order which (day_first or month_first)"
_Time = TypeVar("_Time", date, datetime)


class Cell(NamedTuple):
    """One value of a result. ``records``: the objects around it, the outermost first; ``field``: its field's name.
    ``currency`` and ``unit``: known of a calculated value; else empty, and its field or its records may name them.
    """

    value: Json
    records: tuple[JsonObject, ...] = ()
    field: str = ""
    currency: str = ""
    unit: str = ""

    @property
    def row(self) -> JsonObject:
        """The record to which conditions apply: the value itself if it is an object, else the object around it."""
        return self.value if isinstance(self.value, dict) else self.records[-1] if self.records else {}

    def find_field(self, name: str) -> tuple[str, Json] | None:
        """Name and value of a field, or of a dotted path, in the record or the nearest one around it; else None."""
        own_record = [self.value] if isinstance(self.value, dict) else []
        fields = (_find_field_inside(record, name) for record in (*own_record, *reversed(self.records)))
        return next((field for field in fields if field is not None), None)

    def unwrap_money(self) -> "Cell":
        """The cell; for a money object such as ``{"amount": 5, "currency": "EUR"}`` the cell of its amount."""
        if not isinstance(self.value, dict) or not any(name_as_words(key) in _CURRENCY_FIELDS for key in self.value):
            return self
        fields = (find_field(self.value, name) for name in _AMOUNT_WORDS)
        amount = next((field for field in fields if field is not None), None)
        return Cell(amount[1], (*self.records, self.value), self.field) if amount else self

    def read_amount(self, operation: str) -> WrittenAmount:
        """The number with its unit; raises ``CannotCalculate``, naming the cell, if it is no number."""
        amount = read_amount(self.value)
        if amount is None and isinstance(self.value, str):
            amount = read_number_word(self.value)
        if amount is None:
            dates = "; for dates take days_between, add_days or is_less" if read_possible_dates(self.value) else ""
            raise CannotCalculate(f"{operation} needs figures, and {self._describe()} is none{dates}")
        return amount._replace(unit=amount.unit or self.unit or _unit_in_field_name(self.field))

    def read_date(self, operation: str, order: DateOrder) -> date:
        """The date; raises ``CannotCalculate``, naming the cell, if it is no date or could be two."""
        return self._require_time(read_date(self.value, order), operation)

    def read_moment(self, operation: str, order: DateOrder) -> datetime:
        """The date and time of day in UTC; raises ``CannotCalculate``, naming it, if it is no date or could be two."""
        return self._require_time(read_moment(self.value, order), operation)

    def read_truth(self, operation: str) -> bool:
        """The truth value, also written as a word; raises ``CannotCalculate``, naming the cell, if it is none."""
        if isinstance(self.value, bool):
            return self.value
        truth = TRUTH_VALUES_BY_WORD.get(self.value.strip().casefold()) if isinstance(self.value, str) else None
        if truth is None:
            problem = f"{self._describe()} is none"
            raise CannotCalculate(f"{operation} needs conditions that are true or false, and {problem}")
        return truth

    def _require_time(self, time: _Time | None, operation: str) -> _Time:
        if time is not None:
            return time
        days = read_possible_dates(self.value)
        if len(days) > 1:
            text = dumps(self.value)
            raise CannotCalculate(f"{text} can be {days[0]} or {days[1]}: {SAY_DATE_ORDER_TEXT}")
        raise CannotCalculate(f"{operation} needs dates, and {self._describe()} is none")

    def _describe(self) -> str:
        if isinstance(self.value, dict):
            return f"a record with the fields {', '.join(list(self.value)[:8])}"
        return dumps(self.value)[:60]


def find_field(record: JsonObject, name: str) -> tuple[str, Json] | None:
    """The name and value of a record's field, ``due date`` or ``dueDate`` alike; None if it has none."""
    if name in record:
        return name, record[name]
    words = name_as_words(name)
    return next(((key, value) for key, value in record.items() if name_as_words(key) == words), None)


def _find_currency_name(cell: Cell) -> str:
    """The currency that the cell's own record names, else the nearest record around it; empty if none does."""
    for record in reversed(cell.records):
        values = (value for key, value in record.items() if name_as_words(key) in _CURRENCY_FIELDS)
        value = record.get("currency") or next(values, None)
        if isinstance(value, str) and value:
            return value.strip().upper()
    return ""


def rank_naming_field(field: str) -> int | None:
    """How well a field identifies its record; lower is better: ``id``, ``order_id``, ``name``. None if it does not."""
    words = name_as_words(field).split(" ")
    return 2 * _NAMING_WORDS.index(words[-1]) + (len(words) > 1) if words[-1] in _NAMING_WORDS else None


@lru_cache(maxsize=4096)
def name_as_words(name: str) -> str:
    return " ".join(words_of(name)) or name.casefold()


def _find_field_inside(record: JsonObject, name: str) -> tuple[str, Json] | None:
    field = find_field(record, name)
    if field is not None or "." not in name:
        return field
    outer_name, inner_name = name.split(".", 1)
    _, outer = find_field(record, outer_name) or ("", None)
    return _find_field_inside(outer, inner_name) if isinstance(outer, dict) else None


_RATE_OPERATIONS = frozenset({"product", "quotient", "percentage", "convert_currency", "percent_share"})
_COUNT_WORDS = frozenset(
    "quantity qty count counts units pieces days hours minutes seconds months years weeks percent percentage pct rate "
    "ratio score number age weight size index level rank heads headcount".split()
)
_RATE_WORDS = frozenset("rate rates percent percentage pct".split())
_UNITS_BY_WORD = {
    **dict.fromkeys(("cents", "minor", "pence"), "cents"),
    **{name: name for name in ("seconds", "minutes", "hours", "days", "weeks")},
    "secs": "seconds",
    "mins": "minutes",
    "hrs": "hours",
}
_NO_OPERAND = Operand(source="constant")


class ListColumn(NamedTuple):
    """The cells at a path. ``is_list``: whether a list is on the path; ``missing``: how many rows lack the field."""

    cells: list[Cell]
    is_list: bool = False
    missing: int = 0
    operand: Operand = _NO_OPERAND

    @property
    def operand_text(self) -> str:
        """The operand as error messages name it."""
        operand = self.operand
        if operand.source == "result":
            return f"{operand.ref}{'' if operand.path[:1] in ('', '[') else '.'}{operand.path}"
        return operand.literal or f"{operand.ref}{'.' if operand.path else ''}{operand.path}"

    @property
    def has_figures(self) -> bool:
        """Whether the column has more than currency codes, or is empty."""
        return not self.cells or not all(is_currency_code(cell.value) for cell in self.cells)

    def list_figure_cells(self) -> list[Cell]:
        """The cells, money objects as their amounts. Currency codes are left out: they are no figures."""
        return [cell.unwrap_money() for cell in self.cells if not is_currency_code(cell.value)]

    def require_single_cell(self, operation: str) -> Cell:
        """The only cell, money as its amount; raises ``CannotCalculate`` if there are several or none."""
        if len(self.cells) == 1:
            return self.cells[0].unwrap_money()
        if not self.cells:
            raise CannotCalculate(f"{self.operand_text} has no value: no row meets the conditions")
        raise CannotCalculate(
            f"{operation} takes one figure for each operand, and {self.operand_text} has {len(self.cells)}: "
            "add a condition, or name their sum first"
        )

    def drop_empty_and_read_money(self) -> "ListColumn":
        """The column without its empty cells, which are counted as missing; money objects become their amounts."""
        cells = [cell.unwrap_money() for cell in self.cells]
        present = [cell for cell in cells if not is_empty_value(cell.value)]
        return self._replace(cells=present, missing=self.missing + len(cells) - len(present))


def list_field_values(cells: Iterable[Cell], name: str) -> list[Json]:
    """For each cell the value of a field in its record or the nearest one around it; None if there is none."""
    fields = (cell.find_field(name) for cell in cells)
    return [field[1] if field else None for field in fields]


def are_dates(cells: Sequence[Cell]) -> bool:
    return bool(cells) and all(read_possible_dates(cell.value) for cell in cells)


def require_one_currency(columns: Sequence[ListColumn], operation: str) -> str:
    """The one currency of all amounts; empty if none is named, or several fit.

    If none fits all, raises ``CannotCalculate``; a product or share may be of two currencies, and then has none.
    """
    cells = [cell for column in columns for cell in column.cells]
    hints = dict.fromkeys(hint for cell in cells for hint in _currency_hints(cell))
    currency = common_currency(hints)
    if currency is None and operation not in _RATE_OPERATIONS:
        texts = ", ".join(hint for hint in hints if common_currency([hint]) != "" or not hint.isalnum())
        raise CannotCalculate(
            f"{operation} of amounts in different currencies ({texts[:80]}): convert them first, or take one currency "
            "at a time by a condition"
        )
    return currency or ""


def require_one_unit(amounts: Sequence[WrittenAmount], operation: str) -> str:
    """The one unit of the amounts; amounts without a unit are taken to have it.

    Raises ``CannotCalculate`` if two units differ, or some amounts are in cents and others without a unit.
    """
    units = dict.fromkeys(amount.unit for amount in amounts if amount.number)
    unit_names = [unit for unit in units if unit]
    if len(unit_names) > 1 or ("cents" in units and "" in units):
        description = " and ".join(unit or "whole units" for unit in units)
        operation_name = "cents_to_units" if "cents" in unit_names else f"{unit_names[0]}_to_{unit_names[-1]}"
        raise CannotCalculate(f"{operation} of {description}: convert them first, as with {operation_name}")
    return unit_names[0] if unit_names else ""


def is_rate_cell(cell: Cell) -> bool:
    return any(word in _RATE_WORDS for word in name_as_words(cell.field).split())


def _unit_in_field_name(field: str) -> str:
    """The unit in a field's name: ``amount_cents``, ``duration_minutes``; empty if there is none."""
    words = reversed(name_as_words(field).split())
    return next((_UNITS_BY_WORD[word] for word in words if word in _UNITS_BY_WORD), "")


def _currency_hints(cell: Cell) -> list[str]:
    texts = [cell.value] if isinstance(cell.value, str) else []
    currency = cell.currency or ("" if _is_count_name(cell.field) else _find_currency_name(cell))
    return [hint for hint in (*texts, currency) if hint]


def _is_count_name(field: str) -> bool:
    words = set(name_as_words(field).split())
    return bool(words & _COUNT_WORDS) and not words & {"amount", "price", "cost", "total", "fee"}


_PAID_FLAG_FIELDS = frozenset({"paid", "is paid", "settled", "is settled", "fully paid"})
_PAYMENT_TIME_FIELDS = frozenset(
    {"paid at", "paid on", "paid date", "date paid", "payment date", "settled at", "settled on"}
)
_STATUS_FIELDS = frozenset({"status", "state", "payment status", "payment state", "invoice status"})
_PAID_WORDS = frozenset(
    {"paid", "settled", "paid in full", "fully paid", "closed", "cancelled", "canceled", "void", "voided"}
    | {"written off", "written_off", "credited", "refunded"}
)
_OPEN_AMOUNT_FIELDS = frozenset(
    {"balance", "balance due", "amount due", "outstanding", "amount outstanding", "open amount"}
)


def is_paid(record: Mapping[str, Json]) -> bool:
    """Whether a record says that nothing is owed: by a flag, a payment date, a status, or a balance of 0."""
    return any(_is_sign_of_payment(name_as_words(name), value) for name, value in record.items())


def _is_sign_of_payment(name: str, value: Json) -> bool:
    word = value.strip().casefold() if isinstance(value, str) else ""
    if name in _PAID_FLAG_FIELDS:
        return value is True or word in ("true", "yes", "paid")
    if name in _PAYMENT_TIME_FIELDS:
        return not is_empty_value(value)
    if name in _STATUS_FIELDS:
        return word in _PAID_WORDS
    amount = read_amount(value) if name in _OPEN_AMOUNT_FIELDS else None
    return amount is not None and amount.number == 0


_CURRENCY_OR_PERCENT_PATTERN = re.compile(r"\b[A-Z]{3}\b|[$€£¥%]")


def shows_same_value(shown: Json, claimed: Json) -> bool:
    """Whether two values are equal: as figures of one unit, moments, days, or texts without regard to case."""
    if shown == claimed:
        return True
    if isinstance(shown, str) and isinstance(claimed, str):
        if shown.strip().casefold() == claimed.strip().casefold():
            return True
        if not (has_digit(shown) and has_digit(claimed)):
            return False
    moment = parse_iso_datetime(shown)
    if (moment is not None and moment == parse_iso_datetime(claimed)) or are_same_day(shown, claimed):
        return True
    number = read_figure(shown)
    if number is None or number != read_figure(claimed):
        return False
    return len({tuple(_CURRENCY_OR_PERCENT_PATTERN.findall(str(value))) for value in (shown, claimed)} - {()}) < 2


def comparison_keys(value: Json) -> Set[object]:
    """Keys of a scalar: two values that ``shows_same_value`` finds equal share one. Empty for an object or a list."""
    if isinstance(value, dict | list):
        return set()
    text = value.strip().casefold() if isinstance(value, str) else None
    return {value, text, parse_iso_datetime(value), read_figure(value), *read_whole_days(value)} - {None}


_SIGN_PATTERN = r"!=|>=|<=|==|=|>|<|\scontains\b|\sis not empty\b|\sis empty\b"
CONDITION_PATTERN = rf"[^\[\]'=!<>]+?(?:{_SIGN_PATTERN})\s*+(?:'(?:[^']|'')*'|[^\[\]']*)"
_CONDITION_PARTS_PATTERN = re.compile(rf"([^=!<>]+?)({_SIGN_PATTERN})(.*)", re.DOTALL)
COMPARE_BY_SIGN: Mapping[str, Callable[..., bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}  # of amounts of one kind
CONTAINS = "contains"
ONE_OF = "one of"
IS_EMPTY = "is empty"
IS_NOT_EMPTY = "is not empty"
OVERDUE_SIGN = "overdue"
CONDITION_SIGNS = ("=", "!=", *COMPARE_BY_SIGN, CONTAINS, ONE_OF, IS_EMPTY, IS_NOT_EMPTY, OVERDUE_SIGN)


def parse_condition(text: str) -> tuple[str, str, str | None]:
    """Field, sign and literal of a condition such as ``status = 'open'``; the literal of an unquoted ``null`` is None.

    Raises ``ValueError`` if the text is no condition.
    """
    match = _CONDITION_PARTS_PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no condition such as amount>100")
    field = match[1].strip()
    sign = match[2].strip()
    literal = match[3].strip()
    if literal[:1] in ("'", '"') and literal[-1:] == literal[:1] and len(literal) > 1:
        return field, sign.replace("==", "="), literal[1:-1].replace("''", "'")
    return field, sign.replace("==", "="), None if literal == "null" else literal


def equality_key(value: Json) -> Decimal | str | None:
    """A key that is equal for equal values: a figure's number, None for null, and for anything else its text."""
    number = read_figure(value)
    if number is not None:
        return number
    return value if value is None or isinstance(value, str) else dumps(value)


def _meets_condition(value: Json, sign: str, against: Json, order: DateOrder = "") -> bool:
    """Whether a value stands in the relation ``sign``, other than ``=`` and ``!=``, to the value ``against``."""
    if sign == IS_EMPTY:
        return is_empty_value(value)
    if sign == IS_NOT_EMPTY:
        return not is_empty_value(value)
    if sign == CONTAINS and isinstance(value, list):
        return any(are_equal_values(element, against) for element in value)
    text = "" if against is None else as_text(against)
    if sign == CONTAINS:
        return text.casefold() in ("" if value is None else as_text(value)).casefold()
    if sign == ONE_OF:
        return any(are_equal_values(value, option.strip(), order) for option in text.split(","))
    ordering = compare_values(value, against, order)
    return ordering is not None and COMPARE_BY_SIGN[sign](ordering, 0)


def evaluate_condition(values: Sequence[Json], sign: str, against: Sequence[Json], order: DateOrder = "") -> list[bool]:
    """For each value, whether it stands in the relation ``sign`` to its counterpart in ``against``.

    Letter case counts for all pairs if at least one is equal with it, else for none.
    """
    pairs = list(zip(values, against, strict=True))
    if sign not in ("=", "!="):
        return [_meets_condition(value, sign, counterpart, order) for value, counterpart in pairs]
    are_equal = [are_equal_values(value, counterpart, order, is_case_sensitive=True) for value, counterpart in pairs]
    if not any(are_equal):
        are_equal = [are_equal_values(value, counterpart, order) for value, counterpart in pairs]
    return [is_equal is (sign == "=") for is_equal in are_equal]


def are_equal_values(value: Json, counterpart: Json, order: DateOrder = "", *, is_case_sensitive: bool = False) -> bool:
    """Whether two values are equal as numbers, dates, truths or words; two empty ones unless ``is_case_sensitive``."""
    if is_empty_value(value) or is_empty_value(counterpart):
        return is_empty_value(value) and is_empty_value(counterpart) and not is_case_sensitive
    ordering = compare_values(value, counterpart, order)
    if ordering is not None:
        return ordering == 0
    if is_case_sensitive:
        return equality_key(value) == equality_key(counterpart)
    word, other_word = (as_text(value).strip().casefold() for value in (value, counterpart))
    return TRUTH_VALUES_BY_WORD.get(word, word) == TRUTH_VALUES_BY_WORD.get(other_word, other_word)


def compare_values(value: Json, other: Json, order: DateOrder = "") -> int | None:
    """-1, 0 or 1 as the first of two numbers or dates is less, equal or greater; None if they cannot be compared."""
    amount, other_amount = read_amount(value), read_amount(other)
    if amount is not None and other_amount is not None:
        return (amount.number > other_amount.number) - (amount.number < other_amount.number)
    read_time = read_moment if has_iso_time(value) and has_iso_time(other) else read_date
    time, other_time = read_time(value, order), read_time(other, order)
    if time is not None and other_time is not None:
        return (time > other_time) - (time < other_time)
    return None
