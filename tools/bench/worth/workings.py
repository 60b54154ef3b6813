"""How a figure follows from what was read: the calls of `calculate` that give it, found by search."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.mentions import find_number_notations
from tools.bench.worth.tabular import (
    FilterWords,
    FlatField,
    ResultTable,
    RowFilter,
    ShownResult,
    find_records,
    find_tables,
    list_fields,
    list_filters,
    list_texts,
)
from tools.bench.worth.worlds.data import Json

Working: TypeAlias = tuple[dict[str, Json], ...]
"""Calls of `calculate` in their order; the last one gives the figure. An operand `#1` is what the first one gives."""

MOST_FACTORS = 60
FIRST_AMOUNT = 100
ALONE = 2  # two counts with no calculation before them


def call_calculator(operation: str, *operands: str, **more: Json) -> dict[str, Json]:
    return {"operation": operation, "operands": [*operands], **more}


class WorkingSearch(NamedTuple):
    """What a figure may follow from: the task's words, what was read, the present day, and how days are written."""

    text: str
    shown: tuple[ShownResult, ...]
    today: date
    day_style: str
    in_cents: bool

    def find(self, name: str, figure: Fraction) -> Working | None:
        """The first of the ways to the figure, the plainest tried first; None if there is none.

        ``name``: that of the last call. A small whole number is rather a count than an amount.
        """
        material = WorkingMaterial(self)
        is_count = figure.denominator == 1 and figure < FIRST_AMOUNT
        for find_way in WAYS_TO_COUNTS if is_count else WAYS_TO_AMOUNTS:
            found = next(find_way(material, figure), None)
            if found is not None:
                return name_steps(found, name)
        return None


def name_steps(working: Working, name: str) -> Working:
    """The same calls with names, so that a later one can refer to an earlier."""
    names = {f"#{place}": f"{name}_step_{place}" for place in range(1, len(working))}
    return tuple({**_refer(step, names), "name": names.get(f"#{place}", name)} for place, step in enumerate(working, 1))


def _refer(step: dict[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    operands, where = step["operands"], step.get("where")
    told: dict[str, Json] = {**step}
    if isinstance(operands, list):
        told["operands"] = [names.get(str(each), each) for each in operands]
    if isinstance(where, list):
        told["where"] = [
            {name: names.get(str(value), value) for name, value in each.items()}
            for each in where
            if isinstance(each, dict)
        ]
    return told


class WorkingMaterial:
    """What a search looks through, each kind of it made once."""

    def __init__(self, search: WorkingSearch) -> None:
        self._search = search

    @property
    def smallest(self) -> Fraction:
        """A cent, as this server counts."""
        return Fraction(1) if self._search.in_cents else Fraction(1, 100)

    @cached_property
    def tables(self) -> list[ResultTable]:
        return find_tables(self._search.shown)

    @cached_property
    def fields(self) -> list[FlatField]:
        return list_fields(self._search.shown)

    @cached_property
    def by_number(self) -> Mapping[Fraction, str]:
        return {field.number: field.path for field in reversed(self.fields)}

    @cached_property
    def numbers(self) -> Mapping[Fraction, str]:
        """The numbers that the task states, each in the longest writing that it has there."""
        return {number: max(written, key=len) for number, written in find_number_notations(self._search.text).items()}

    @cached_property
    def operands(self) -> Mapping[Fraction, tuple[Working, str]]:
        """Everything that a second operand can be: a field, a number of the task, its amount in minor units."""
        stated = {number: ((), writing) for number, writing in self.numbers.items()}
        minor = {number * 100: (self.convert(number), "#1") for number in self.numbers} if self._search.in_cents else {}
        return {**minor, **stated, **{number: ((), path) for number, path in self.by_number.items()}}

    def shows_with(self, figure: Fraction, names: Collection[str]) -> bool:
        """Whether the task has the figure, or a record that has one of these names."""
        records = (record for result in self._search.shown for record in find_records(result.value, names))
        return figure in self.numbers or any(field.number == figure for each in records for field in each)

    @cached_property
    def names(self) -> set[Fraction]:
        """Numbers that are names: the keys of records, and texts."""
        texts = (text for result in self._search.shown for text in list_texts(result.value))
        return {Fraction(number) for text in texts for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])", text)}

    def convert(self, number: Fraction) -> Working:
        return (call_calculator("units_to_cents", self.numbers[number]),)

    def shows(self, figure: Fraction) -> bool:
        """Whether the task or a result has the figure as it is."""
        named = figure in self.names and figure >= FIRST_AMOUNT
        return figure == 0 or figure in self.numbers or figure in self.by_number or named

    def find_values(self, figure: Fraction) -> Iterator[tuple[Working, str]]:
        """How the figure can be an operand: as the field that it is, or as what a calculation gives."""
        if figure in self.by_number:
            yield (), self.by_number[figure]
        yield from ((working, f"#{len(working)}") for working in _find_pairs(self, figure))

    @cached_property
    def filtered(self) -> list[tuple[ResultTable, RowFilter]]:
        days = [int(number) for number in self.numbers if number.denominator == 1 and 0 < number < 400]
        words = FilterWords(self.tables, self._search.day_style, self._search.today, days)
        return [(table, each) for table in self.tables for each in list_filters(table, words)]


Way: TypeAlias = Callable[[WorkingMaterial, Fraction], Iterator[Working]]


def _aggregate(operation: str, table: ResultTable, name: str, kept: RowFilter | None = None) -> Working:
    """One aggregate over the lines of a table, or over those that a filter keeps."""
    step = f".{name}" if name else ""
    if not table.columns:
        lines = table.lines if kept is None else [table.lines[place] for place in kept.kept]
        return (call_calculator(operation, *(f"{line.path}{step}" for line in lines)),)
    paths = [f"{column}{step}" for column in table.columns]
    if kept is None:
        return (call_calculator(operation, *paths),)
    where: list[Json] = [{**each, "value": each["value"] or "#1"} for each in kept.where]
    return (*kept.before, call_calculator(operation, *paths, where=where))


def _find_totals(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    for table in material.tables:
        for name in table.number_fields():
            if sum(number or 0 for number in table.numbers(name)) == figure:
                yield _aggregate("sum", table, name)


def _find_counts(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    for table in material.tables:
        if len(table.lines) == figure:
            yield _aggregate("count", table, "")


def _find_shares(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    """A share of a field, or the field raised or lowered by it; parts of a cent are dropped."""
    for field in material.fields:
        for number, writing in material.numbers.items():
            percent = number / 100 if _is_percent(writing) else number
            ways = {
                "percentage": field.number * percent,
                "increase_by_percent": field.number * (1 + percent),
                "decrease_by_percent": field.number * (1 - percent),
            }
            for operation, value in ways.items() if percent < 1 else ():
                if value == figure:
                    yield (call_calculator(operation, field.path, writing),)
                elif 0 < value - figure < material.smallest:
                    yield _round_down((call_calculator(operation, field.path, writing),), material.smallest)
            if number and field.number / number == figure:
                yield (call_calculator("quotient", field.path, writing),)


def _is_percent(writing: str) -> bool:
    return writing.rstrip().endswith(("%", "percent", "per cent"))


def _round_down(steps: Working, smallest: Fraction) -> Working:
    last = len(steps)
    if smallest == 1:
        return (*steps, call_calculator("round_down", f"#{last}"))
    hundredfold = call_calculator("product", f"#{last}", "100")
    whole = call_calculator("round_down", f"#{last + 1}")
    return (*steps, hundredfold, whole, call_calculator("quotient", f"#{last + 2}", "100"))


def _find_pairs(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    """A difference or a product of two fields, or of a field and a number of the task."""
    known = material.operands
    for field in material.fields:
        before, other = known.get(field.number - figure, ((), ""))
        if other and other != field.path:
            yield (*before, call_calculator("difference", field.path, other))
        before, other = known.get(figure / field.number, ((), "")) if field.number else ((), "")
        if other and not before and figure != field.number:
            yield (call_calculator("product", field.path, other),)


def _find_filtered(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    for table, kept in material.filtered:
        if len(kept.kept) == figure:
            yield _aggregate("count", table, "", kept)
        for name in table.number_fields():
            numbers = table.numbers(name)
            if sum(numbers[place] or 0 for place in kept.kept) == figure:
                yield _aggregate("sum", table, name, kept)


def _find_products(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    """The sum of each line's product of two fields."""
    for table in material.tables:
        for one, other in combinations(table.number_fields(), 2):
            pairs = list(zip(table.numbers(one), table.numbers(other), strict=True))
            if sum((left or 0) * (right or 0) for left, right in pairs) == figure:
                yield _sum_products(table, one, other)


def _sum_products(table: ResultTable, one: str, other: str) -> Working:
    if table.columns:
        columns = [f"{column}.{name}" for column in table.columns[:1] for name in (one, other)]
        return (call_calculator("sum_of_products", *columns),)
    products = [call_calculator("product", f"{line.path}.{one}", f"{line.path}.{other}") for line in table.lines]
    return (*products, call_calculator("sum", *(f"#{place}" for place in range(1, len(products) + 1))))


def _find_proportions(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    """One or so many of a record's pieces, in proportion to what all of them are worth."""
    for number, writing in {**material.numbers, Fraction(1): ""}.items():
        for worth, pieces in permutations(material.fields[:MOST_FACTORS], 2):
            if pieces.number and 0 <= worth.number * number / pieces.number - figure < material.smallest:
                share = call_calculator("quotient", "#1" if writing else worth.path, pieces.path)
                steps = (call_calculator("product", worth.path, writing), share) if writing else (share,)
                exact = worth.number * number / pieces.number == figure
                yield steps if exact else _round_down(steps, material.smallest)


def _find_between_counts(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    """The difference of two tables' counts."""
    for one, other in permutations(material.tables, 2):
        if len(one.lines) - len(other.lines) == figure:
            yield (
                *_aggregate("count", one, ""),
                *_aggregate("count", other, ""),
                call_calculator("difference", "#1", "#2"),
            )


def _find_two_counts(material: WorkingMaterial, figure: Fraction) -> Iterator[Working]:
    """Lines that meet one or the other of two conditions."""
    for (one, first), (other, second) in combinations(material.filtered, 2):
        if one is other and len(first.kept) + len(second.kept) == figure and not set(first.kept) & set(second.kept):
            counts = (*_aggregate("count", one, "", first), *_aggregate("count", one, "", second))
            if len(counts) == ALONE:
                yield (*counts, call_calculator("sum", "#1", "#2"))


WAYS_TO_AMOUNTS: tuple[Way, ...] = (
    _find_totals,
    _find_shares,
    _find_pairs,
    _find_filtered,
    _find_products,
    _find_proportions,
    _find_counts,
)
WAYS_TO_COUNTS: tuple[Way, ...] = (
    _find_counts,
    _find_filtered,
    _find_totals,
    _find_between_counts,
    _find_shares,
    _find_pairs,
    _find_two_counts,
)
