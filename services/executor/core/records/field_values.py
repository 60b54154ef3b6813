"""The values of a field in calls and records: in nested arguments, in edits, and under other names of the field."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias

from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.references import referenced_calls
from services.executor.core.records.seen_records import (
    Noun,
    are_same_kind,
    field_aliases,
    singular_words,
)
from services.executor.core.session.ledger import is_rule_value
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.record_tree import is_keyed_table
from shared.domain.exact_json import Json, JsonObject


class UnknownValue(Enum):
    """The value of a field that is not known: of a later result, of an unread record, or where records disagree."""

    UNKNOWN = "unknown"


UNKNOWN: Final = UnknownValue.UNKNOWN
FieldValue: TypeAlias = "Json | UnknownValue"
Fields: TypeAlias = Sequence[tuple[str, FieldValue]]


_HUNDREDTHS = frozenset({"cent", "pence", "penny"})
_MINOR_UNITS = (("cent",), ("pence",), ("penny",), ("minor", "unit"), ("minor",))
_SCALARS = frozenset({str, int, bool, Decimal, type(None)})


def fields_of_record(record: JsonObject) -> Fields:
    """The fields of a record that rules can use."""
    return [(key, value) for key, value in record.items() if type(value) in _SCALARS or is_rule_value(value)]


def nested_fields(record: JsonObject, path: str = "") -> Iterator[tuple[str, FieldValue]]:
    """Yields the fields within a record's objects by their path: whose object it is, only the path says."""
    for key, inner in record.items():
        if isinstance(inner, dict) and not is_keyed_table(inner):
            yield from ((f"{path}{key}.{name}", value) for name, value in fields_of_record(inner))
            yield from nested_fields(inner, f"{path}{key}.")


def fields_of_arguments(arguments: JsonObject) -> Fields:
    """The arguments of a call by name; nested ones also by path.

    An outer argument hides a nested one of the same name, except a greater figure in a row.
    """
    every = [*_list_arguments("", arguments, in_list=False)]
    below = [(path.rpartition(".")[2], value, in_list) for path, value, in_list in every if "." in path]
    totals = {name for name in arguments if _is_sum_of(arguments[name], [one[1] for one in below if one[0] == name])}
    seen = [
        (name, value)
        for name, value, in_list in below
        if name not in arguments
        or (in_list and name not in totals and _exceeds_outer_value(name, value, arguments[name]))
    ]
    return [*((path, value) for path, value, _ in every), *seen]


def _is_sum_of(outer: Json, within: Sequence[FieldValue]) -> bool:
    """Whether the outer figure is the sum of the nested ones."""
    figures = [None if isinstance(one, UnknownValue) else read_figure(one) for one in within]
    return bool(figures) and read_figure(outer) == sum(one or 0 for one in figures)


def _exceeds_outer_value(name: str, value: FieldValue, outer: Json) -> bool:
    """Whether a nested figure is greater than the outer one, which then is no total but a default."""
    if is_identifying_name(name):
        return False
    one, other = None if isinstance(value, UnknownValue) else read_figure(value), read_figure(outer)
    return one is not None and other is not None and abs(one) > abs(other)


# How a tool that edits any field of a record calls that field, and what it is to be: ``{"field": "rent", "value": 9}``.
_FIELD_WORDS = frozenset("field column attribute attr property prop parameter param setting".split())
_SAYS_FIELD = _FIELD_WORDS | frozenset("key path pointer name".split())
_NEW_VALUES = frozenset({("value",), ("new", "value"), ("to",), ("new",), ("set",)})
_NEW = frozenset("new target updated desired".split())  # words before a field's name: ``new_amount``
_REMOVES = frozenset("remove delete unset clear".split())
_STEPS_OF_PATH = re.compile(r"[/.]")


def edited_fields(value: Json) -> Iterator[tuple[str, FieldValue]]:
    """Yields the fields that a call names as values or as objects of their own, with their new values: ``{"path":
    "/rent", "value": 9}``, ``{"rent": {"to": 9}}``. The value is ``UNKNOWN`` if it is unclear which one it is.
    """
    if isinstance(value, list):
        for item in value:
            yield from edited_fields(item)
    if not isinstance(value, dict):
        return
    new = _only_new_value(value)
    is_removed = any(isinstance(one, str) and one.casefold() in _REMOVES for one in value.values())
    has_figure = any(read_figure(one) is not None for one in value.values() if isinstance(one, str | int | Decimal))
    for key, one in value.items():
        first, *others = singular_words(key) or ("",)
        is_field = first in _FIELD_WORDS
        if isinstance(one, str) and (is_field or (not others and first in _SAYS_FIELD)):
            step = _STEPS_OF_PATH.split(one.strip().rstrip("/"))[-1].strip()
            if step and (new or is_removed or (is_field and has_figure)):
                yield step, new[0] if new else UNKNOWN
        elif isinstance(one, dict):
            yield from ((key, set_to) for set_to in _only_new_value(one))
        yield from edited_fields(one)


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
    for key, one in value.items():
        first, *others = singular_words(key) or ("",)
        steps = _steps_of_path(one) if first in _SAYS_FIELD else []
        yield from (
            (name, new) for name in {*steps[-1:], "_".join(steps[-2:])} - {""} for new in _only_new_value(value)
        )
        if isinstance(one, dict):
            yield from ((key, inner) for inner in one.values() if is_rule_value(inner))
        elif is_rule_value(one) and one is not None:
            yield from [("_".join(others), one)] if others and first in _NEW else []
            yield from _without_minor_unit(key, one)
            yield from [(f"{outer}_{key}", one)] if outer else []
        yield from fields_in_other_shapes(one, key)


def _without_minor_unit(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yields ``("amount", 9)`` for ``amount_cents`` 900; the figure stays 900 if the name says only "minor units",
    since their size is unknown.
    """
    words, plain = singular_words(name), words_without_minor_unit(name)
    figure = None if isinstance(value, bool) else read_figure(value)
    if () != plain != words and figure is not None:
        yield "_".join(plain), figure / 100 if words[-1] in _HUNDREDTHS else figure


def _steps_of_path(value: Json) -> list[str]:
    """The steps of a path to a field, as a text or a list of texts; empty for anything else."""
    texts = value if isinstance(value, list) else [value]
    parts = [_STEPS_OF_PATH.split(one) if isinstance(one, str) else [] for one in texts]
    return [step.strip() for part in parts for step in part if step.strip()] if all(parts) else []


def _only_new_value(value: JsonObject) -> list[Json]:
    """The only value that an object gives for a field; empty if it gives none, or several."""
    given = [one for key, one in value.items() if singular_words(key) in _NEW_VALUES and is_rule_value(one)]
    return given if len(given) == 1 else []


def find_values(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[FieldValue]:
    """All values of the fields that match the name; if there are none, those of its aliases."""
    return find_values_by_name(name, fields, kinds) or _find_values_by_alias(name, fields)


def find_values_by_name(name: str, fields: Fields, kinds: Iterable[Noun] = ()) -> list[FieldValue]:
    """All values of the fields that match the name: the exact name first, then its words, then its words with the kind.

    ``kinds``: what the fields are about. ``claim_amount`` is the ``amount`` of a claim, and the reverse.
    """
    if found := [value for key, value in fields if key == name]:
        return found
    wanted = singular_words(name)
    if not wanted:
        return []
    with_kind = {(*kind[-1:], *wanted) for kind in kinds}
    with_kind |= {wanted[1:] for kind in kinds if len(wanted) > 1 and are_same_kind(wanted[:1], kind)}
    for ways in ({wanted}, with_kind):
        if found := [value for key, value in fields if singular_words(key) in ways]:
            return found
    return []


def words_without_minor_unit(name: str) -> Noun:
    """The words of a name, in the singular, without those that say that an amount is in cents or pence."""
    words = singular_words(name)
    ending = next((one for one in _MINOR_UNITS if words[-len(one) :] == one), ())
    plain = words[: len(words) - len(ending)]
    return plain[:-1] if ending and plain[-1:] == ("in",) else plain  # amountInCents


def common_value(values: Sequence[FieldValue]) -> FieldValue:
    """The value, if all are equal; ``UNKNOWN`` if two differ or one of them is unknown. There must be at least one."""
    first = values[0]
    return first if all(_are_equal_values(value, first) for value in values) else UNKNOWN


def _find_values_by_alias(name: str, fields: Fields) -> list[FieldValue]:
    """The values of fields that are aliases of the name; for an amount only figures."""
    others = field_aliases(name)
    told = {singular_words(other) for other in others}
    found = [value for key, value in fields if singular_words(key) in told]
    if name == "amount" or "amount" in others:
        return [
            value
            for value in found
            if isinstance(value, UnknownValue) or value is None or read_figure(value) is not None
        ]
    return found


def _are_equal_values(value: FieldValue, first: FieldValue) -> bool:
    if isinstance(value, UnknownValue) or isinstance(first, UnknownValue) or None in (value, first):
        return value is first
    return value == first or shows_same_value(value, first)


def _list_arguments(path: str, value: JsonObject, *, in_list: bool) -> Iterator[tuple[str, FieldValue, bool]]:
    """Yields each argument by its path, with its value and whether it is within a list of objects."""
    for key, inner in value.items():
        here = f"{path}.{key}" if path else key
        if [*referenced_calls(inner)]:
            yield here, UNKNOWN, in_list
        elif isinstance(inner, dict):
            yield from _list_arguments(here, inner, in_list=in_list)
        elif is_rule_value(inner):
            yield here, inner, in_list
        elif isinstance(inner, list):
            for item in inner:
                if isinstance(item, dict):
                    yield from _list_arguments(here, item, in_list=True)
