"""Renamed columns: recognised in errors, found by name or alias, corrected where names stand, never in values."""

import pytest
from hypothesis import given, strategies as st

from services.executor.core.reads.recovering import find_schema_reads
from services.executor.core.tools.failures import UnknownName, find_table_name, find_unknown_name
from services.executor.core.tools.schema_drift import (
    COLUMN_ALIASES,
    SchemaRenames,
    add_old_names,
    find_column_names_in_enums,
    find_columns,
    list_names_in_arguments,
    match_column,
    match_columns,
    rename_arguments,
)
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row

NAMES = st.from_regex(r"[a-z]{1,6}(_[a-z]{1,6}){0,2}", fullmatch=True)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
RECORDS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def tool(name: str, schema: JsonObject | None = None, kind: ToolClass = ToolClass.READ, server: str = "a") -> Tool:
    return Tool(server, name, "", schema or {"type": "object"}, kind, "test", CatalogueEntry())


@pytest.mark.promise("drift.recognised")
@each_row(
    ("error", "lacking"),
    ("1 validation error for get\namount\n  Unexpected keyword argument [type=unexpected_keyword_argument]", ()),
    ("amount\n  Extra inputs are not permitted\ntotal\n  Field required [type=missing]", ("total",)),
    ({"detail": [{"type": "extra_forbidden", "loc": ["body", "amount"], "msg": "no", "input": 1}]}, ()),
    (
        {"detail": [{"type": "missing", "loc": ["body", "total"]}, {"type": "extra_forbidden", "loc": ["amount"]}]},
        ("total",),
    ),
    ("Additional properties are not allowed ('amount' was unexpected)", ()),
    ("'total' is a required property; Additional properties are not allowed ('amount' was unexpected)", ("total",)),
    ({"errors": [{"keyword": "additionalProperties", "params": {"additionalProperty": "amount"}}]}, ()),
    ("get() got an unexpected keyword argument 'amount'", ()),
    ("get() got an unexpected keyword argument 'amount'; missing 1 required positional argument: 'total'", ("total",)),
    ("Unknown parameter: amount", ()),
    ("parameter 'amount' is not recognized", ()),
    ("unsupported argument amount", ()),
    ("'amount' is not a valid parameter", ()),
    ("This tool does not accept a parameter named amount", ()),
)
def test_an_error_about_an_unknown_parameter_names_it_and_those_that_lack(
    error: Json, lacking: tuple[str, ...]
) -> None:
    assert find_unknown_name(error) == UnknownName("amount", True, lacking)


@pytest.mark.promise("drift.recognised")
@each_row(
    "error",
    "amount\n  Field required [type=missing]",
    "'amount' is a required property",
    "missing 1 required positional argument: 'amount'",
    "Invalid parameter amount: must be positive",
    "the amount is too high",
    "no such employee: amount",
    "column not found in table expenses",
    "There is no tool get_amount.",
    {"found": False, "error": "no such claim"},
    {"id": 1, "note": "no such column: amount"},
    {"detail": [{"type": "extra_forbidden", "loc": [["body"], {"field": "amount"}]}]},
    [],
)
def test_an_error_about_anything_else_is_no_drift(error: Json) -> None:
    assert find_unknown_name(error) is None


@given(RECORDS)
def test_no_answer_is_too_odd_to_be_looked_at(answer: Json) -> None:
    find_unknown_name(answer)
    find_columns(answer)
    find_table_name(answer)


@pytest.mark.promise("drift.recovers")
@each_row(
    ("missing", "columns", "found"),
    ("employeeId", ["id", "employee_id"], ("employee_id", "exact")),
    ("e.cust_no", ["custNo"], ("custNo", "exact")),
    ("amount", ["id", "total_amount"], ("total_amount", "alias")),
    ("email", ["emailAddress"], ("emailAddress", "alias")),
    ("st", ["status", "east"], ("status", "alias")),
    ("amount", ["total", "cost"], None),
    ("amount", ["amount", "total"], None),
    ("date", ["rate"], None),
    ("claim_amount", ["id", "claim_amt", "claim_date"], ("claim_amt", "fuzzy")),
    ("cust_id", ["customer_id", "customer_name"], ("customer_id", "fuzzy")),
    ("approve_date", ["approved_date", "approved_by"], ("approved_date", "fuzzy")),
    ("adress_line", ["address_line"], ("address_line", "fuzzy")),
    ("department", ["dept", "id"], ("dept", "prefix")),
    ("cust_nm", ["id", "client_name", "client_city"], ("client_name", "words")),
    ("vndr_nm", ["supplier_name", "supplier_id"], ("supplier_name", "words")),
    ("cust_nm", ["client_name", "customer_name"], None),
    ("cust_nm", ["client_id", "vendor_name"], None),
    ("cust_amt", ["client_amount_cents"], None),
    ("price", ["prices"], ("prices", "fuzzy")),
    ("vendor", ["id", "vendor_usd"], ("vendor_usd", "prefix")),
    ("ordered_on_day", ["ordered"], None),
    ("invoice_line", ["invoices_line", "invoiced_line"], None),
    ("due_date", ["date_due", "date_paid"], ("date_due", "fuzzy")),
    ("invoice_no", ["invoice_number", "invoice_note"], ("invoice_number", "fuzzy")),
    ("amount", ["amount_q1", "amount_2"], None),
    ("start_date", ["end_date"], None),
    ("created_at", ["created_by"], None),
    ("min_amount", ["max_amount"], None),
    ("employee", ["employer"], None),
    ("payer_id", ["payee_id"], None),
    ("quantity", ["quality"], None),
    ("contract_id", ["contact_id"], None),
    ("paid_on", ["unpaid_on"], None),
    ("budget", ["budget_cents", "budget_limit"], None),
    ("count", ["country"], None),
    ("phone", ["id"], None),
)
def test_a_name_is_found_exactly_or_by_alias_and_only_if_one_fits(
    missing: str, columns: list[str], found: tuple[str, str] | None
) -> None:
    assert match_column(missing.rpartition(".")[2], missing, dict.fromkeys(columns, "")) == found


@pytest.mark.promise("drift.described")
@each_row(
    ("missing", "described", "found"),
    ("cust_nm", {"party_label": "Formerly cust_nm"}, "party_label"),
    ("cust_nm", {"party": "Name of the customer", "ref": "The customer's order"}, "party"),
    ("rebate", {"discount_x": "was: rebate", "other": "no rebate is given"}, "discount_x"),
    ("rebate", {"net_x": "the price after rebate"}, None),
    ("cust_nm", {"a": "formerly cust_nm", "b": "see cust_nm"}, None),
    ("cust_nm", {"party": "Name of the vendor"}, None),
    ("cust_nm", {"old_cust_nm_x": "an archive of xcust_nm"}, None),
)
def test_a_column_is_found_by_what_the_server_says_of_it(
    missing: str, described: dict[str, str], found: str | None
) -> None:
    new = match_column(missing, missing, {**described, "id": ""})
    assert (new.name if new else None) == found


@pytest.mark.promise("drift.described")
@each_row(
    "described",
    {"columns": [{"name": "id"}, {"name": "amount", "description": "in EUR"}]},
    [{"column_name": "id"}, {"column_name": "amount", "comment": "in EUR"}],
    {"columns": {"id": {"type": "text"}, "amount": {"type": "numeric", "description": "in EUR"}}},
    {"schema": {"properties": {"id": {"type": "string"}, "amount": {"description": "in EUR"}}}},
)
def test_what_a_server_says_of_its_columns_is_read_in_each_usual_form(described: Json) -> None:
    assert find_columns(described) == {"id": "", "amount": "in EUR"}


@pytest.mark.promise("drift.described")
def test_a_tools_own_schema_says_which_columns_it_takes() -> None:
    columns: JsonObject = {"type": "array", "items": {"enum": ["id", "client_name"]}}
    assert find_column_names_in_enums({"columns": columns, "mode": {"enum": ["fast", "slow"]}}) == {
        "id": "",
        "client_name": "",
    }


WORDS = st.sampled_from("amount total price id name created at by date status state start end usd paid".split())
COLUMNS = st.lists(st.lists(WORDS, min_size=1, max_size=3).map("_".join), max_size=8, unique=True)


@pytest.mark.promise("drift.never_two_to_one")
@given(wanted=COLUMNS | st.lists(NAMES, max_size=6, unique=True), columns=COLUMNS | st.lists(NAMES, max_size=6))
def test_no_two_wanted_columns_become_one_and_none_becomes_another_that_is_wanted(
    wanted: list[str], columns: list[str]
) -> None:
    found = {name: new.name for name, new in match_columns(wanted, columns).items()}
    assert len(set(found.values())) == len(found)
    assert not set(found.values()) & set(wanted)
    assert set(found.values()) <= set(columns)
    assert not set(found) & set(columns)


@pytest.mark.promise("drift.never_two_to_one")
@given(st.dictionaries(NAMES, RECORDS, max_size=4), NAMES, NAMES)
def test_a_correction_changes_keys_and_identifiers_and_no_value(arguments: JsonObject, old: str, new: str) -> None:
    """Whatever stands in a parameter that takes no names is the same before and after."""
    after = rename_arguments(arguments, {old: new})
    assert sorted(_values(after)) == sorted(_values(arguments))


def _values(value: Json, key: str = "") -> list[str]:
    """Every value with no regard to keys; texts in parameters for names are left out."""
    if isinstance(value, dict):
        return [found for name, inner in value.items() for found in _values(inner, name)]
    if isinstance(value, list):
        return [found for inner in value for found in _values(inner, key)]
    return [] if set(list_names_in_arguments({key: value})) - {key} else [repr(value)]


def test_a_renamed_parameter_is_renamed_where_it_stands_as_one_and_takes_no_others_place() -> None:
    given: JsonObject = {"amount": 5, "columns": ["amount"], "filter": {"amount": 1}}
    assert rename_arguments(given, {"@amount": "total"}) == {"total": 5, "columns": ["amount"], "filter": {"amount": 1}}
    assert add_old_names([{"total": 1}], {"@amount": "total"}) == [{"total": 1}]
    both: JsonObject = {"amount": 1, "total": 2}
    assert rename_arguments(both, {"amount": "total"}) == both


@pytest.mark.promise("drift.recovers")
@each_row(("usual", "variant"), [(usual, one) for usual, many in COLUMN_ALIASES.items() for one in many])
def test_every_alias_is_found_both_ways(usual: str, variant: str) -> None:
    back = match_column(variant, variant, {"zz": "", usual: ""})
    forth = match_column(usual, usual, {"zz": "", variant: ""})
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
    assert rename_arguments(given, {"amount": "total_amount"}) == {
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


@each_row(
    "described",
    ["id", "amount"],
    {"table": "expenses", "columns": ["id", "amount"]},
    {"columns": [{"name": "id", "type": "TEXT"}, {"name": "amount", "type": "REAL"}]},
    [{"column_name": "id"}, {"column_name": "amount"}],
    {"columns": {"id": "text", "amount": "numeric"}},
    {"schema": {"fields": [{"field": "id"}, {"field": "amount"}]}},
    {"schema": {"properties": {"id": {"type": "string"}, "amount": {"type": "number"}}}},
    {"id": "INTEGER", "amount": "VARCHAR(20)"},
    {"error": "no such column: x", "available_columns": ["id", "amount"]},
)
def test_columns_are_found_in_each_usual_description(described: Json) -> None:
    assert list(find_columns(described)) == ["id", "amount"]


TABLE: JsonObject = {"type": "object", "properties": {"table": {"type": "string"}}, "required": ["table"]}


def test_a_describing_tool_that_changes_something_is_not_asked() -> None:
    assert find_schema_reads([tool("describe_table", TABLE, ToolClass.CHANGE)], tool("list_expenses"), {}, "") == []


@pytest.mark.promise("drift.remembered")
@each_row("table", None, "main:claims")
def test_a_correction_is_remembered_for_its_tool_or_table_whatever_signs_the_names_have(table: str | None) -> None:
    arguments: JsonObject = {"filter:amount": 5, **({"table": table} if table else {})}
    names = {"@filter:amount": "filter:total", "amt": "amount"}
    corrections = SchemaRenames().with_renames(tool("list_claims"), arguments, names)
    assert corrections.names_for_call(tool("list_claims"), arguments) == names
    assert not corrections.names_for_call(tool("list_claims", server="b"), arguments)
    assert not corrections.names_for_call(tool("list_parcels"), {})
