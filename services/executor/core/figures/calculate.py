"""The tools ``calculate`` and ``look``: a model names an operation, or rows of a result; code fills in every value."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from pydantic import JsonValue

from services.executor.core.figures.calculator import NO_MADE_TOOLS, CannotCalculate, MadeToolResults
from services.executor.core.figures.columns import (
    COMPARE_BY_SIGN,
    CONDITION_SIGNS,
    IS_EMPTY,
    IS_NOT_EMPTY,
    ONE_OF,
    OVERDUE_SIGN,
    Cell,
    name_as_words,
    parse_condition,
)
from services.executor.core.figures.dates import DateOrder, find_date_order, read_moment, read_possible_dates
from services.executor.core.figures.evaluate import evaluate_value
from services.executor.core.figures.numbers import read_amount
from services.executor.core.figures.operands import (
    OperandFinder,
    OperandSources,
    read_field_of_rows,
    read_operand_texts,
    select_cells,
    select_rows_by_condition,
    unwrap_list,
)
from services.executor.core.figures.operations import (
    OPERATIONS,
    OPERATIONS_DESCRIPTION,
    OPERATIONS_ON_WORDS,
    SOURCELESS_NUMBERS,
    sourceless_numbers,
    takes_percent,
)
from services.executor.core.session.values import Fact, NamedValue, Operand, RowCondition
from services.executor.core.tools.record_tree import NoSuchPath, is_empty_value
from services.executor.core.tools.shorten import shorten_content
from services.executor.core.tools.toolbox import define_local_tool
from shared.domain.exact_json import Json, JsonObject, as_text, dumps, loads, loads_object
from shared.ports.models import ToolDefinition

_SIGNS_BY_ALIAS = {
    "==": "=", "is": "=", "eq": "=", "equals": "=", "equal": "=", "<>": "!=", "not": "!=", "is not": "!=", "ne": "!=",
    "gt": ">", "after": ">", "more": ">", "gte": ">=", "lt": "<", "before": "<", "less": "<", "lte": "<=", "in": ONE_OF,
    "empty": IS_EMPTY, "not empty": IS_NOT_EMPTY, "is overdue": OVERDUE_SIGN,
}  # fmt: skip
_OPERATIONS_BY_ALIAS = {
    "add": "sum", "total": "sum", "plus": "sum", "subtract": "difference", "minus": "difference", "divide": "quotient",
    "multiply": "product", "min": "minimum", "max": "maximum", "avg": "average", "mean": "average",
    "percent": "percentage", "percent_of": "percentage", "greater_than": "is_more", "less_than": "is_less",
    "equals": "is_equal", "and": "all_of", "or": "any_of", "not": "none_of", "net_present_value": "npv",
}  # fmt: skip
_DATE_ORDERS: Mapping[str, DateOrder] = {"day_first": "day_first", "month_first": "month_first"}
_LONGEST_NAME = 60
_CALCULATE_DESCRIPTION = """\
Exact calculation: arithmetic, totals over ALL rows of a result (also rows that were not shown), dates, units, finance \
and conditions. You name the operands, never the result. An operand is one of:
- a figure or date as it stands in the task or in a result: "1,234.50", "20%", "one third", "2026-01-31"; or "today"
- the name of an earlier calculated value: "total_due" (a group of it: "by_team.Sales")
- a path into a result by its ref: "r2.budget.remaining", "r2.items[*].amount", "r3[status=open].total"
Examples:
{"name":"open_total","operation":"sum","operands":["r2.items[*].amount"],"where":[{"field":"status","is":"=","value":"open"}]}
{"name":"cheapest","operation":"which_has_least","operands":["r2.offers[*].price"],"give":"vendor"}"""
_TEXT_SCHEMA: Mapping[str, JsonValue] = {"type": "string"}
_WHERE_SCHEMA: Mapping[str, JsonValue] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "field": {**_TEXT_SCHEMA},
            "is": {"type": "string", "enum": [*CONDITION_SIGNS]},
            "value": {**_TEXT_SCHEMA, "description": "a word, an operand, or another field of the row"},
        },
        "required": ["field", "is"],
        "additionalProperties": False,
    },
}


def define_calculate_tool(made_tools: MadeToolResults = NO_MADE_TOOLS) -> ToolDefinition:
    """The definition of the tool ``calculate``, with the built-in operations and those made at run time."""
    tools = made_tools.tools.values()
    made_operations = "; ".join(f"{tool.name}({', '.join(tool.arguments)}): {tool.purpose}" for tool in tools)
    operations = f"Operands in this order. {OPERATIONS_DESCRIPTION}"
    operations += f"; made for this: {made_operations}" if made_operations else ""
    properties: dict[str, JsonValue] = {
        "name": {**_TEXT_SCHEMA, "description": "of the value, to use it later: total_due"},
        "operation": {**_TEXT_SCHEMA, "description": operations},  # each name stands there once, with what it takes
        "operands": {"type": "array", "items": {**_TEXT_SCHEMA}, "minItems": 1},
        "where": {**_WHERE_SCHEMA, "description": "only rows that meet all of these count"},
        "by": {**_TEXT_SCHEMA, "description": "one figure for each value of this field"},
        "give": {**_TEXT_SCHEMA, "description": "for which_has_most and which_has_least: the field that names the row"},
        "date_order": {"type": "string", "enum": ["day_first", "month_first"], "description": "of dates as 03/04/2026"},
        "part": {"type": "integer", "description": "of a condition: the part of the task that depends on it"},
    }
    return define_local_tool("calculate", _CALCULATE_DESCRIPTION, properties, "operation", "operands", strict=False)


CALCULATE_DEFINITION = define_calculate_tool()


def calculate(
    arguments: JsonObject, sources: OperandSources, made_tools: MadeToolResults = NO_MADE_TOOLS
) -> NamedValue:
    """The value that is asked for; raises ``CannotCalculate``, or ``MadeToolNotRun`` if a made tool must run first."""
    operation = _read_operation(arguments.get("operation"), made_tools)
    finder = OperandFinder(sources)
    try:
        operands = _read_operands(arguments.get("operands"), operation, finder)
        conditions = tuple(
            RowCondition(field=field, sign=sign, against=_read_comparison_operand(sign, text, operands, finder))
            for field, sign, text in _read_conditions(arguments.get("where"))
        )
        value = NamedValue(
            name=_choose_unused_name(_text_of_argument(arguments.get("name")), operation, sources),
            operation=operation,
            operands=operands,
            value="",
            where=conditions,
            by=_text_of_argument(arguments.get("by")),
            give=_text_of_argument(arguments.get("give")),
            date_order=_DATE_ORDERS.get(_text_of_argument(arguments.get("date_order")), ""),
            made_by=made_tools.tools[operation].reference if operation in made_tools.tools else None,
        )
        return evaluate_value(finder, value, made_tools)
    except (NoSuchPath, ValueError) as error:
        raise CannotCalculate(str(error)) from error


def describe_value(value: NamedValue) -> JsonObject:
    """A calculated value as the answer to the model's call of ``calculate``."""
    content: Json = loads_object(value.value) if value.kind == "groups" else value.value
    texts = {"currency": value.currency, "unit": value.unit, "note": value.note}
    return {"name": value.name, "value": content, **{name: text for name, text in texts.items() if text}}


def _read_operation(argument: Json, made_tools: MadeToolResults) -> str:
    """The operation that the argument names, also by an alias; raises ``CannotCalculate`` if there is none."""
    name = _text_of_argument(argument).casefold().replace(" ", "_")
    operation = _OPERATIONS_BY_ALIAS.get(name, name)
    if operation in OPERATIONS or operation in made_tools.tools:
        return operation
    words = set(name.split("_"))
    similar = [known for known in OPERATIONS if words & set(known.split("_"))]
    hint = f"perhaps {', '.join(similar[:6])}" if similar else f"such as {', '.join(list(OPERATIONS)[:8])}"
    raise CannotCalculate(
        f"unknown operation {_text_of_argument(argument)!r}: take one of the operations of the schema, {hint}"
    )


def _read_operands(argument: Json, operation: str, finder: OperandFinder) -> tuple[Operand, ...]:
    """The operands that the argument names; raises ``CannotCalculate`` if one has no source, or none is given."""
    texts = [text for text in read_operand_texts(_parse_if_list(argument)) if text.strip()]
    if not texts:
        raise CannotCalculate(
            f"{operation} has no operands: give a path such as r1.items[*].amount, a name or a figure"
        )
    may_be_word = operation in OPERATIONS_ON_WORDS
    operands = []
    for place, text in enumerate(texts):
        sourceless = sourceless_numbers(operation, place)
        is_percent = takes_percent(operation, place)
        operands.append(finder.find_operand(text, sourceless, may_be_word=may_be_word, is_percent=is_percent))
    return tuple(operands)


def _parse_if_list(argument: Json) -> Json:
    """The given value; a text that holds a JSON list is parsed."""
    if not isinstance(argument, str) or not argument.lstrip().startswith("["):
        return argument
    try:
        return loads(argument)
    except ValueError:
        return argument


def _read_conditions(argument: Json) -> Iterator[tuple[str, str, str]]:
    """Yields field, sign and value of each condition of ``where``: an object, or a text such as ``status = open``.

    Raises ``CannotCalculate`` for any other form.
    """
    conditions = _parse_if_list(argument)
    if not isinstance(conditions, list):
        conditions = [] if conditions in (None, "") else [conditions]
    for condition in conditions:
        if isinstance(condition, dict):
            field, value = _text_of_argument(condition.get("field")), condition.get("value")
            sign = _text_of_argument(condition.get("is") or condition.get("operator") or condition.get("op") or "=")
            sign = _SIGNS_BY_ALIAS.get(sign.casefold(), sign.casefold())
            text = ", ".join(map(_text_of_argument, value)) if isinstance(value, list) else _text_of_argument(value)
        else:
            field, sign, literal = parse_condition(_text_of_argument(condition))
            text = literal or ""
        if not field or sign not in CONDITION_SIGNS:
            raise CannotCalculate(f"a condition has a field, a sign ({', '.join(CONDITION_SIGNS)}) and a value")
        yield field, sign, text


def _read_comparison_operand(sign: str, value: str, operands: Iterable[Operand], finder: OperandFinder) -> Operand:
    """What a condition compares rows with: for an ordering such as ``>`` a figure that has a source, or another field
    of the row; for other signs also a plain word.
    """
    if sign in COMPARE_BY_SIGN:
        operand = finder.find_referenced_operand(value)
        if operand is None and _is_row_field(value, operands, finder):
            return Operand(source="row", path=value)
        return operand or finder.find_operand(value, SOURCELESS_NUMBERS)
    operand = finder.find_referenced_operand(value) if sign in ("=", "!=") else None
    return operand or Operand(source="constant", literal=value)


def _is_row_field(name: str, operands: Iterable[Operand], finder: OperandFinder) -> bool:
    in_results = [operand for operand in operands if operand.source == "result"]
    selections = [unwrap_list(select_cells(finder.find_result(operand.ref), operand.path)) for operand in in_results]
    cells = [cell for selection in selections for cell in selection.cells[:50]]
    return any(cell.find_field(name) for cell in cells)


def _choose_unused_name(name: str, operation: str, sources: OperandSources) -> str:
    """A name for the new value that no value or result has yet, and that cannot be taken for a reference or a day."""
    name = re.sub(r"\W+", "_", name).strip("_")[:_LONGEST_NAME] or f"{operation}_{len(sources.values) + 1}"
    used_names = [*(value.name for value in sources.values), *(fact.ref for fact in sources.facts)]
    used_words = set(map(name_as_words, used_names))
    if re.fullmatch(r"r?\d+(?:_.*)?|today|tomorrow|yesterday|now", name, re.I):
        name = f"value_{name}"
    candidates = [name, *(f"{name}_{number}" for number in range(2, len(used_words) + 3))]
    return next(candidate for candidate in candidates if name_as_words(candidate) not in used_words)


def _text_of_argument(argument: Json) -> str:
    return "" if argument is None else as_text(argument).strip()


MOST_CHARACTERS_SHOWN = 6_000
_MOST_CHARACTERS_OF_ROW = 3_000
_LOOK_DESCRIPTION = """\
Rows and fields of an earlier result that was shown short, by its ref. Use where to filter, \
fields to choose columns, sort_by with descending, first and skip for a part, distinct for the different \
values of one field, count for the number of rows only. A long text is a list of lines {line, text}. \
For totals use calculate."""
LOOK_DEFINITION = define_local_tool(
    "look",
    _LOOK_DESCRIPTION,
    {
        "ref": {**_TEXT_SCHEMA, "description": "of the result: r2"},
        "list": {**_TEXT_SCHEMA, "description": "path of the list, record or text where the result has several: lines"},
        "where": {"type": "array", "items": {"type": "object"}, "description": "as in calculate"},
        "fields": {"type": "array", "items": {**_TEXT_SCHEMA}},
        "sort_by": {**_TEXT_SCHEMA},
        "descending": {"type": "boolean"},
        "first": {"type": "integer", "minimum": 1},
        "skip": {"type": "integer", "minimum": 0},
        "distinct": {**_TEXT_SCHEMA, "description": "a field: its different values, and how many rows have each"},
        "count": {"type": "boolean"},
    },
    "ref",
)


def select_rows_for_model(arguments: JsonObject, facts: Sequence[Fact], today: date = date.min) -> Json:
    """What the model asks to see: ``{rows, matching}`` (how many there are, and how many meet the conditions), and
    unless it only counts, ``shown`` (rows, as many as fit) or ``values`` (the different ones of a field), with a
    ``note`` on the rest. Raises ``CannotCalculate`` for an unknown reference, path or field.
    """
    try:
        fact, cells = _find_fact_and_rows(arguments, facts)
        rows = _filter_rows(cells, arguments.get("where"), today)
    except (NoSuchPath, ValueError) as error:
        raise CannotCalculate(str(error)) from error
    counts: JsonObject = {"rows": len(cells), "matching": len(rows)}
    source_note: JsonObject = {"source_note": fact.note} if fact.note else {}
    if arguments.get("count") is True:
        return {**counts, **source_note}
    if distinct := _text_of_argument(arguments.get("distinct")):
        return {**counts, **_count_rows_by_value(rows, distinct), **source_note}
    rows = _sort_rows(rows, _text_of_argument(arguments.get("sort_by")), descending=arguments.get("descending") is True)
    skip = _read_row_count(arguments.get("skip")) or 0
    limit = _read_row_count(arguments.get("first")) or len(rows)
    fields = arguments.get("fields")
    names = [_text_of_argument(name) for name in fields] if isinstance(fields, list) else []
    return {**counts, **_show_rows(rows, names, skip, limit), **source_note}


def _find_fact_and_rows(arguments: JsonObject, facts: Sequence[Fact]) -> tuple[Fact, list[Cell]]:
    """The fact that the arguments name, and the rows at their path; raises ``CannotCalculate`` or ``NoSuchPath``."""
    ref = _text_of_argument(arguments.get("ref")).strip("[]")
    fact = next((fact for fact in facts if fact.ref.casefold() == ref.casefold()), None)
    if fact is None:
        raise CannotCalculate(f"no result has the reference {ref!r}; there are {', '.join(f.ref for f in facts)}")
    path = _text_of_argument(arguments.get("list")).removeprefix(f"{fact.ref}.").removesuffix("[*]")
    selection = select_cells(fact.result, path)
    selection = selection if path else unwrap_list(selection)
    if selection.is_list:  # a value that is no object becomes one
        cells = selection.cells
        return fact, [
            cell if isinstance(cell.value, dict) else cell._replace(value={"value": cell.value}) for cell in cells
        ]
    cell = selection.cells[0]
    if isinstance(cell.value, str):
        return fact, [Cell({"line": number, "text": text}) for number, text in enumerate(_split_lines(cell.value), 1)]
    return fact, [cell]


def _split_lines(text: str) -> list[str]:
    """The lines of a text; long lines are cut into pieces."""
    size = _MOST_CHARACTERS_OF_ROW // 4
    return [line[start : start + size] for line in text.splitlines() for start in range(0, max(len(line), 1), size)]


def _filter_rows(cells: list[Cell], where: Json, today: date) -> list[Cell]:
    for field, sign, value in _read_conditions(where):
        values = read_field_of_rows(cells, field)
        against: Json = today.isoformat() if value.casefold() == "today" else value
        order = find_date_order([*values, against])
        cells = select_rows_by_condition(cells, values, sign, [against] * len(cells), order, today)
    return cells


def _sort_rows(cells: list[Cell], name: str, *, descending: bool) -> list[Cell]:
    """The rows by number, date or text in a field, those without it last; unchanged if ``name`` is empty."""
    if not name:
        return cells
    pairs = [*zip(read_field_of_rows(cells, name, " to sort by"), cells, strict=True)]
    filled = [(value, cell) for value, cell in pairs if not is_empty_value(value)]
    empty = [cell for value, cell in pairs if is_empty_value(value)]
    keys = _build_sort_keys([value for value, _ in filled])
    filled.sort(key=lambda pair: keys[dumps(pair[0])], reverse=descending)
    return [*(cell for _, cell in filled), *empty]


def _build_sort_keys(values: Sequence[Json]) -> Mapping[str, tuple[int, object, str]]:
    """The sort key of each value, keyed by the value's JSON: numbers before dates before words."""
    order = find_date_order(values)
    keys: dict[str, tuple[int, object, str]] = {}
    for value in values:
        amount = read_amount(value)
        moment = read_moment(value, order) if amount is None and read_possible_dates(value) else None
        rank, key = (0, amount.number) if amount else (1, moment) if moment else (2, "")
        keys[dumps(value)] = (rank, key, dumps(value).casefold())
    return keys


def _count_rows_by_value(cells: Sequence[Cell], name: str) -> JsonObject:
    counts = Counter(dumps(value) for value in read_field_of_rows(cells, name))
    rows: list[Json] = [{name: loads(key), "rows": count} for key, count in counts.most_common()]
    shown = _first_rows_that_fit(rows)
    note: JsonObject = {"note": f"{len(shown)} of {len(rows)} values are shown"} if len(shown) < len(rows) else {}
    return {"distinct": len(rows), "values": shown, **note}


def _show_rows(cells: Sequence[Cell], fields: Sequence[str], skip: int, limit: int) -> JsonObject:
    selected = cells[skip : skip + limit]
    columns = {name: read_field_of_rows(selected, name) for name in fields}
    rows: list[Json] = [cell.value for cell in selected]
    if columns:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = [shorten_content(row, _MOST_CHARACTERS_OF_ROW)[0] for row in rows]
    shown = _first_rows_that_fit(rows)
    last_number = skip + len(shown)
    notes = [f"rows {skip + 1} to {last_number} of {len(cells)} are shown"] if len(shown) < len(cells) and shown else []
    if len(shown) < len(rows):
        notes.append(f"the others do not fit: choose fields, or look again with skip {last_number}")
    note: JsonObject = {"note": "; ".join(notes)} if notes else {}
    return {"shown": shown, **note}


def _first_rows_that_fit(rows: Sequence[Json]) -> list[Json]:
    size, shown = 0, []
    for row in rows:
        size += len(dumps(row)) + 1
        if size > MOST_CHARACTERS_SHOWN - 500:
            break
        shown.append(row)
    return shown


def _read_row_count(argument: Json) -> int | None:
    amount = read_amount(argument)
    return int(amount.number) if amount is not None and amount.number >= 0 else None
