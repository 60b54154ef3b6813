"""The planner's audit: a figure that its operands do not give is named, and nothing is said of what cannot be seen."""

import pytest

from services.planner.core.audit import audit
from services.planner.core.request import Request
from shared.domain.exact_json import Json, JsonObject, dumps


def _asked(**value: Json) -> Request:
    shown: JsonObject = {"name": "total", "operation": "sum", "value": "30.00", **value}
    return Request("AUDIT", {"values": dumps([shown])}, "", (), None, ())


def _operand(*found: Json, **more: Json) -> JsonObject:
    return {"source": "result", "found": list(found), **more}


@pytest.mark.promise("planner.audit")
def test_a_figure_that_its_operands_give_is_clean() -> None:
    assert audit(_asked(operands=[_operand("10.00"), _operand("20.00")])) == {"clean": True, "issues": []}


@pytest.mark.promise("planner.audit")
def test_a_figure_that_its_operands_do_not_give_is_named() -> None:
    said = audit(_asked(operands=[_operand("10.00", "20.01")]))
    assert said == {"clean": False, "issues": [{"value": "total", "why": "its operands come to 30.01"}]}


@pytest.mark.promise("planner.audit")
@pytest.mark.parametrize(
    "value",
    [
        {"operands": [_operand("10.00", note="not all")]},
        {"operands": [_operand("ten")]},
        {"operands": []},
        {"operands": [_operand("1.00")], "operation": "npv"},
        {"operands": [_operand("1.00"), _operand("0")], "operation": "quotient"},
    ],
)
def test_what_cannot_be_computed_again_is_no_issue(value: dict[str, Json]) -> None:
    assert audit(_asked(**value))["clean"]
