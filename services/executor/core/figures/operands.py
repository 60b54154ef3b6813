"""Finds the values of a calculation's operands: at a path of a result, in a session's texts, or in earlier values."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta, tzinfo
from fractions import Fraction
from itertools import compress
from typing import NamedTuple, NoReturn

from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.figures.columns import (
    CONDITION_PATTERN,
    OVERDUE_SIGN,
    Cell,
    ListColumn,
    evaluate_condition,
    find_field,
    is_paid,
    list_field_values,
    name_as_words,
    parse_condition,
)
from services.executor.core.figures.dates import DateOrder, read_date, read_possible_dates
from services.executor.core.figures.mentions import find_number_notations, find_stated_days
from services.executor.core.figures.numbers import WrittenAmount, read_amount, read_number_word
from services.executor.core.figures.vocabulary import common_currency, is_currency_code
from services.executor.core.session.values import Fact, NamedValue, Operand
from services.executor.core.tools.paging import read_list_page
from services.executor.core.tools.record_tree import (
    NoSuchPath,
    find_distinguishing_key,
    format_condition,
    format_field_names,
    is_empty_value,
    is_keyed_table,
)
from shared.domain.exact_json import Json, as_text, dumps

_PATH_STEP_PATTERN = re.compile(rf"\.?([^.\[\]]+)|\[(\*|\d+)\]|\[({CONDITION_PATTERN})\]|\[\]")


_Step = str | int | tuple[str, str, str | None]  # a key or, empty, a list's items; a place; a condition


def select_cells(result: Json, path: str) -> ListColumn:
    """The cells at a path; rows without its last field count as missing. Raises ``NoSuchPath`` if nothing is there."""
    selection = ListColumn([Cell(result)])
    for step in _parse_steps(path):
        selection = _apply_step(selection, step, path)
    return _expand_lists(selection)


def unwrap_list(selection: ListColumn) -> ListColumn:
    """If the selection is one object that holds a single list, the rows of that list; any other selection unchanged."""
    if selection.is_list or len(selection.cells) != 1 or not isinstance(selection.cells[0].value, dict):
        return selection
    rows = _find_rows(selection.cells[0])
    return selection if rows is None else selection._replace(cells=rows, is_list=True)


def _parse_steps(path: str) -> Iterator[_Step]:
    """Yields the steps of a path such as ``items[*].amount``; raises ``NoSuchPath`` if the text is no path."""
    place = 0
    for match in _PATH_STEP_PATTERN.finditer(path):
        if match.start() != place:
            break
        place = match.end()
        key, index, condition = match.groups()
        if condition is not None:
            yield parse_condition(condition)
        elif index not in (None, "*"):
            yield int(index)
        else:
            yield (key or "").strip()
    if place != len(path):
        raise NoSuchPath(f"{path!r} is no path such as items[*].amount or items[status='open'].amount")


def _apply_step(selection: ListColumn, step: _Step, path: str) -> ListColumn:
    if isinstance(step, int):
        return _select_items_at_index(selection, step, path)
    if isinstance(step, str) and step:
        return _select_key(selection, step, path)
    expanded = _expand_lists(selection, opens_objects=True)
    if isinstance(step, str):
        if expanded.cells == selection.cells and all(map(_is_map_of_records, selection.cells)):
            rows = [row for cell in selection.cells for row in _expand_map_of_records(cell)]
            return selection._replace(cells=rows, is_list=True)
        return expanded if expanded.is_list else _raise_no_such_path(selection, path, "no list")
    field, sign, literal = step
    values = list_field_values([cell._replace(records=()) for cell in expanded.cells], field)
    is_met = evaluate_condition(values, sign, [literal] * len(values))
    return expanded._replace(cells=[*compress(expanded.cells, is_met)])


def _select_items_at_index(selection: ListColumn, index: int, path: str) -> ListColumn:
    """The item at ``index`` of each list; raises ``NoSuchPath`` if no list has one."""
    lists = [_find_rows(cell) or [] for cell in selection.cells]
    cells = [rows[index] for rows in lists if index < len(rows)]
    if not cells:
        raise NoSuchPath(f"path {path!r}: no [{index}] there; the list has {max(map(len, lists), default=0)} items")
    return ListColumn(cells, selection.is_list, selection.missing + len(lists) - len(cells))


def _select_key(selection: ListColumn, key: str, path: str) -> ListColumn:
    """The fields named ``key``, also of the rows in lists; raises ``NoSuchPath`` if all objects lack it."""
    cells: list[Cell] = []
    is_list, missing = selection.is_list, 0
    for cell in selection.cells:
        child = _find_child(cell, key)
        if child is not None:
            cells.append(child)
            continue
        rows = _find_rows(cell)
        is_list = is_list or rows is not None
        children = [_find_child(row, key) for row in rows or [cell]]
        cells += [child for child in children if child is not None]
        missing += sum(child is None for child in children)
    if missing and not cells:
        _raise_no_such_path(selection, path, key)
    return ListColumn(cells, is_list, selection.missing + missing)


def _find_child(cell: Cell, key: str) -> Cell | None:
    if not isinstance(cell.value, dict):
        return None
    field = find_field(cell.value, key)
    return Cell(field[1], (*cell.records, cell.value), field[0]) if field else None


def _find_rows(cell: Cell) -> list[Cell] | None:
    """The items of a list, or of the only list or table of records that an object holds; None if there is none."""
    if isinstance(cell.value, list):
        return [Cell(item, cell.records, cell.field) for item in cell.value]
    if not isinstance(cell.value, dict):
        return None
    records = (*cell.records, cell.value)
    if (page := read_list_page(cell.value)) is not None:
        return [Cell(row, records, page.place[-1]) for row in page.rows]
    if is_keyed_table(cell.value):
        return _expand_map_of_records(cell)
    tables = [(name, inner) for name, inner in cell.value.items() if isinstance(inner, dict) and is_keyed_table(inner)]
    return _expand_map_of_records(Cell(tables[0][1], records, tables[0][0])) if len(tables) == 1 else None


def _expand_map_of_records(cell: Cell) -> list[Cell]:
    """The records that an object holds under names, ``{"LN-17": {...}}``; each gets its name as ``id``."""
    pairs = cell.value.items() if isinstance(cell.value, dict) else ()
    rows = [(key, row) for key, row in pairs if isinstance(row, dict)]
    return [Cell(row if find_field(row, "id") else {"id": key, **row}, cell.records, cell.field) for key, row in rows]


def _is_map_of_records(cell: Cell) -> bool:
    """Whether a value is an object whose values are all objects: ``{"insulin": {...}, "zinc": {...}}``."""
    record = cell.value
    return isinstance(record, dict) and bool(record) and all(isinstance(value, dict) for value in record.values())


def _expand_lists(selection: ListColumn, opens_objects: bool = False) -> ListColumn:
    """The selection with each list replaced by its items; ``opens_objects``: also the only list within an object."""
    expanded_types = (list, dict) if opens_objects else (list,)
    if not any(isinstance(cell.value, expanded_types) for cell in selection.cells):
        return selection
    cells: list[Cell] = []
    is_list = selection.is_list
    for cell in selection.cells:
        rows = _find_rows(cell) if isinstance(cell.value, list) or (opens_objects and not is_list) else None
        is_list = is_list or rows is not None
        cells += [cell] if rows is None else rows
    return selection._replace(cells=cells, is_list=is_list)


def _raise_no_such_path(selection: ListColumn, path: str, missing_part: str) -> NoReturn:
    rows = [row.value for cell in selection.cells[:50] for row in (_find_rows(cell) or [cell])[:50]]
    if names := format_field_names(rows):
        content = f"are {names}"
    else:
        content = f"is {dumps(rows[0])[:60]}" if rows else "is nothing"
    raise NoSuchPath(f"path {path!r}: no {missing_part} there; there {content}")


def read_field_of_rows(cells: Sequence[Cell], field: str, purpose: str = "") -> list[Json]:
    """For each row the value of a field, None if the row lacks it; raises ``CannotCalculate`` if no row has it."""
    if cells and not any(cell.find_field(field) for cell in cells):
        raise CannotCalculate(f"no row has the field {field!r}{purpose}; the rows have {describe_fields(cells)}")
    return list_field_values(cells, field)


def describe_fields(cells: Sequence[Cell]) -> str:
    return format_field_names([cell.row for cell in cells[:50]])


def select_rows_by_condition(
    cells: list[Cell], values: Sequence[Json], sign: str, against: Sequence[Json], order: DateOrder, today: date
) -> list[Cell]:
    """The rows (``cells``) whose value stands in the relation ``sign`` to its counterpart in ``against``.

    For ``overdue`` those whose value is a due date before ``today``, and that are not paid. Raises ``CannotCalculate``
    for a due date that is none, or one of two.
    """
    if sign == OVERDUE_SIGN:
        return [cell for cell, value in zip(cells, values, strict=True) if _is_overdue(cell, value, order, today)]
    return [*compress(cells, evaluate_condition(values, sign, against, order))]


def _is_overdue(cell: Cell, due_date: Json, order: DateOrder, today: date) -> bool:
    """Whether the due date has passed and its record is not paid; raises ``CannotCalculate`` for no clear date."""
    day = read_date(due_date, order)
    if day is None and not is_empty_value(due_date):
        raise CannotCalculate(f"{dumps(due_date)[:60]} is no due date, or one of two: say with date_order which")
    return day is not None and day < today and not is_paid(cell.row)


_REF_AND_PATH_PATTERN = re.compile(r"\$?[\[{]*(?P<ref>[A-Za-z][\w-]*)[\]}]*(?P<rest>(?:[.\[].*)?)", re.DOTALL)
_REF_LIKE_START_PATTERN = re.compile(r"(?i)r\d+(?=$|[.\[])")
_LIKELY_CONSTANTS = frozenset({0, 1, 100})  # rather meant by themselves than as what some record happens to state
_DIGIT_PATTERN = re.compile(r"\d")
_DAYS_FROM_TODAY_BY_WORD = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}


class OperandSources(NamedTuple):
    """Where operands come from. ``texts``: the task and the turns before it; ``today``: the day in ``zone``."""

    facts: Sequence[Fact] = ()
    values: Sequence[NamedValue] = ()
    texts: Sequence[str] = ()
    today: date = date.min
    zone: tzinfo | None = None

    def find_fact(self, ref: str) -> Fact | None:
        """The fact of that reference, in any case; None if there is none."""
        return next((fact for fact in self.facts if fact.ref.casefold() == ref.casefold()), None)

    def find_value(self, name: str) -> NamedValue | None:
        """The value of that name, or else of the same words in another spelling; None if there is none."""
        value = next((value for value in self.values if value.name == name), None)
        if value is not None or not re.fullmatch(r"[A-Za-z][\w -]*", name):
            return value
        return next((value for value in self.values if name_as_words(value.name) == name_as_words(name)), None)


class OperandFinder:
    """Finds the operands of calculations in what is known; parses each result only once."""

    def __init__(self, sources: OperandSources) -> None:
        self.sources = sources
        self._results: dict[str, Json] = {}

    def add_value(self, value: NamedValue) -> None:
        """Makes a value one of the earlier values, from which operands may come."""
        self.sources = self.sources._replace(values=(*self.sources.values, value))

    def find_result(self, ref: str) -> Json:
        """The result with that reference; raises ``CannotCalculate`` if there is none."""
        fact = self.sources.find_fact(ref)
        if fact is None:
            refs = ", ".join(fact.ref for fact in self.sources.facts) or "none yet"
            raise CannotCalculate(f"no fact has the reference {ref!r}; known references: {refs}")
        if fact.ref not in self._results:
            self._results[fact.ref] = fact.result
        return self._results[fact.ref]

    def find_operand(
        self,
        text: str,
        allowed_constants: frozenset[int] = frozenset(),
        *,
        may_be_word: bool = False,
        is_percent: bool = False,
    ) -> Operand:
        """The operand that a model means by ``text``; raises ``CannotCalculate``, whose message says how to name it.

        ``allowed_constants``: numbers that need no source. ``may_be_word``: whether a plain word may be an operand.
        ``is_percent``: whether 0.2 may stand for the task's 20 %.
        """
        text = text.strip().strip('"')
        is_word = may_be_word and 0 < len(text) <= 120 and not read_amount(text) and not read_possible_dates(text)
        operand = (
            self.find_referenced_operand(text)
            or self._find_figure_source(text, allowed_constants, is_percent)
            or (Operand(source="constant", literal=text) if is_word else None)
        )
        if operand is None:
            raise CannotCalculate(self._explain_missing_source(text))
        return operand

    def find_referenced_operand(self, text: str) -> Operand | None:
        """The operand for a day such as ``today``, an earlier value, or a path into a result; else None.

        Raises ``CannotCalculate`` if that result is an error.
        """
        return self._find_day_word_or_named_value(text.strip()) or self._find_at_path(text.strip())

    def is_in_texts(self, literal: str) -> bool:
        """Whether one of the sources' ``texts`` contains this figure, date or currency."""
        return self._find_in_texts(literal) is not None

    def _find_day_word_or_named_value(self, text: str) -> Operand | None:
        if text.casefold() in _DAYS_FROM_TODAY_BY_WORD:
            day = self.sources.today + timedelta(days=_DAYS_FROM_TODAY_BY_WORD[text.casefold()])
            return Operand(source="today", ref=text.casefold(), literal=day.isoformat())
        if (value := self.sources.find_value(text)) is not None:
            return Operand(source="value", ref=value.name)
        match = re.fullmatch(r"([^.\[\]]+)[.\[](.*?)\]?", text, re.DOTALL)
        value = self.sources.find_value(match[1]) if match else None
        if match is None or value is None or value.kind != "groups" or self.sources.find_fact(match[1]) is not None:
            return None
        return Operand(source="value", ref=value.name, path="" if match[2] == "*" else match[2].strip("'\""))

    def _find_at_path(self, text: str) -> Operand | None:
        """The operand at a path such as ``r1.total``; None if no fact has that reference.

        Raises ``CannotCalculate`` if the fact is an error.
        """
        match = _REF_AND_PATH_PATTERN.fullmatch(text.removeprefix("$.").removeprefix("results."))
        fact = self.sources.find_fact(match["ref"]) if match else None
        if match is None or fact is None:
            return None
        if not fact.ok:
            raise CannotCalculate(f"{fact.ref} is an error and states no figures")
        return Operand(source="result", ref=fact.ref, path=match["rest"].removeprefix(".").removesuffix("}"))

    def _find_figure_source(self, text: str, allowed_constants: frozenset[int], is_percent: bool) -> Operand | None:
        """The operand for a plain figure, date or currency, from the session's texts or a result; a figure also from an
        earlier value, or as one of the constants ``allowed_constants``, which need no source. None if there is none.
        """
        literal = self._find_in_texts(text)
        if literal is not None:
            is_same = is_percent or _may_be_same_number(literal, text)
            return Operand(source="task", literal=literal if is_same else text)
        amount = read_amount(text)
        if amount is not None:
            return (
                _build_allowed_constant(amount, text, allowed_constants & _LIKELY_CONSTANTS)
                or self._find_in_values(amount)
                or self._find_in_facts(text)
                or _build_allowed_constant(amount, text, allowed_constants)
            )
        if is_currency_code(text) or read_possible_dates(text):
            return self._find_in_facts(text)
        return None

    def _find_in_texts(self, figure: str) -> str | None:
        """The figure, date or currency as a text has it, with its percent sign or currency; None if no text has it."""
        if is_currency_code(figure):
            pattern = re.compile(rf"\b{re.escape(figure)}\b")
            return figure if any(map(pattern.search, self.sources.texts)) else None
        for text in self.sources.texts:
            if not find_stated_days(text, self.sources.today).isdisjoint(read_possible_dates(figure)):
                return figure
            if (notation := _find_notation_in_text(figure, text, self.sources.today)) is not None:
                return notation
        return None

    def _find_in_values(self, amount: WrittenAmount) -> Operand | None:
        for value in self.sources.values:
            number = value.number
            if number is not None and Fraction(number) == Fraction(amount.number):
                return Operand(source="value", ref=value.name)
        return None

    def _find_in_facts(self, figure: str) -> Operand | None:
        for fact in self.sources.facts:
            path = next(_find_paths_to(self.find_result(fact.ref), figure), None) if fact.ok else None
            if path is not None:
                return Operand(source="result", ref=fact.ref, path=path)
        return None

    def _explain_missing_source(self, text: str) -> str:
        refs = ", ".join(fact.ref for fact in self.sources.facts)
        if _REF_LIKE_START_PATTERN.match(text):
            return f"no fact has the reference of {text!r}; known references: {refs or 'none yet'}"
        advice = "give a figure as it stands in the task or a result, the name of a value, or a path such as"
        if re.search(r"[\w)\]]\s+[-+*/]\s+[\w(]", text):
            return f"{text!r} is an expression: calculate one operation at a time, each operand by itself"
        if read_amount(text) is not None or read_possible_dates(text):
            ref = next((fact.ref for fact in self.sources.facts if fact.ok and text in fact.result_json), "")
            where = f" (only within a text of {ref}, which is no source of figures)" if ref else ""
            explanation = f"{text!r} stands neither in the task nor in a result by itself{where}"
            return f"{explanation}: read what states it, or {advice} r1.amount"
        return f"{text!r} is no known value, path or figure: {advice} r1.items[*].amount"


def _find_paths_to(value: Json, figure: str) -> Iterator[str]:
    """Yields the paths at which a figure, date or currency is a whole value; rows are named by their identifiers."""
    amount, days = read_amount(figure), read_possible_dates(figure)
    yield from _walk_paths_to(value, Fraction(amount.number) if amount else None, days, figure, "")


def _walk_paths_to(value: Json, number: object, days: tuple[date, ...], figure: str, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not set(key) & set(".[]"):
                yield from _walk_paths_to(inner, number, days, figure, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for inner_path in _walk_paths_to(inner, number, days, figure, ""):
                dot = "" if inner_path[:1] in ("", "[") else "."
                yield f"{path}{_write_row_step(value, index) or f'[{index}]'}{dot}{inner_path}"
    elif _is_wanted_value(value, number, days, figure):
        yield path


def _is_wanted_value(value: Json, number: object, days: tuple[date, ...], figure: str) -> bool:
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not _DIGIT_PATTERN.search(value)):
        return isinstance(value, str) and number is None and not days and value.strip() == figure
    if number is not None:
        amount = read_amount(value)
        return amount is not None and Fraction(amount.number) == number
    if days:
        return bool(set(days) & set(read_possible_dates(value)))
    return isinstance(value, str) and value.strip() == figure


def _write_row_step(rows: Sequence[Json], index: int) -> str:
    """The path step that selects a row by an identifying field, in any order of rows; empty if there is none."""
    key, row = find_distinguishing_key(rows), rows[index]
    value = row[key] if key and isinstance(row, dict) else None
    return f"[{format_condition(key, '=', value)}]" if key and not set(str(value)) & set("[]") else ""


def _find_notation_in_text(figure: str, text: str, today: date) -> str | None:
    """The figure as the text writes it, unchanged if the text has it in several currencies; None if not there."""
    amount = read_amount(figure)
    if amount is None:
        number = read_number_word(figure)
        return figure if number and re.search(rf"\b{re.escape(figure)}\b", text, re.I) else None
    notations_by_number = find_number_notations(text, today)
    notations = notations_by_number.get(Fraction(amount.number), ())
    if not notations and amount.style == "":
        of_hundredfold = notations_by_number.get(Fraction(amount.number) * 100, ())
        notations = tuple(notation for notation in of_hundredfold if notation.rstrip().endswith("%"))
    notations = tuple(notation for notation in notations if _find_number_style(notation) == amount.style) or notations
    if common_currency(notations) is None:
        return figure  # it stands there in several currencies, and nothing tells which is meant
    return max(notations, key=len, default=None)


def _find_number_style(notation: str) -> str:
    amount = read_amount(notation)
    return amount.style if amount else ""


def _may_be_same_number(notation: str, figure: str) -> bool:
    number, other_number = read_amount(notation) or read_number_word(notation), read_amount(figure)
    return number is None or other_number is None or Fraction(number.number) == Fraction(other_number.number)


def _build_allowed_constant(amount: WrittenAmount, figure: str, allowed_constants: frozenset[int]) -> Operand | None:
    is_free = not amount.style and any(Fraction(amount.number) == number for number in allowed_constants)
    return Operand(source="constant", literal=figure) if is_free else None


def read_operand_texts(argument: Json) -> list[str]:
    """The operands that a model gave, as texts: from a list, a single operand, numbers or small objects."""
    operands = argument if isinstance(argument, list) else [] if argument is None else [argument]
    return [_read_operand_text(operand) for operand in operands]


def _read_operand_text(operand: Json) -> str:
    if not isinstance(operand, dict):
        return as_text(operand)
    ref, path = operand.get("ref"), operand.get("path")
    if isinstance(ref, str) and ref:
        return f"{ref}{'' if not path or str(path).startswith('[') else '.'}{path or ''}"
    names = ("literal", "value", "name", "figure", "path")
    return next((_read_operand_text(operand[name]) for name in names if operand.get(name)), "")
