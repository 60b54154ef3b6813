"""Paths into results, and references of one planned call to another's result."""

from decimal import Decimal

import pytest

from services.executor.core.records.references import find_at, literal_parts, references, resolve
from services.executor.core.tools.record_tree import NoSuchPath
from shared.domain.exact_json import Json, JsonObject

ORDER: Json = {"id": "O-1", "lines": [{"sku": "A", "price": Decimal("1.50")}, {"sku": "B", "price": 2}]}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", ORDER), ("$", ORDER), ("id", "O-1"), ("$.id", "O-1"), ("lines[0].sku", "A"), ("$.lines[1].price", 2),
    ],
)  # fmt: skip
def test_a_path_leads_to_what_stands_there(path: str, found: Json) -> None:
    assert find_at(ORDER, path) == found


@pytest.mark.parametrize(
    "path", ["nothing", "lines[2]", "lines.sku", "id[0]", "id.x", "lines[*].nothing", "[0]", "[*]", "lines[*].sku"]
)
def test_a_path_to_nothing_or_to_several_names_itself(path: str) -> None:
    with pytest.raises(NoSuchPath, match="path"):
        find_at(ORDER, path)


def test_references_are_found_and_replaced_wherever_they_stand() -> None:
    arguments: JsonObject = {"to": {"$ref": "c1.id"}, "list": [{"$ref": "c2"}, "x"], "plain": {"$ref": "c1", "n": 1}}

    assert sorted(references(arguments)) == ["c1", "c2"]
    resolved = resolve(arguments, {"c1": {"id": "T-9"}, "c2": [1]})
    assert resolved == {"to": "T-9", "list": [[1], "x"], "plain": {"$ref": "c1", "n": 1}}


@pytest.mark.parametrize("ref", ["c9.id", "c1.nothing", "c1.lines[*].sku", ""])
def test_a_reference_to_nothing_is_an_error_and_no_guess(ref: str) -> None:
    with pytest.raises(NoSuchPath):
        resolve({"to": {"$ref": ref}}, {"c1": ORDER})


def test_literal_parts_leave_out_references_and_nothing_else() -> None:
    parts = list(literal_parts({"a": [1, {"$ref": "c1"}], "b": {"c": "x"}, "d": {"$ref": "c1", "e": 2}}))
    assert parts == [1, "x", "c1", 2]
