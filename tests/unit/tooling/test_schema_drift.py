"""Renamed columns: recognised in errors, found by name or alias, corrected where names stand, never in values."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.tooling.column_aliases import ALIASES
from services.executor.core.tooling.corrections import MOST_KEPT, Corrections
from services.executor.core.tooling.describing import inquiries
from services.executor.core.tooling.schema_drift import (
    columns_in,
    match,
    missing_column,
    renamed,
    table_in,
    under_both_names,
)
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

NAMES = st.from_regex(r"[a-z]{1,6}(_[a-z]{1,6}){0,2}", fullmatch=True)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
RECORDS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def tool(name: str, schema: JsonObject | None = None, kind: ToolClass = ToolClass.READ, server: str = "a") -> Tool:
    return Tool(server, name, "", schema or {"type": "object"}, kind, "test", CatalogueEntry())


@pytest.mark.promise("drift.recognised")
@pytest.mark.parametrize(
    "error",
    [
        "no such column: amount",
        "OperationalError: no such column: e.amount",
        'column "amount" does not exist',
        "ERROR: column e.amount does not exist at character 8",
        "Unknown column 'amount' in 'field list'",
        "Invalid column name 'amount'.",
        "table expenses has no column named amount",
        "Field 'amount' not found",
        "field amount was not found",
        "unknown field: amount",
        "Unrecognized field `amount`",
        "Column not found: amount",
        "'amount' is not a valid column",
        "KeyError: 'amount'",
        {"error": "no such column: amount", "type": "SCHEMA"},
        {"detail": [{"loc": ["body"], "msg": "no such column: amount"}]},
    ],
)
def test_an_error_about_a_missing_column_names_it(error: Json) -> None:
    assert (missing_column(error) or "").rpartition(".")[2] == "amount"


@pytest.mark.promise("drift.recognised")
@pytest.mark.parametrize(
    "error",
    [
        "the amount is too high",
        "field 'amount' is required",
        "Invalid field amount: must be positive",
        "no such employee: amount",
        "column not found in table expenses",
        "There is no tool get_amount.",
        {"found": False, "error": "no such claim"},
        {"id": 1, "note": "no such column: amount"},
        None,
        [],
        3,
    ],
)
def test_an_error_about_anything_else_is_no_drift(error: Json) -> None:
    assert missing_column(error) is None


@given(RECORDS)
def test_no_answer_is_too_odd_to_be_looked_at(answer: Json) -> None:
    missing_column(answer)
    columns_in(answer)
    table_in(answer)


@pytest.mark.promise("drift.recovers")
@pytest.mark.parametrize(
    ("missing", "columns", "found"),
    [
        ("employeeId", ["id", "employee_id"], ("employee_id", "exact")),
        ("AMOUNT", ["amount"], ("amount", "exact")),
        ("e.cust_no", ["custNo"], ("custNo", "exact")),
        ("amount", ["id", "total_amount"], ("total_amount", "alias")),
        ("customer_name", ["client_name", "name"], ("client_name", "alias")),
        ("email", ["emailAddress"], ("emailAddress", "alias")),
        ("st", ["status", "east"], ("status", "alias")),
        ("amount", ["total", "cost"], None),
        ("amount", ["amount", "total"], None),
        ("date", ["rate"], None),
        ("phone", ["id"], None),
        ("phone", [], None),
    ],
)
def test_a_name_is_found_exactly_or_by_alias_and_only_if_one_fits(
    missing: str, columns: list[str], found: tuple[str, str] | None
) -> None:
    assert match(missing.rpartition(".")[2], missing, columns) == found


@pytest.mark.promise("drift.recovers")
@pytest.mark.parametrize(("usual", "variant"), [(usual, one) for usual, many in ALIASES.items() for one in many])
def test_every_alias_is_found_both_ways(usual: str, variant: str) -> None:
    back, forth = match(variant, variant, ["zz", usual]), match(usual, usual, ["zz", variant])
    assert back is not None
    assert forth is not None
    assert (back.name, forth.name) == (usual, variant)


@pytest.mark.promise("drift.recovers")
def test_names_are_corrected_and_values_are_not() -> None:
    given: JsonObject = {
        "table": "expenses",
        "columns": ["id", "amount", "e.amount"],
        "filter_column": "amount",
        "filter_value": "amount",
        "note": "the amount of amount",
        "sort_by": "amount",
        "orderBy": "amount",
        "fields": "id, amount",
        "filter": {"amount": "amount", "and": [{"field": "amount", "value": "amount"}]},
    }
    assert renamed(given, {"amount": "total_amount"}) == {
        "table": "expenses",
        "columns": ["id", "total_amount", "e.total_amount"],
        "filter_column": "total_amount",
        "filter_value": "amount",
        "note": "the amount of amount",
        "sort_by": "total_amount",
        "orderBy": "total_amount",
        "fields": "id, total_amount",
        "filter": {"total_amount": "amount", "and": [{"field": "total_amount", "value": "amount"}]},
    }


@pytest.mark.parametrize("text", ["amount is high", "amount desc", "highamount", "amount; drop", ""])
def test_a_text_that_is_more_than_names_stays(text: str) -> None:
    assert renamed({"columns": text}, {"amount": "total"}) == {"columns": text}


def test_a_key_never_takes_the_place_of_another() -> None:
    given: JsonObject = {"amount": 1, "total": 2}
    assert renamed(given, {"amount": "total"}) == given


@given(st.dictionaries(NAMES, RECORDS, max_size=4))
def test_without_corrections_nothing_is_touched(arguments: JsonObject) -> None:
    assert renamed(arguments, {}) == arguments
    assert under_both_names(arguments, {}) == arguments


@given(st.dictionaries(NAMES, SCALARS, max_size=4), NAMES, NAMES)
def test_no_value_is_lost_or_changed(arguments: JsonObject, old: str, new: str) -> None:
    kept: JsonObject = {key: value for key, value in arguments.items() if not isinstance(value, str)}
    assert sorted(map(repr, renamed(kept, {old: new}).values())) == sorted(map(repr, kept.values()))


def test_a_result_shows_the_column_under_the_name_that_was_asked_for_too() -> None:
    rows: Json = {"rows": [{"id": 1, "total": Decimal("0.10")}, {"id": 2, "total": 3, "amount": 4}, {"id": 3}]}
    assert under_both_names(rows, {"amount": "total"}) == {
        "rows": [
            {"id": 1, "total": Decimal("0.10"), "amount": Decimal("0.10")},
            {"id": 2, "total": 3, "amount": 4},
            {"id": 3},
        ]
    }


@pytest.mark.parametrize(
    "described",
    [
        ["id", "amount"],
        {"table": "expenses", "columns": ["id", "amount"]},
        {"columns": [{"name": "id", "type": "TEXT"}, {"name": "amount", "type": "REAL"}]},
        [{"column_name": "id"}, {"column_name": "amount"}],
        {"columns": {"id": "text", "amount": "numeric"}},
        {"schema": {"fields": [{"field": "id"}, {"field": "amount"}]}},
        {"schema": {"properties": {"id": {"type": "string"}, "amount": {"type": "number"}}}},
        {"id": "INTEGER", "amount": "VARCHAR(20)"},
        {"error": "no such column: x", "available_columns": ["id", "amount"]},
    ],
)
def test_columns_are_found_in_each_usual_description(described: Json) -> None:
    assert columns_in(described) == ("id", "amount")


@pytest.mark.parametrize("described", [None, "id, amount", {}, {"name": "expenses", "rows": 4}, {"columns": 2}, [1]])
def test_what_is_no_description_has_no_columns(described: Json) -> None:
    assert columns_in(described) == ()


TABLE: JsonObject = {"type": "object", "properties": {"table": {"type": "string"}}, "required": ["table"]}
ENTITY: JsonObject = {
    "type": "object",
    "properties": {"entity": {"enum": ["expenses", "orders"]}},
    "required": ["entity"],
}


def test_a_describing_tool_of_the_same_server_is_asked_for_the_table_of_the_call() -> None:
    asked = tool("query_table")
    others = [tool("describe_table", TABLE, server="b"), tool("get_order"), tool("describe_table", TABLE), asked]
    found = inquiries(others, asked, {"table": "expenses"}, "no such column: amount")
    assert {(one.tool.connection_id, one.tool.name) for one in found} == {("a", "describe_table")}
    assert found[0].arguments == {"table": "expenses"}


@pytest.mark.parametrize(("name", "error"), [("list_expenses", ""), ("get_x", 'column y of relation "expenses"')])
def test_a_table_that_no_argument_names_is_that_of_the_error_or_the_tool(name: str, error: str) -> None:
    found = inquiries([tool("get_schema", ENTITY)], tool(name), {}, error)
    assert [one.arguments for one in found] == [{"entity": "expenses"}]


def test_a_describing_tool_that_changes_something_is_not_asked() -> None:
    assert inquiries([tool("describe_table", TABLE, ToolClass.CHANGE)], tool("list_expenses"), {}, "") == []


def test_a_describing_tool_that_needs_more_than_a_table_is_not_asked() -> None:
    schema: JsonObject = {**TABLE, "required": ["table", "secret"]}
    assert inquiries([tool("describe_table", schema)], tool("list_expenses"), {}, "") == []


@pytest.mark.promise("drift.remembered")
def test_a_correction_holds_for_the_tables_calls_and_no_others() -> None:
    query, other = tool("query_table"), tool("query_table", server="b")
    known = Corrections().learned(query, {"table": "expenses"}, {"amount": "total"})
    assert known.for_call(query, {"table": "expenses", "columns": []}) == {"amount": "total"}
    assert known.for_call(tool("update_table"), {"table": "expenses"}) == {"amount": "total"}
    assert known.for_call(query, {"table": "orders"}) == {}
    assert known.for_call(other, {"table": "expenses"}) == {}


def test_a_column_that_gets_its_old_name_back_is_no_longer_corrected() -> None:
    query = tool("list_expenses")
    known = Corrections().learned(query, {}, {"amount": "total"}).learned(query, {}, {"amount": "amount"})
    back = known.learned(query, {}, {"amount": "total"}).learned(query, {}, {"total": "amount"})
    assert known.for_call(query, {}) == {}
    assert back.for_call(query, {}) == {"total": "amount"}


def test_only_so_many_corrections_are_kept_and_the_newest_stay() -> None:
    query, known = tool("list_expenses"), Corrections()
    for number in range(MOST_KEPT + 5):
        known = known.learned(query, {}, {f"c{number}": f"d{number}"})
    assert len(known.names) == MOST_KEPT
    assert f"c{MOST_KEPT + 4}" in known.for_call(query, {})
