"""Finds the values of a calculation's operands: at a path of a result, in the user's texts, or among earlier values."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import NamedTuple

from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.figures.columns import (
    CONDITION,
    OVERDUE,
    Cell,
    ListColumn,
    evaluate_condition,
    find_field,
    find_field_around,
    is_paid,
    name_as_words,
    parse_condition,
)
from services.executor.core.figures.dates import DateOrder, read_date, read_possible_dates
from services.executor.core.figures.mentions import find_amounts, find_stated_days
from services.executor.core.figures.numbers import WrittenAmount, read_amount, read_number_word
from services.executor.core.figures.vocabulary import common_currency, is_currency
from services.executor.core.session.values import Fact, NamedValue, Operand
from services.executor.core.tools.paging import read_list_page
from services.executor.core.tools.record_tree import (
    NoSuchPath,
    distinguishing_key,
    format_condition,
    is_empty_value,
    is_keyed_table,
    list_field_names,
)
from shared.domain.exact_json import Json, as_text, dumps

_STEP = re.compile(rf"\.?([^.\[\]]+)|\[(\*|\d+)\]|\[({CONDITION})\]|\[\]")


_Step = str | int | tuple[str, str, str | None]  # a key or, empty, a list's items; a place; a condition


def select_cells(result: Json, path: str) -> ListColumn:
    """The cells at a path of a result. Rows without the path's last field are counted as missing; raises ``NoSuchPath``
    if no row has it.
    """
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
    place = 0
    for match in _STEP.finditer(path):
        if match.start() != place:
            break
        place = match.end()
        key, index, only = match.groups()
        if only is not None:
            yield parse_condition(only)
        elif index not in (None, "*"):
            yield int(index)
        else:
            yield (key or "").strip()
    if place != len(path):
        raise NoSuchPath(f"{path!r} is no path such as items[*].amount or items[status='open'].amount")


def _apply_step(selection: ListColumn, step: _Step, path: str) -> ListColumn:
    if isinstance(step, int):
        return _select_index(selection, step, path)
    if isinstance(step, str) and step:
        return _select_key(selection, step, path)
    opened = _expand_lists(selection, inside=True)
    if isinstance(step, str):
        if opened.cells == selection.cells and all(map(_is_map_of_records, selection.cells)):
            return selection._replace(
                cells=[row for cell in selection.cells for row in _expand_map_of_records(cell)], is_list=True
            )
        return opened if opened.is_list else _refuse_path(selection, path, "no list")
    field, sign, literal = step
    alone = [cell._replace(records=()) for cell in opened.cells]
    values = [found[1] if (found := find_field_around(cell, field)) else None for cell in alone]
    kept = evaluate_condition(values, sign, [literal] * len(alone))
    return opened._replace(cells=[cell for cell, is_kept in zip(opened.cells, kept, strict=True) if is_kept])


def _select_index(selection: ListColumn, index: int, path: str) -> ListColumn:
    lists = [_find_rows(cell) or [] for cell in selection.cells]
    found = [rows[index] for rows in lists if index < len(rows)]
    if not found:
        raise NoSuchPath(f"path {path!r}: no [{index}] there; the list has {max(map(len, lists), default=0)} items")
    return ListColumn(found, selection.is_list, selection.missing + len(lists) - len(found))


def _select_key(selection: ListColumn, key: str, path: str) -> ListColumn:
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
        return _refuse_path(selection, path, key)
    return ListColumn(found, is_list, selection.missing + missing)


def _find_child(cell: Cell, key: str) -> Cell | None:
    if not isinstance(cell.value, dict):
        return None
    found = find_field(cell.value, key)
    return Cell(found[1], (*cell.records, cell.value), found[0]) if found else None


def _find_rows(cell: Cell) -> list[Cell] | None:
    """The items of a list, or of the only list that an object holds; None if there is none."""
    if isinstance(cell.value, list):
        return [Cell(item, cell.records, cell.field) for item in cell.value]
    page = read_list_page(cell.value)
    if page is None and isinstance(cell.value, dict):
        return _find_keyed_rows(cell)
    if page is None or not isinstance(cell.value, dict):
        return None
    return [Cell(row, (*cell.records, cell.value), page.place[-1]) for row in page.rows]


def _find_keyed_rows(cell: Cell) -> list[Cell] | None:
    """The records of a table such as ``{"LN-17": {...}}``, also one level deeper; each row gets its key as ``id``."""
    if not isinstance(cell.value, dict):
        return None
    inner = {name: one for name, one in cell.value.items() if isinstance(one, dict)}
    tables = (
        {"": cell.value}
        if is_keyed_table(cell.value)
        else {name: one for name, one in inner.items() if is_keyed_table(one)}
    )
    if len(tables) != 1:
        return None
    [(name, table)] = tables.items()
    around = (*cell.records, cell.value) if name else cell.records
    return _expand_map_of_records(Cell(table, around, name or cell.field))


def _expand_map_of_records(cell: Cell) -> list[Cell]:
    """The records that an object holds under names; each gets its name as ``id``."""
    rows = (
        [(key, row) for key, row in cell.value.items() if isinstance(row, dict)] if isinstance(cell.value, dict) else []
    )
    return [Cell(row if find_field(row, "id") else {"id": key, **row}, cell.records, cell.field) for key, row in rows]


def _is_map_of_records(cell: Cell) -> bool:
    """Whether a value is an object whose values are all objects: ``{"insulin": {...}, "zinc": {...}}``."""
    return (
        isinstance(cell.value, dict) and bool(cell.value) and all(isinstance(one, dict) for one in cell.value.values())
    )


def _expand_lists(selection: ListColumn, inside: bool = False) -> ListColumn:
    """The selection with each list replaced by its items; ``inside``: also the only list within an object."""
    if not any(isinstance(cell.value, list) or (inside and isinstance(cell.value, dict)) for cell in selection.cells):
        return selection
    found: list[Cell] = []
    is_list = selection.is_list
    for cell in selection.cells:
        rows = _find_rows(cell) if isinstance(cell.value, list) or (inside and not is_list) else None
        is_list = is_list or rows is not None
        found += [cell] if rows is None else rows
    return selection._replace(cells=found, is_list=is_list)


def _refuse_path(selection: ListColumn, path: str, what: str) -> ListColumn:
    around = [row.value for cell in selection.cells[:50] for row in (_find_rows(cell) or [cell])[:50]]
    names = list_field_names(around)
    there = f"there are {names}" if names else f"there is {dumps(around[0])[:60]}" if around else "there is nothing"
    raise NoSuchPath(f"path {path!r}: no {what} there; {there}")


def read_field_of_rows(cells: Sequence[Cell], field: str, purpose: str = "") -> list[Json]:
    """For each row the value of a field, None if the row lacks it; raises ``CannotCalculate`` if no row has it."""
    found = [find_field_around(cell, field) for cell in cells]
    if cells and not any(found):
        raise CannotCalculate(f"no row has the field {field!r}{purpose}; the rows have {describe_fields(cells)}")
    return [one[1] if one else None for one in found]


def describe_fields(cells: Sequence[Cell]) -> str:
    return list_field_names([cell.row for cell in cells[:50]])


def select_rows_by_condition(
    cells: list[Cell], values: Sequence[Json], sign: str, against: Sequence[Json], order: DateOrder, today: date
) -> list[Cell]:
    """The rows whose value stands in the relation ``sign`` to its counterpart in ``against``."""
    if sign == OVERDUE:
        kept = [_is_overdue(cell, value, order, today) for cell, value in zip(cells, values, strict=True)]
    else:
        kept = evaluate_condition(values, sign, against, order)
    return [cell for cell, is_kept in zip(cells, kept, strict=True) if is_kept]


def _is_overdue(cell: Cell, due: Json, order: DateOrder, today: date) -> bool:
    day = read_date(due, order)
    if day is None and not is_empty_value(due):
        raise CannotCalculate(f"{dumps(due)[:60]} is no due date, or one of two: say with date_order which")
    return day is not None and day < today and not is_paid(cell.row)


_REF = re.compile(r"\$?[\[{]*(?P<ref>[A-Za-z][\w-]*)[\]}]*(?P<rest>(?:[.\[].*)?)", re.DOTALL)
_LOOKS_LIKE_A_REF = re.compile(r"r\d+", re.I)
# These are rather meant by themselves than as what some record happens to state.
_LIKELY_CONSTANTS = frozenset({0, 1, 100})
_HAS_DIGIT = re.compile(r"\d")
_DAYS = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}


class OperandSources(NamedTuple):
    """Where operands may come from. ``texts``: the task and the user's earlier turns; ``today``: the task's day."""

    facts: Sequence[Fact] = ()
    values: Sequence[NamedValue] = ()
    texts: Sequence[str] = ()
    today: date = date.min

    def find_fact(self, ref: str) -> Fact | None:
        return next((fact for fact in self.facts if fact.ref.casefold() == ref.casefold()), None)

    def find_value(self, name: str) -> NamedValue | None:
        found = next((value for value in self.values if value.name == name), None)
        if found is not None or not re.fullmatch(r"[A-Za-z][\w -]*", name):
            return found
        return next((value for value in self.values if name_as_words(value.name) == name_as_words(name)), None)


class OperandFinder:
    """Finds the operands of calculations in what is known; parses each result only once."""

    def __init__(self, known: OperandSources, read: "OperandFinder | None" = None) -> None:
        self.known = known
        self._results: dict[str, Json] = read._results if read is not None else {}

    def with_value(self, value: NamedValue) -> "OperandFinder":
        """The same sources with one more earlier value."""
        return OperandFinder(self.known._replace(values=(*self.known.values, value)), self)

    def find_result(self, ref: str) -> Json:
        """The result with that reference; raises ``CannotCalculate`` if there is none."""
        fact = self.known.find_fact(ref)
        if fact is None:
            refs = ", ".join(one.ref for one in self.known.facts) or "none yet"
            raise CannotCalculate(f"no fact has the reference {ref!r}; known references: {refs}")
        if fact.ref not in self._results:
            self._results[fact.ref] = fact.result
        return self._results[fact.ref]

    def find_operand(
        self, text: str, *, free: frozenset[int] = frozenset(), words: bool = False, as_percent: bool = False
    ) -> Operand:
        """The operand that a model means by ``text``; raises ``CannotCalculate``, whose message says how to name it.

        ``free``: numbers that need no source. ``words``: whether a plain word may be an operand. ``as_percent``:
        whether 0.2 may stand for the task's 20 %.
        """
        asked = text.strip().strip('"')
        is_word = words and 0 < len(asked) <= 120 and not read_amount(asked) and not read_possible_dates(asked)
        found = (
            self._find_day_word_or_named_value(asked)
            or self._find_at_path(asked)
            or self._find_figure_source(asked, free, as_percent)
            or (Operand(source="constant", literal=asked) if is_word else None)
        )
        if found is None:
            raise CannotCalculate(self._explain_missing_source(asked))
        return found

    def find_referenced_operand(self, text: str) -> Operand | None:
        """The operand for a day such as ``today``, an earlier value, or a path into a result; else None."""
        return self._find_day_word_or_named_value(text.strip()) or self._find_at_path(text.strip())

    def is_in_user_texts(self, literal: str) -> bool:
        """Whether the task, or an earlier turn, contains this figure, date or currency."""
        return self._find_in_texts(literal) is not None

    def _find_day_word_or_named_value(self, asked: str) -> Operand | None:
        if asked.casefold() in _DAYS:
            day = self.known.today + timedelta(days=_DAYS[asked.casefold()])
            return Operand(source="today", ref=asked.casefold(), literal=day.isoformat())
        if (value := self.known.find_value(asked)) is not None:
            return Operand(source="value", ref=value.name)
        match = re.fullmatch(r"([^.\[\]]+)[.\[](.*?)\]?", asked, re.DOTALL)
        grouped = self.known.find_value(match[1]) if match else None
        if match is None or grouped is None or grouped.kind != "groups" or self.known.find_fact(match[1]) is not None:
            return None
        return Operand(source="value", ref=grouped.name, path="" if match[2] == "*" else match[2].strip("'\""))

    def _find_at_path(self, asked: str) -> Operand | None:
        match = _REF.fullmatch(asked.removeprefix("$.").removeprefix("results."))
        fact = self.known.find_fact(match["ref"]) if match else None
        if match is None or fact is None:
            return None
        if not fact.ok:
            raise CannotCalculate(f"{fact.ref} is an error and states no figures")
        return Operand(source="result", ref=fact.ref, path=match["rest"].removeprefix(".").removesuffix("}"))

    def _find_figure_source(self, asked: str, free: frozenset[int], as_percent: bool) -> Operand | None:
        """The operand for a plain figure, date or currency, from the user's texts or a result; a figure also from an
        earlier value, or as one of the constants ``free``, which need no source. None if there is none.
        """
        literal = self._find_in_texts(asked)
        if literal is not None:
            return Operand(
                source="task", literal=literal if as_percent or _may_be_same_number(literal, asked) else asked
            )
        amount = read_amount(asked)
        if amount is not None:
            own = _read_constant(amount, asked, free & _LIKELY_CONSTANTS)
            return (
                own or self._find_in_values(amount) or self._find_in_facts(asked) or _read_constant(amount, asked, free)
            )
        if is_currency(asked) or read_possible_dates(asked):
            return self._find_in_facts(asked)
        return None

    def _find_in_texts(self, asked: str) -> str | None:
        """The figure, date or currency as the user wrote it, with its percent sign or currency; else None."""
        for text in self.known.texts:
            if is_currency(asked):
                if re.search(rf"\b{re.escape(asked)}\b", text):
                    return asked
                continue
            if not find_stated_days(text, self.known.today).isdisjoint(read_possible_dates(asked)):
                return asked
            if (writing := _find_notation_in_text(asked, text, self.known.today)) is not None:
                return writing
        return None

    def _find_in_values(self, amount: WrittenAmount) -> Operand | None:
        for value in self.known.values:
            number = value.number
            if number is not None and Fraction(number) == Fraction(amount.number):
                return Operand(source="value", ref=value.name)
        return None

    def _find_in_facts(self, asked: str) -> Operand | None:
        for fact in self.known.facts:
            path = next(find_paths_to(self.find_result(fact.ref), asked), None) if fact.ok else None
            if path is not None:
                return Operand(source="result", ref=fact.ref, path=path)
        return None

    def _explain_missing_source(self, asked: str) -> str:
        refs = ", ".join(fact.ref for fact in self.known.facts)
        if _LOOKS_LIKE_A_REF.match(asked) and re.match(r"r\d+(?=$|[.\[])", asked, re.I):
            return f"no fact has the reference of {asked!r}; known references: {refs or 'none yet'}"
        how = "give a figure as it stands in the task or a result, the name of a value, or a path such as"
        if re.search(r"[\w)\]]\s+[-+*/]\s+[\w(]", asked):
            return f"{asked!r} is an expression: calculate one operation at a time, each operand by itself"
        if read_amount(asked) is not None or read_possible_dates(asked):
            inside = next((fact.ref for fact in self.known.facts if fact.ok and asked in fact.result_json), "")
            where = f" (only within a text of {inside}, which is no source of figures)" if inside else ""
            nowhere = f"{asked!r} stands neither in the task nor in a result by itself{where}"
            return f"{nowhere}: read what states it, or {how} r1.amount"
        return f"{asked!r} is no known value, path or figure: {how} r1.items[*].amount"


def find_paths_to(value: Json, wanted: str) -> Iterator[str]:
    """Yields the paths at which a figure, date or currency is a whole value; rows are named by their identifiers."""
    amount, days = read_amount(wanted), read_possible_dates(wanted)
    yield from _walk_paths_to(value, Fraction(amount.number) if amount else None, days, wanted, "")


def _walk_paths_to(value: Json, number: object, days: tuple[date, ...], wanted: str, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not set(key) & set(".[]"):
                yield from _walk_paths_to(inner, number, days, wanted, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            step = f"[{index}]"
            for found in _walk_paths_to(inner, number, days, wanted, ""):
                yield f"{path}{_write_row_step(value, index) or step}{'.' if found[:1] not in ('', '[') else ''}{found}"
    elif _matches_wanted(value, number, days, wanted):
        yield path


def _matches_wanted(value: Json, number: object, days: tuple[date, ...], wanted: str) -> bool:
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not _HAS_DIGIT.search(value)):
        return isinstance(value, str) and number is None and not days and value.strip() == wanted
    if number is not None:
        amount = read_amount(value)
        return amount is not None and Fraction(amount.number) == number
    if days:
        return bool(set(days) & set(read_possible_dates(value)))
    return isinstance(value, str) and value.strip() == wanted


def _write_row_step(rows: Sequence[Json], index: int) -> str:
    """The path step that selects a row by an identifying field, in any order of rows; empty if there is none."""
    key, row = distinguishing_key(rows), rows[index]
    value = row[key] if key and isinstance(row, dict) else None
    return f"[{format_condition(key, '=', value)}]" if key and not set(str(value)) & set("[]") else ""


def _find_notation_in_text(asked: str, text: str, today: date) -> str | None:
    amount = read_amount(asked)
    if amount is None:
        implied = read_number_word(asked)
        return asked if implied and re.search(rf"\b{re.escape(asked)}\b", text, re.I) else None
    stated = find_amounts(text, today)
    writings = stated.get(Fraction(amount.number), ())
    if amount.style == "":
        of_percent = [one for one in stated.get(Fraction(amount.number) * 100, ()) if one.rstrip().endswith("%")]
        writings = writings or tuple(of_percent)
    styles = ((one, read_amount(one)) for one in writings)
    fitting = [one for one, read in styles if (read.style if read else "") == amount.style] or writings
    if common_currency(fitting) is None:
        return asked  # it stands there in several currencies, and nothing tells which is meant
    return max(fitting, key=len, default=None)


def _may_be_same_number(writing: str, asked: str) -> bool:
    one, other = read_amount(writing) or read_number_word(writing), read_amount(asked)
    return one is None or other is None or Fraction(one.number) == Fraction(other.number)


def _read_constant(amount: WrittenAmount, asked: str, free: frozenset[int]) -> Operand | None:
    is_free = not amount.style and any(Fraction(amount.number) == number for number in free)
    return Operand(source="constant", literal=asked) if is_free else None


def read_operand_texts(given: Json) -> list[str]:
    """The operands that a model gave, as texts: from a list, a single operand, numbers or small objects."""
    items = given if isinstance(given, list) else [] if given is None else [given]
    return [_read_operand_text(item) for item in items]


def _read_operand_text(item: Json) -> str:
    if not isinstance(item, dict):
        return as_text(item)
    ref, path = item.get("ref"), item.get("path")
    if isinstance(ref, str) and ref:
        return f"{ref}{'' if not path or str(path).startswith('[') else '.'}{path or ''}"
    names = ("literal", "value", "name", "figure", "path")
    return next((_read_operand_text(item[name]) for name in names if item.get(name)), "")
