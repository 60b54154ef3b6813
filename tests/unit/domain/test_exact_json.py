"""Exact JSON: what goes in as a number comes out as that number."""

import json
from collections import OrderedDict
from decimal import Decimal
from http import HTTPStatus
from typing import cast

import pytest
from hypothesis import given, strategies as st

from shared.domain.exact_json import MAX_JSON_DEPTH, Json, dumps, loads, to_i_json
from shared.domain.words import TaskState
from tests.each_row import each_row

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30)
SCALARS = st.none() | st.booleans() | st.integers() | DECIMALS | st.text(st.characters(exclude_categories=["Cs"]))
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@pytest.mark.promise("I8.exact_money")
@given(value=VALUES)
def test_a_value_survives_writing_and_reading(value: Json) -> None:
    assert loads(dumps(value)) == value


@given(value=VALUES)
def test_the_canonical_text_is_what_the_standard_library_writes_number_by_number(value: Json) -> None:
    """Digests of years stand on these bytes, whatever way they are written."""
    assert dumps(value) == _written_plainly(value)


def _written_plainly(value: Json) -> str:
    match value:
        case Decimal():
            return format(value, "f")
        case dict():
            fields = (f"{_written_plainly(key)}:{_written_plainly(value[key])}" for key in sorted(value))
            return "{" + ",".join(fields) + "}"
        case list():
            return "[" + ",".join(map(_written_plainly, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def test_values_of_derived_types_are_written_as_what_they_are_and_a_binary_float_is_refused() -> None:
    derived = OrderedDict(b=(1, TaskState.FAILED), a=HTTPStatus.OK)

    assert dumps(cast(Json, derived)) == '{"a":200,"b":[1,"failed"]}'
    with pytest.raises(TypeError, match="binary float"):
        dumps(0.1)  # type: ignore[arg-type]  # what it must refuse


@each_row("text", ["NaN", "[Infinity]", "1e999999999", "{", "", "[" * 100_000, r'"\ud800"', r'{"\uDC00":1}', b"\xff"])
def test_what_no_other_process_could_read_is_bad_json(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # many causes, one kind
        loads(text)


def test_whatever_is_read_can_be_written_again() -> None:
    """Nesting is bounded where values come in, so that no writer meets one that ends its stack."""
    deepest = "[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH
    assert dumps(loads(deepest)) == deepest
    with pytest.raises(ValueError, match="too deeply"):
        loads(f"[{deepest}]")


@pytest.mark.promise("I8.told_exactly")
@each_row(
    ("written", "told"),
    ("12.50", 12.5),
    ("-0.1", -0.1),
    ("9007199254740991", 9007199254740991),
    ("9007199254740993", "9007199254740993"),
    ("12345678901234567.89", "12345678901234567.89"),
    ("1e400", "1" + 400 * "0"),
    ("true", True),
    ('{"a": [0.10000000000000000001]}', {"a": ["0.10000000000000000001"]}),
)
def test_a_number_that_a_double_cannot_hold_is_told_as_its_text(written: str, told: object) -> None:
    """Whoever reads JSON with doubles, as protocol 1.0 itself does, would otherwise read another amount or account."""
    assert to_i_json(loads(written)) == told


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_whatever_is_told_is_the_number_that_was_meant(number: Decimal) -> None:
    assert Decimal(str(to_i_json(number))) == number
