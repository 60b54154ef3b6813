"""Results as a careful reader sees them: single fields by their paths, and tables, listed or keyed by an id."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from tools.bench.worth.worlds.data import Json

FEWEST_TO_FILTER = 2


class ShownResult(NamedTuple):
    """What a call gave, under the reference by which later calls name it."""

    ref: str
    value: Json


class FlatField(NamedTuple):
    path: str
    number: Fraction


class TableLine(NamedTuple):
    """One line of a table. `cells` are its plain fields, nested ones under their dotted paths."""

    path: str
    cells: Mapping[str, Json]


class ResultTable(NamedTuple):
    """Lines of one kind. `columns` are paths that lead to exactly these lines; none where each line has but its own."""

    lines: tuple[TableLine, ...]
    columns: tuple[str, ...]

    def numbers(self, field: str) -> list[Fraction | None]:
        return [read_number(line.cells.get(field)) for line in self.lines]

    def number_fields(self) -> list[str]:
        names = dict.fromkeys(name for line in self.lines for name in line.cells)
        return [name for name in names if all(number is not None for number in self.numbers(name))]


class RowFilter(NamedTuple):
    """Which lines of a table count; `where` says so to the calculator, `before` are calculations that it refers to."""

    kept: tuple[int, ...]
    where: tuple[dict[str, Json], ...]
    before: tuple[dict[str, Json], ...] = ()


def read_number(value: Json) -> Fraction | None:
    return Fraction(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


def list_fields(shown: Sequence[ShownResult]) -> list[FlatField]:
    return [field for result in shown for field in _walk_fields(result.value, result.ref)]


def _walk_fields(value: Json, path: str) -> Iterator[FlatField]:
    number = read_number(value)
    if number is not None:
        yield FlatField(path, number)
    for step, inner in _children(value):
        yield from _walk_fields(inner, path + step)


def _children(value: Json) -> list[tuple[str, Json]]:
    if isinstance(value, dict):
        return [(f".{key}", inner) for key, inner in value.items()]
    return [(f"[{place}]", inner) for place, inner in enumerate(value)] if isinstance(value, list) else []


def list_texts(value: Json) -> Iterator[str]:
    """Every text, and the key of every field."""
    if isinstance(value, str):
        yield value
    yield from (step.strip(".") for step, _ in _children(value) if step.startswith("."))
    yield from (text for _, inner in _children(value) for text in list_texts(inner))


def find_records(value: Json, names: Collection[str], key: str = "") -> Iterator[list[FlatField]]:
    """The numbers of each innermost record that one of the names names, as its key or in one of its plain fields."""
    plain = [str(inner) for _, inner in _children(value) if not isinstance(inner, dict | list)]
    if isinstance(value, dict) and (key in names or not set(names).isdisjoint(plain)):
        yield list(_walk_fields(value, ""))
        return
    for step, inner in _children(value):
        yield from find_records(inner, names, step.removeprefix("."))


def find_tables(shown: Sequence[ShownResult]) -> list[ResultTable]:
    """Every table of every result, those inside of lines too, and parts of one list taken together."""
    found = [table for result in shown for table in _walk_tables(result.value, result.ref)]
    return [*found, *_join_parts(shown)]


def _walk_tables(value: Json, path: str) -> list[ResultTable]:
    found: list[ResultTable] = []
    lines = _read_lines(value, path)
    if lines:
        columns = (f"{path}[*]",) if _is_listed(value) else ()
        found.append(ResultTable(lines, columns))
        found += _join_inner(value, path, columns)
    return [*found, *(table for step, inner in _children(value) for table in _walk_tables(inner, path + step))]


def _read_lines(value: Json, path: str) -> tuple[TableLine, ...]:
    """Records that stand side by side; an object that holds nothing but objects is an envelope, and no record."""
    inner = _children(value)
    if not inner or not all(isinstance(line, dict) and _has_plain_field(line) for _, line in inner):
        return ()
    return tuple(TableLine(path + step, dict(_flatten(line, ""))) for step, line in inner)


def _is_listed(value: Json) -> bool:
    """Whether `[*]` goes through it: a list, or several records under their ids."""
    return isinstance(value, list) or (isinstance(value, dict) and len(value) > 1)


def _has_plain_field(record: dict[str, Json]) -> bool:
    return any(not isinstance(value, dict | list) for value in record.values())


def _flatten(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}".removeprefix("."))
    elif not isinstance(value, list):
        yield path, value


def _join_inner(value: Json, path: str, columns: tuple[str, ...]) -> list[ResultTable]:
    """The lists inside of a table's lines, each kind of them as one table."""
    names = dict.fromkeys(key for _, line in _children(value) if isinstance(line, dict) for key in line)
    found = []
    for name in names:
        inner = [(f"{path}{step}.{name}", line.get(name)) for step, line in _children(value) if isinstance(line, dict)]
        lines = tuple(line for place, each in inner for line in _read_lines(each, place))
        listed = all(_is_listed(each) for _, each in inner)
        if lines:
            found.append(ResultTable(lines, tuple(f"{column}.{name}[*]" for column in columns if listed)))
    return found


def _join_parts(shown: Sequence[ShownResult]) -> list[ResultTable]:
    """Results with tables of the same fields as one table."""
    firsts = [next(iter(_walk_tables(result.value, result.ref)), None) for result in shown]
    groups: dict[frozenset[str], list[ResultTable]] = {}
    for table in firsts:
        if table is not None and not any(line.cells.keys() != table.lines[0].cells.keys() for line in table.lines):
            groups.setdefault(frozenset(table.lines[0].cells), []).append(table)
    return [_join(tables) for tables in groups.values() if len(tables) > 1]


def _join(tables: Sequence[ResultTable]) -> ResultTable:
    listed = all(table.columns for table in tables)
    columns = tuple(column for table in tables for column in table.columns) if listed else ()
    return ResultTable(tuple(line for table in tables for line in table.lines), columns)


class FilterWords(NamedTuple):
    """What conditions may refer to: the other tables, how days are written, the present day, numbers of the task."""

    tables: Sequence[ResultTable]
    style: str
    today: date
    numbers: Sequence[int]


def list_filters(table: ResultTable, words: FilterWords) -> list[RowFilter]:
    """Every filter that keeps some of the lines: by a field's value, by days, by other fields, by another table."""
    everything = [
        *_filter_values(table),
        *_filter_days(table, words),
        *_filter_fields(table),
        *_filter_members(table, words.tables),
    ]
    return [each for each in everything if each.kept and len(each.kept) < len(table.lines)]


def _names(table: ResultTable) -> list[str]:
    return list(dict.fromkeys(name for line in table.lines for name in line.cells))


def _keep(table: ResultTable, name: str, wanted: set[str]) -> tuple[int, ...]:
    return tuple(place for place, line in enumerate(table.lines) if str(line.cells.get(name)) in wanted)


def _filter_values(table: ResultTable) -> Iterator[RowFilter]:
    for name in _names(table):
        for value in dict.fromkeys(str(line.cells[name]) for line in table.lines if line.cells.get(name)):
            yield RowFilter(_keep(table, name, {value}), ({"field": name, "is": "=", "value": value},))


def _filter_days(table: ResultTable, words: FilterWords) -> Iterator[RowFilter]:
    """Lines whose day lies before today, or more than so many days before it."""
    for name in _names(table):
        days = [_read_day(line.cells.get(name), words.style) for line in table.lines]
        if all(day is None for day in days):
            continue
        for number in (0, *words.numbers):
            limit = words.today - timedelta(number)
            kept = tuple(place for place, day in enumerate(days) if day is not None and day < limit)
            shift: dict[str, Json] = {"operation": "subtract_days", "operands": ["today", str(number)]}
            where: dict[str, Json] = {"field": name, "is": "<", "value": "" if number else "today"}
            yield RowFilter(kept, (where,), (shift,) if number else ())


def _read_day(value: Json, style: str) -> date | None:
    try:
        return datetime.strptime(value, style).date() if isinstance(value, str) else None
    except ValueError:
        return None


def _filter_fields(table: ResultTable) -> Iterator[RowFilter]:
    """Lines in which one number is smaller than another."""
    names = table.number_fields()
    for one in names:
        for other in names:
            pairs = zip(table.numbers(one), table.numbers(other), strict=True)
            kept = tuple(place for place, (left, right) in enumerate(pairs) if left and right and left < right)
            yield RowFilter(kept, ({"field": one, "is": "<", "value": other},))


def _filter_members(table: ResultTable, tables: Sequence[ResultTable]) -> Iterator[RowFilter]:
    """Lines whose field has one of the values that the field of the same name, or the key, has in another table."""
    for other in tables:
        for name in _names(table) if other is not table and len(other.lines) >= FEWEST_TO_FILTER else ():
            for wanted in ({str(line.cells[name]) for line in other.lines if name in line.cells}, _keys(other)):
                kept = _keep(table, name, wanted)
                yield RowFilter(kept, ({"field": name, "is": "one of", "value": ", ".join(sorted(wanted))},))


def _keys(table: ResultTable) -> set[str]:
    """The keys of a table whose lines stand under keys, as texts."""
    return {key for line in table.lines if (key := line.path.rpartition(".")[2]) and not key.endswith("]")}
