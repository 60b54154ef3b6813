"""Computes and audits named values: each from its operands, exactly and without a model (I2)."""

from collections.abc import Mapping, Sequence
from datetime import date, tzinfo
from decimal import Decimal

from services.executor.core.figures.arguments import read_epoch
from services.executor.core.figures.calculator import NO_MADE_TOOLS, CannotCalculate, MadeToolResults, format_decimal
from services.executor.core.figures.columns import (
    COMPARE_BY_SIGN,
    IS_EMPTY,
    IS_NOT_EMPTY,
    OVERDUE_SIGN,
    SAY_DATE_ORDER_TEXT,
    Cell,
    ListColumn,
    compare_values,
    equality_key,
    list_field_values,
)
from services.executor.core.figures.dates import DateOrder, find_date_order, read_possible_dates
from services.executor.core.figures.numbers import WIDE_CONTEXT, count_decimal_places, read_amount
from services.executor.core.figures.operands import (
    OperandFinder,
    OperandSources,
    describe_fields,
    read_field_of_rows,
    select_cells,
    select_rows_by_condition,
    unwrap_list,
)
from services.executor.core.figures.operations import (
    AGGREGATE_OPERATIONS,
    EXTREME_OPERATIONS,
    OPERATIONS,
    OPERATIONS_ON_WORDS,
    SOURCELESS_NUMBERS,
    CalculationCall,
    OperationResult,
    perform_operation,
    sourceless_numbers,
)
from services.executor.core.figures.vocabulary import common_currency, is_currency_code
from services.executor.core.session.values import NamedValue, Operand, RowCondition
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE, NoSuchPath, is_empty_value
from shared.domain.exact_json import Json, as_text, dumps, loads_object

_MOST_GROUPS = 500
_NO_GROUP = "(none)"


def evaluate_value(finder: OperandFinder, value: NamedValue, made_tools: MadeToolResults = NO_MADE_TOOLS) -> NamedValue:
    """The value with its result filled in from its operands.

    Raises ``CannotCalculate`` or ``NoSuchPath``, whose message names what does not fit, and ``MadeToolNotRun`` if a
    made tool has to run first.
    """
    sources = finder.sources
    operation = OPERATIONS.get(value.operation)
    columns = [_read_column(operand, place, value, finder) for place, operand in enumerate(value.operands)]
    if value.where and not any(column.is_list and column.operand.source == "result" for column in columns):
        raise CannotCalculate("where chooses among the rows of a list: give a path into one, r1.items[*].amount")
    columns = [_filter_column(column, value, finder) for column in columns]
    if operation is not None and operation.takes_lists:
        columns = [column.drop_empty_and_read_money() for column in columns]
    order = value.date_order or find_date_order(cell.value for column in columns for cell in column.cells)
    call = CalculationCall(value.operation, columns, sources.today, order, value.give)
    try:
        result = _compute_groups(call, value.by, made_tools) if value.by else perform_operation(call, made_tools)
    except ArithmeticError as error:
        raise CannotCalculate(f"{value.operation}: {type(error).__name__}") from None
    note = "; ".join(filter(None, (result.note, *_write_notes_on_value(columns, value, sources))))
    text, kind = _format_result(result, columns)
    kind = "groups" if result.is_groups else kind
    update = {"value": text, "kind": kind, "currency": result.currency, "unit": result.unit, "note": note}
    return value.model_copy(update=update)


def find_wrong_values(
    values: Sequence[NamedValue], sources: OperandSources, made_tools: MadeToolResults = NO_MADE_TOOLS
) -> dict[str, str]:
    """As ``{value name: sentence}``, the values that differ from what their operands give, or rest on such a value."""
    sentences: dict[str, str] = {}
    finder = OperandFinder(sources)
    for value in values:
        try:
            problem = _why_value_wrong(value, finder, made_tools)
            finder.add_value(value)
        except (CannotCalculate, NoSuchPath, ArithmeticError, ValueError) as error:
            problem = f"{value.name}: {error}"
        refs = [operand.ref for operand in value.operands if operand.source == "value"]
        wrong_ref = next((ref for ref in refs if ref in sentences), "")
        if problem or wrong_ref:
            sentences[value.name] = problem or f"{value.name}: it rests on {wrong_ref}"
    return sentences


def recompute_values(
    values: Sequence[NamedValue], sources: OperandSources, made_tools: MadeToolResults = NO_MADE_TOOLS
) -> tuple[NamedValue, ...]:
    """The values computed again over other facts; an equal one keeps its text. Raises as ``evaluate_value`` does."""
    finder = OperandFinder(sources)
    for value in values:
        recomputed = evaluate_value(finder, value, made_tools)
        is_same = recomputed.kind == value.kind and _are_equal_results(recomputed, value)
        finder.add_value(recomputed.model_copy(update={"value": value.value}) if is_same else recomputed)
    return tuple(finder.sources.values[len(sources.values) :])


def _why_value_wrong(value: NamedValue, finder: OperandFinder, made_tools: MadeToolResults) -> str:
    """Why a value differs from what its operands give; empty if it does not. Raises like ``evaluate_value``."""
    sources = finder.sources
    if any(known.name == value.name for known in sources.values):
        return f"{value.name}: named twice"
    for operand in value.operands if sources.today != date.min else ():
        if operand.source == "today" and operand != finder.find_operand(operand.ref or "today"):
            return f"{value.name}: {operand.literal} is not the day that the task goes by"
    result = evaluate_value(finder, value, made_tools)
    if result.kind == value.kind and _are_equal_results(result, value):
        return ""
    return f"{value.name}: {value.operation} of its operands is {result.value}, not {value.value}"


def _are_equal_results(value: NamedValue, other: NamedValue) -> bool:
    if value.kind == "decimal":
        return Decimal(value.value) == Decimal(other.value)
    if value.kind == "groups":
        return _decimals_by_group(value) == _decimals_by_group(other)
    return value.value == other.value


def _decimals_by_group(value: NamedValue) -> dict[str, Decimal]:
    return {group: Decimal(str(figure)) for group, figure in loads_object(value.value).items()}


def _read_column(operand: Operand, place: int, value: NamedValue, finder: OperandFinder) -> ListColumn:
    sourceless = sourceless_numbers(value.operation, place)
    _check_constant(operand, sourceless, may_be_word=value.operation in OPERATIONS_ON_WORDS)
    column, operation = _read_operand(operand, finder), OPERATIONS.get(value.operation)
    if operation is not None and operation.takes_dates:
        column = column._replace(cells=[_epoch_as_moment(cell, finder.sources.zone) for cell in column.cells])
    takes_lists = operation is not None and operation.takes_lists
    return unwrap_list(column) if operand.source == "result" and takes_lists else column


def _epoch_as_moment(cell: Cell, zone: tzinfo | None) -> Cell:
    moment = read_epoch(cell.field, cell.value, zone)
    return cell._replace(value=moment.isoformat()) if moment else cell


def _read_operand(operand: Operand, finder: OperandFinder) -> ListColumn:
    match operand.source:
        case "value":
            return _read_value_column(operand, finder.sources)
        case "result":
            return select_cells(finder.find_result(operand.ref), operand.path)._replace(operand=operand)
        case "row":
            raise CannotCalculate("a field of the row is compared with in conditions alone")
    if operand.source == "task" and not finder.is_in_texts(operand.literal):
        raise CannotCalculate(f"the task states no figure {operand.literal!r}")
    return ListColumn([Cell(operand.literal)], operand=operand)


def _read_value_column(operand: Operand, sources: OperandSources) -> ListColumn:
    """The cell of an earlier value; of a value by groups one cell for each, or the cell of the group that the path
    names. Raises ``CannotCalculate`` if there is no such value or group.
    """
    value = next((value for value in sources.values if value.name == operand.ref), None)
    if value is None:
        raise CannotCalculate(f"no earlier value is named {operand.ref!r}")
    if value.kind != "groups":
        content: Json = value.value == "true" if value.kind == "boolean" else value.value
        if value.kind == "decimal":
            content = Decimal(value.value)
        return ListColumn([Cell(content, currency=value.currency, unit=value.unit)], operand=operand)
    cells = {}
    for name, figure in loads_object(value.value).items():
        currency = value.currency or (name if is_currency_code(name) else "")
        cells[name] = Cell(figure, ({"group": name},), value.name, currency, value.unit)
    if not operand.path:
        return ListColumn([*cells.values()], is_list=True, operand=operand)
    for name, cell in cells.items():
        if name.casefold() == operand.path.casefold():
            return ListColumn([cell], operand=operand)
    raise CannotCalculate(f"{value.name} has no group {operand.path!r}; it has {', '.join(list(cells)[:12])}")


def _check_constant(operand: Operand, sourceless: frozenset[int], *, may_be_word: bool = False) -> None:
    """Raises ``CannotCalculate`` for a constant without a source, unless it is a number that needs none
    (``sourceless``), or with ``may_be_word`` a word.
    """
    amount = read_amount(operand.literal)
    is_word = may_be_word and amount is None and not read_possible_dates(operand.literal)
    is_sourceless = amount is not None and amount.number in sourceless
    if operand.source == "constant" and not (is_word or is_sourceless):
        raise CannotCalculate(f"nothing states the figure {operand.literal!r}")


def _filter_column(column: ListColumn, value: NamedValue, finder: OperandFinder) -> ListColumn:
    """The column with only those cells whose rows meet all conditions; unchanged if it is no list of a result."""
    for condition in value.where if column.is_list and column.operand.source == "result" else ():
        column = column._replace(cells=_select_cells_by_condition(column.cells, condition, value.date_order, finder))
    return column


def _select_cells_by_condition(
    cells: list[Cell], condition: RowCondition, order: DateOrder, finder: OperandFinder
) -> list[Cell]:
    values = read_field_of_rows(cells, condition.field)
    against = _find_comparison_values(cells, condition, finder)
    order = order or find_date_order((*values, *against))
    if condition.sign in COMPARE_BY_SIGN:
        _check_constant(condition.against, SOURCELESS_NUMBERS)
        _check_comparable(values, against, condition, order)
    return select_rows_by_condition(cells, values, condition.sign, against, order, finder.sources.today)


def _find_comparison_values(cells: list[Cell], condition: RowCondition, finder: OperandFinder) -> list[Json]:
    if condition.sign in (IS_EMPTY, IS_NOT_EMPTY, OVERDUE_SIGN):
        return [None] * len(cells)
    if condition.against.source != "row":
        return [_read_operand(condition.against, finder).require_single_cell("a condition").value] * len(cells)
    return list_field_values(cells, condition.against.path)


def _check_comparable(values: list[Json], against: list[Json], condition: RowCondition, order: DateOrder) -> None:
    """Raises ``CannotCalculate`` if no row can be compared, a date could be two, or the currencies differ."""
    pairs = [(value, other) for value, other in zip(values, against, strict=True) if not is_empty_value(value)]
    for value in (*(value for value, _ in pairs), *against):
        if len(read_possible_dates(value)) == 2 and not order:
            raise CannotCalculate(f"{dumps(value)} can be two dates: {SAY_DATE_ORDER_TEXT}")
    if pairs and all(compare_values(value, other, order) is None for value, other in pairs):
        value, other = pairs[0]
        raise CannotCalculate(f"{condition.field} ({dumps(value)[:60]}) cannot be ordered against {dumps(other)[:60]}")
    if common_currency({value for pair in pairs for value in pair if read_amount(value) is not None}) is None:
        raise CannotCalculate(f"{condition.field} is compared with an amount of another currency")


def _compute_groups(call: CalculationCall, by: str, made_tools: MadeToolResults) -> OperationResult:
    """The operation over the rows of each group; for ``which_has_most`` and ``which_has_least``, the group whose sum,
    or number of records, is the greatest or least. Raises ``CannotCalculate`` if the operation takes no groups.
    """
    if call.operation not in (*AGGREGATE_OPERATIONS, *EXTREME_OPERATIONS):
        raise CannotCalculate(
            f"by goes with {', '.join((*AGGREGATE_OPERATIONS, *EXTREME_OPERATIONS))}, not with {call.operation}"
        )
    if len(call.columns) != 1:
        raise CannotCalculate("by needs one operand, a path into a list such as r1.items[*].amount")
    column = call.columns[0]
    groups = _group_cells(column, by)
    total = "count" if any(isinstance(cell.value, dict) for cell in column.cells) else "sum"
    inner = call if call.operation in AGGREGATE_OPERATIONS else call._replace(operation=total)
    results = {
        name: perform_operation(inner._replace(columns=[column._replace(cells=cells)]), made_tools)
        for name, cells in groups.items()
    }
    figures: dict[str, Json] = {name: _format_group_result(result) for name, result in results.items()}
    if call.operation in AGGREGATE_OPERATIONS:
        if len(figures) > _MOST_GROUPS:
            raise CannotCalculate(f"{by} has {len(figures)} values, more than {_MOST_GROUPS}: group by another field")
        currency = _common_currency_or_unit("currency", {name: result.currency for name, result in results.items()})
        unit = _common_currency_or_unit("unit", {name: result.unit for name, result in results.items()})
        return OperationResult(dumps(figures), currency, unit, is_groups=True)
    cells = [
        Cell(figures[name], ({"group": name},), inner.operation, result.currency, result.unit)
        for name, result in results.items()
    ]
    return perform_operation(call._replace(columns=[column._replace(cells=cells)], give=""), made_tools)


def _common_currency_or_unit(kind: str, by_group: Mapping[str, str]) -> str:
    """The currency or unit (``kind``) that all groups have; empty if some groups have it and others have none, or if
    the rows are grouped by currency (a group "EUR" of amounts in EUR). ``by_group``: ``{group: its currency or unit}``.

    Raises ``CannotCalculate`` for any other groups that differ in it, since their figures may not be added or compared.
    """
    names = sorted({*filter(None, by_group.values())})
    if len({*by_group.values()}) == 1:
        return "".join(names)
    if len(names) > 1 and not all(name.upper() == code or not code for name, code in by_group.items()):
        raise CannotCalculate(f"the groups differ in {kind} ({', '.join(names)}): filter by it first")
    return ""


def _group_cells(column: ListColumn, by: str) -> Mapping[str, list[Cell]]:
    """The cells by the value of ``by`` in their rows; raises ``CannotCalculate`` if no row has a value there."""
    keys: dict[Decimal | str | None, str] = {}
    groups: dict[str, list[Cell]] = {}
    for cell, value in zip(column.cells, read_field_of_rows(column.cells, by, " to group by"), strict=True):
        text = _NO_GROUP if is_empty_value(value) else as_text(value)
        groups.setdefault(keys.setdefault(equality_key(value), text), []).append(cell)
    if column.cells and groups.keys() == {_NO_GROUP}:
        rows = describe_fields(column.cells)
        raise CannotCalculate(f"no row has the field {by!r} to group by; the rows have {rows}")
    return groups


def _format_group_result(result: OperationResult) -> Json:
    """The result of one group as JSON; raises ``CannotCalculate`` for a date."""
    if isinstance(result.value, date):
        raise CannotCalculate("dates are not grouped: filter the rows by a condition")
    return format_decimal(result.value) if isinstance(result.value, Decimal) else str(result.value)


def _write_notes_on_value(columns: Sequence[ListColumn], value: NamedValue, sources: OperandSources) -> list[str]:
    with_gaps = (column for column in columns if column.missing)
    notes = [f"{column.missing} rows have nothing in {column.operand_text} and are left out" for column in with_gaps]
    lists = [column for column in columns if column.is_list]
    refs = dict.fromkeys(column.operand.ref for column in lists if column.operand.source == "result")
    facts = map(sources.find_fact, refs)
    notes += [fact.note for fact in facts if fact is not None and fact.note.startswith(MISSING_ROWS_NOTE)]
    if value.where and not any(column.cells for column in lists):
        notes.append("no row meets the conditions")
    return notes


def _format_result(result: OperationResult, columns: Sequence[ListColumn]) -> tuple[str, str]:
    """A result as text, and its kind. A decimal gets the places of its operands (at most two), or those it needs."""
    value = result.value
    if isinstance(value, bool):
        return ("true" if value else "false"), "boolean"
    if isinstance(value, date):
        return value.isoformat(), "date"
    if isinstance(value, str):
        return value, "text"
    if result.keeps_places:
        return format_decimal(value), "decimal"
    amounts = [read_amount(cell.value) for column in columns for cell in column.cells[:100]]
    operand_places = max((count_decimal_places(amount.number) for amount in amounts if amount is not None), default=0)
    result_places = count_decimal_places(value)
    places = max(count_decimal_places(value.normalize(WIDE_CONTEXT)), min(operand_places, 2, result_places))
    return format_decimal(value.quantize(Decimal(1).scaleb(-places), context=WIDE_CONTEXT)), "decimal"
