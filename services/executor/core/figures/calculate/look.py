"""``look``: rows and fields of a result that was shown short."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from services.executor.core.dossier.values import Fact
from services.executor.core.figures.calculate.columns import Cell
from services.executor.core.figures.calculate.conditions import NoSuchPath
from services.executor.core.figures.calculate.operands import read_field_of_rows, select_cells, select_rows
from services.executor.core.figures.calculate.tool import TEXT, WHERE, read_conditions, read_text
from services.executor.core.figures.dates import find_date_order, read_moment, read_possible_dates
from services.executor.core.figures.numbers import read_amount
from services.executor.core.figures.record_tree import is_empty
from services.executor.core.finance.calculator import CannotCalculate
from services.executor.core.tools.paginate import page_in
from services.executor.core.tools.shorten import shorten_content
from services.executor.ports.models import ToolDefinition
from shared.domain.exact_json import Json, JsonObject, dumps, loads

MOST = 6_000  # characters of an answer
_MOST_OF_A_ROW = 3_000
_DESCRIPTION = """\
Rows and fields of an earlier result that was shown short, by its ref. All rows are searched. Use where to filter, \
fields to choose columns, sort_by with descending, first and skip for a part, distinct for the different \
values of one field, count for the number of rows only. A long text is a list of lines {line, text}. \
For totals use calculate.
{"ref":"r2","where":[{"field":"status","is":"=","value":"open"}],"fields":["id","amount"],"first":5}"""
LOOK = ToolDefinition(
    "look",
    _DESCRIPTION,
    {
        "type": "object",
        "properties": {
            "ref": {**TEXT, "description": "of the result: r2"},
            "list": {**TEXT, "description": "path of the list, record or text where the result has several: lines"},
            "where": {**WHERE},
            "fields": {"type": "array", "items": {**TEXT}},
            "sort_by": {**TEXT},
            "descending": {"type": "boolean"},
            "first": {"type": "integer", "minimum": 1},
            "skip": {"type": "integer", "minimum": 0},
            "distinct": {**TEXT, "description": "a field: its different values, and how many rows have each"},
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
    if distinct := read_text(given.get("distinct")):
        return {**counted, **_count_distinct(kept, distinct), **said}
    kept = _sort(kept, read_text(given.get("sort_by")), descending=given.get("descending") is True)
    part = _ListPart(
        _names(given.get("fields")), _number(given.get("skip")) or 0, _number(given.get("first")) or len(kept)
    )
    return {**counted, **_show(kept, part), **said}


def _rows(given: JsonObject, facts: Sequence[Fact]) -> tuple[Fact, list[Cell]]:
    ref = read_text(given.get("ref")).strip("[]")
    fact = next((fact for fact in facts if fact.ref.casefold() == ref.casefold()), None)
    if fact is None:
        raise CannotCalculate(f"no result has the reference {ref!r}; there are {', '.join(f.ref for f in facts)}")
    path = read_text(given.get("list")).removeprefix(f"{fact.ref}.").removesuffix("[*]")
    selection = select_cells(fact.result, path)
    if selection.is_list:
        return fact, _wrap_rows(selection.cells)
    cell = selection.cells[0]
    page = None if path else page_in(cell.value)
    if page is not None:
        own = [cell.value] if isinstance(cell.value, dict) else []
        return fact, _wrap_rows([Cell(row, (*cell.records, *own), page.place[-1]) for row in page.rows])
    if isinstance(cell.value, str):
        return fact, [Cell({"line": at, "text": text}) for at, text in enumerate(_lines(cell.value), 1)]
    return fact, [cell]


def _wrap_rows(cells: Sequence[Cell]) -> list[Cell]:
    """What is no record has its value in a field of that name."""
    return [cell if isinstance(cell.value, dict) else cell._replace(value={"value": cell.value}) for cell in cells]


def _lines(text: str) -> list[str]:
    """The lines of a text, long ones in pieces."""
    size = _MOST_OF_A_ROW // 4
    return [line[at : at + size] for line in text.splitlines() for at in range(0, max(len(line), 1), size)]


def _filter(cells: list[Cell], where: Json, today: date) -> list[Cell]:
    for field, sign, value in read_conditions(where):
        values = read_field_of_rows(cells, field)
        against: Json = today.isoformat() if value.casefold() == "today" else value
        cells = select_rows(cells, values, sign, [against] * len(cells), find_date_order([*values, against]), today)
    return cells


def _sort(cells: list[Cell], name: str, *, descending: bool) -> list[Cell]:
    """By number, by date or by text; rows without the field come last."""
    if not name:
        return cells
    found = [*zip(read_field_of_rows(cells, name, " to sort by"), cells, strict=True)]
    having = [(value, cell) for value, cell in found if not is_empty(value)]
    without = [cell for value, cell in found if is_empty(value)]
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
    counts = Counter(dumps(value) for value in read_field_of_rows(cells, name))
    ranked = counts.most_common()
    rows: list[Json] = [{name: loads(key), "rows": number} for key, number in ranked]
    shown = _take_fitting(rows)
    left: JsonObject = {"note": f"{len(shown)} of {len(rows)} values are shown"} if len(shown) < len(rows) else {}
    return {"distinct": len(rows), "values": shown, **left}


def _show(cells: Sequence[Cell], part: _ListPart) -> JsonObject:
    asked = cells[part.skip : part.skip + part.first]
    columns = {name: read_field_of_rows(asked, name) for name in part.fields}
    whole = [cell.value for cell in asked]
    chosen: list[Json] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = [shorten_content(row, _MOST_OF_A_ROW)[0] for row in (chosen if columns else whole)]
    shown = _take_fitting(rows)
    last = part.skip + len(shown)
    notes = [f"rows {part.skip + 1} to {last} of {len(cells)} are shown"] if len(shown) < len(cells) and shown else []
    if len(shown) < len(rows):
        notes.append(f"the others do not fit: choose fields, or look again with skip {last}")
    said: JsonObject = {"note": "; ".join(notes)} if notes else {}
    return {"shown": shown, **said}


def _take_fitting(rows: Sequence[Json]) -> list[Json]:
    """As many rows as fit."""
    size, shown = 0, []
    for row in rows:
        size += len(dumps(row)) + 1
        if size > MOST - 500:
            break
        shown.append(row)
    return shown


def _names(given: Json) -> list[str]:
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return [read_text(name) for name in given] if isinstance(given, list) else []


def _number(given: Json) -> int | None:
    amount = read_amount(given)
    return int(amount.number) if amount is not None and amount.number >= 0 else None
