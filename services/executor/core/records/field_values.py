"""The values of a field in calls and records: in nested arguments, in edits, and under other names of the field."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias

from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.references import referenced_calls
from services.executor.core.records.seen_records import Noun, are_same_kind, field_aliases, singular_words
from services.executor.core.session.ledger import is_rule_value
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.record_tree import is_keyed_table
from shared.domain.exact_json import Json, JsonObject, walk_json


class UnknownValue(Enum):
    """The value of a field that is not known: of a later result, of an unread record, or where records disagree."""

    UNKNOWN = "unknown"


UNKNOWN: Final = UnknownValue.UNKNOWN
FieldValue: TypeAlias = "Json | UnknownValue"
Fields: TypeAlias = Sequence[tuple[str, FieldValue]]


_HUNDREDTH_UNITS = frozenset({"cent", "pence", "penny"})
_MINOR_UNITS = (("cent",), ("pence",), ("penny",), ("minor", "unit"), ("minor",))
_SCALAR_TYPES = frozenset({str, int, bool, Decimal, type(None)})


def fields_of_record(record: JsonObject) -> Fields:
    """The fields that rules can use, scalars and lists of scalars, as ``(name, value)``."""
    return [(key, value) for key, value in record.items() if type(value) in _SCALAR_TYPES or is_rule_value(value)]


def nested_fields(record: JsonObject, path: str = "") -> Iterator[tuple[str, FieldValue]]:
    """Yields ``("deposit.amount", 9)`` for each field within the record's objects, but not in tables keyed by id."""
    for key, inner in record.items():
        if isinstance(inner, dict) and not is_keyed_table(inner):
            yield from ((f"{path}{key}.{name}", value) for name, value in fields_of_record(inner))
            yield from nested_fields(inner, f"{path}{key}.")


def fields_of_arguments(arguments: JsonObject) -> Fields:
    """The arguments of a call as ``(name, value)``; a nested one by its path, ``order.total``, and again as ``total``.

    An outer argument hides a nested one of the same name, unless that is a greater figure in a row of a list, and the
    outer one is not the rows' total. A value that refers to another call's result is ``UNKNOWN``.
    """
    arguments_by_path = [*_list_arguments("", arguments, in_list=False)]
    nested = [(path.rpartition(".")[2], value, in_list) for path, value, in_list in arguments_by_path if "." in path]
    values_by_name: dict[str, list[FieldValue]] = {}
    for name, value, _ in nested:
        values_by_name.setdefault(name, []).append(value)
    totals = {name for name in arguments if _is_sum_of(arguments[name], values_by_name.get(name, []))}
    visible: list[tuple[str, FieldValue]] = []
    for name, value, in_list in nested:
        is_greater = in_list and name not in totals and _exceeds_outer_value(name, value, arguments.get(name))
        if is_greater or name not in arguments:
            visible.append((name, value))
    return [*((path, value) for path, value, _ in arguments_by_path), *visible]


def _is_sum_of(outer: Json, nested_values: Sequence[FieldValue]) -> bool:
    figures = [None if isinstance(value, UnknownValue) else read_figure(value) for value in nested_values]
    return bool(figures) and read_figure(outer) == sum(figure or 0 for figure in figures)


def _exceeds_outer_value(name: str, value: FieldValue, outer: Json) -> bool:
    """Whether a nested figure is farther from 0 than the outer one, which then is no total but a default."""
    if is_identifying_name(name):
        return False
    figure = None if isinstance(value, UnknownValue) else read_figure(value)
    outer_figure = read_figure(outer)
    return figure is not None and outer_figure is not None and abs(figure) > abs(outer_figure)


# How a tool that edits any field of a record calls that field, and what it is to be: ``{"field": "rent", "value": 9}``.
_FIELD_WORDS = frozenset("field column attribute attr property prop parameter param setting".split())
_NAMES_OF_FIELD = _FIELD_WORDS | frozenset("key path pointer name".split())
_NAMES_OF_NEW_VALUE = frozenset({("value",), ("new", "value"), ("to",), ("new",), ("set",)})
_WORDS_FOR_NEW = frozenset("new target updated desired".split())  # before a field's name: ``new_amount``
_VERBS_OF_REMOVAL = frozenset("remove delete unset clear".split())
_PATH_SEPARATOR_PATTERN = re.compile(r"[/.]")


def edited_fields(value: Json) -> Iterator[tuple[str, FieldValue]]:
    """Yields the fields that a call names as values or as objects of their own, with their new values: ``{"path":
    "/rent", "value": 9}``, ``{"rent": {"to": 9}}``. The value is ``UNKNOWN`` if it is unclear which one it is.
    """
    for edit in (inner for _, inner in walk_json(value) if isinstance(inner, dict)):
        new_values = _find_single_new_value(edit)
        is_removed = any(isinstance(named, str) and named.casefold() in _VERBS_OF_REMOVAL for named in edit.values())
        scalars = (inner for inner in edit.values() if isinstance(inner, str | int | Decimal))
        has_figure = any(read_figure(scalar) is not None for scalar in scalars)
        for key, inner in edit.items():
            first, *others = singular_words(key) or ("",)
            is_field = first in _FIELD_WORDS
            if isinstance(inner, str) and (is_field or (not others and first in _NAMES_OF_FIELD)):
                step = _PATH_SEPARATOR_PATTERN.split(inner.strip().rstrip("/"))[-1].strip()
                if step and (new_values or is_removed or (is_field and has_figure)):
                    yield step, new_values[0] if new_values else UNKNOWN
            elif isinstance(inner, dict):
                yield from ((key, new_value) for new_value in _find_single_new_value(inner))


def fields_in_other_shapes(value: Json, outer: str = "") -> Iterator[tuple[str, Json]]:
    """Yields what a call may say of a field in other shapes than an argument of its name: ``amount`` for ``{"amount":
    {"value": 9, "currency": "EUR"}}``, ``{"amount_cents": 900}`` and ``{"new_amount": 9}``, ``credit_limit`` for
    ``{"credit": {"limit": 9}}`` and ``{"path": ["credit", "limit"], "value": 9}``.

    ``outer``: the name of the object that ``value`` is, if it has one.
    """
    if isinstance(value, list):
        for item in value:
            yield from fields_in_other_shapes(item)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        first, *others = singular_words(key) or ("",)
        path_steps = _steps_of_path(inner) if first in _NAMES_OF_FIELD else []
        for name in {*path_steps[-1:], "_".join(path_steps[-2:])} - {""}:
            yield from ((name, new_value) for new_value in _find_single_new_value(value))
        if isinstance(inner, dict):
            yield from ((key, nested) for nested in inner.values() if is_rule_value(nested))
        elif is_rule_value(inner) and inner is not None:
            yield from [("_".join(others), inner)] if others and first in _WORDS_FOR_NEW else []
            yield from _without_minor_unit(key, inner)
            yield from [(f"{outer}_{key}", inner)] if outer else []
        yield from fields_in_other_shapes(inner, key)


def _without_minor_unit(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yields ``("amount", 9)`` for ``amount_cents`` 900, and 900 for minor units of unknown size."""
    words, plain_words = singular_words(name), words_without_minor_unit(name)
    figure = None if isinstance(value, bool) else read_figure(value)
    if () != plain_words != words and figure is not None:
        yield "_".join(plain_words), figure / 100 if words[-1] in _HUNDREDTH_UNITS else figure


def _steps_of_path(value: Json) -> list[str]:
    """The steps of a path to a field, as a text or a list of texts; empty for anything else."""
    texts = value if isinstance(value, list) else [value]
    steps_of_texts = [_PATH_SEPARATOR_PATTERN.split(text) if isinstance(text, str) else [] for text in texts]
    return [step.strip() for steps in steps_of_texts for step in steps if step.strip()] if all(steps_of_texts) else []


def _find_single_new_value(value: JsonObject) -> list[Json]:
    """The only value that an object gives for a field; empty if it gives none, or several."""
    named_values = (inner for key, inner in value.items() if singular_words(key) in _NAMES_OF_NEW_VALUE)
    new_values = [inner for inner in named_values if is_rule_value(inner)]
    return new_values if len(new_values) == 1 else []


def find_values(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[FieldValue]:
    """All values of the fields that match the name, as ``find_values_by_name``; if none do, those of its aliases."""
    return find_values_by_name(name, fields, kinds) or _find_values_by_alias(name, fields)


def find_values_by_name(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[FieldValue]:
    """All values of the fields that match the name: the exact name first, then its words, then its words with the kind.

    ``kinds``: what the fields are about. ``claim_amount`` is the ``amount`` of a claim, and the reverse.
    """
    if values := [value for key, value in fields if key == name]:
        return values
    words = singular_words(name)
    if not words:
        return []
    words_with_kind = {(*kind[-1:], *words) for kind in kinds}
    words_with_kind |= {words[1:] for kind in kinds if len(words) > 1 and are_same_kind(words[:1], kind)}
    for spellings in ({words}, words_with_kind):
        if values := [value for key, value in fields if singular_words(key) in spellings]:
            return values
    return []


def words_without_minor_unit(name: str) -> Noun:
    """The words of a name, in the singular, without those that say that an amount is in cents or pence."""
    words = singular_words(name)
    ending = next((unit for unit in _MINOR_UNITS if words[-len(unit) :] == unit), ())
    plain_words = words[: len(words) - len(ending)]
    return plain_words[:-1] if ending and plain_words[-1:] == ("in",) else plain_words  # amountInCents


def common_value(values: Sequence[FieldValue]) -> FieldValue:
    """The value, if all are equal; ``UNKNOWN`` if two differ or one of them is unknown. There must be at least one."""
    first = values[0]
    return first if all(_are_equal_or_both_unknown(value, first) for value in values) else UNKNOWN


def _find_values_by_alias(name: str, fields: Fields) -> list[FieldValue]:
    """The values of fields that are aliases of the name; of an amount only figures, nulls and unknown values."""
    aliases = field_aliases(name)
    spellings = {singular_words(alias) for alias in aliases}
    values = [value for key, value in fields if singular_words(key) in spellings]
    if "amount" not in (name, *aliases):
        return values
    return [value for value in values if value in (None, UNKNOWN) or read_figure(value) is not None]


def _are_equal_or_both_unknown(value: FieldValue, first: FieldValue) -> bool:
    if isinstance(value, UnknownValue) or isinstance(first, UnknownValue) or None in (value, first):
        return value is first
    return value == first or shows_same_value(value, first)


def _list_arguments(path: str, value: JsonObject, *, in_list: bool) -> Iterator[tuple[str, FieldValue, bool]]:
    """Yields each argument within ``value`` by its path, with its value and whether it is within a list of objects.

    ``path`` and ``in_list``: of ``value`` itself.
    """
    for key, inner in value.items():
        inner_path = f"{path}.{key}" if path else key
        if [*referenced_calls(inner)]:
            yield inner_path, UNKNOWN, in_list
        elif isinstance(inner, dict):
            yield from _list_arguments(inner_path, inner, in_list=in_list)
        elif is_rule_value(inner):
            yield inner_path, inner, in_list
        elif isinstance(inner, list):
            for item in inner:
                if isinstance(item, dict):
                    yield from _list_arguments(inner_path, item, in_list=True)
