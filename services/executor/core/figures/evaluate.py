"""Computes and audits named values: each from its operands, exactly and without a model (I2)."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Context, Decimal

from services.executor.core.figures.calculator import NOTHING, CannotCalculate, MadeToolResults, decimal_text
from services.executor.core.figures.columns import (
    IS_EMPTY,
    IS_NOT_EMPTY,
    ORDERINGS,
    OVERDUE,
    Cell,
    ListColumn,
    compare_values,
    drop_empty_cells,
    equality_key,
    find_field_around,
    require_single_cell,
)
from services.executor.core.figures.dates import DateOrder, find_date_order, read_possible_dates
from services.executor.core.figures.numbers import read_amount
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
    AGGREGATES,
    EXTREMES,
    FREE_LIMITS,
    OPERATIONS,
    WORDS_ALLOWED,
    CalculationCall,
    OperationResult,
    count_decimal_places,
    perform_operation,
    sourceless_numbers,
)
from services.executor.core.figures.vocabulary import common_currency, is_currency
from services.executor.core.session.values import NamedValue, Operand, RowCondition
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE, NoSuchPath, is_empty_value
from shared.domain.exact_json import Json, as_text, dumps, loads_object

_MOST_GROUPS = 500
_NO_GROUP = "(none)"
_UNROUNDED_CONTEXT = Context(prec=1000)


def evaluate_value(sources: OperandFinder, asked: NamedValue, made: MadeToolResults = NOTHING) -> NamedValue:
    """The value ``asked`` with its result filled in from its operands.

    Raises ``CannotCalculate`` or ``NoSuchPath``, whose message names what does not fit, and ``MadeToolNotRun`` if a
    made tool has to run first.
    """
    known = sources.known
    columns = [_read_column(operand, place, asked, sources) for place, operand in enumerate(asked.operands)]
    if asked.where and not any(column.is_list and column.operand.source == "result" for column in columns):
        raise CannotCalculate("where chooses among the rows of a list: give a path into one, r1.items[*].amount")
    columns = [_filter_column(column, asked, sources) for column in columns]
    if operation_takes_lists(asked.operation):
        columns = [drop_empty_cells(column) for column in columns]
    order = asked.date_order or find_date_order(cell.value for column in columns for cell in column.cells)
    call = CalculationCall(asked.operation, columns, known.today, order, asked.give)
    try:
        answer = _compute_groups(call, asked.by, made) if asked.by else perform_operation(call, made)
    except ArithmeticError as error:
        raise CannotCalculate(f"{asked.operation}: {type(error).__name__}") from None
    note = "; ".join(filter(None, (answer.note, *_notes_on_value(columns, asked, known))))
    text, kind = _format_result(answer, columns)
    kind = "groups" if answer.is_groups else kind
    update = {"value": text, "kind": kind, "currency": answer.currency, "unit": answer.unit, "note": note}
    return asked.model_copy(update=update)


def recheck_figures(
    values: Sequence[NamedValue], known: OperandSources, made: MadeToolResults = NOTHING
) -> dict[str, str]:
    """By name, a sentence on each value that is not what its operands give, or rests on such a value."""
    wrong: dict[str, str] = {}
    sources = OperandFinder(known)
    for value in values:
        try:
            problem = _recheck_value(value, sources, made)
            sources = sources.with_value(value)
        except (CannotCalculate, NoSuchPath, ArithmeticError, ValueError) as error:
            problem = f"{value.name}: {error}"
        rests_on = next((one.ref for one in value.operands if one.source == "value" and one.ref in wrong), "")
        if problem or rests_on:
            wrong[value.name] = problem or f"{value.name}: it rests on {rests_on}"
    return wrong


def recompute_values(
    values: Sequence[NamedValue], known: OperandSources, made: MadeToolResults = NOTHING
) -> tuple[NamedValue, ...]:
    """The values computed again over other facts; an equal one keeps its text. Raises as ``evaluate_value`` does."""
    sources = OperandFinder(known)
    for value in values:
        fresh = evaluate_value(sources, value, made)
        is_same = fresh.kind == value.kind and _are_equal_results(fresh, value)
        sources = sources.with_value(fresh.model_copy(update={"value": value.value}) if is_same else fresh)
    return tuple(sources.known.values[len(known.values) :])


def operation_takes_lists(operation: str) -> bool:
    return operation in OPERATIONS and OPERATIONS[operation].takes_lists


def _recheck_value(value: NamedValue, sources: OperandFinder, made: MadeToolResults) -> str:
    known = sources.known
    if any(one.name == value.name for one in known.values):
        return f"{value.name}: named twice"
    days = [one for one in value.operands if one.source == "today"] if known.today != date.min else []
    wrong_day = [one.literal for one in days if one != sources.find_operand(one.ref or "today")]
    if wrong_day:
        return f"{value.name}: {wrong_day[0]} is not the day that the task goes by"
    result = evaluate_value(sources, value, made)
    if result.kind == value.kind and _are_equal_results(result, value):
        return ""
    return f"{value.name}: {value.operation} of its operands is {result.value}, not {value.value}"


def _are_equal_results(one: NamedValue, other: NamedValue) -> bool:
    if one.kind == "decimal":
        return Decimal(one.value) == Decimal(other.value)
    if one.kind == "groups":
        mine, its = loads_object(one.value), loads_object(other.value)
        return mine.keys() == its.keys() and all(Decimal(str(mine[key])) == Decimal(str(its[key])) for key in mine)
    return one.value == other.value


def _read_column(operand: Operand, place: int, asked: NamedValue, sources: OperandFinder) -> ListColumn:
    if operand.source == "constant":
        _check_constant(operand.literal, place, asked)
    column = _read_operand(operand, sources)
    return unwrap_list(column) if operand.source == "result" and operation_takes_lists(asked.operation) else column


def _read_operand(operand: Operand, sources: OperandFinder) -> ListColumn:
    match operand.source:
        case "value":
            return _read_value_column(operand, sources.known)
        case "result":
            return select_cells(sources.find_result(operand.ref), operand.path)._replace(operand=operand)
        case "row":
            raise CannotCalculate("a field of the row is compared with in conditions alone")
    if operand.source == "task" and not sources.is_in_user_texts(operand.literal):
        raise CannotCalculate(f"the task states no figure {operand.literal!r}")
    return ListColumn([Cell(operand.literal)], operand=operand)


def _read_value_column(operand: Operand, known: OperandSources) -> ListColumn:
    value = next((value for value in known.values if value.name == operand.ref), None)
    if value is None:
        raise CannotCalculate(f"no earlier value is named {operand.ref!r}")
    if value.kind != "groups":
        read: Json = value.value == "true" if value.kind == "boolean" else value.value
        if value.kind == "decimal":
            read = Decimal(value.value)
        return ListColumn([Cell(read, currency=value.currency, unit=value.unit)], operand=operand)
    cells = {
        name: Cell(
            figure, ({"group": name},), value.name, value.currency or (name if is_currency(name) else ""), value.unit
        )
        for name, figure in loads_object(value.value).items()
    }
    if not operand.path:
        return ListColumn([*cells.values()], is_list=True, operand=operand)
    name = next((name for name in cells if name.casefold() == operand.path.casefold()), None)
    if name is None:
        raise CannotCalculate(f"{value.name} has no group {operand.path!r}; it has {', '.join(list(cells)[:12])}")
    return ListColumn([cells[name]], operand=operand)


def _check_constant(literal: str, place: int, asked: NamedValue) -> None:
    """Raises ``CannotCalculate`` unless the constant needs no source here, or is a word to compare with."""
    amount = read_amount(literal)
    is_word = amount is None and not read_possible_dates(literal) and asked.operation in WORDS_ALLOWED
    if not is_word and (amount is None or amount.number not in sourceless_numbers(asked.operation, place)):
        raise CannotCalculate(f"nothing states the figure {literal!r}")


def _filter_column(column: ListColumn, asked: NamedValue, sources: OperandFinder) -> ListColumn:
    """The column with only those cells whose rows meet all conditions; unchanged if it is no list."""
    for condition in asked.where if column.is_list and column.operand.source == "result" else ():
        column = column._replace(cells=_select_cells(column.cells, condition, asked.date_order, sources))
    return column


def _select_cells(cells: list[Cell], condition: RowCondition, stated: DateOrder, sources: OperandFinder) -> list[Cell]:
    values = read_field_of_rows(cells, condition.field)
    against = _find_comparison_values(cells, condition, sources)
    order = stated or find_date_order((*values, *against))
    if condition.sign in ORDERINGS:
        amount = read_amount(condition.against.literal)
        if condition.against.source == "constant" and (amount is None or amount.number not in FREE_LIMITS):
            raise CannotCalculate(f"nothing states the figure {condition.against.literal!r}")
        _check_comparable(values, against, condition, order)
    return select_rows_by_condition(cells, values, condition.sign, against, order, sources.known.today)


def _find_comparison_values(cells: list[Cell], condition: RowCondition, sources: OperandFinder) -> list[Json]:
    if condition.sign in (IS_EMPTY, IS_NOT_EMPTY, OVERDUE):
        return [None] * len(cells)
    if condition.against.source != "row":
        value = require_single_cell(_read_operand(condition.against, sources), "a condition").value
        return [value] * len(cells)
    return [found[1] if (found := find_field_around(cell, condition.against.path)) else None for cell in cells]


def _check_comparable(values: list[Json], against: list[Json], condition: RowCondition, order: DateOrder) -> None:
    """Raises ``CannotCalculate`` if no row can be compared, a date could be two, or the currencies differ."""
    pairs = [(one, two) for one, two in zip(values, against, strict=True) if not is_empty_value(one)]
    both = (*(one for one, _ in pairs), *against)
    doubtful = next((one for one in both if len(read_possible_dates(one)) == 2 and not order), None)
    if doubtful is not None:
        raise CannotCalculate(
            f"{dumps(doubtful)} can be two dates: say with date_order which (day_first or month_first)"
        )
    if pairs and all(compare_values(one, two, order) is None for one, two in pairs):
        one, two = pairs[0]
        raise CannotCalculate(f"{condition.field} ({dumps(one)[:60]}) cannot be ordered against {dumps(two)[:60]}")
    if common_currency({item for pair in pairs for item in pair if read_amount(item) is not None}) is None:
        raise CannotCalculate(f"{condition.field} is compared with an amount of another currency")


def _compute_groups(call: CalculationCall, by: str, made: MadeToolResults) -> OperationResult:
    """The operation over the rows of each group; for ``which_has_most`` and ``which_has_least``, the group whose sum,
    or whose number of records, is the greatest or the least.
    """
    if call.operation not in (*AGGREGATES, *EXTREMES):
        raise CannotCalculate(f"by goes with {', '.join((*AGGREGATES, *EXTREMES))}, not with {call.operation}")
    if len(call.columns) != 1:
        raise CannotCalculate("by needs one operand, a path into a list such as r1.items[*].amount")
    column = call.columns[0]
    groups = _group_cells(column, by)
    total = "count" if any(isinstance(cell.value, dict) for cell in column.cells) else "sum"
    inner = call if call.operation in AGGREGATES else call._replace(operation=total)
    answers = {
        name: perform_operation(inner._replace(columns=[column._replace(cells=cells)]), made)
        for name, cells in groups.items()
    }
    figures: dict[str, Json] = {name: _format_group_result(answer) for name, answer in answers.items()}
    if call.operation in AGGREGATES:
        if len(figures) > _MOST_GROUPS:
            raise CannotCalculate(f"{by} has {len(figures)} values, more than {_MOST_GROUPS}: group by another field")
        currency = _common_currency_or_unit("currency", {name: one.currency for name, one in answers.items()})
        unit = _common_currency_or_unit("unit", {name: one.unit for name, one in answers.items()})
        return OperationResult(dumps(figures), currency, unit, is_groups=True)
    cells = [
        Cell(figures[name], ({"group": name},), inner.operation, one.currency, one.unit)
        for name, one in answers.items()
    ]
    return perform_operation(call._replace(columns=[column._replace(cells=cells)], give=""), made)


def _common_currency_or_unit(kind: str, by_group: Mapping[str, str]) -> str:
    """The currency or unit of all groups; empty if not all have it, or each currency is a group of that name.

    Raises ``CannotCalculate`` for groups that differ in it: what comes next would add or compare them.
    """
    said = sorted({*filter(None, by_group.values())})
    if len({*by_group.values()}) == 1:
        return "".join(said)
    if len(said) > 1 and not all(name.upper() == code or not code for name, code in by_group.items()):
        raise CannotCalculate(f"the groups differ in {kind} ({', '.join(said)}): filter by it first")
    return ""


def _group_cells(column: ListColumn, by: str) -> Mapping[str, list[Cell]]:
    keys: dict[Decimal | str | None, str] = {}
    groups: dict[str, list[Cell]] = {}
    for cell, value in zip(column.cells, read_field_of_rows(column.cells, by, " to group by"), strict=True):
        text = _NO_GROUP if is_empty_value(value) else as_text(value)
        groups.setdefault(keys.setdefault(equality_key(value), text), []).append(cell)
    if column.cells and groups.keys() == {_NO_GROUP}:
        rows = describe_fields(column.cells)
        raise CannotCalculate(f"no row has the field {by!r} to group by; the rows have {rows}")
    return groups


def _format_group_result(answer: OperationResult) -> Json:
    if isinstance(answer.value, date):
        raise CannotCalculate("dates are not grouped: filter the rows by a condition")
    return decimal_text(answer.value) if isinstance(answer.value, Decimal) else str(answer.value)


def _notes_on_value(columns: Sequence[ListColumn], asked: NamedValue, known: OperandSources) -> list[str]:
    notes = [
        f"{one.missing} rows have nothing in {one.operand_text} and are left out" for one in columns if one.missing
    ]
    refs = dict.fromkeys(one.operand.ref for one in columns if one.is_list and one.operand.source == "result")
    facts = [fact for ref in refs if (fact := known.find_fact(ref)) is not None]
    notes += [fact.note for fact in facts if fact.note.startswith(MISSING_ROWS_NOTE)]
    if asked.where and not any(one.cells for one in columns if one.is_list):
        notes.append("no row meets the conditions")
    return notes


def _format_result(answer: OperationResult, columns: Sequence[ListColumn]) -> tuple[str, str]:
    """A result as text, and its kind. A decimal gets the places of its operands (at most two), or those it needs."""
    value = answer.value
    if isinstance(value, bool):
        return ("true" if value else "false"), "boolean"
    if isinstance(value, date):
        return value.isoformat(), "date"
    if isinstance(value, str):
        return value, "text"
    if answer.keeps_places:
        return decimal_text(value), "decimal"
    amounts = [read_amount(cell.value) for column in columns for cell in column.cells[:100]]
    wanted = max((count_decimal_places(amount.number) for amount in amounts if amount is not None), default=0)
    given = count_decimal_places(value)
    places = max(count_decimal_places(value.normalize(_UNROUNDED_CONTEXT)), min(wanted, 2, given))
    return decimal_text(value.quantize(Decimal(1).scaleb(-places), context=_UNROUNDED_CONTEXT)), "decimal"
