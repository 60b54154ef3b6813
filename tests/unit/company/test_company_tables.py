"""The tools over any table: what they show, how they filter, and what they refuse in which words."""

import pytest
from pydantic import JsonValue

from examples.company.books import CompanyBooks, ToolRefused
from examples.company.tables import TABLES
from tests.each_row import each_row
from tests.unit.company.books_stage import call, rows


@pytest.mark.parametrize("table", TABLES)
def test_every_table_can_be_described_and_queried_by_what_is_described(books: CompanyBooks, table: str) -> None:
    columns = [str(column["name"]) for column in rows(call(books, "describe_table", table=table), "columns")]
    found = rows(call(books, "query_table", table=table, columns=[*columns]), "rows")

    assert found
    assert all([*row] == columns for row in found)
    assert not [name for name in columns if name.endswith("_cents")]


@each_row(
    ("table", "column", "value", "count"),
    ("invoices", "amount", "10481.37", 1),
    ("invoices", "status", "flagged", 1),
    ("subscriptions", "seats", "140", 1),
    ("invoices", "status", "' OR 1=1 --", 0),
    ("screenings", "politically_exposed", "true", 1),
)
def test_a_filter_takes_a_value_as_it_is_shown(
    books: CompanyBooks, table: str, column: str, value: str, count: int
) -> None:
    found = call(books, "query_table", table=table, filter_column=column, filter_value=value)

    assert len(rows(found, "rows")) == count


@each_row(
    ("arguments", "sentence"),
    ({"table": "writes"}, "no such table: writes"),
    ({"table": "sqlite_master"}, "no such table: sqlite_master"),
    ({"table": "invoices", "columns": ["total"]}, "no such column: total"),
    ({"table": "invoices", "columns": ["amount_cents"]}, "no such column: amount_cents"),
    ({"table": "invoices", "filter_column": "total", "filter_value": "1"}, "no such column: total"),
    ({"table": "invoices", "filter_column": "amount"}, "takes both"),
    ({"table": "invoices", "filter_column": "amount", "filter_value": "much"}, "no decimal"),
    ({"table": "invoices", "filter_column": "amount", "filter_value": "Infinity"}, "no decimal"),
    ({"table": "subscriptions", "filter_column": "seats", "filter_value": "1.5"}, "no integer"),
    ({"table": "subscriptions", "filter_column": "seats", "filter_value": "9" * 30}, "no integer"),
    ({"table": "screenings", "filter_column": "politically_exposed", "filter_value": "perhaps"}, "no boolean"),
)
def test_what_is_not_there_is_named(books: CompanyBooks, arguments: dict[str, JsonValue], sentence: str) -> None:
    with pytest.raises(ToolRefused, match=sentence):
        call(books, "query_table", **arguments)
