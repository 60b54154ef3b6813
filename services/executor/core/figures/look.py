"""``look``: rows and fields of a result that was shown short."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.dossier.dossier import Fact
from services.executor.core.figures.calculate import CannotCalculate, read_conditions
from services.executor.core.figures.cells import Cell, find_field_around, list_names, select_cells
from services.executor.core.figures.conditions import OVERDUE, SIGNS, find_meeting, is_empty
from services.executor.core.figures.dates import find_date_order, read_date, read_moment, read_possible_dates
from services.executor.core.figures.paid import is_paid
from services.executor.core.figures.paths import NoSuchPath
from services.executor.core.figures.written import read_amount
from services.executor.core.tools.paginate import page_in
from services.executor.core.tools.paginate_shown import shortened
from services.executor.ports.models import ToolDefinition
from shared.domain.exact_json import Json, JsonObject, dumps, loads

MOST = 6_000  # characters of an answer
_MOST_OF_A_ROW = 3_000
_TEXT: Mapping[str, JsonValue] = {"type": "string"}

_DESCRIPTION = """\
Rows and fields of an earlier result that was shown short, by its ref. All rows are searched. Use where to filter, \
fields to choose columns, sort_by with descending, first and skip for a part, distinct for the different \
values of one field, count for the number of rows only. A long text is a list of lines {line, text}. \
For totals use calculate.
{"ref":"r2","where":[{"field":"status","is":"=","value":"open"}],"fields":["id","amount"],"sort_by":"amount","first":5}"""

LOOK = ToolDefinition(
    "look",
    _DESCRIPTION,
    {
        "type": "object",
        "properties": {
            "ref": {**_TEXT, "description": "of the result: r2"},
            "list": {**_TEXT, "description": "path of the list, record or text where the result has several: lines"},
            "where": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"field": {**_TEXT}, "is": {"type": "string", "enum": [*SIGNS]}, "value": {**_TEXT}},
                    "required": ["field", "is"],
                    "additionalProperties": False,
                },
            },
            "fields": {"type": "array", "items": {**_TEXT}},
            "sort_by": {**_TEXT},
            "descending": {"type": "boolean"},
            "first": {"type": "integer", "minimum": 1},
            "skip": {"type": "integer", "minimum": 0},
            "distinct": {**_TEXT, "description": "a field: its different values, and how many rows have each"},
            "count": {"type": "boolean"},
        },
        "required": ["ref"],
        "additionalProperties": False,
    },
)


class _ListPart(NamedTuple):
    """What of the rows is wanted."""

    fields: list[str]
    skip: int
    first: int


def look(given: JsonObject, facts: Sequence[Fact], today: date = date.min) -> Json:
    """The rows that are asked for, within ``MOST`` characters, and a note on what is left out.

    Raises ``CannotCalculate`` with a sentence that a model can mend its call by.
    """
    try:
        fact, cells = _rows(given, facts)
        kept = _filter(cells, given.get("where"), today)
    except (NoSuchPath, ValueError) as error:
        raise CannotCalculate(str(error)) from error
    counted: JsonObject = {"rows": len(cells), "matching": len(kept)}
    said: JsonObject = {"source_note": fact.note} if fact.note else {}
    if given.get("count") is True:
        return {**counted, **said}
    if distinct := _text(given.get("distinct")):
        return {**counted, **_count_distinct(kept, distinct), **said}
    kept = _sort(kept, _text(given.get("sort_by")), descending=given.get("descending") is True)
    part = _ListPart(
        _names(given.get("fields")), _number(given.get("skip")) or 0, _number(given.get("first")) or len(kept)
    )
    return {**counted, **_show(kept, part), **said}


def _rows(given: JsonObject, facts: Sequence[Fact]) -> tuple[Fact, list[Cell]]:
    ref = _text(given.get("ref")).strip("[]")
    fact = next((fact for fact in facts if fact.ref.casefold() == ref.casefold()), None)
    if fact is None:
        raise CannotCalculate(f"no result has the reference {ref!r}; there are {', '.join(f.ref for f in facts)}")
    path = _text(given.get("list")).removeprefix(f"{fact.ref}.").removesuffix("[*]")
    selection = select_cells(fact.result, path)
    if selection.is_list:
        return fact, _wrap_rows(selection.cells)
    cell = selection.cells[0]
    page = None if path else page_in(cell.value)
    if page is not None:
        return fact, _wrap_rows(
            [Cell(row, (*cell.records, *_list_own_record(cell)), page.place[-1]) for row in page.rows]
        )
    if isinstance(cell.value, str):
        return fact, [Cell({"line": at, "text": text}) for at, text in enumerate(_lines(cell.value), 1)]
    return fact, [cell]


def _list_own_record(cell: Cell) -> list[JsonObject]:
    return [cell.value] if isinstance(cell.value, dict) else []


def _wrap_rows(cells: Sequence[Cell]) -> list[Cell]:
    """What is no record has its value in a field of that name."""
    return [cell if isinstance(cell.value, dict) else cell._replace(value={"value": cell.value}) for cell in cells]


def _lines(text: str) -> list[str]:
    """The lines of a text, long ones in pieces."""
    size = _MOST_OF_A_ROW // 4
    return [line[at : at + size] for line in text.splitlines() for at in range(0, max(len(line), 1), size)]


def _filter(cells: list[Cell], where: Json, today: date) -> list[Cell]:
    for field, sign, value in read_conditions(where):
        found = [find_field_around(cell, field) for cell in cells]
        if cells and not any(found):
            raise CannotCalculate(f"no row has the field {field!r}; the rows have {_list_fields(cells)}")
        values = [one[1] if one else None for one in found]
        against = today.isoformat() if value.casefold() == "today" else value
        order = find_date_order([*values, against])
        if sign == OVERDUE:
            kept = [_is_late(cell, own, today) for cell, own in zip(cells, values, strict=True)]
        else:
            kept = find_meeting(values, sign, [against] * len(cells), order)
        cells = [cell for cell, is_kept in zip(cells, kept, strict=True) if is_kept]
    return cells


def _is_late(cell: Cell, due: Json, today: date) -> bool:
    day = read_date(due)
    return day is not None and day < today and not is_paid(cell.row)


def _sort(cells: list[Cell], name: str, *, descending: bool) -> list[Cell]:
    """By number, by date or by text; rows without the field come last."""
    if not name:
        return cells
    found = [(find_field_around(cell, name), cell) for cell in cells]
    if cells and not any(one for one, _ in found):
        raise CannotCalculate(f"no row has the field {name!r} to sort by; the rows have {_list_fields(cells)}")
    having = [(one[1], cell) for one, cell in found if one and not is_empty(one[1])]
    without = [cell for one, cell in found if not one or is_empty(one[1])]
    key = _build_sort_keys([value for value, _ in having])
    return [cell for _, cell in sorted(having, key=lambda pair: key[dumps(pair[0])], reverse=descending)] + without


def _build_sort_keys(values: Sequence[Json]) -> Mapping[str, tuple[int, object, str]]:
    """By what each value is sorted: numbers first, then dates, then words."""
    order = find_date_order(values)
    keys: dict[str, tuple[int, object, str]] = {}
    for value in values:
        amount = read_amount(value)
        moment = read_moment(value, order) if amount is None and read_possible_dates(value) else None
        rank, key = (0, amount.number) if amount else (1, moment) if moment else (2, "")
        keys[dumps(value)] = (rank, key, dumps(value).casefold())
    return keys


def _count_distinct(cells: Sequence[Cell], name: str) -> JsonObject:
    counts: dict[str, int] = {}
    for cell in cells:
        found = find_field_around(cell, name)
        counts[dumps(found[1] if found else None)] = counts.get(dumps(found[1] if found else None), 0) + 1
    if cells and counts.keys() == {"null"}:
        raise CannotCalculate(f"no row has the field {name!r}; the rows have {_list_fields(cells)}")
    ranked = sorted(counts.items(), key=lambda one: -one[1])
    rows: list[Json] = [{name: loads(key), "rows": number} for key, number in ranked]
    shown = _take_fitting(rows)
    left: JsonObject = {"note": f"{len(shown)} of {len(rows)} values are shown"} if len(shown) < len(rows) else {}
    return {"distinct": len(rows), "values": shown, **left}


def _show(cells: Sequence[Cell], part: _ListPart) -> JsonObject:
    asked = cells[part.skip : part.skip + part.first]
    unknown = [name for name in part.fields if asked and not any(find_field_around(cell, name) for cell in asked)]
    if unknown:
        raise CannotCalculate(f"no row has the field {unknown[0]!r}; the rows have {_list_fields(asked)}")
    rows = [_bound_row(_choose_fields(cell, part.fields)) for cell in asked]
    shown = _take_fitting(rows)
    last = part.skip + len(shown)
    notes = [f"rows {part.skip + 1} to {last} of {len(cells)} are shown"] if len(shown) < len(cells) and shown else []
    if len(shown) < len(rows):
        notes.append(f"the others do not fit: choose fields, or look again with skip {last}")
    said: JsonObject = {"note": "; ".join(notes)} if notes else {}
    return {"shown": shown, **said}


def _choose_fields(cell: Cell, fields: Sequence[str]) -> Json:
    if not fields:
        return cell.value
    found = {name: find_field_around(cell, name) for name in fields}
    return {name: one[1] if one else None for name, one in found.items()}


def _bound_row(row: Json) -> Json:
    shown, _ = shortened(row, _MOST_OF_A_ROW)
    return shown


def _take_fitting(rows: Sequence[Json]) -> list[Json]:
    """As many rows as fit."""
    size, shown = 0, []
    for row in rows:
        size += len(dumps(row)) + 1
        if size > MOST - 500:
            break
        shown.append(row)
    return shown


def _list_fields(cells: Sequence[Cell]) -> str:
    return list_names([cell.row for cell in cells[:50]])


def _names(given: Json) -> list[str]:
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return [_text(name) for name in given] if isinstance(given, list) else []


def _number(given: Json) -> int | None:
    amount = read_amount(given)
    return int(amount.number) if amount is not None and amount.number >= 0 else None


def _text(given: Json) -> str:
    return given.strip() if isinstance(given, str) else "" if given is None else dumps(given)
