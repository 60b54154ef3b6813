"""The tools of a run by unambiguous names, and arguments held to their schemas exactly."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.tools.toolbox import problems_with
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.unit.executor_core.makers import tool


def problems(schema: JsonObject, arguments: JsonObject) -> str | None:
    return problems_with(arguments, tool("t", ToolClass.CHANGE, schema))


@pytest.mark.promise("I8.exact_money")
@given(cents=st.integers(0, 10**12))
def test_every_amount_of_whole_cents_is_a_multiple_of_a_cent(cents: int) -> None:
    schema: JsonObject = {"properties": {"amount": {"type": "number", "multipleOf": Decimal("0.01")}}}

    assert problems(schema, {"amount": Decimal(cents).scaleb(-2)}) is None
    assert problems(schema, {"amount": Decimal(cents * 10 + 5).scaleb(-3)}) is not None


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "integer"}, Decimal("5.0"), None),
        ({"type": "integer"}, Decimal("5.5"), "$.a: 5.5 is not of type 'integer'"),
        ({"type": "integer"}, True, "$.a: True is not of type 'integer'"),
        ({"maximum": Decimal("0.3")}, Decimal("0.3"), None),
        ({"maximum": Decimal("0.3")}, Decimal("0.31"), "$.a: 0.31 is greater than the maximum of 0.3"),
        ({"enum": ["x"]}, "y", "$.a: 'y' is not one of ['x']"),
        ({"type": "nonsense"}, 1, None), ({"pattern": "["}, "x", None), ({"$ref": "#"}, {}, None),
        ({"$ref": "#/$defs/none"}, 1, None), ({"$ref": "http://127.0.0.1:9/schema"}, 1, None),
    ],
)  # fmt: skip
def test_arguments_are_held_to_a_sound_schema_and_spared_a_broken_one(
    schema: JsonObject, value: Json, told: str | None
) -> None:
    """Nothing is fetched: an address in a schema would let a server send the executor anywhere."""
    assert problems({"properties": {"a": schema}}, {"a": value}) == told


def test_a_schema_that_refers_to_itself_without_end_does_not_end_the_run() -> None:
    assert problems({"$ref": "#"}, {}) is None
