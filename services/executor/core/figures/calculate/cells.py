"""The values at a path of a result, each with the records that it stands in; lists are gone through without ``[*]``."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.calculate.conditions import CONDITION, find_meeting, parse_condition
from services.executor.core.figures.calculate.paths import NoSuchPath
from services.executor.core.figures.record_tree import is_keyed
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.paginate import page_in
from shared.domain.exact_json import Json, JsonObject, dumps

_STEP = re.compile(rf"\.?([^.\[\]]+)|\[(\*|\d+)\]|\[({CONDITION})\]|\[\]")
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


class Selection(NamedTuple):
    """The cells at a path; ``is_list`` where the path leads through a list; ``missing``: rows without the field."""

    cells: list[Cell]
    is_list: bool = False
    missing: int = 0


class _PathStep(NamedTuple):
    key: str = ""
    place: int | None = None
    holds: tuple[str, str, str | None] | None = None  # field, sign, literal


def select_cells(result: Json, path: str) -> Selection:
    """The cells at a path. A row without the last field is counted and left out; ``NoSuchPath`` where none has."""
    selection = Selection([Cell(result)])
    for step in _steps(path):
        selection = _take(selection, step, path)
    return _open_lists(selection)


def open_rows(selection: Selection) -> Selection:
    """Where one answer is selected that holds a list, the rows of that list."""
    if selection.is_list or len(selection.cells) != 1 or not isinstance(selection.cells[0].value, dict):
        return selection
    rows = _find_rows(selection.cells[0])
    return selection if rows is None else Selection(rows, True)


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


def _steps(path: str) -> Iterator[_PathStep]:
    place = 0
    for match in _STEP.finditer(path):
        if match.start() != place:
            break
        place = match.end()
        key, index, only = match.groups()
        if only is not None:
            yield _PathStep(holds=parse_condition(only))
        elif index not in (None, "*"):
            yield _PathStep(place=int(index))
        else:
            yield _PathStep(key=(key or "").strip())
    if place != len(path):
        raise NoSuchPath(f"{path!r} is no path such as items[*].amount or items[status='open'].amount")


def _take(selection: Selection, step: _PathStep, path: str) -> Selection:
    if step.key:
        return _take_key(selection, step.key, path)
    if step.place is not None:
        return _take_index(selection, step.place, path)
    opened = _open_lists(selection, inside=True)
    if step.holds is not None:
        return opened._replace(cells=_cells_meeting(opened.cells, *step.holds))
    return opened if opened.is_list else _refuse(selection, path, "no list")


def _cells_meeting(cells: list[Cell], field: str, sign: str, literal: str | None) -> list[Cell]:
    values = [found[1] if (found := find_field_around(cell._replace(records=()), field)) else None for cell in cells]
    kept = find_meeting(values, sign, [literal] * len(cells))
    return [cell for cell, is_kept in zip(cells, kept, strict=True) if is_kept]


def _take_index(selection: Selection, index: int, path: str) -> Selection:
    lists = [_find_rows(cell) or [] for cell in selection.cells]
    found = [rows[index] for rows in lists if index < len(rows)]
    if not found:
        raise NoSuchPath(f"path {path!r}: no [{index}] there; the list has {max(map(len, lists), default=0)} items")
    return Selection(found, selection.is_list, selection.missing + len(lists) - len(found))


def _take_key(selection: Selection, key: str, path: str) -> Selection:
    found: list[Cell] = []
    is_list, missing = selection.is_list, 0
    for cell in selection.cells:
        inner = _find_child(cell, key)
        if inner is not None:
            found.append(inner)
            continue
        rows = _find_rows(cell)
        is_list = is_list or rows is not None
        children = [_find_child(row, key) for row in rows or [cell]]
        found += [child for child in children if child is not None]
        missing += sum(child is None for child in children)
    if missing and not found:
        return _refuse(selection, path, key)
    return Selection(found, is_list, selection.missing + missing)


def _find_child(cell: Cell, key: str) -> Cell | None:
    if not isinstance(cell.value, dict):
        return None
    found = find_field(cell.value, key)
    return Cell(found[1], (*cell.records, cell.value), found[0]) if found else None


def _find_rows(cell: Cell) -> list[Cell] | None:
    """The items of a list, or of the one list that an answer holds."""
    if isinstance(cell.value, list):
        return [Cell(item, cell.records, cell.field) for item in cell.value]
    page = page_in(cell.value)
    if page is None and isinstance(cell.value, dict):
        return _find_keyed_rows(cell)
    if page is None or not isinstance(cell.value, dict):
        return None
    return [Cell(row, (*cell.records, cell.value), page.place[-1]) for row in page.rows]


def _find_keyed_rows(cell: Cell) -> list[Cell] | None:
    """The records of a table that is an object, each under its identifier: ``{"LN-17": {...}, "LN-18": {...}}``.

    They may stand one level deeper, as the only table of the answer. A row gets its key as ``id`` if it has none.
    """
    if not isinstance(cell.value, dict):
        return None
    inner = {name: one for name, one in cell.value.items() if isinstance(one, dict)}
    tables = {"": cell.value} if is_keyed(cell.value) else {name: one for name, one in inner.items() if is_keyed(one)}
    if len(tables) != 1:
        return None
    [(name, table)] = tables.items()
    around = (*cell.records, cell.value) if name else cell.records
    rows = [(key, row) for key, row in table.items() if isinstance(row, dict)]
    return [Cell(row if find_field(row, "id") else {"id": key, **row}, around, name or cell.field) for key, row in rows]


def _open_lists(selection: Selection, inside: bool = False) -> Selection:
    """Lists as their items; ``inside``: also the one list that an answer holds."""
    if not any(isinstance(cell.value, list) or (inside and isinstance(cell.value, dict)) for cell in selection.cells):
        return selection
    found: list[Cell] = []
    is_list = selection.is_list
    for cell in selection.cells:
        rows = _find_rows(cell) if isinstance(cell.value, list) or (inside and not is_list) else None
        is_list = is_list or rows is not None
        found += [cell] if rows is None else rows
    return Selection(found, is_list, selection.missing)


def _refuse(selection: Selection, path: str, what: str) -> Selection:
    around = [row.value for cell in selection.cells[:50] for row in (_find_rows(cell) or [cell])[:50]]
    names = list_names(around)
    there = f"there are {names}" if names else f"there is {dumps(around[0])[:60]}" if around else "there is nothing"
    raise NoSuchPath(f"path {path!r}: no {what} there; {there}")
