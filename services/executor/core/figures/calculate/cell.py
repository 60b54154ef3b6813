"""One value of a result with the records that it stands in, and their fields by name."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.tools.near_names import words_of
from shared.domain.exact_json import Json, JsonObject

_MOST_NAMES = 12


_CURRENCY = frozenset({"currency", "currency code", "currency iso", "iso currency", "ccy", "curr"})


_NAMING = ("id", "key", "code", "number", "reference", "ref", "sku", "name", "title", "email", "group")


_AMOUNT = ("amount", "value", "total", "units")


class Cell(NamedTuple):
    """One value. ``records``: the objects that it stands in, the outermost first; ``field``: its name in the last."""

    value: Json
    records: tuple[JsonObject, ...] = ()
    field: str = ""
    currency: str = ""
    unit: str = ""

    @property
    def row(self) -> JsonObject:
        """The record that a condition on this value is about."""
        return self.value if isinstance(self.value, dict) else self.records[-1] if self.records else {}


def find_field(record: JsonObject, name: str) -> tuple[str, Json] | None:
    """A field of a record by its name, however the name is written: ``due date``, ``dueDate``, ``due_date``."""
    if name in record:
        return name, record[name]
    wanted = plain_name(name)
    return next(((key, value) for key, value in record.items() if plain_name(key) == wanted), None)


def find_field_around(cell: Cell, name: str) -> tuple[str, Json] | None:
    """A field, perhaps with dots, of the record that a cell stands in, or else of the nearest one around it."""
    own = [cell.value] if isinstance(cell.value, dict) else []
    for record in (*own, *reversed(cell.records)):
        found = _find_field_inside(record, name)
        if found is not None:
            return found
    return None


def find_currency_name(cell: Cell) -> str:
    """The currency that a cell's own record names, or the nearest record around it that names one."""
    for record in reversed(cell.records):
        value = record.get("currency") or next((record[key] for key in record if plain_name(key) in _CURRENCY), None)
        if isinstance(value, str) and value:
            return value.strip().upper()
    return ""


def unwrap_money(cell: Cell) -> Cell:
    """An amount that is written as an object, ``{"amount": 5, "currency": "EUR"}``, as the amount in its record."""
    if not isinstance(cell.value, dict) or not any(plain_name(key) in _CURRENCY for key in cell.value):
        return cell
    for name in _AMOUNT:
        found = find_field(cell.value, name)
        if found is not None:
            return Cell(found[1], (*cell.records, cell.value), cell.field)
    return cell


def rank_naming_field(field: str) -> int | None:
    """How well a field names its record: ``id`` before ``order_id`` before ``name``; None where it does not."""
    words = plain_name(field).split(" ")
    return 2 * _NAMING.index(words[-1]) + (len(words) > 1) if words[-1] in _NAMING else None


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    return " ".join(words_of(name)) or name.casefold()


def list_names(records: Iterator[Json] | Sequence[Json]) -> str:
    """The fields that records have, for a message."""
    names = dict.fromkeys(key for record in records if isinstance(record, dict) for key in record)
    return ", ".join([*list(names)[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])


def _find_field_inside(record: JsonObject, name: str) -> tuple[str, Json] | None:
    found = find_field(record, name)
    if found is not None or "." not in name:
        return found
    first, rest = name.split(".", 1)
    outer = find_field(record, first)
    return _find_field_inside(outer[1], rest) if outer and isinstance(outer[1], dict) else None


def is_empty(value: Json) -> bool:
    return value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip())
